"""Intervals painted over rows of cells: where they overlap, the one painted last shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

CELLS_AT_ONCE = 1 << 22
"""Bounds the memory of a batch; an interval over all cells counts each of them."""

UNPAINTED = -1


def paint(cells: int, first: Ints, last: Ints) -> Ints:
    """Which interval shows in each cell.

    Args:
        cells: how many there are, of all rows together.
        first: (n,) first cell of each interval, in the order of painting.
        last: (n,) last cell, inclusive; an interval that ends before it begins paints nothing.

    Returns:
        (cells,) number of the interval, `UNPAINTED` where there is none.
    """
    shown = np.full(cells, UNPAINTED, dtype=np.int64)
    widths = np.maximum(last - first + 1, 0)
    ends = np.cumsum(widths)
    start = 0
    while start < len(first):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + CELLS_AT_ONCE, "right")), start + 1)
        part = slice(start, stop)
        number = np.repeat(np.arange(start, stop), widths[part])
        offset = np.arange(len(number)) - np.repeat(ends[part] - widths[part] - done, widths[part])
        np.maximum.at(shown, first[number] + offset, number)
        start = stop
    return shown


def cells_column(shown: Ints, names: pl.Series, rows: int) -> pl.Series:
    """Painted cells as one list of names a row; null where nothing was painted.

    Args:
        shown: what `paint` gives, row by row.
        names: (n,) name of each interval.
        rows: how many rows the cells make.
    """
    if not rows:
        return pl.Series("cells", [], dtype=pl.List(pl.String))
    place = pl.Series(shown)
    if names.len():
        flat = names.gather(pl.select(pl.when(place >= 0).then(place)).to_series())
    else:
        flat = pl.repeat(None, len(shown), dtype=pl.String, eager=True)
    return flat.reshape((rows, len(shown) // rows)).cast(pl.List(pl.String)).alias("cells")
