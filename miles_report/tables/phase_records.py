"""The phases stream into intervals with an end: open markers dropped where a closed record took their place.

Two passes, since the record that closes a phase lies in the partition of its end, hours after its marker. The first keeps
what overlaps the window; the second, made only if markers are left, looks for the records that close them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.schema.streams import OPEN_END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KEY = ("node", "rank", "name", "t0")
"""A closed record supersedes the open marker of the same key."""

RECORDS = pl.Schema(
    {
        "order": pl.Int64(),
        "name": pl.String(),
        "t0": pl.Float64(),
        "t1": pl.Float64(),
        "node": pl.String(),
        "gpus": pl.List(pl.Int64()),
        "rank": pl.Int64(),
        "role": pl.String(),
        "open": pl.Boolean(),
    }
)


@dataclass(frozen=True)
class Window:
    """A stretch of time; a null edge reaches as far as there are records."""

    t0: float | None = None
    t1: float | None = None

    def overlaps(self) -> pl.Expr:
        """Whether an interval t0, t1 shares more than an edge with the window."""
        after = pl.lit(value=True) if self.t0 is None else pl.col("t1") > self.t0
        before = pl.lit(value=True) if self.t1 is None else pl.col("t0") < self.t1
        return after & before

    def covers(self, ts: float) -> bool:
        """Whether a moment lies in the window, edges included."""
        return (self.t0 is None or self.t0 <= ts) and (self.t1 is None or ts <= self.t1)


def phase_records(
    blocks: Callable[[], Iterable[pl.DataFrame]],
    window: Window,
    last_ts: Callable[[], float | None],
) -> pl.DataFrame:
    """Phases that overlap the window, not clipped to it.

    Args:
        blocks: gives the phases stream in file order, each time from the start.
        window: which phases to keep.
        last_ts: latest record of the run, where open phases end; asked only if there are any.

    Returns:
        Columns of `RECORDS` by order, which is the place in the stream; gpus is never null.
    """
    closed, marks = _first_pass(blocks(), window)
    marks = _still_open(marks, blocks) if marks.height else marks
    if marks.height:
        ends = pl.lit(last_ts(), dtype=pl.Float64)
        marks = marks.with_columns(pl.max_horizontal("t0", ends).alias("t1"))
        closed = pl.concat([closed, marks.filter(window.overlaps())]).sort("order")
    return closed


def _first_pass(
    blocks: Iterable[pl.DataFrame], window: Window
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(closed records of the window, markers that nothing in their own block closes), each by order."""
    closed, marks = [pl.DataFrame(schema=RECORDS)], [pl.DataFrame(schema=RECORDS)]
    n_read = 0
    for block in blocks:
        is_open = pl.col("t1") == OPEN_END
        rows = (
            block.with_row_index("order", offset=n_read)
            .with_columns(pl.col("gpus").fill_null([]), is_open.alias("open"))
            .select(list(RECORDS))
            .cast(RECORDS)
        )
        n_read += block.height
        ended = rows.filter(~pl.col("open"))
        begun = rows.filter("open")
        closed.append(ended.filter(window.overlaps()))
        marks.append(begun.join(ended, on=KEY, how="anti", maintain_order="left"))
    return pl.concat(closed), pl.concat(marks)


def _still_open(marks: pl.DataFrame, blocks: Callable[[], Iterable[pl.DataFrame]]) -> pl.DataFrame:
    """The markers that no record of the whole stream closes, each once."""
    for block in blocks():
        ended = block.filter(pl.col("t1") != OPEN_END)
        marks = marks.join(ended, on=KEY, how="anti", maintain_order="left")
    return marks.unique([*KEY, "gpus"], keep="first", maintain_order=True)
