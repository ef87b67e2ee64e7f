"""Long series into few points that keep what the eye looks for: the lowest and the highest of each bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.tables.time_grid import TimeGrid

PER_BUCKET = 2
"""Points kept of a bucket."""


def thin(rows: pl.DataFrame, grid: TimeGrid, *, series: Sequence[str], value: str) -> pl.DataFrame:
    """At most two rows a bucket of each series, in their order; nothing is averaged.

    Args:
        rows: by series and time; needs ts.
        grid: the buckets; series with no more than two rows a bucket on average keep all.
        series: columns that tell series apart; nulls are a series of their own.
        value: of each bucket the first row with the lowest and the first with the highest value stay; nulls and NaN count only
            where there is nothing else.
    """
    numbered = rows.with_row_index("_row").with_columns(
        pl.Series("_bucket", grid.of(rows["ts"])),
        (pl.len().over(series) > PER_BUCKET * grid.buckets).alias("_long"),
    )
    number = pl.col(value).cast(pl.Float64).fill_nan(None)
    kept = (
        numbered.filter("_long")
        .group_by(*series, "_bucket")
        .agg(
            pl.col("_row").get(number.arg_min().fill_null(0)).alias("low"),
            pl.col("_row").get(number.arg_max().fill_null(0)).alias("high"),
        )
    )
    rows_kept = pl.concat([kept["low"], kept["high"]]).unique()
    return numbered.filter(~pl.col("_long") | pl.col("_row").is_in(rows_kept.implode())).drop(
        "_row", "_bucket", "_long"
    )
