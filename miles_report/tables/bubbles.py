"""The `bubbles` table: how long each step took and how much of it training waited."""

from __future__ import annotations

import polars as pl

STEP_KEY = "rollout/step"
STEP_TIME = "perf/step_time"
WAIT_RATIO = "perf/wait_time_ratio"


def bubbles_table(values: pl.DataFrame) -> pl.DataFrame:
    """One row a record under rollout/step that logs a step time or a wait ratio, in file order.

    Args:
        values: `LoggedMetrics.values`.

    Returns:
        step, ts, step_time (s), wait_ratio (fraction of the step). Null: not logged in that record, or not a number; NaN: logged,
        not finite.
    """
    timing = values.filter(
        (pl.col("step_key") == STEP_KEY) & pl.col("key").is_in([STEP_TIME, WAIT_RATIO])
    ).with_columns(logged_number().alias("number"))
    return (
        timing.group_by("record", maintain_order=True)
        .agg(
            pl.col("step").first(),
            pl.col("ts").first(),
            _of_key(STEP_TIME).alias("step_time"),
            _of_key(WAIT_RATIO).alias("wait_ratio"),
        )
        .drop("record")
    )


def logged_number() -> pl.Expr:
    """A logged value as a number in which NaN stands for everything that is not finite."""
    return pl.when(pl.col("nonfinite")).then(pl.lit(float("nan"))).otherwise(pl.col("value"))


def _of_key(key: str) -> pl.Expr:
    return pl.col("number").filter(pl.col("key") == key).last()
