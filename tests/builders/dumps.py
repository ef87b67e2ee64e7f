"""Writes odd and even dump files with torch, whose truth the caller knows.

    root = tmp_path / "dump"
    samples = [sample(0, response=[7, 8, 9], reward=1.0), sample(1, response=[7], reward=0.0)]
    rollout_dump(root, samples)                       # rollout_data/0.pt, an hour old
    train_dump(root, samples, ranks=(0, 1))           # two twins; series by default, override with series={...}
    cp_dump(root, samples, cp_size=2)                 # zigzag slices of the same series over ranks 0 and 1
    columns_file(root, samples); conversations_file(root, [{...}])

Every function takes `step`, `evaluation` where it makes sense, and `age_s`. A sample is a plain dict: change or delete
whatever the test is about. Series are dicts name -> list (one a sample) of float lists as long as the response.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AN_HOUR_S = 3600.0
SLICED = (
    "log_probs",
    "rollout_log_probs",
    "ref_log_probs",
    "entropy",
    "ref_entropy",
    "advantages",
    "returns",
    "values",
    "teacher_log_probs",
    "opd_reverse_kl",
)


def sample(index: int | None = 0, *, prompt: Sequence[int] = (1, 2), response: Sequence[int] = (3, 4, 5), **fields: Any) -> dict[str, Any]:  # fmt: skip
    """One entry of a rollout pack, complete and plain; `fields` replace or add keys."""
    entry: dict[str, Any] = {
        "group_index": 0 if index is None else index // 2,
        "index": index,
        "rollout_id": None,
        "prompt": f"question {index}",
        "tokens": [*prompt, *response],
        "multimodal_inputs": None,
        "multimodal_train_inputs": None,
        "response": " ".join(f"t{token}" for token in response),
        "response_length": len(response),
        "label": "42",
        "reward": 1.0,
        "loss_mask": None,
        "weight_versions": ["0"],
        "rollout_log_probs": [-0.5 - 0.25 * position for position in range(len(response))],
        "rollout_routed_experts": None,
        "remove_sample": False,
        "status": "completed",
        "metadata": {},
        "train_metadata": None,
        "adapter": None,
        "non_generation_time": 0.0,
        "spec_info": {"spec_accept_token_num": 0, "spec_draft_token_num": 0},
        "prefix_cache_info": {"cached_tokens": 0, "total_prompt_tokens": 0},
    }
    return entry | fields


def write_pt(path: Path, content: Any, *, age_s: float = AN_HOUR_S) -> Path:
    """Saves anything with torch.save and ages the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)
    return aged(path, age_s)


def aged(path: Path, age_s: float = AN_HOUR_S) -> Path:
    """Sets the file's mtime back."""
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def rollout_dump(root: Path, samples: Sequence[Any], *, step: int = 0, evaluation: bool = False, age_s: float = AN_HOUR_S, **pack: Any) -> Path:  # fmt: skip
    """Writes rollout_data/[eval_]{step}.pt; `pack` replaces or adds keys of the pack."""
    name = f"eval_{step}.pt" if evaluation else f"{step}.pt"
    content = {"rollout_id": step, "metadata": {}, "samples": list(samples)} | pack
    return write_pt(root / "rollout_data" / name, content, age_s=age_s)


def default_series(samples: Sequence[Mapping[str, Any]]) -> dict[str, list[list[float]]]:
    """Series with exact binary values: log_probs = rollout + 2^-4, entropy 0.5, 1.0, 1.5, ... by position."""
    rollout = [list(entry["rollout_log_probs"]) for entry in samples]
    ramp = [[0.5 * (position + 1) for position in range(len(row))] for row in rollout]
    signs = [[1.0 if number % 2 else -1.0] * len(row) for number, row in enumerate(rollout)]
    return {
        "rollout_log_probs": rollout,
        "log_probs": [[value + 0.0625 for value in row] for row in rollout],
        "ref_log_probs": [[value - 0.125 for value in row] for row in rollout],
        "entropy": ramp,
        "ref_entropy": [[value + 1.0 for value in row] for row in ramp],
        "advantages": signs,
        "returns": signs,
    }


def train_columns(
    samples: Sequence[Mapping[str, Any]],
    *,
    batch: Sequence[Mapping[str, Any]] | None = None,
    series: Mapping[str, Sequence[Any]] | None = None,
    dtype: torch.dtype = torch.float32,
    **columns: Any,
) -> dict[str, Any]:
    """`rollout_data` of a train pack whose rows are `samples`.

    Args:
        samples: rows of this shard, in the shard's order.
        batch: all samples of the step in file order, for raw_reward; the shard if omitted.
        series: per-token columns; `default_series(samples)` if omitted, none if {}.
        dtype: of the series.
        columns: replace or add columns; None removes one.
    """
    rewards = [entry["reward"] for entry in batch or samples]
    found: dict[str, Any] = {
        "tokens": [torch.tensor(entry["tokens"], dtype=torch.int64) for entry in samples],
        "response_lengths": [entry["response_length"] for entry in samples],
        "rewards": [float(number) for number in range(len(samples))],
        "truncated": [int(entry["status"] == "truncated") for entry in samples],
        "loss_masks": [
            torch.tensor(entry["loss_mask"] or [1] * entry["response_length"], dtype=torch.int32)
            for entry in samples
        ],
        "sample_indices": [entry["index"] for entry in samples],
        "rollout_ids": [entry["index"] for entry in samples],
        "total_lengths": [len(entry["tokens"]) for entry in samples],
        "raw_reward": rewards,
        "weight_versions": [entry["weight_versions"] for entry in samples],
    }
    found["rollout_mask_sums"] = torch.tensor([float(mask.sum()) for mask in found["loss_masks"]])
    for name, rows in (default_series(samples) if series is None else series).items():
        found[name] = [None if row is None else torch.tensor(row, dtype=dtype) for row in rows]
    found |= columns
    return {name: column for name, column in found.items() if column is not None}


def train_pack(root: Path, columns: Any, *, step: int = 0, rank: int = 0, age_s: float = AN_HOUR_S, **pack: Any) -> Path:  # fmt: skip
    """Writes train_data/{step}_{rank}.pt from ready columns; a `pack` key of None is left out (cp_rank=None: legacy)."""
    content = {
        "rollout_id": step,
        "rank": rank,
        "rollout_data": columns,
        "cp_rank": 0,
        "cp_size": 1,
        "qkv_format": "thd",
    } | pack
    content = {key: value for key, value in content.items() if value is not None}
    return write_pt(root / "train_data" / f"{step}_{rank}.pt", content, age_s=age_s)


def train_dump(root: Path, samples: Sequence[Mapping[str, Any]], *, step: int = 0, ranks: Sequence[int] = (0,), age_s: float = AN_HOUR_S, **columns: Any) -> None:  # fmt: skip
    """Writes one shard, identical for all `ranks` (tensor-parallel twins); see `train_columns` for the rest."""
    content = train_columns(samples, **columns)
    for rank in ranks:
        train_pack(root, content, step=step, rank=rank, age_s=age_s)


def zigzag_positions(total: int, response: int, chunk: int, cp_rank: int, cp_size: int) -> list[int]:  # fmt: skip
    """Response positions that a context-parallel rank holds, found token by token."""
    prompt = total - response
    held = []
    for chunk_number in (cp_rank, 2 * cp_size - 1 - cp_rank):
        for position in range(response):
            logit = prompt - 1 + position
            if chunk_number * chunk <= logit < (chunk_number + 1) * chunk:
                held.append(position)
    return held


def cp_dump(
    root: Path,
    samples: Sequence[Mapping[str, Any]],
    *,
    cp_size: int = 2,
    qkv_format: str = "thd",
    max_seq_len: int | None = None,
    legacy: bool = False,
    ranks: Sequence[int] | None = None,
    step: int = 0,
    series: Mapping[str, Sequence[Sequence[float]]] | None = None,
    **columns: Any,
) -> None:
    """Writes one file a context-parallel rank, each with its zigzag slices of `series`.

    Args:
        root: the dump.
        samples: rows of the shard.
        cp_size: context-parallel ranks; rank r of the file is cp rank r.
        qkv_format: "thd" (chunks of each sample) or "bshd" (chunks of the padded length `max_seq_len`).
        max_seq_len: padded length for bshd; the longest sample if omitted.
        legacy: leave cp_rank, cp_size and qkv_format out.
        ranks: only these are written; all if omitted.
        step: the step.
        series: whole series to split; `default_series(samples)` if omitted.
        columns: as in `train_columns`.
    """
    whole = default_series(samples) if series is None else series
    longest = max(len(entry["tokens"]) for entry in samples)
    padded = longest if max_seq_len is None else max_seq_len
    for cp_rank in range(cp_size) if ranks is None else ranks:
        sliced: dict[str, list[Any]] = {}
        for name, rows in whole.items():
            sliced[name] = []
            for entry, row in zip(samples, rows, strict=True):
                total = len(entry["tokens"])
                span = padded if qkv_format == "bshd" else total
                chunk = -(-span // (2 * cp_size))
                held = zigzag_positions(total, entry["response_length"], chunk, cp_rank, cp_size)
                sliced[name].append([row[position] for position in held] if name in SLICED else row)
        extra = {"max_seq_lens": [padded] * len(samples)} if qkv_format == "bshd" else {}
        content = train_columns(samples, series=sliced, **(extra | columns))
        layout: dict[str, Any] = {"cp_rank": cp_rank, "cp_size": cp_size, "qkv_format": qkv_format}
        if legacy:
            layout = dict.fromkeys(layout)
        train_pack(root, content, step=step, rank=cp_rank, **layout)


def columns_file(root: Path, samples: Sequence[Mapping[str, Any]], *, step: int = 0, evaluation: bool = False, age_s: float = AN_HOUR_S) -> Path:  # fmt: skip
    """Writes dashboard_columns/rollout_[eval_]{step}.parquet as Miles does."""
    path = root / "dashboard_columns" / f"rollout_{'eval_' if evaluation else ''}{step}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "sample_index": entry["index"],
            "response_length": entry["response_length"],
            "total_length": len(entry["tokens"]),
            "tokens": list(entry["tokens"]),
            "loss_mask": entry["loss_mask"],
            "rollout_log_probs": entry["rollout_log_probs"],
        }
        for entry in samples
    ]
    schema = {
        "sample_index": pl.Int32,
        "response_length": pl.Int32,
        "total_length": pl.Int32,
        "tokens": pl.List(pl.Int32),
        "loss_mask": pl.List(pl.Int8),
        "rollout_log_probs": pl.List(pl.Float32),
    }
    pl.DataFrame(rows, schema=schema).write_parquet(path, row_group_size=8)
    return aged(path, age_s)


def conversation(entry: Mapping[str, Any], messages: Sequence[Any], **fields: Any) -> dict[str, Any]:  # fmt: skip
    """A sidecar row of a sample."""
    reward = entry["reward"]
    return {
        "sample_index": entry["index"],
        "group_index": entry["group_index"],
        "status": entry["status"],
        "reward": None if isinstance(reward, dict) else reward,
        "prompt": entry["prompt"],
        "messages": list(messages),
    } | fields


def conversations_file(root: Path, lines: Sequence[Any], *, step: int = 0, evaluation: bool = False, tail: str = "", age_s: float = AN_HOUR_S) -> Path:  # fmt: skip
    """Writes trajectory/[eval_]{step}.jsonl; a line that is a str is written as it is; `tail` has no newline."""
    path = root / "trajectory" / f"{'eval_' if evaluation else ''}{step}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [
        line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines
    ]
    path.write_text("".join(f"{text}\n" for text in texts) + tail, encoding="utf-8")
    return aged(path, age_s)


def float32(values: Sequence[float]) -> list[float]:
    """The same numbers as float32 holds them."""
    return [float(value) for value in np.asarray(values, dtype=np.float32)]
