"""A large run of telemetry alone: every GPU and rank of a fleet, written by polars."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

T = 1770157200.0
GPUS_A_NODE = 8
STEP_S = 180.0
ENGINE_METRICS = ("sglang_num_running_reqs", "sglang_gen_throughput", "sglang_token_usage", "sglang_cache_hit_rate")  # fmt: skip
HOUR_S = 3600


def fleet_run(dump: Path, *, gpus: int, seconds: int, interval_s: int = 5) -> Path:
    """Writes a run: three of four nodes train, the others roll out.

    Args:
        dump: folder to make.
        gpus: a multiple of 32.
        seconds: of the run.
        interval_s: between readings of a GPU.
    """
    board = dump / "dashboard"
    nodes = [f"10.3.{i // 250}.{i % 250 + 1}" for i in range(gpus // GPUS_A_NODE)]
    n_train = len(nodes) * 3 // 4
    rng = np.random.default_rng(0)
    for stream in ("gpu_util", "phases", "engine_series"):
        (board / stream).mkdir(parents=True, exist_ok=True)
    _gpu_util(board, nodes, n_train, seconds, interval_s, rng)
    _phases(board, nodes[:n_train], seconds, rng)
    _engines(board, nodes[n_train:], seconds, rng)
    meta = {"run_name": f"fleet of {gpus}", "start_ts": T, "args": {}, "schema_version": 1}
    (board / "meta.json").write_text(json.dumps(meta))
    steps = [
        {"ts": T + (n + 1) * STEP_S, "step_key": "rollout/step", "step": n, "metrics": {"perf/step_time": STEP_S, "perf/wait_time_ratio": 0.5}}
        for n in range(int(seconds // STEP_S))
    ]  # fmt: skip
    (board / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in steps))
    return dump


def _gpu_util(board, nodes, n_train, seconds, interval_s, rng) -> None:
    n = len(nodes) * GPUS_A_NODE
    ticks = np.arange(0, seconds, interval_s, dtype=float)
    names = np.repeat(nodes, GPUS_A_NODE)
    trains = np.repeat(np.arange(len(nodes)) < n_train, GPUS_A_NODE)
    for hour in range((seconds + HOUR_S - 1) // HOUR_S):
        inside = ticks[(ticks >= hour * HOUR_S) & (ticks < (hour + 1) * HOUR_S)]
        ts = np.repeat(inside, n)
        is_late = (ts % STEP_S) > STEP_S / 2
        busy = is_late == np.tile(trains, len(inside))
        frame = pl.DataFrame({
            "ts": T + ts,
            "node": np.tile(names, len(inside)),
            "gpu": np.tile(np.arange(n) % GPUS_A_NODE, len(inside)),
            "util": np.where(busy, rng.integers(85, 100, len(ts)), rng.integers(0, 4, len(ts))),
            "mem_mb": 40_000 + np.tile(np.arange(n) % 90, len(inside)),
            "power_w": np.where(busy, 600, 90) + rng.integers(0, 50, len(ts)),
        })  # fmt: skip
        frame.write_ndjson(board / "gpu_util" / f"20260203_{22 + hour:02d}.jsonl")


def _phases(board, nodes, seconds, rng) -> None:
    rows = []
    for step in range(int(seconds // STEP_S)):
        start = T + step * STEP_S
        for rank in range(len(nodes) * GPUS_A_NODE):
            late = start + STEP_S / 2 + float(rng.random())
            place = {"node": nodes[rank // GPUS_A_NODE], "gpus": [rank % GPUS_A_NODE], "rank": rank, "role": "train"}  # fmt: skip
            rows.append({"name": "train_wait", "t0": start, "t1": late, **place})
            rows.append({"name": "actor_train", "t0": late, "t1": start + STEP_S - 5, **place})
            rows.append({"name": "update_weights", "t0": start + STEP_S - 5, "t1": start + STEP_S, **place})  # fmt: skip
    pl.DataFrame(rows).write_ndjson(board / "phases" / "20260203_22.jsonl")


def _engines(board, nodes, seconds, rng) -> None:
    engines = [
        {"addr": f"http://{node}:15000", "worker_type": "regular", "engine_rank": i, "gpus": [[node, g] for g in range(GPUS_A_NODE)], "gpu_uuids": [None] * GPUS_A_NODE}
        for i, node in enumerate(nodes)
    ]  # fmt: skip
    (board / "topology.jsonl").write_text(json.dumps({"ts": T, "engines": engines}) + "\n")
    ticks = np.arange(0, seconds, 10, dtype=float)
    each = len(engines) * len(ENGINE_METRICS)
    ts = np.repeat(ticks, each)
    pl.DataFrame({
        "ts": T + ts,
        "addr": np.tile(np.repeat([one["addr"] for one in engines], len(ENGINE_METRICS)), len(ticks)),
        "metric": np.tile(ENGINE_METRICS, len(engines) * len(ticks)),
        "labels": [{"engine_type": "unified"}] * len(ts),
        "value": np.where(ts % STEP_S < STEP_S / 2, rng.integers(1, 64, len(ts)), 0).astype(float),
    }).write_ndjson(board / "engine_series" / "20260203_22.jsonl")  # fmt: skip
