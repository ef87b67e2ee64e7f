"""A step's samples and groups -> its row of the `steps` table."""

from __future__ import annotations

import polars as pl

from miles_report.tables.frames import conform


def steps_row(samples: pl.DataFrame, groups: pl.DataFrame, step: int) -> pl.DataFrame:
    """One row: unweighted means over the step's samples, and over its groups for zero_std_group_frac.

    Args:
        samples: of a train step; may be empty.
        groups: of the same step.
        step: its number.

    Returns:
        Nulls of a column take no part in its mean; NaN makes it NaN.
    """
    of_samples = samples.select(
        pl.len().alias("n_samples"),
        pl.col("dumped_rank").count().alias("n_trained"),
        pl.col("raw_reward").mean().alias("reward_mean"),
        pl.col("raw_reward").std(ddof=1).alias("reward_std"),
        pl.col("response_length").mean().alias("response_length_mean"),
        pl.col("truncated").mean().alias("truncated_frac"),
        pl.col("mean_abs_lp_diff").mean(),
        pl.col("mean_entropy").mean(),
        pl.col("mixed_version").mean().alias("mixed_version_frac"),
        pl.col("staleness").mean().alias("staleness_mean"),
        pl.col("alignment_failed").sum().alias("n_alignment_failed"),
    )
    row = of_samples.with_columns(
        pl.lit(step, dtype=pl.Int64).alias("step"),
        pl.lit(groups["zero_std"].mean(), dtype=pl.Float64).alias("zero_std_group_frac"),
        pl.lit(groups["reward_mean"].count()).alias("n_rewarded_groups"),
        pl.lit(groups["zero_std"].sum()).alias("n_zero_std_groups"),
        pl.lit("ok").alias("state"),
    )
    return conform("steps", row)


def unreadable_steps_row(step: int, state: str) -> pl.DataFrame:
    """The row of a step whose rollout file cannot be read: its number and state, everything else null.

    Args:
        step: its number.
        state: "broken" or "writing".
    """
    return conform("steps", pl.DataFrame({"step": [step], "state": [state]}))
