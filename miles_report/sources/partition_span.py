"""Which stretch of time a partition of a stream can hold, without reading it.

The name says the hour. It is believed only if the first and the last whole line of the file lie in it: what someone
copied together, or wrote by another clock, is read whole instead of being missed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from miles_report.sources.stream_shapes import BadLineError, parse_object

if TYPE_CHECKING:
    from miles_report.sources.folders import FileStamp

PARTITION_STEM = re.compile(r"([0-9]{8})_([0-9]{2})")
HOUR_S = 3600.0
EDGE_BYTES = 1 << 16
"""More than any line of a stream that is partitioned by its own ts."""


def partition_span(stamp: FileStamp) -> tuple[float, float] | None:
    """The hour [first, end) that a partition's records lie in, Unix seconds; null if that cannot be told."""
    hour = _hour(stamp.path.stem)
    if hour is None:
        return None
    try:
        edges = _edges(stamp)
    except OSError:
        return None
    stamps = [_ts(line) for line in edges]
    if not stamps or not all(ts is not None and hour <= ts < hour + HOUR_S for ts in stamps):
        return None
    return hour, hour + HOUR_S


def _hour(stem: str) -> float | None:
    match = PARTITION_STEM.fullmatch(stem)
    if match is None:
        return None
    try:
        return (
            datetime.strptime(f"{match[1]}{match[2]}", "%Y%m%d%H").replace(tzinfo=UTC).timestamp()
        )
    except ValueError:
        return None


def _edges(stamp: FileStamp) -> list[bytes]:
    """The first and the last whole line; nothing if either is longer than an edge."""
    with stamp.path.open("rb") as file:
        head = file.read(min(EDGE_BYTES, stamp.size))
        start = max(stamp.size - EDGE_BYTES, 0)
        file.seek(start)
        tail = file.read(stamp.size - start)
    end = head.find(b"\n")
    last = tail.rfind(b"\n")
    begin = tail.rfind(b"\n", 0, max(last, 0)) + 1
    if end < 0 or last < 0 or (begin == 0 and start > 0):
        return []
    return [head[:end], tail[begin:last]]


def _ts(line: bytes) -> float | None:
    try:
        value = parse_object(line).get("ts")
    except BadLineError:
        return None
    return float(value) if isinstance(value, float) else None
