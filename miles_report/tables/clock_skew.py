"""Nodes whose clocks seem to differ: everything they record, beginnings and ends alike, is shifted by the same time.

A slow node begins or ends some phases late; a node whose clock is wrong does so with all of them, by the same seconds. Times
are shown as recorded; the reader is told not to read too much into them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.notices import Notice
from miles_report.tables.phases import DERIVED, MANAGER
from miles_report.tables.rounds import behind_others, find_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_SHIFT_S = 1.0
"""Clocks kept by NTP agree to milliseconds; below a second ranks differ by themselves."""

TOLERANCE_S = 0.5
"""By which the shifts of beginnings and ends of all phases may differ."""

MIN_ROUNDS = 2
"""One round may be chance."""


def clock_skew(phases: pl.DataFrame) -> list[Notice]:
    """One notice a node whose phases are all shifted against the other nodes' by the same time.

    Args:
        phases: rows of the `phases` table of the whole run.
    """
    shifts = pl.concat([_SHIFTS, *_shifts(phases)])
    of_edge = shifts.group_by("node", "name", "edge").agg(
        pl.col("shift").median(), pl.len().alias("rounds")
    )
    suspects = (
        of_edge.group_by("node")
        .agg(
            pl.col("shift").median(),
            (pl.col("shift").max() - pl.col("shift").min()).alias("spread"),
            pl.col("rounds").min(),
        )
        .filter(
            (pl.col("shift").abs() >= MIN_SHIFT_S)
            & (pl.col("spread") <= TOLERANCE_S)
            & (pl.col("rounds") >= MIN_ROUNDS)
        )
        .sort("node")
    )
    return [_notice(node, shift) for node, shift in suspects.select("node", "shift").iter_rows()]


_SHIFTS = pl.DataFrame(
    schema={"node": pl.String, "name": pl.String, "edge": pl.String, "shift": pl.Float64}
)


def _shifts(phases: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Shift of every node in every round of every phase, of its beginning and of its end."""
    own = phases.filter(
        ~pl.col("role").is_in([MANAGER, DERIVED]).fill_null(value=False) & ~pl.col("open")
    )
    for (name,), part in own.sort("attempt", "t0", maintain_order=True).group_by(
        "name", maintain_order=True
    ):
        edges = find_rounds(part, ("node", "gpu"))
        rounds = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        of_node = (
            part.with_columns(pl.Series("round", rounds))
            .group_by("round", "node")
            .agg(pl.col("t0", "t1").median())
        )
        for edge in ("t0", "t1"):
            ordered = of_node.sort("round", edge)
            numbers = ordered["round"].to_numpy()
            bounds = np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(numbers))
            shift = behind_others(ordered[edge].to_numpy(), bounds)
            yield ordered.select(
                "node",
                pl.lit(name).alias("name"),
                pl.lit(edge).alias("edge"),
                pl.Series("shift", shift),
            ).filter(pl.col("shift").is_not_nan())


def _notice(node: str, shift: float) -> Notice:
    side = "ahead of" if shift > 0 else "behind"
    return Notice(
        "clock-skew",
        "warning",
        "dashboard/phases",
        f"All phases of node {node} begin and end {abs(shift):.1f} s {side} those of the other nodes: its clock seems to "
        "differ. Times are shown as recorded, so that its lanes look shifted.",
        "Synchronise the clocks of the nodes (NTP).",
    )
