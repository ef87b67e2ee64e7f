"""Which file of a stream a record belongs to."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath

from miles_report.schema.streams import OPEN_END, STREAMS, PhaseRecord, Record

PARTITION_FORMAT = "%Y%m%d_%H"
HOUR_S = 3600.0
MAX_PLACES = 1024
"""Names remembered; more distinct hours than this come only from broken clocks."""


def partition_key(ts: float) -> str:
    """The name of the UTC hour a timestamp lies in, such as 20260203_23.

    Raises:
        ValueError: the timestamp is not finite or lies outside the years 1 to 9999.
    """
    try:
        return datetime.fromtimestamp(ts, UTC).strftime(PARTITION_FORMAT).rjust(11, "0")
    except (OverflowError, OSError) as cause:
        raise ValueError(f"no hour holds the timestamp {ts}") from cause


def partition_ts(record: Record) -> float:
    """The timestamp that names a record's partition: its own, but the end of a phase that has ended."""
    if isinstance(record, PhaseRecord):
        return record.t0 if record.t1 == OPEN_END else record.t1
    return record.ts


def stream_file(stream: str, record: Record) -> PurePosixPath:
    """Where in `dashboard/` a record of a stream is appended."""
    if not STREAMS[stream].partitioned:
        return PurePosixPath(f"{stream}.jsonl")
    return PurePosixPath(stream) / f"{partition_key(partition_ts(record))}.jsonl"


class Partitioner:
    """`stream_file` for many records: a name is made once an hour and stream, not once a record."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, float], str] = {}

    def place(self, stream: str, record: Record) -> str:
        """Where in `dashboard/` a record of a stream is appended.

        Raises:
            ValueError: its timestamp names no partition.
        """
        key = (stream, partition_ts(record) // HOUR_S)
        place = self._places.get(key)
        if place is None:
            place = str(stream_file(stream, record))
            if len(self._places) >= MAX_PLACES:
                self._places.clear()
            self._places[key] = place
        return place
