"""The `mfu` table: model FLOP utilisation of actor training over the run."""

from __future__ import annotations

import polars as pl

from miles_report.tables.bubbles import logged_number

STEP_KEY = "rollout/step"
MFU = "perf/actor_train_mfu"
PEAK = "perf/mfu_peak_tflops"


def mfu_table(values: pl.DataFrame) -> pl.DataFrame:
    """One row, or none if MFU was logged less than twice.

    The first value holds compilation and warm-up and is left out.

    Args:
        values: `LoggedMetrics.values`.

    Returns:
        latest and mean (fractions, each logged value counting once), steps (values behind the mean), peak (TFLOP/s, null if not
        logged). A value that was not finite makes the mean NaN.
    """
    logged = values.filter((pl.col("step_key") == STEP_KEY) & pl.col("text").is_null())
    mfu = _numbers(logged, MFU)[1:]
    return pl.DataFrame(
        {
            "latest": mfu.tail(1),
            "mean": pl.Series([mfu.mean()] * bool(mfu.len()), dtype=pl.Float64),
            "steps": pl.Series([mfu.len()] * bool(mfu.len()), dtype=pl.Int64),
            "peak": pl.Series([_last(_numbers(logged, PEAK))] * bool(mfu.len()), dtype=pl.Float64),
        }
    )


def _numbers(logged: pl.DataFrame, key: str) -> pl.Series:
    numbers = logged.filter(pl.col("key") == key).select(logged_number().alias(key))
    return numbers.to_series().drop_nulls()


def _last(numbers: pl.Series) -> float | None:
    return float(numbers[-1]) if numbers.len() else None
