"""All telemetry of a dump that run-wide tables need, each file read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.notices import Notice
from miles_report.sources.meta import read_meta
from miles_report.sources.metrics_stream import read_metrics
from miles_report.sources.stream_files import (
    frame_bounds,
    join_bounds,
    read_stream,
    stream_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from miles_report.sources.files import DumpFiles
    from miles_report.sources.meta import RunMeta
    from miles_report.sources.metrics_stream import LoggedMetrics
    from miles_report.sources.stream_files import TimeBounds

WHOLE = ("trajectories", "health", "data_buffer")
"""Streams kept as frames; of the others only the extremes are read."""


@dataclass(frozen=True)
class Telemetry:
    """What the streams of a dump say about the run.

    Attributes:
        meta: of meta.json.
        metrics: all logged values.
        trajectories: lifecycle events in file order.
        health: health events in file order.
        data_buffer: reports in file order.
        bounds: extremes of each stream that has a record.
        notices: what was left out, sorted.
    """

    meta: RunMeta
    metrics: LoggedMetrics
    trajectories: pl.DataFrame
    health: pl.DataFrame
    data_buffer: pl.DataFrame
    bounds: Mapping[str, TimeBounds]
    notices: tuple[Notice, ...]

    @property
    def overall(self) -> TimeBounds | None:
        """The extremes over all streams; null without a record."""
        joined = None
        for bounds in self.bounds.values():
            joined = join_bounds(joined, bounds)
        return joined


def read_telemetry(files: DumpFiles) -> Telemetry:
    """Reads the telemetry of a dump; without any all frames are empty."""
    notices: list[Notice] = []
    meta = read_meta(files.meta, notices=notices)
    metrics = read_metrics(files.streams.get("metrics", ()), notices=notices)
    whole = {
        name: read_stream(files.streams.get(name, ()), name, notices=notices) for name in WHOLE
    }
    found = {"metrics": metrics.bounds}
    found |= {name: frame_bounds(frame, name) for name, frame in whole.items()}
    for name, stamps in files.streams.items():
        if name not in found:
            found[name] = stream_bounds(stamps, name, notices=notices)
    bounds = {name: stream for name, stream in found.items() if stream is not None}
    return Telemetry(
        meta=meta,
        metrics=metrics,
        trajectories=whole["trajectories"],
        health=whole["health"],
        data_buffer=whole["data_buffer"],
        bounds=bounds,
        notices=tuple(sorted([*notices, *_absences(files, bounds)])),
    )


def _absences(files: DumpFiles, bounds: Mapping[str, TimeBounds]) -> list[Notice]:
    """What a run may have and this one has not, with what it costs."""
    missing = []
    if not bounds and files.meta is None:
        missing.append(
            Notice(
                "no-collector",
                "info",
                "dashboard",
                "No telemetry was recorded: name, start and arguments of the run are unknown, and there are no metrics, GPU "
                "timelines or request lifecycles. Aggregates of the dumps stand in for metrics.",
                "Run the collector beside the next run.",
            )
        )
    else:
        lacks = {
            "metrics": "No metric was logged to the dump; aggregates of the dumps stand in.",
            "phases": "No phases were recorded: what each process was doing is unknown.",
            "gpu_util": "No GPU samples were recorded: utilisation, memory and power are unknown.",
            "engine_series": "No engine metrics were scraped: advice about engines is not possible.",
            "trajectories": "No request lifecycles were recorded.",
        }
        missing += [
            Notice(
                f"no-{name}", "info", "dashboard", message, "Run the collector with it turned on."
            )
            for name, message in lacks.items()
            if name not in bounds
        ]
    if (files.rollouts or files.eval_rollouts) and not files.tokenizer:
        missing.append(
            Notice(
                "no-tokenizer",
                "info",
                "tokenizer",
                "The dump has no tokenizer, so tokens are shown by number and have no text.",
                "Copy the model's tokenizer.json into the folder tokenizer of the dump.",
            )
        )
    if files.rollouts and not files.conversations:
        missing.append(
            Notice(
                "no-conversations",
                "info",
                "trajectory",
                "No conversations were recorded: samples show their tokens only.",
                "None for a run of plain prompts.",
            )
        )
    untrained = [step for step in files.rollouts if step not in files.train]
    if untrained:
        missing.append(
            Notice(
                "no-train-files",
                "info",
                "train_data",
                f"{len(untrained)} of {len(files.rollouts)} steps have no train files, the first is {untrained[0]}: trainer log "
                "probs, entropy, advantages and returns are unknown there.",
                "None for a run that only generated, or that is still training the step.",
            )
        )
    return missing
