"""Tables into slices: Parquet files small enough to be fetched whole, each named by its content.

A slice is near 1 MiB and at most 8 MiB, but for a single row that alone is larger. Slices of `tokens` hold whole samples; only
a sample larger than a slice is split, by position.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from miles_report.slices.numeric import NumericEncoder
from miles_report.slices.parquet import TableEncoder
from miles_report.slices.slice import Slice, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt
    import polars as pl

    Encoder = TableEncoder | NumericEncoder
    Ints = npt.NDArray[np.int64]

TARGET_BYTES = (1 << 20) * 15 // 16  # so that most stay below 1 MiB
MAX_BYTES = 8 << 20
FIRST_RATIO = 0.35  # encoded over raw bytes, until the first slice of a table has shown its own

NOT_IN_SLICES: Mapping[str, tuple[str, ...]] = {"tokens": ("token_text", "imp_ratio")}
"""Columns that readers derive: the text from `token_texts` by id, the ratio as exp(lp_diff)."""


def encode_table(
    name: str, frames: Iterable[pl.DataFrame], *, folder: str, first: int = 0
) -> Iterator[tuple[Slice, bytes]]:
    """The slices of one table, in the order of its rows; a single slice without rows of an empty table.

    Args:
        name: of the table; its declaration says how columns are rounded.
        frames: its rows, in pieces that are encoded one after the other; those of a sample in `tokens` are contiguous and
            in one piece.
        folder: where the slices go, from the root of the site, such as "data/step-3".
        first: number of the first slice.

    Yields:
        Each slice and its bytes, one at a time.
    """
    number, cutter = first, _Cutter()
    for frame in frames:
        chosen = frame.drop(NOT_IN_SLICES.get(name, ()), strict=False)
        del frame  # the encoder makes a narrower copy, column by column
        encoder = NumericEncoder(name, chosen) if name == "tokens" else TableEncoder(name, chosen)
        del chosen
        for start, stop, content in cutter.parts(encoder):
            digest = content_hash(content)
            slice_ = Slice(
                path=f"{folder}/{name}-{number}-{digest}.parquet",
                bytes=len(content),
                sha256=digest,
                rows=stop - start,
                columns=encoder.names,
                keys=encoder.ranges(start, stop),
            )
            yield slice_, content
            number += 1


class _Cutter:
    """Cuts tables into parts near the target size, judged by how well the part before was compressed."""

    def __init__(self) -> None:
        self._ratio = FIRST_RATIO

    def parts(self, encoder: Encoder) -> Iterator[tuple[int, int, bytes]]:
        """Consecutive parts of about the same size: first row, row after the last, and the bytes."""
        height = encoder.height
        rows = _RowSizes(encoder)
        ends = _sample_ends(encoder) if height else None
        start = 0
        while True:
            left = rows.between(start, height)
            allowance = left / max(math.ceil(left * self._ratio / TARGET_BYTES), 1)
            reach = rows.reach(start, allowance)
            stop = reach if ends is None or reach == height else _sample_stop(ends, start, reach)
            content = encoder.encode(start, stop)
            self._ratio = max(len(content) / max(rows.between(start, stop), 1.0), 1e-3)
            if len(content) > MAX_BYTES and stop - start > 1:
                continue
            yield start, stop, content
            start = stop
            if start >= height:
                return


class _RowSizes:
    """Bytes of rows before encoding, roughly."""

    def __init__(self, encoder: Encoder) -> None:
        self._height = encoder.height
        self._fixed = max(encoder.fixed_bytes, 1.0)
        text = encoder.text_bytes()
        self._until = (
            None if text is None else np.concatenate(([0.0], np.cumsum(text + self._fixed)))
        )

    def between(self, start: int, stop: int) -> float:
        """Of the rows [start, stop)."""
        if self._until is None:
            return (stop - start) * self._fixed
        return float(self._until[stop] - self._until[start])

    def reach(self, start: int, allowance: float) -> int:
        """Where rows from `start` on that are so large end; at least one row, if there is one."""
        if self._until is None:
            stop = start + int(allowance / self._fixed)
        else:
            stop = int(np.searchsorted(self._until, self._until[start] + allowance, "right")) - 1
        return min(max(stop, start + 1), self._height)


def _sample_ends(encoder: Encoder) -> Ints | None:
    """Row numbers behind the last token of each sample; null where every row stands alone."""
    if "row" not in encoder.names or "position" not in encoder.names:
        return None
    rows = encoder.column("row")
    ends = np.flatnonzero(rows[1:] != rows[:-1]) + 1
    return np.append(ends, len(rows))


def _sample_stop(ends: Ints, start: int, reach: int) -> int:
    """Where a part that begins at `start` ends: behind the last sample in reach, else inside the sample."""
    end = int(ends[max(int(np.searchsorted(ends, reach, "right")) - 1, 0)])
    if start < end <= reach:
        return end
    length = int(ends[int(np.searchsorted(ends, start, "right"))]) - start
    pieces = -(-length // (reach - start))
    return start + -(-length // pieces)
