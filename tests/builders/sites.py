"""Dumps of chosen size for builds, and ways to look at a built site.

small_run(root, steps=50)                  # 50 steps of two samples
large_step(root, 0)                        # 512 samples of a median of 2,500 tokens, as a real step has
published(site)                            # {path: content} of everything that is published
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from builders.dumps import (
    columns_file,
    conversation,
    conversations_file,
    rollout_dump,
    sample,
    train_columns,
    train_dump,
    train_pack,
)

from miles_report.site.writer import STATE_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

RANKS = 4
VOCABULARY = 150_000
LONGEST = 16_384


def small_run(root: Path, *, steps: int, first: int = 0) -> Path:
    """Writes steps of two samples of one group each, the rewards unequal."""
    for step in range(first, first + steps):
        samples = [
            sample(
                2 * step + number,
                group_index=step,
                reward=float(number),
                response=[7, 8 + step % 5, 9],
            )
            for number in range(2)
        ]
        rollout_dump(root, samples, step=step)
        train_dump(root, samples, step=step)
    return root


def large_step(
    root: Path, step: int, *, samples: int = 512, median_tokens: int = 2500, seed: int = 0
) -> Path:
    """Writes one step of random content at full size: rollout, four train shards, token columns, some conversations."""
    rng = np.random.default_rng((seed, step))
    entries = [_entry(step * samples + number, median_tokens, rng) for number in range(samples)]
    rollout_dump(root, entries, step=step)
    columns_file(root, entries, step=step)
    for rank in range(RANKS):
        rows = entries[rank::RANKS]
        columns = train_columns(rows, batch=entries, series=_series(rows, rng))
        train_pack(root, columns, step=step, rank=rank)
    talks = [
        conversation(entry, [{"role": "assistant", "content": entry["response"]}])
        for entry in entries[::8]
    ]
    conversations_file(root, talks, step=step)
    return root


def _entry(index: int, median_tokens: int, rng: np.random.Generator) -> dict[str, Any]:
    length = int(np.clip(rng.lognormal(np.log(median_tokens), 0.9), 8, LONGEST))
    prompt = int(rng.integers(60, 900))
    tokens = rng.integers(0, VOCABULARY, prompt + length).tolist()
    masked = index % 8 == 0
    mask = (
        [int(not length // 3 <= place < length // 2) for place in range(length)] if masked else None
    )
    entry = sample(
        index,
        prompt=tokens[:prompt],
        response=tokens[prompt:],
        group_index=index // 8,
        reward=float(rng.random() < 0.45),
        loss_mask=mask,
        rollout_log_probs=(-rng.exponential(0.4, length)).tolist(),
        status="truncated" if length == LONGEST else "completed",
    )
    return entry | {"response": "word " * (length // 2)}


def _series(rows: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, list[Any]]:
    rollout = [np.asarray(entry["rollout_log_probs"], np.float32) for entry in rows]
    noise = [rng.normal(0, 0.02, len(row)).astype(np.float32) for row in rollout]
    level = [np.full(len(row), rng.normal(), np.float32) for row in rollout]
    return {
        "rollout_log_probs": rollout,
        "log_probs": [row + part for row, part in zip(rollout, noise, strict=True)],
        "ref_log_probs": [row + 2 * part for row, part in zip(rollout, noise, strict=True)],
        "entropy": [rng.exponential(0.5, len(row)).astype(np.float32) for row in rollout],
        "advantages": level,
        "returns": level,
    }


def published(site: Path) -> dict[str, bytes]:
    """Every published file of a site by path."""
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and STATE_FOLDER not in path.relative_to(site).parts
    }
