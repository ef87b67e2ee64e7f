"""Means, maxima and standard deviations over the trained tokens of each sample, as torch computes them.

Sums are taken in float64 and given back as float32, which is what a float32 reduction of torch yields within its own error:
a sum beyond float32 is infinite, and NaN anywhere in a selection makes the result NaN. An empty selection is null.
"""

from __future__ import annotations

from functools import cached_property
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
        lengths = np.diff(offsets)
        self._counts = lengths
        if self._selected is not None:
            self._counts = np.zeros_like(lengths)
            has_positions = lengths > 0
            starts = offsets[:-1][has_positions]
            self._counts[has_positions] = np.add.reduceat(selected, starts, dtype=np.int64)

    def of(self, series: Series) -> Chosen:
        """The selected values of a series."""
        values = series.values if self._selected is None else series.values[self._selected]
        return Chosen(values, self._counts, series.present)


class Chosen:
    """Selected values of every sample, and what they come to.

    Args:
        values: all selected values, samples one behind the other.
        counts: (n_samples,) how many of them each sample has.
        present: (n_samples,) bool; False: the series was not recorded for the sample.
    """

    def __init__(self, values: Array, counts: Array, present: Array) -> None:
        self._values = values
        self._counts = counts
        self._filled = counts > 0
        self._starts = (np.cumsum(counts) - counts)[self._filled]
        self._valid = present & self._filled

    @cached_property
    def _sums(self) -> Array:
        """float64, one a sample that has values."""
        return self._reduce(self._values)

    def mean(self) -> pl.Series:
        """Mean of each sample's selected values; null: none selected, or not recorded."""
        with np.errstate(invalid="ignore", over="ignore"):
            means = self._sums.astype(np.float32) / self._counts[self._filled].astype(np.float32)
        return self._column(means, self._valid)

    def maximum(self) -> pl.Series:
        """Largest of each sample's selected values; null as for the mean."""
        if not len(self._starts):
            return self._column(np.zeros(0), self._valid)
        with np.errstate(invalid="ignore"):
            return self._column(np.maximum.reduceat(self._values, self._starts), self._valid)

    def deviation(self) -> pl.Series:
        """Sample standard deviation (ddof 1) of each sample's selected values; null also for a single value."""
        counts = self._counts[self._filled]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            means = self._sums / counts
            distances = self._values - np.repeat(means, counts)
            np.square(distances, out=distances)
            deviations = np.sqrt(self._reduce(distances) / (counts - 1))
        return self._column(deviations, self._valid & (self._counts > 1))

    def _reduce(self, values: Array) -> Array:
        if not len(self._starts):
            return np.zeros(0)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.add.reduceat(values, self._starts, dtype=np.float64)

    def _column(self, reduced: Array, valid: Array) -> pl.Series:
        """float32 numbers as float64, null where not valid."""
        spread = np.zeros(len(valid))
        with np.errstate(invalid="ignore", over="ignore"):
            spread[self._filled] = reduced.astype(np.float32)
        return nullable(spread, valid)


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
