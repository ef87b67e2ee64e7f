"""Rows of the tables of the timeline as the pictures of the Compute page want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.charts.compute_charts import NO_PHASE
from miles_report.pages import format as shown
from miles_report.schema.vocabulary import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

IDLE = ("initialize", "train_wait", "sleep")
"""Painted below other phases."""

SHARE = "phase."
"""Columns of `fleet` that begin so are shares of phases."""


OVERLAP = 0.05
"""Of a bucket, by which neighbours overlap: without it the paper shows between them."""


def label_of(phase: str) -> str:
    """A phase as pages name it; an unknown one by its own name."""
    if phase == NO_PHASE:
        return "No phase"
    return PHASES[phase].label if phase in PHASES else phase


def ordered(phases: Iterable[str]) -> list[str]:
    """Phases in the order of the vocabulary, unknown ones by name behind them, no phase last."""
    place = {name: number for number, name in enumerate(PHASES)}
    last = len(place)
    return sorted(set(phases), key=lambda name: (name == NO_PHASE, place.get(name, last), name))


def lane_name(node: str, gpu: int) -> str:
    """A lane as pages name it."""
    return f"{node} gpu {gpu}"


def lane_rows(carpet: pl.DataFrame, fleet: pl.DataFrame, start: float) -> pl.DataFrame:
    """Stretches of one phase of each lane.

    Args:
        carpet: of the metric phase.
        fleet: with the same buckets.
        start: of the run, Unix seconds.

    Returns:
        lane, x, x2 (minutes since the start), phase, text.
    """
    begins, ends = fleet["t0"].to_list(), fleet["t1"].to_list()
    rows: list[tuple[str, float, float, str, str]] = []
    for node, gpu, cells in carpet.select("node", "gpu", "cells").iter_rows():
        lane = lane_name(node, gpu)
        for first, last, phase in _stretches(cells):
            t0, t1 = begins[first] - start, ends[last] - start
            text = f"{label_of(phase)}, {lane}, {shown.elapsed(t0)} to {shown.elapsed(t1)}"
            rows.append((lane, t0 / 60, t1 / 60, phase, text))
    schema = {"lane": pl.String, "x": pl.Float64, "x2": pl.Float64, "phase": pl.String, "text": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _stretches(cells: Sequence[str | None]) -> list[tuple[int, int, str]]:
    """(first bucket, last bucket, phase) of each run of equal cells with a phase."""
    found: list[tuple[int, int, str]] = []
    for number, cell in enumerate(cells):
        if cell is None:
            continue
        if found and found[-1][2] == cell and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number, cell)
        else:
            found.append((number, number, cell))
    return found


def fleet_rows(fleet: pl.DataFrame, start: float) -> pl.DataFrame:
    """Shares of phases over time, stacked: x, x2 (minutes), phase, low, high, text."""
    names = ordered(name.removeprefix(SHARE) for name in fleet.columns if name.startswith(SHARE))
    long = pl.concat(
        [
            fleet.select(
                ((pl.col("t0") - start) / 60).alias("x"),
                ((pl.col("t1") - start + (pl.col("t1") - pl.col("t0")) * OVERLAP) / 60).alias("x2"),
                pl.lit(name).alias("phase"),
                pl.col(SHARE + name).fill_null(0.0).alias("share"),
            )
            for name in names
        ]
    )
    return _stacked(long, "x")


def step_rows(step_phases: pl.DataFrame) -> pl.DataFrame:
    """Shares of phases of each step, stacked: step, phase, low, high, text; what has no phase lies on top."""
    share = step_phases.select("step", "phase", pl.col("fraction").alias("share"))
    rest = share.group_by("step", maintain_order=True).agg(
        pl.lit(NO_PHASE).alias("phase"), (1.0 - pl.col("share").sum()).clip(0.0, 1.0).alias("share")
    )
    rows = pl.concat([share, rest])
    order = {name: number for number, name in enumerate(ordered(rows["phase"]))}
    place = rows["phase"].replace_strict(order, return_dtype=pl.Int64)
    return _stacked(rows.with_columns(place.alias("place")).sort("step", "place"), "step")


def _stacked(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Shares one on the other, in their order within each value of the key; empty ones are left out."""
    high = pl.col("share").cum_sum().over(key)
    stacked = rows.with_columns((high - pl.col("share")).alias("low"), high.alias("high"))
    texts = [
        f"{label_of(phase)} {shown.frac(share)}"
        for phase, share in stacked.select("phase", "share").iter_rows()
    ]
    return stacked.with_columns(pl.Series("text", texts, dtype=pl.String)).filter(
        pl.col("share") > 0
    )


def spread_rows(fleet: pl.DataFrame, start: float) -> pl.DataFrame:
    """Utilization over time: x (minutes), p10, p50, p90, low, text."""
    rows = fleet.select(
        ((pl.col("t0") - start) / 60).alias("x"),
        pl.col("util_p10").alias("p10"),
        pl.col("util_p50").alias("p50"),
        pl.col("util_p90").alias("p90"),
        pl.col("util_min").alias("low"),
    )
    texts = [
        f"{shown.elapsed(x * 60)}: median {shown.number(p50)} %, p10 {shown.number(p10)} %, p90 {shown.number(p90)} %, lowest {shown.number(low)} %"
        for x, p10, p50, p90, low in rows.iter_rows()
    ]
    return rows.with_columns(pl.Series("text", texts, dtype=pl.String))


def process_rows(phases: pl.DataFrame, start: float) -> tuple[pl.DataFrame, list[str]]:
    """Phases of processes without a GPU as the picture wants them, and the names of its rows from the top.

    Args:
        phases: `process_phases`.
        start: of the run, Unix seconds.

    Returns:
        lane, x, x2 (minutes since the start), phase, text, in the order in which they are painted: waiting first.
    """
    rows = []
    names: dict[str, None] = {}
    columns = ("name", "t0", "t1", "rank", "role")
    for name, t0, t1, rank, role in phases.select(columns).iter_rows():
        lane = process_name(rank, role)
        names[lane] = None
        text = (
            f"{label_of(name)}, {lane}, {shown.elapsed(t0 - start)} to {shown.elapsed(t1 - start)}"
        )
        rows.append((lane, (t0 - start) / 60, (t1 - start) / 60, name, text, name not in IDLE))
    schema = {"lane": pl.String, "x": pl.Float64, "x2": pl.Float64, "phase": pl.String, "text": pl.String, "works": pl.Boolean}  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.sort("works", "x", maintain_order=True).drop("works"), list(names)


def process_name(rank: int, role: str | None) -> str:
    """A process without a GPU as pages name it; a trainer by its rank alone."""
    words = (role or "process").replace("_", " ")
    if rank < 0:
        return words
    return f"rank {rank}" if role in {None, "train"} else f"{words} rank {rank}"
