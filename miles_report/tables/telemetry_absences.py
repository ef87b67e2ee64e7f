"""What the telemetry of a run does not hold, or holds in a form that limits what can be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.notices import Notice
from miles_report.tables.advisory_inputs import CACHE_HIT_RATE, RUNNING, TOKEN_USAGE
from miles_report.tables.words import duration, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from miles_report.notices import Severity

EXPECTED_METRICS = (
    RUNNING,
    "sglang_gen_throughput",
    TOKEN_USAGE,
    CACHE_HIT_RATE,
)
"""Engine metrics that charts and advice are made of."""


@dataclass(frozen=True)
class Recorded:
    """What the telemetry of a run holds.

    Attributes:
        records: phase records of the whole run.
        topology: the `topology` table.
        gpu_lanes: `Survey.gpu_lanes`.
        metrics: the `engine_metrics` table.
        start_ts: start of the last attempt.
    """

    records: pl.DataFrame
    topology: pl.DataFrame
    gpu_lanes: pl.DataFrame
    metrics: pl.DataFrame
    start_ts: float | None


def telemetry_absences(recorded: Recorded) -> list[Notice]:
    """One notice for each part of the telemetry that is absent or limited; for runs that have telemetry."""
    return [
        *_phases(recorded),
        *_gpus(recorded.gpu_lanes),
        *_engines(recorded),
        *_topology(recorded),
    ]


def _phases(recorded: Recorded) -> Iterator[Notice]:
    if not recorded.records.height:
        yield _told(
            "no-phases",
            "dashboard/phases",
            "No phases were recorded: what the GPUs were used for, and where the time of a step went, is not known.",
            "Phases are recorded by ranks that run with --use-miles-dashboard.",
        )
    if recorded.start_ts is None:
        return
    stale = recorded.records.filter(pl.col("open") & (pl.col("t0") < recorded.start_ts))
    if stale.height:
        longest = stale.select((pl.col("t1") - pl.col("t0")).max()).item()
        yield _told(
            "phases-left-open",
            "dashboard/phases",
            f"{grouped(stale.height)} phases of an earlier attempt never ended, because their processes were killed. They are "
            f"drawn to the end of the run, the longest for {duration(longest)}, under whatever came later.",
            "None: an end was not written.",
        )


def _gpus(gpu_lanes: pl.DataFrame) -> Iterator[Notice]:
    if not gpu_lanes.height:
        yield _told(
            "no-gpu-samples",
            "dashboard/gpu_util",
            "No GPU was sampled: utilization, memory and power are not known.",
            "Samples are taken on nodes where the driver's library is found; look at the collector's log.",
        )
        return
    silent = gpu_lanes.filter(pl.col("n_util") == 0)
    if silent.height:
        yield _told(
            "no-utilization",
            "dashboard/gpu_util",
            f"{_of_gpus(silent.height, gpu_lanes.height)} told no utilization, as is so with MIG: only memory and power are "
            "shown.",
            "None: the driver does not tell it.",
        )
    unpowered = gpu_lanes.filter(pl.col("max_power").fill_null(0) <= 0)
    if unpowered.height:
        yield _told(
            "no-power",
            "dashboard/gpu_util",
            f"{_of_gpus(unpowered.height, gpu_lanes.height)} told no power: 0 W stands for unavailable there, as with some AMD "
            "GPUs.",
            "None: the driver does not tell it.",
        )


def _engines(recorded: Recorded) -> Iterator[Notice]:
    if not recorded.metrics.height:
        yield _told(
            "no-engine-series",
            "dashboard/engine_series",
            "No engine metrics were scraped: there are no engine charts, and advice about the engines is not possible.",
            "Engines are scraped with --use-miles-dashboard once the router or the engines answer /metrics.",
        )
        return
    missing = [name for name in EXPECTED_METRICS if name not in recorded.metrics["metric"]]
    if missing:
        yield _told(
            "metric-never-scraped",
            "dashboard/engine_series",
            f"Never scraped: {', '.join(missing)}. Charts of them are empty, and advice that needs them is not given.",
            "Add them to --dashboard-sglang-metrics.",
        )


def _topology(recorded: Recorded) -> Iterator[Notice]:
    topology = recorded.topology
    has_gpus = topology.filter(pl.col("gpus").list.len() > 0).height > 0
    is_manager = recorded.records.filter(pl.col("role") == "rollout_manager").height > 0
    if not topology.height and (is_manager or recorded.metrics.height):
        yield _told(
            "no-topology",
            "dashboard/topology.jsonl",
            "It was not recorded which engine ran on which GPUs: rollouts are shown on no lane.",
            "Topology is recorded by the scraper of engine metrics.",
        )
    elif topology.height and not has_gpus:
        yield _told(
            "external-engines",
            "dashboard/topology.jsonl",
            "The engines are external and name no GPUs: rollouts are shown on every known lane of their hosts.",
            "None, if engines are run apart from the trainer.",
        )
    moved = (
        topology.group_by("addr")
        .agg(pl.struct("engine_rank", "gpus").n_unique().alias("n"))
        .filter(pl.col("n") > 1)
        .sort("addr")["addr"]
    )
    if moved.len():
        more = f" and {moved.len() - 1} more" if moved.len() > 1 else ""
        yield _told(
            "address-reused",
            "dashboard/topology.jsonl",
            f"Different engines answered at {moved[0]}{more}, one after another: their metrics are one series, to be read with "
            "the topology of the time.",
            "None: addresses are given out again after a recovery.",
        )


def _of_gpus(n: int, total: int) -> str:
    return f"{grouped(n)} of {grouped(total)} GPUs"


def _told(code: str, source: str, message: str, remedy: str, severity: Severity = "info") -> Notice:
    return Notice(code, severity, source, message, remedy)
