"""Files of a telemetry stream into frames, and into the extremes of their timestamps.

Polars reads whole blocks. Where it refuses one (a bare NaN, a damaged line, a wrong type) only that block is read line by
line: lines that make sense count, the others are told by number. Rows keep the order of the files: the flat one first,
then the partitions, lines as written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.schema.streams import OPEN_END
from miles_report.sources.complete_lines import Block, LineFile
from miles_report.sources.stream_shapes import BadLineError, Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from miles_report.notices import Notice
    from miles_report.sources.folders import FileStamp


@dataclass(frozen=True)
class TimeBounds:
    """The true extremes of a stream.

    Attributes:
        first_ts: earliest timestamp of any line.
        last_ts: latest.
        n_records: lines that count.
    """

    first_ts: float
    last_ts: float
    n_records: int


def stream_frames(
    files: Iterable[FileStamp], stream: str, *, notices: list[Notice]
) -> Iterator[pl.DataFrame]:
    """The records of a stream, a block at a time.

    Args:
        files: its files, in reading order.
        stream: a name of `STREAMS` other than metrics.
        notices: gets what was left out, once a file is exhausted.

    Yields:
        Frames of the record's fields, in file order; never empty. Required fields are never null and timestamps are
        finite; other fields are null where a line lacks them.
    """
    shape = shape_of(stream)
    for stamp in files:
        source = LineFile(stamp)
        for block in source.blocks():
            frame = _read_block(block, shape, source)
            if frame.height:
                yield frame
        notices.extend(source.notices())


def read_stream(files: Iterable[FileStamp], stream: str, *, notices: list[Notice]) -> pl.DataFrame:
    """All records of a stream as one frame; see `stream_frames`. Without files: no rows."""
    frames = list(stream_frames(files, stream, notices=notices))
    return pl.concat(frames) if frames else shape_of(stream).empty()


def frame_bounds(frame: pl.DataFrame, stream: str) -> TimeBounds | None:
    """The extremes of the timestamps of a frame of `stream_frames`; null if it is empty.

    The end of a phase that is still open counts for nothing, its start does.
    """
    columns = [frame[name] for name in shape_of(stream).ts_fields]
    stamps = pl.concat([column.rename("ts") for column in columns])
    if stream == "phases":
        stamps = stamps.filter(stamps != OPEN_END)
    low, high = stamps.min(), stamps.max()
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    return TimeBounds(low, high, frame.height)


def join_bounds(a: TimeBounds | None, b: TimeBounds | None) -> TimeBounds | None:
    """The extremes of both; null if both are."""
    if a is None or b is None:
        return a or b
    return TimeBounds(
        min(a.first_ts, b.first_ts), max(a.last_ts, b.last_ts), a.n_records + b.n_records
    )


def _read_block(block: Block, shape: Shape, source: LineFile) -> pl.DataFrame:
    frame = _read_whole(block.data, shape)
    return _read_lines(block, shape, source) if frame is None else frame


def _read_whole(data: bytes, shape: Shape) -> pl.DataFrame | None:
    """The lines as a frame; null if any of them is not what it should be."""
    try:
        frame = pl.read_ndjson(data, schema=dict(shape.columns))
    except pl.exceptions.PolarsError:
        return None
    return frame if shape.is_sound(frame) else None


def _read_lines(block: Block, shape: Shape, source: LineFile) -> pl.DataFrame:
    """The lines that make sense; the others are told to `source`.

    Lines with a bare NaN or Infinity, which JSON and polars do not know, are set apart first: an engine that reports one
    does so in every scrape.
    """
    lines = list(block.lines())
    is_odd = [b"NaN" in line or b"Infinity" in line for _, line in lines]
    rows, places = [], []
    plain = None
    if any(is_odd):
        usual = [line for (_, line), odd in zip(lines, is_odd, strict=True) if not odd]
        plain = _read_whole(b"\n".join(usual), shape) if usual else None
    for place, ((number, line), odd) in enumerate(zip(lines, is_odd, strict=True)):
        if odd or plain is None:
            try:
                rows.append(shape.row_of(line))
                places.append(place)
            except BadLineError as cause:
                source.bad_line(number, str(cause))
    single = _frame_of(rows, shape)
    if plain is None:
        return single
    usual_places = [place for place, odd in enumerate(is_odd) if not odd]
    order = pl.Series(places + usual_places).arg_sort()
    return pl.concat([single, plain])[order]


def _frame_of(rows: list[dict[str, Any]], shape: Shape) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict(shape.columns))
