"""When each attempt of a run began: a run that crashes and resumes appends to the same streams.

Two things mark a beginning for certain: meta.start_ts, which the last attempt wrote, and collector_started events. Before
the first of them attempts are told apart only where a logged step goes backwards, and that is said in a notice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME_START_S = 10.0
"""Marks this close are one beginning: a collector writes its event and meta.json one after the other."""


@dataclass(frozen=True)
class Attempts:
    """Beginnings of all attempts but the first, ascending.

    Attributes:
        starts: Unix seconds; attempt k + 1 begins at starts[k], attempt 0 with the first record.
        notices: tells that attempts were guessed, if so.
    """

    starts: tuple[float, ...] = ()
    notices: tuple[Notice, ...] = ()

    def number(self, ts: pl.Expr) -> pl.Expr:
        """The 0-based attempt of timestamps; a record at a beginning belongs to the new attempt."""
        if not self.starts:
            return pl.when(ts.is_not_null()).then(pl.lit(0, dtype=pl.Int64))
        total = pl.sum_horizontal(*((ts >= start).cast(pl.Int64) for start in self.starts))
        return pl.when(ts.is_not_null()).then(total)


def find_attempts(
    values: pl.DataFrame,
    *,
    start_ts: float | None,
    collector_started: Sequence[float],
    first_ts: float | None,
) -> Attempts:
    """Finds where attempts begin.

    Args:
        values: logged values in file order; needs step_key, step, key and ts.
        start_ts: of meta.json.
        collector_started: times of the events of that name.
        first_ts: earliest record of all streams; a mark not after it begins attempt 0.

    Returns:
        The beginnings. Without a mark all records are one attempt.
    """
    marks = _merged([*collector_started, *([] if start_ts is None else [start_ts])], start_ts)
    if not marks or first_ts is None:
        return Attempts()
    if marks[0] <= first_ts:
        return Attempts(tuple(marks[1:]))
    guessed = _backward_steps(values.filter(pl.col("ts") < marks[0]))
    notice = Notice(
        "attempts-guessed",
        "info",
        "dashboard/metrics.jsonl",
        "The run was resumed. Attempts before the first recorded start are told apart only where a logged step goes "
        f"backwards: {len(guessed) + 1} found there; there may have been more.",
        "None: older collectors did not record their starts.",
    )
    return Attempts((*guessed, *marks), (notice,))


def _merged(marks: list[float], start_ts: float | None) -> list[float]:
    """Marks ascending, those within `SAME_START_S` as one; meta's start wins over an event."""
    merged: list[float] = []
    for mark in sorted(marks):
        if merged and mark - merged[-1] < SAME_START_S:
            if mark == start_ts:
                merged[-1] = mark
        else:
            merged.append(mark)
    return merged


def _backward_steps(values: pl.DataFrame) -> list[float]:
    """Times at which some metric's step is smaller than the step it was last logged at.

    Counted per metric, because several records of one step may come late; the step's own key is in each of them and
    tells nothing. Once a step went backwards every metric starts afresh.
    """
    rows = values.filter(
        pl.col("step").is_not_null() & pl.col("key").ne_missing(pl.col("step_key"))
    )
    last: dict[tuple[str | None, str], int] = {}
    starts: list[float] = []
    latest = -math.inf
    for ts, step_key, key, step in rows.select("ts", "step_key", "key", "step").iter_rows():
        if step < last.get((step_key, key), step) and ts > latest:
            starts.append(ts)
            latest = ts
            last.clear()
        last[step_key, key] = step
    return starts
