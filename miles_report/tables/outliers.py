"""The `outliers` table: lanes that stand out, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.frames import conform, empty_table
from miles_report.tables.rounds import behind_others, find_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from miles_report.tables.phase_records import Window

TOP = 16


def lowest_util(samples: Iterable[pl.DataFrame], coded: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Lanes by mean utilization in percent, lowest first; each sample counts once.

    Args:
        samples: GPU samples of the window, block by block, with lane numbers.
        coded: gives node, gpu and lane of the blocks read.

    Returns:
        node, gpu, score. Lanes without a utilization are left out.
    """
    parts = [
        block.group_by("lane").agg(
            pl.col("util").cast(pl.Int64).sum().alias("total"), pl.col("util").count().alias("n")
        )
        for block in samples
    ]
    if not parts:
        return empty_table("outliers")
    means = (
        pl.concat(parts)
        .group_by("lane")
        .agg(pl.col("total").sum(), pl.col("n").sum())
        .filter(pl.col("n") > 0)
        .join(coded(), on="lane")
        .select("node", "gpu", (pl.col("total") / pl.col("n")).alias("score"))
    )
    return _ranked(means, worst="low")


def slowest_phase(phases: pl.DataFrame, name: str) -> pl.DataFrame:
    """Lanes by mean seconds of a phase, longest first; whole intervals, each counts once.

    Args:
        phases: rows of the `phases` table that overlap the window.
        name: of the phase.

    Returns:
        node, gpu, score.
    """
    means = (
        phases.filter(pl.col("name") == name)
        .group_by("node", "gpu")
        .agg((pl.col("t1") - pl.col("t0")).mean().alias("score"))
    )
    return _ranked(means, worst="high")


def latest_start(phases: pl.DataFrame, name: str, window: Window) -> pl.DataFrame:
    """Lanes by how much later than the others they begin a phase, latest first.

    The beginnings of a phase on all lanes fall into rounds: a round ends when a lane begins the phase again, or a new
    attempt of the run starts. In a round a lane is late by its beginning minus the median beginning of the other lanes; a
    lane's score is the median over its rounds in the window. Rounds are those of the whole run, so that a window that cuts
    one does not pair a straggler with the round after its own.

    Args:
        phases: rows of the `phases` table of the whole run.
        name: of the phase.
        window: only intervals that overlap it count for the score.

    Returns:
        node, gpu, score (seconds; negative: earlier than the others). Rounds of a single lane count for nothing.
    """
    begun = phases.filter(pl.col("name") == name).sort("attempt", "t0", maintain_order=True)
    late = behind_others(begun["t0"].to_numpy(), find_rounds(begun, ("node", "gpu")))
    scores = (
        begun.with_columns(pl.Series("late", late).fill_nan(None))
        .filter(window.overlaps())
        .group_by("node", "gpu")
        .agg(pl.col("late").median().alias("score"))
        .filter(pl.col("score").is_not_null())
    )
    return _ranked(scores, worst="high")


def _ranked(scores: pl.DataFrame, *, worst: str) -> pl.DataFrame:
    """The lanes worst first, ties by node and GPU in the same direction."""
    ordered = scores.sort("score", "node", "gpu", descending=worst == "high")
    return conform("outliers", ordered)
