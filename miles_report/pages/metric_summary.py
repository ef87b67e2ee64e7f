"""Logged rows to series: one line a metric and step axis, and the points of one of them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class MetricSummary:
    """One logged series.

    Attributes:
        key: as logged.
        step_key: the axis it was logged against; "" if none.
        n: values, also those that are text or not finite.
        n_finite: numbers among them.
        last: the last value; null if it is text or not finite.
        last_text: the last value where it is text.
        low: smallest finite value; null without any.
        high: largest finite value.
        first_step: smallest step; null without any.
        last_step: largest step.
    """

    key: str
    step_key: str
    n: int
    n_finite: int
    last: float | None
    last_text: str | None
    low: float | None
    high: float | None
    first_step: int | None
    last_step: int | None


def metric_summaries(metrics: pl.DataFrame) -> list[MetricSummary]:
    """One summary a (step_key, key) of the `metrics` table, in the order in which they first appear."""
    value = pl.col("value").filter(pl.col("value").is_finite())
    grouped = metrics.group_by("step_key", "key", maintain_order=True).agg(
        pl.len().alias("n"),
        value.len().alias("n_finite"),
        pl.col("value").last().alias("last"),
        pl.col("text").last().alias("last_text"),
        value.min().alias("low"),
        value.max().alias("high"),
        pl.col("step").min().alias("first_step"),
        pl.col("step").max().alias("last_step"),
    )
    return [
        MetricSummary(**{**row, "step_key": row["step_key"] or ""})
        for row in grouped.iter_rows(named=True)
    ]


def metric_points(metrics: pl.DataFrame, key: str, step_key: str) -> pl.DataFrame:
    """The points of one series in file order: x (step), y (value, null where not finite), attempt.

    Rows without a step get the number of the record instead.
    """
    rows = metrics.filter(
        (pl.col("key") == key)
        & (pl.col("step_key").fill_null("") == step_key)
        & pl.col("text").is_null()
    )
    stepless = rows.get_column("step").is_null().all()
    x = pl.int_range(pl.len()) if stepless else pl.col("step")
    return rows.select(
        x.cast(pl.Int64).alias("x"), pl.col("value").alias("y"), pl.col("attempt").fill_null(0)
    ).filter(pl.col("x").is_not_null())


def last_per_step(points: pl.DataFrame) -> pl.DataFrame:
    """One point a step, by step: the last logged one, so that a resumed run shows its newest attempt."""
    return points.unique("x", keep="last", maintain_order=True).sort("x")
