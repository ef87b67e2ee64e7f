"""Which sample and which of its tokens a reader means: the same rules over a dump and over a published report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_row(row: int, n_rows: int, step: int) -> None:
    """Refuses a row that a step does not have.

    Raises:
        NotFoundError: as said.
    """
    if not 0 <= row < n_rows:
        raise NotFoundError(f"Step {step} has {n_rows} rows; there is no row {row}.")


def rows_of_sample(samples: pl.DataFrame, sample: int, step: int) -> list[int]:
    """The rows with a sample index; several may share one.

    Args:
        samples: of one step; needs `row` and `sample_index`.
        sample: the index.
        step: for the message.

    Raises:
        NotFoundError: the step has no such sample.
    """
    rows: list[int] = samples.filter(pl.col("sample_index") == sample)["row"].to_list()
    if not rows:
        raise NotFoundError(f"Step {step} has no sample {sample}.")
    return rows


def single_row(rows: Sequence[int], sample: int | None, step: int) -> int:
    """The row of a sample, for a table that takes only one.

    Raises:
        UsageError: several rows share the index.
    """
    if len(rows) > 1:
        raise UsageError(
            f"Rows {', '.join(map(str, rows))} of step {step} share sample index {sample}: give row instead."
        )
    return rows[0]


def check_span_has_row(start: int | None, end: int | None) -> None:
    """Refuses positions without a sample that they could be positions of.

    Raises:
        UsageError: as said.
    """
    if start is not None or end is not None:
        raise UsageError("start and end select positions of one sample: give row or sample.")


def clipped_span(start: int | None, end: int | None, length: int) -> tuple[int, int]:
    """Positions [first, last) of a sample of that many tokens.

    Args:
        start: null: from the first.
        end: clipped to the length; null: to the last.
        length: of the sample, tokens.

    Raises:
        UsageError: the positions selected are none.
    """
    first = 0 if start is None else start
    last = length if end is None else min(end, length)
    if first < 0 or last < 0:
        raise UsageError("start and end count from 0.")
    if first >= last and (start is not None or end is not None):
        raise UsageError(f"start {first} is not before end {last}: the sample has {length} tokens.")
    return first, last
