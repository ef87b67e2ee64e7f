"""The subset of a run's arguments that goes into meta.json: an allow-list, so that no secret can get there by being new."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

CURATED_ARGS = (
    "wandb_group",
    "wandb_team",
    "wandb_project",
    "wandb_run_id",
    "wandb_host",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "sglang_dp_size",
    "sglang_ep_size",
    "sglang_pp_size",
    "colocate",
    "actor_num_nodes",
    "actor_num_gpus_per_node",
    "critic_num_nodes",
    "critic_num_gpus_per_node",
    "num_gpus_per_node",
    "rollout_num_gpus",
    "rollout_num_gpus_per_engine",
    "prefill_num_servers",
    "global_batch_size",
    "micro_batch_size",
    "rollout_batch_size",
    "over_sampling_batch_size",
    "n_samples_per_prompt",
    "rollout_max_response_len",
    "eps_clip",
    "eps_clip_high",
    "hf_checkpoint",
    "sglang_max_running_requests",
    "sglang_mem_fraction_static",
    "sglang_router_ip",
    "sglang_router_port",
    "sglang_router_policy",
    "use_miles_router",
)
"""Names as Miles's command line has them."""

USER_INFO = re.compile(r"(?<=://)[^/@\s]*@")
QUERY = re.compile(r"(://[^?#\s]*)[?#]\S*")

_Absent = object()


def curated_args(args: Any) -> dict[str, Any]:
    """The arguments that may be kept, in the order of `CURATED_ARGS`.

    Args:
        args: a namespace or a mapping; other names in it are not looked at.

    Returns:
        Those that are there and are JSON values: null, bool, finite number, text, or a list of these. What looks like
        a URL loses its user, password and query.
    """
    kept = {}
    for name in CURATED_ARGS:
        value = (
            args.get(name, _Absent) if isinstance(args, Mapping) else getattr(args, name, _Absent)
        )
        plain = _plain(value)
        if plain is not _Absent:
            kept[name] = plain
    return kept


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _Absent
    if isinstance(value, str):
        return QUERY.sub(r"\1", USER_INFO.sub("", value))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        items = [_plain(item) for item in value]
        return _Absent if any(item is _Absent for item in items) else items
    return _Absent
