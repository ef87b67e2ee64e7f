"""The `samples` table of a step -> the `groups` table."""

from __future__ import annotations

import polars as pl

from miles_report.tables.frames import conform

ZERO_STD = 1e-12
"""Rewards that differ by less are equal: they give no gradient."""


def groups_table(samples: pl.DataFrame) -> pl.DataFrame:
    """One row a group_index, ascending, the samples without a group last.

    Args:
        samples: one step's.

    Returns:
        Unweighted means over the samples of each group, over raw_reward in training and over reward in an evaluation.
        NaN in a group makes its statistics NaN; such a group is not zero_std.
    """
    reward = pl.when("evaluation").then("reward").otherwise("raw_reward")
    mean, deviation = reward.mean(), reward.std(ddof=1)
    grouped = samples.group_by("group_index", maintain_order=True).agg(
        pl.col("step").first(),
        pl.col("evaluation").first(),
        pl.len().alias("n"),
        mean.alias("reward_mean"),
        deviation.alias("reward_std"),
        pl.col("response_length").mean().alias("response_length_mean"),
        pl.col("truncated").mean().alias("truncated_frac"),
        pl.col("adv_mean").mean(),
        pl.col("adv_mean").std(ddof=1).alias("adv_std"),
    )
    zero_std = (
        pl.col("reward_mean").is_not_null()
        & pl.col("reward_mean").is_not_nan()
        & (pl.col("reward_std").fill_null(0.0) <= ZERO_STD)
    )
    ordered = grouped.with_columns(zero_std.fill_null(value=False).alias("zero_std")).sort(
        "group_index", nulls_last=True
    )
    return conform("groups", ordered)
