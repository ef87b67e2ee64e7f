"""The `run` table: one row that says what the run is."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLIC_WANDB_HOST = "https://wandb.ai"


@dataclass(frozen=True)
class RunParts:
    """What the row is made of.

    Attributes:
        run_name: of meta.json; null without telemetry.
        start_ts: of meta.json.
        schema_version: of meta.json.
        args: of meta.json.
        t0: earliest record of all streams; null without any.
        t1: latest.
        records: how many records of each stream count.
        data_buffer_length: of the last report.
        has_tokenizer: whether the dump holds one.
        n_steps: visible train steps.
        n_eval_steps: visible evaluations.
    """

    run_name: str | None
    start_ts: float | None
    schema_version: int | None
    args: Mapping[str, Any]
    t0: float | None
    t1: float | None
    records: Mapping[str, int]
    data_buffer_length: int | None
    has_tokenizer: bool
    n_steps: int
    n_eval_steps: int


def run_table(parts: RunParts, health: pl.DataFrame) -> pl.DataFrame:
    """One row of the `run` table.

    Args:
        parts: what is known.
        health: the health stream in file order.
    """
    row = {
        "run_name": parts.run_name,
        "start_ts": parts.start_ts,
        "t0": parts.t0,
        "t1": parts.t1,
        "state": run_state(health, parts.t1),
        "schema_version": parts.schema_version,
        "args": json.dumps(_finite(parts.args), ensure_ascii=False),
        "wandb_url": wandb_url(parts.args),
        "data_buffer_length": parts.data_buffer_length,
        "has_metrics": bool(parts.records.get("metrics")),
        "has_timeline": bool(parts.records.get("phases") or parts.records.get("gpu_util")),
        "has_engine_series": bool(parts.records.get("engine_series")),
        "has_tokenizer": parts.has_tokenizer,
        "n_steps": parts.n_steps,
        "n_eval_steps": parts.n_eval_steps,
    }
    return pl.DataFrame([row], schema=table_schema("run"))


def run_state(health: pl.DataFrame, t1: float | None) -> str:
    """The state "finished" after a collector_stopped event that nothing follows, else "unknown".

    Args:
        health: the health stream in file order.
        t1: latest record of all streams.
    """
    if not health.height or t1 is None:
        return "unknown"
    last = health.row(-1, named=True)
    ended = last["event"] == "collector_stopped" and last["ts"] >= t1
    return "finished" if ended else "unknown"


def wandb_url(args: Mapping[str, Any]) -> str | None:
    """Where the run is on Weights & Biases; null if team, project or run id is missing."""
    place = [args.get(name) for name in ("wandb_team", "wandb_project", "wandb_run_id")]
    if not all(isinstance(part, str) and part for part in place):
        return None
    host = args.get("wandb_host")
    if not isinstance(host, str) or not host:
        host = PUBLIC_WANDB_HOST
    elif not host.startswith(("https://", "http://")):
        host = f"https://{host}"  # whatever else it is, a link to it must be harmless
    return "/".join((host.rstrip("/"), str(place[0]), str(place[1]), "runs", str(place[2])))


def _finite(value: Any) -> Any:
    """The value with null for what JSON cannot say: NaN and infinities."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
