"""What an incident cost: tokens that all engines generated a second before, during and after it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

BEFORE_S = 120.0
"""How long before the failure the usual rate is taken from."""

AFTER_S = 300.0
"""How long after the return is shown."""

BUCKET_S = 10.0
"""Longer than engines are scraped apart."""


@dataclass(frozen=True)
class IncidentCost:
    """Generation around one incident.

    Attributes:
        rates: x (seconds since the failure), y (tokens a second of all engines; null where no engine told), ascending.
        before: mean of the two minutes before the failure, tokens a second.
        during: mean from the kill to the return.
        change: of the rate, as a fraction of that before.
    """

    rates: pl.DataFrame
    before: float
    during: float
    change: float


def incident_cost(
    series: pl.DataFrame, t_failed: float, t_killed: float, t_back: float
) -> IncidentCost | None:
    """The cost of one incident; null where nothing was generated before it, or nobody told.

    Args:
        series: ts, addr and value (tokens a second) of every engine.
        t_failed: Unix seconds.
        t_killed: the same.
        t_back: when an engine served in its place, or the end of the run.
    """
    window = series.filter(pl.col("ts").is_between(t_failed - BEFORE_S, t_back + AFTER_S))
    bucket = ((pl.col("ts") - t_failed) / BUCKET_S).floor() * BUCKET_S
    rates = (
        window.group_by(bucket.alias("x"), "addr")
        .agg(pl.col("value").mean())
        .group_by("x")
        .agg(pl.col("value").sum().alias("y"))
        .sort("x")
    )
    before = rates.filter(pl.col("x") < 0)["y"].mean()
    inside = rates.filter(
        pl.col("x").is_between(t_killed - t_failed - BUCKET_S, t_back - t_failed, closed="none")
    )
    during = inside["y"].mean()
    if not isinstance(before, float) or not isinstance(during, float) or before <= 0:
        return None
    return IncidentCost(rates, before, during, during / before - 1)
