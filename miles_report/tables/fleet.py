"""The `fleet` table: all lanes as one, in a form whose size does not depend on their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.tables.frames import conform
from miles_report.tables.lane_grid import highest, painted, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from miles_report.tables.time_grid import TimeGrid

    Floats = npt.NDArray[np.float64]

BUCKETS = 600
PREFIX = "phase."
NONE = "phase.none"


def fleet_table(
    phases: pl.DataFrame,
    samples: Iterable[pl.DataFrame],
    coded: pl.DataFrame,
    lanes: pl.DataFrame,
    grid: TimeGrid,
) -> pl.DataFrame:
    """One row a bucket.

    Args:
        phases: rows of the `phases` table that overlap the window.
        samples: GPU samples of the window, block by block, with lane numbers.
        coded: the lane numbers.
        lanes: all lanes.
        grid: window and buckets.

    Returns:
        Columns of the `fleet` table; each phase of the window has a column phase.<name>. Shares are of all lanes by the phase
        painted in the bucket (see `lane_grid.painted`); percentiles over the lanes that have a sample in the bucket.
    """
    edges = grid.edges()
    util = highest(samples, "util", place_of(coded, lanes), lanes.height, grid)
    table = pl.DataFrame(
        {
            "bucket": np.arange(grid.buckets),
            "t0": edges[:-1],
            "t1": edges[1:],
            **_composition(phases, lanes, grid),
        }
    )
    return conform("fleet", table.join(_band(util), on="bucket", how="left", maintain_order="left"))


def _composition(
    phases: pl.DataFrame, lanes: pl.DataFrame, grid: TimeGrid
) -> dict[str, Floats | list[None]]:
    """Share of lanes a bucket of each phase and of none."""
    if not lanes.height:
        return {NONE: [None] * grid.buckets}
    shown, names = painted(phases, lanes, grid)
    palette = names.unique().sort()
    codes = names.replace_strict(palette, range(1, palette.len() + 1), return_dtype=pl.Int64)
    code_of = np.append(
        codes.to_numpy().astype(np.int64), 0
    )  # the last stands for -1, which is no phase
    counts = np.zeros((palette.len() + 1, grid.buckets), dtype=np.int64)
    bucket = np.tile(np.arange(grid.buckets), lanes.height)
    np.add.at(counts, (code_of[shown], bucket), 1)
    shares = counts / lanes.height
    return {NONE: shares[0]} | {
        PREFIX + name: shares[number] for number, name in enumerate(palette, start=1)
    }


def _band(util: Floats) -> pl.DataFrame:
    """Percentiles over the lanes of each bucket, as polars' quantile takes them by default."""
    buckets = np.tile(np.arange(util.shape[1]), util.shape[0])
    told = pl.DataFrame({"bucket": buckets, "util": util.ravel()}).filter(
        pl.col("util").is_not_nan()
    )
    return told.group_by("bucket").agg(
        pl.col("util").quantile(0.1).alias("util_p10"),
        pl.col("util").quantile(0.5).alias("util_p50"),
        pl.col("util").quantile(0.9).alias("util_p90"),
        pl.col("util").min().alias("util_min"),
    )
