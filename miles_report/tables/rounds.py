"""Repeated work of many lanes into rounds: who began the same piece of work when, and how late against the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def find_rounds(begun: pl.DataFrame, parties: Sequence[str]) -> Ints:
    """Where each round begins: one ends when a party begins again, or a new attempt of the run starts.

    Args:
        begun: one row a beginning of one phase, by attempt and t0.
        parties: columns that tell who began.

    Returns:
        (n_rounds + 1,) first row of each round, and the end of the last.
    """
    height = begun.height
    again = begun.with_row_index("row").select(
        pl.col("row").shift(-1).over("attempt", *parties).fill_null(height).cast(pl.Int64),
        pl.col("attempt").rle_id(),
    )
    repeats = np.minimum.accumulate(again["row"].to_numpy()[::-1])[::-1]
    attempts = again["attempt"].to_numpy()
    attempt_ends = np.searchsorted(attempts, attempts, "right")
    edges, at = [0], 0
    while at < height:
        at = int(min(repeats[at], attempt_ends[at]))
        edges.append(at)
    return np.array(edges, dtype=np.int64)


def behind_others(times: Floats, edges: Ints) -> Floats:
    """(n,) seconds by which each time lies behind the median of the others of its round; NaN without others.

    Args:
        times: (n,) ascending within each round.
        edges: of the rounds.
    """
    sizes = np.diff(edges)
    start = np.repeat(edges[:-1], sizes)
    others = np.repeat(sizes - 1, sizes)
    place = np.arange(len(times)) - start
    told = others > 0
    middles = []
    for middle in ((others - 1) // 2, others // 2):
        skipped = middle + (middle >= place)  # the party itself is not one of the others
        middles.append(times[np.where(told, start + skipped, 0)] if len(times) else times)
    return np.where(told, times - (middles[0] + middles[1]) / 2, np.nan)
