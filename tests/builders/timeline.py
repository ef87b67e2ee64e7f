"""Runs of live telemetry in few words: phases, engines, GPU samples, scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builders.streams import T, write_meta, write_telemetry

import miles_report
from miles_report.schema.streams import (
    EngineRecord,
    EngineSample,
    GpuSample,
    MetricsRecord,
    PhaseRecord,
    TopologyRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from miles_report.run import Run

OPEN = -1.0 - T
"""As the end of a phase: it is still open."""


def phase(
    name: str,
    t0: float,
    t1: float,
    *,
    rank: int = 0,
    node: str = "a",
    gpus: tuple[int, ...] | None = None,
) -> PhaseRecord:
    """A phase of a training rank, seconds from T; on the GPU of its rank unless told otherwise."""
    return PhaseRecord(name, T + t0, T + t1, node, (rank,) if gpus is None else gpus, rank, "train")


def managed(name: str, t0: float, t1: float) -> PhaseRecord:
    """A phase of the rollout manager, which has no GPU."""
    return PhaseRecord(name, T + t0, T + t1, "driver", (), -1, "rollout_manager")


def engine(addr: str, *places: tuple[str, int], rank: int = 0) -> EngineRecord:
    """An engine on the GPUs at these places; an external one without any."""
    kind = "regular" if places else "external"
    return EngineRecord(addr, kind, rank if places else -1, places, (None,) * len(places))


def topology(ts: float, *engines: EngineRecord) -> TopologyRecord:
    return TopologyRecord(T + ts, engines)


def readings(node: str, gpu: int, utils: Sequence[int], *, t0: float = 0.0) -> list[GpuSample]:
    """One sample a second from t0 on."""
    return [
        GpuSample(T + t0 + second, node, gpu, util, 1000 + util, 300 + util)
        for second, util in enumerate(utils)
    ]


def scrape(
    metric: str,
    *points: tuple[float, float],
    addr: str = "http://a:1",
    rank: str | None = None,
    kind: str | None = None,
) -> list[EngineSample]:
    """Values of one metric at seconds from T."""
    labels = {}
    if kind is not None:
        labels["engine_type"] = kind
    if rank is not None:
        labels["dp_rank"] = rank
    return [EngineSample(T + ts, addr, metric, labels, value) for ts, value in points]


def logged(ts: float, step: int, **metrics: float) -> MetricsRecord:
    """Values under rollout/step; `step_time=5` logs perf/step_time."""
    return MetricsRecord(
        T + ts, "rollout/step", step, {f"perf/{name}": value for name, value in metrics.items()}
    )


def open_telemetry(
    dump: Path,
    *,
    start: float | None = 0.0,
    args: dict[str, object] | None = None,
    **streams: Iterable,
) -> Run:
    """A run of nothing but telemetry; `start` is meta.start_ts in seconds from T, null for no meta.json."""
    write_telemetry(dump, **streams)
    if start is not None:
        write_meta(dump, run_name="r", start_ts=T + start, args=args or {}, schema_version=1)
    return miles_report.open_run(dump)
