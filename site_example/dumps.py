"""Writes a dump directory as Miles's trainer does: packs by `torch.save`, token columns, conversations, the tokenizer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import torch

if TYPE_CHECKING:
    from pathlib import Path

    from site_example.rollout import Sample

ABSENT = (
    "rollout_id",
    "multimodal_inputs",
    "multimodal_train_inputs",
    "rollout_routed_experts",
    "rollout_indexer_topk",
    "teacher_log_probs",
    "opd_reverse_kl",
    "generate_function_path",
    "train_metadata",
    "adapter",
    "reward_spec",
    "routing_key",
)
"""Fields of a sample that this trainer has no use for."""


def write_rollout(dump: Path, rollout_id: int, samples: list[Sample], *, evaluation: bool) -> None:
    """The columns, the conversations and, last, the pack of one rollout or one evaluation."""
    stem = f"eval_{rollout_id}" if evaluation else str(rollout_id)
    _columns(dump / "dashboard_columns" / f"rollout_{stem}.parquet", samples)
    _conversations(dump / "trajectory" / f"{stem}.jsonl", samples)
    pack = {
        "rollout_id": rollout_id,
        "metadata": {},
        "samples": [_fields(sample) for sample in samples],
    }
    _save(pack, dump / "rollout_data" / f"{stem}.pt")


def write_train(dump: Path, rollout_id: int, rank: int, columns: dict[str, Any]) -> None:
    """The pack of one trainer rank."""
    pack = {
        "rollout_id": rollout_id,
        "rank": rank,
        "rollout_data": columns,
        "cp_rank": 0,
        "cp_size": 1,
        "qkv_format": "thd",
    }
    _save(pack, dump / "train_data" / f"{rollout_id}_{rank}.pt")


def _save(pack: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(pack, path)


def _fields(sample: Sample) -> dict[str, Any]:
    n_written = sum(sample.loss_mask)
    return {
        "group_index": sample.group_index,
        "index": sample.index,
        "prompt": sample.prompt,
        "tokens": sample.tokens,
        "response": sample.response,
        "response_length": sample.response_length,
        "label": str(sample.problem.answer),
        "reward": sample.reward,
        "loss_mask": sample.loss_mask,
        "weight_versions": sample.weight_versions,
        "rollout_log_probs": sample.rollout_log_probs,
        "remove_sample": False,
        "status": sample.status,
        "metadata": sample.metadata,
        "non_generation_time": sample.non_generation_time,
        "spec_info": {
            "spec_accept_token_num": 0,
            "spec_draft_token_num": 0,
            "spec_verify_ct": 0,
            "completion_token_num": n_written,
        },
        "prefix_cache_info": {"cached_tokens": 0, "total_prompt_tokens": 0},
        **dict.fromkeys(ABSENT),
    }


def _columns(path: Path, samples: list[Sample]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(
        {
            "sample_index": [one.index for one in samples],
            "response_length": [one.response_length for one in samples],
            "total_length": [len(one.tokens) for one in samples],
            "tokens": [one.tokens for one in samples],
            "loss_mask": [one.loss_mask for one in samples],
            "rollout_log_probs": [one.rollout_log_probs for one in samples],
        },
        schema={
            "sample_index": pl.Int32,
            "response_length": pl.Int32,
            "total_length": pl.Int32,
            "tokens": pl.List(pl.Int32),
            "loss_mask": pl.List(pl.Int8),
            "rollout_log_probs": pl.List(pl.Float32),
        },
    )
    scratch = path.with_suffix(".tmp")
    frame.write_parquet(scratch, row_group_size=8)
    scratch.replace(path)


def _conversations(path: Path, samples: list[Sample]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {
            "sample_index": one.index,
            "group_index": one.group_index,
            "status": one.status,
            "reward": None,
            "prompt": one.prompt,
            "messages": one.messages,
        }
        for one in samples
    )
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
