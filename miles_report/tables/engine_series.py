"""The `engine_series` table: one metric of every engine over time.

dp ranks are folded first; rates and means follow from the folded counters. A counter that falls was reset: that interval
is a gap, as is a mean over no requests; a rate of zero is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.sources.stream_shapes import shape_of
from miles_report.tables.engine_catalog import DERIVED, MEANS_OVER_RANKS
from miles_report.tables.frames import conform
from miles_report.tables.thinning import thin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from miles_report.tables.engine_catalog import Derived
    from miles_report.tables.time_grid import TimeGrid

SERIES = ("addr", "engine_type", "dp_rank")
"""What tells the series of one metric apart; nulls are values here."""


def engine_samples(blocks: Iterable[pl.DataFrame], metrics: Collection[str]) -> pl.DataFrame:
    """Samples of some metrics in file order: ts, addr, metric, engine_type, dp_rank, value.

    Args:
        blocks: the engine_series stream of the window.
        metrics: as scraped.
    """
    wanted = sorted(metrics)
    parts = [block.filter(pl.col("metric").is_in(wanted)) for block in blocks]
    rows = pl.concat(parts) if parts else shape_of("engine_series").empty()
    return rows.unnest("labels").select("ts", "addr", "metric", "engine_type", "dp_rank", "value")


def fold(samples: pl.DataFrame, *, per_dp_rank: bool = False) -> pl.DataFrame:
    """One value a metric, engine (or dp rank) and moment.

    Args:
        samples: what `engine_samples` gives.
        per_dp_rank: keep dp ranks apart; several values of one rank at one moment are folded all the same.

    Returns:
        metric, addr, engine_type, dp_rank (null when folded), ts, value, sorted by these. Sums, but means of `MEANS_OVER_RANKS`; NaN
        in any of them makes it NaN.
    """
    rank = pl.col("dp_rank") if per_dp_rank else pl.lit(None, dtype=pl.String).alias("dp_rank")
    key = ["metric", *SERIES, "ts"]
    is_mean = pl.col("metric").first().is_in(MEANS_OVER_RANKS)
    value = pl.when(is_mean).then(pl.col("value").mean()).otherwise(pl.col("value").sum())
    return samples.with_columns(rank).group_by(key).agg(value).select(*key, "value").sort(key)


def engine_series_table(
    folded: pl.DataFrame, metric: str, *, grid: TimeGrid | None = None
) -> pl.DataFrame:
    """Values of one metric, by engine and time.

    Args:
        folded: what `fold` gives for `inputs_of` the metric.
        metric: a scraped or a derived one; an unknown one has no rows.
        grid: two points a bucket and series are kept, the lowest and the highest; null: all.

    Returns:
        Columns of the `engine_series` table.
    """
    derived = DERIVED.get(metric)
    rows = folded.filter(pl.col("metric") == metric) if derived is None else derive(folded, derived)
    rows = rows.select(*SERIES, pl.lit(metric).alias("metric"), "ts", "value")
    if grid is not None:
        rows = thin(rows, grid, series=SERIES, value="value")
    return conform("engine_series", rows)


def derive(folded: pl.DataFrame, derived: Derived) -> pl.DataFrame:
    """A rate or mean over each interval between neighbouring scrapes of a series: addr, engine_type, dp_rank, ts (the later), value.

    Args:
        folded: what `fold` gives for the inputs: one row a metric, series and moment.
        derived: what to compute. Moments at which an input is missing do not count as scrapes.
    """

    def of(name: str, column: str) -> pl.DataFrame:
        rows = folded.filter(pl.col("metric") == name)
        return rows.select(*SERIES, "ts", pl.col("value").alias(column))

    scrapes = of(derived.numerator, "top")
    if derived.denominator:
        bottom = of(derived.denominator, "bottom")
        scrapes = scrapes.join(bottom, on=[*SERIES, "ts"], nulls_equal=True)
    else:
        scrapes = scrapes.with_columns(pl.col("ts").alias("bottom"))
    scrapes = scrapes.drop_nulls(["top", "bottom"]).sort(*SERIES, "ts")
    growth = scrapes.with_columns(pl.col("top", "bottom").diff().over(SERIES))
    return growth.filter((pl.col("top") >= 0) & (pl.col("bottom") > 0)).select(
        *SERIES, "ts", (pl.col("top") / pl.col("bottom")).alias("value")
    )


def pooled(folded: pl.DataFrame, metric: str) -> pl.Series:
    """All values of a scraped metric, of all engines together."""
    return folded.filter(pl.col("metric") == metric)["value"]
