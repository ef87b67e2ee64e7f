"""The streams of a dump, read by window and block by block, with what was read lately kept in memory.

A partition that cannot overlap the window is not opened. Small runs fit into the store and are parsed once; of a large one
only blocks are held, and a second reader parses again. What is broken is told once, whoever reads it first.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING

import polars as pl

from miles_report.sources.lane_codes import LaneCodes
from miles_report.sources.partition_span import partition_span
from miles_report.sources.stream_files import frame_bounds, join_bounds, stream_frames
from miles_report.sources.stream_shapes import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from miles_report.notices import Notice
    from miles_report.sources.folders import FileStamp
    from miles_report.sources.stream_files import TimeBounds

STORE_BYTES = 128 << 20
"""Of frames: 128 GPUs for half a day, or a worker's share of memory."""

BY_TS = ("gpu_util", "gpu_processes", "engine_series", "trajectories")
"""Streams whose partition follows from the ts of a record alone."""

FileKey = tuple[str, str]
"""(stream, file)."""


class StreamStore:
    """Reads the streams of one dump; frames of gpu_util come with lane numbers, see `lanes`.

    Args:
        streams: files of each stream, in reading order.
        notices: gets what was left out of a file, once.
        store_bytes: of frames that may be kept.
    """

    def __init__(
        self,
        streams: Mapping[str, tuple[FileStamp, ...]],
        *,
        notices: list[Notice],
        store_bytes: int = STORE_BYTES,
    ) -> None:
        self._streams = streams
        self._notices = notices
        self._store_bytes = store_bytes
        self._kept: OrderedDict[FileKey, tuple[pl.DataFrame, float]] = OrderedDict()
        self._bounds: dict[FileKey, TimeBounds | None] = {}
        self._spans: dict[FileKey, tuple[float, float] | None] = {}
        self.lanes = LaneCodes()

    def frames(
        self, stream: str, *, t0: float | None = None, t1: float | None = None
    ) -> Iterator[pl.DataFrame]:
        """The records of a stream, a block at a time, in file order; never empty frames.

        Args:
            stream: a name of `STREAMS` other than metrics.
            t0: files that end before it are passed over; rows before it are not.
            t1: the same for files that begin after it.

        Yields:
            Columns as in `shape_of`, of gpu_util as in `CODED`.
        """
        for stamp in self._streams.get(stream, ()):
            if not self._is_outside((stream, stamp.name), stamp, t0, t1):
                yield from self._file(stream, stamp)

    def between(self, stream: str, t0: float | None, t1: float | None) -> Iterator[pl.DataFrame]:
        """The records with t0 <= ts <= t1, as `frames` gives them; for streams with a ts."""
        for frame in self.frames(stream, t0=t0, t1=t1):
            inside = frame
            if t0 is not None:
                inside = inside.filter(pl.col("ts") >= t0)
            if t1 is not None:
                inside = inside.filter(pl.col("ts") <= t1)
            if inside.height:
                yield inside

    def empty(self, stream: str) -> pl.DataFrame:
        """No records of a stream."""
        return shape_of(stream).empty()

    def bounds(self, stream: str) -> TimeBounds | None:
        """Extremes of a stream whose every file has been read; null without a record."""
        total: TimeBounds | None = None
        for stamp in self._streams.get(stream, ()):
            total = join_bounds(total, self._bounds[stream, stamp.name])
        return total

    def _file(self, stream: str, stamp: FileStamp) -> Iterator[pl.DataFrame]:
        key = (stream, stamp.name)
        if key in self._kept:
            self._kept.move_to_end(key)
            yield self._kept[key][0]
            return
        trouble: list[Notice] = []
        blocks: list[pl.DataFrame] = []
        n_bytes = 0.0
        bounds: TimeBounds | None = None
        for block in stream_frames([stamp], stream, notices=trouble):
            frame = self.lanes.encode(block) if stream == "gpu_util" else block
            bounds = join_bounds(bounds, frame_bounds(frame, stream))
            n_bytes += frame.estimated_size()
            blocks = [*blocks, frame] if n_bytes <= self._store_bytes else []
            yield frame
        if key not in self._bounds:
            self._bounds[key] = bounds
            self._notices.extend(trouble)
        if blocks:
            self._keep(key, pl.concat(blocks, how="vertical_relaxed"), n_bytes)

    def _keep(self, key: FileKey, frame: pl.DataFrame, n_bytes: float) -> None:
        self._kept[key] = frame, n_bytes
        while sum(size for _, size in self._kept.values()) > self._store_bytes:
            self._kept.popitem(last=False)

    def _is_outside(
        self, key: FileKey, stamp: FileStamp, t0: float | None, t1: float | None
    ) -> bool:
        """Whether no record of the file can lie in the window."""
        if key[0] not in BY_TS or (t0 is None and t1 is None):
            return False
        if key in self._bounds:
            bounds = self._bounds[key]
            if bounds is None:
                return True
            first, last = bounds.first_ts, bounds.last_ts
        else:
            if key not in self._spans:
                self._spans[key] = partition_span(stamp)
            span = self._spans[key]
            if span is None:
                return False
            first, last = span[0], math.nextafter(span[1], span[0])
        return (t0 is not None and last < t0) or (t1 is not None and first > t1)
