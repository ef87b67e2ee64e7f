"""The `metrics` table: what was logged, as logged, and the aggregates of `steps` beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.schema.sample_columns import STEP_AGGREGATES
from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from miles_report.tables.attempts import Attempts

DUMP_PREFIX = "dump/"
DUMP_STEP_KEY = "rollout/step"


def metrics_table(
    values: pl.DataFrame,
    steps: pl.DataFrame | None,
    attempts: Attempts,
    *,
    step_key: str | None = None,
    metric: str | None = None,
) -> pl.DataFrame:
    """Every logged value in file order, then the aggregates of the dumps.

    Args:
        values: `LoggedMetrics.values`.
        steps: the `steps` table, ascending; null without dumps.
        attempts: beginnings of the run's attempts.
        step_key: only values logged against this axis.
        metric: only this key.

    Returns:
        Columns of the `metrics` table. ts and attempt are null for dump/*, which have no row where the aggregate is null.
    """
    logged = values.with_columns(attempts.number(pl.col("ts")).alias("attempt")).select(
        list(table_schema("metrics"))
    )
    table = pl.concat([logged, _dump_values(steps)]) if steps is not None else logged
    return of_axis_and_key(table, step_key=step_key, metric=metric)


def of_axis_and_key(
    table: pl.DataFrame, *, step_key: str | None = None, metric: str | None = None
) -> pl.DataFrame:
    """The rows of `metrics` logged against an axis, and of one key; null: of all."""
    if step_key is not None:
        table = table.filter(pl.col("step_key") == step_key)
    if metric is not None:
        table = table.filter(pl.col("key") == metric)
    return table


def _dump_values(steps: pl.DataFrame) -> pl.DataFrame:
    return (
        steps.select("step", *(pl.col(name).cast(pl.Float64) for name in STEP_AGGREGATES))
        .unpivot(index="step", variable_name="key", value_name="raw")
        .filter(pl.col("raw").is_not_null())
        .select(
            pl.lit(None, dtype=pl.Float64).alias("ts"),
            pl.lit(None, dtype=pl.Int64).alias("attempt"),
            pl.lit(DUMP_STEP_KEY).alias("step_key"),
            pl.col("step").cast(pl.Int64),
            (DUMP_PREFIX + pl.col("key")).alias("key"),
            pl.when(pl.col("raw").is_finite()).then(pl.col("raw")).alias("value"),
            (~pl.col("raw").is_finite()).alias("nonfinite"),
            pl.lit(None, dtype=pl.String).alias("text"),
        )
    )
