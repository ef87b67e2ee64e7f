"""Means, maxima and standard deviations over the trained tokens of each sample, as torch computes them.

Sums are taken in float64 and given back as float32, which is what a float32 reduction of torch yields within its own error:
a sum beyond float32 is infinite, and NaN anywhere in a selection makes the result NaN. An empty selection is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from miles_report.sources.sequences import Array, Series


class Selection:
    """The selected positions of every sample of the response frame.

    Args:
        offsets: (n_samples + 1,) where each sample begins.
        selected: bool over the frame; the samples' filler must not be selected.
    """

    def __init__(self, offsets: Array, selected: Array) -> None:
        self._selected = None if selected.all() else selected
        before = np.zeros(len(selected) + 1, dtype=np.int64)
        np.cumsum(selected, out=before[1:])
        bounds = before[offsets]
        self._counts = np.diff(bounds)
        self._starts = bounds[:-1]

    def mean(self, series: Series) -> pl.Series:
        """Mean of each sample's selected values; null: none selected, or not recorded."""
        where = self._where(series)
        return self._column(where, self._means(self._chosen(series.values), where))

    def maximum(self, series: Series) -> pl.Series:
        """Largest of each sample's selected values; null as for the mean."""
        where = self._where(series)
        chosen = self._chosen(series.values)
        return self._column(where, self._reduce(np.maximum, chosen, where))

    def deviation(self, series: Series) -> pl.Series:
        """Sample standard deviation (ddof 1) of each sample's selected values; null also for a single value."""
        chosen = self._chosen(series.values).astype(np.float64)
        where = self._where(series)
        means = np.zeros(len(self._counts))
        with np.errstate(invalid="ignore", over="ignore"):
            means[where] = self._reduce(np.add, chosen, where) / self._counts[where]
            squares = (chosen - np.repeat(means, self._counts)) ** 2
            where &= self._counts > 1
            variances = self._reduce(np.add, squares, where) / (self._counts[where] - 1)
            return self._column(where, np.sqrt(variances))

    def _where(self, series: Series) -> Array:
        return series.present & (self._counts > 0)

    def _chosen(self, values: Array) -> Array:
        return values if self._selected is None else values[self._selected]

    def _means(self, chosen: Array, where: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = self._reduce(np.add, chosen, where).astype(np.float32)
            return sums / self._counts[where].astype(np.float32)

    def _reduce(self, operation: np.ufunc, chosen: Array, where: Array) -> Array:
        """One value a sample of `where`; samples without a selected value take no part in the bounds."""
        filled = self._counts > 0
        if not filled.any():
            return np.zeros(0)
        with np.errstate(invalid="ignore", over="ignore"):
            if operation is np.add:
                reduced = np.add.reduceat(chosen, self._starts[filled], dtype=np.float64)
            else:
                reduced = operation.reduceat(chosen, self._starts[filled])
        return reduced[where[filled]]

    def _column(self, where: Array, values: Array) -> pl.Series:
        spread = np.zeros(len(where))
        with np.errstate(over="ignore", invalid="ignore"):
            spread[where] = values.astype(np.float32)
        return nullable(spread, where)


def nullable(values: Array, valid: Array) -> pl.Series:
    """A column of numbers whose nulls are given apart, so that NaN stays a value.

    Args:
        values: (n,) of a numpy number type; not copied.
        valid: (n,) bool.
    """
    return with_validity(values, validity(valid))


def validity(valid: Array) -> pa.Buffer | None:
    """(n,) bool as Arrow's bitmap; null if all are valid."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def with_validity(values: Array, bits: pa.Buffer | None) -> pl.Series:
    """A column of numbers with a bitmap that several columns may share."""
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    filled: Any = pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])
    return pl.Series(filled)
