"""A window divided into buckets, and what falls into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TimeGrid:
    """Equal buckets over [t0, t1]; a window without length is a single bucket.

    Attributes:
        t0: beginning, Unix seconds.
        t1: end, not before it.
        buckets: how many.
    """

    t0: float
    t1: float
    buckets: int

    @classmethod
    def over(cls, t0: float, t1: float, buckets: int) -> TimeGrid:
        """A grid over a window, of one bucket if it has no length."""
        return cls(t0, max(t0, t1), buckets if t1 > t0 else 1)

    def bucket(self, ts: Floats) -> Ints:
        """The bucket of each moment, those outside the window in the first and the last."""
        if self.t1 == self.t0:
            return np.zeros(len(ts), dtype=np.int64)
        place = np.clip((ts - self.t0) / (self.t1 - self.t0) * self.buckets, 0, self.buckets - 1)
        return place.astype(np.int64)

    def of(self, ts: pl.Series) -> Ints:
        """The bucket of each moment of a column without nulls."""
        return self.bucket(ts.to_numpy())

    def edges(self) -> Floats:
        """(buckets + 1,) beginnings of the buckets and the end of the last."""
        return np.linspace(self.t0, self.t1, self.buckets + 1)
