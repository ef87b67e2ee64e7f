"""Telemetry on disk: records through the product's own appender, or raw lines where they must be broken."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from miles_report.schema.streams import (
    DataBufferRecord,
    EngineRecord,
    EngineSample,
    GpuProcess,
    GpuSample,
    HealthEvent,
    MetricsRecord,
    PhaseRecord,
    TopologyRecord,
    TrajectoryEvent,
)
from miles_report.sources.folders import FileStamp
from miles_report.streams.appender import StreamAppender

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from miles_report.schema.streams import Record

T = 1770161400.0
"""2026-02-03 23:30:00 UTC: half an hour before a new partition, and a new day."""

ONE_OF_EACH: dict[str, Record] = {
    "metrics": MetricsRecord(
        T,
        "rollout/step",
        3,
        {"a/loss": 0.5, "a/name": "x", "a/flag": True, "a/n": 3, "a/none": None},
    ),
    "topology": TopologyRecord(
        T,
        (
            EngineRecord(
                "http://n:1", "regular", 0, (("fe80::1", 0), ("fe80::1", 1)), ("GPU-a", None)
            ),
            EngineRecord("http://x:2", "external", -1, (), ()),
        ),
    ),
    "data_buffer": DataBufferRecord(T, 7),
    "health": HealthEvent(T, "check_failed", "default", 1, "http://n:1", "n", 0.25, "no </script>"),
    "phases": PhaseRecord("train", T, T + 7200.0, "n", (0, 1), 3, "train"),
    "gpu_util": GpuSample(T, "n", 0, 99, 70000, 640),
    "gpu_processes": GpuProcess(T, "n", 0, 4711, "pythön", 70000),
    "engine_series": EngineSample(T, "http://n:1", "sglang_token_usage", {"dp_rank": "0"}, 0.75),
    "trajectories": TrajectoryEvent(T, "gen_start", 5, 1, 1, "12", ""),
}


def write_stream(dump: Path, stream: str, records: Iterable[Record]) -> None:
    StreamAppender(dump / "dashboard").append(stream, records)


def write_telemetry(dump: Path, **streams: Iterable[Record]) -> Path:
    """A dump of nothing but telemetry; also makes `dashboard` without any stream."""
    (dump / "dashboard").mkdir(parents=True, exist_ok=True)
    for stream, records in streams.items():
        write_stream(dump, stream, records)
    return dump


def write_meta(dump: Path, **meta: object) -> Path:
    path = dump / "dashboard" / "meta.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(meta))
    return path


def stamp(path: Path, name: str = "s.jsonl") -> FileStamp:
    """The file as a listing would freeze it now."""
    status = os.stat(path)  # noqa: PTH116 - follows links as the listing does
    return FileStamp(path, name, status.st_size, status.st_mtime_ns)


def stamp_of(path: Path, content: bytes, name: str = "s.jsonl") -> FileStamp:
    """Writes a file and stamps it."""
    path.write_bytes(content)
    return stamp(path, name)


def set_age(path: Path, seconds: float, *, now: float) -> None:
    os.utime(path, (now - seconds, now - seconds))


def life(
    sample: int,
    *events: tuple[float, str, int]
    | tuple[float, str, int, str]
    | tuple[float, str, int, str, str],
    group: int = 0,
) -> list[TrajectoryEvent]:
    """Events of a sample from (ts, kind, turn[, weight_version[, detail]])."""
    return [
        TrajectoryEvent(event[0], event[1], sample, group, event[2], *((*event[3:], "", "")[:2]))
        for event in events
    ]
