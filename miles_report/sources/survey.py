"""One pass over the partitioned streams: how far they reach, which lanes they show, which metrics they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.sources.lane_codes import CODED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from miles_report.sources.stream_files import TimeBounds
    from miles_report.sources.stream_store import StreamStore

SURVEYED = ("phases", "gpu_util", "gpu_processes", "engine_series")


@dataclass(frozen=True)
class Survey:
    """What the large streams hold, in few rows.

    Attributes:
        bounds: extremes of each that has a record.
        phase_lanes: node, gpu, rank, role of every process that reported a phase on a GPU; each once.
        gpu_lanes: node, gpu, n_samples, n_util (samples with a utilization) and max_power (W; null: never told) of every GPU
            that was sampled.
        engine_metrics: metric and addr of every engine metric that was scraped; each pair once.
    """

    bounds: Mapping[str, TimeBounds]
    phase_lanes: pl.DataFrame
    gpu_lanes: pl.DataFrame
    engine_metrics: pl.DataFrame


def survey_streams(store: StreamStore) -> Survey:
    """Reads each of the streams once, block by block."""
    phase_lanes = _distinct(_phase_lanes(block) for block in store.frames("phases"))
    engine_metrics = _distinct(
        block.select("metric", "addr") for block in store.frames("engine_series")
    )
    readings = [_readings(block) for block in store.frames("gpu_util")]
    for _ in store.frames("gpu_processes"):
        continue
    bounds = {stream: store.bounds(stream) for stream in SURVEYED}
    return Survey(
        bounds={stream: known for stream, known in bounds.items() if known is not None},
        phase_lanes=phase_lanes if phase_lanes.width else _phase_lanes(store.empty("phases")),
        gpu_lanes=_gpu_lanes(readings, store.lanes.lanes),
        engine_metrics=engine_metrics
        if engine_metrics.width
        else store.empty("engine_series").select("metric", "addr"),
    )


def _distinct(blocks: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Distinct rows of all blocks; a frame without columns if there is no block."""
    rows = pl.DataFrame()
    for block in blocks:
        fresh = block.unique(maintain_order=True)
        rows = pl.concat([rows, fresh]).unique(maintain_order=True) if rows.width else fresh
    return rows


def _phase_lanes(phases: pl.DataFrame) -> pl.DataFrame:
    return (
        phases.select("node", pl.col("gpus").alias("gpu"), "rank", "role")
        .filter(pl.col("gpu").list.len() > 0)
        .unique()
        .explode("gpu")
        .filter(pl.col("gpu").is_not_null())
    )


def _readings(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.group_by("lane").agg(
        pl.len().cast(pl.Int64).alias("n_samples"),
        pl.col("util").count().cast(pl.Int64).alias("n_util"),
        pl.col("power_w").max().cast(pl.Int64).alias("max_power"),
    )


def _gpu_lanes(readings: list[pl.DataFrame], lanes: pl.DataFrame) -> pl.DataFrame:
    parts = readings or [_readings(pl.DataFrame(schema=CODED))]
    return (
        pl.concat(parts)
        .group_by("lane")
        .agg(pl.col("n_samples", "n_util").sum(), pl.col("max_power").max())
        .join(lanes, on="lane")
        .select("node", "gpu", "n_samples", "n_util", "max_power")
        .sort("node", "gpu")
    )
