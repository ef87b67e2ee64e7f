"""The `carpet` table: every lane, or every sample, as a row of cells over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.frames import table_schema
from miles_report.tables.lane_grid import highest, painted, place_of
from miles_report.tables.paint import cells_column, paint
from miles_report.tables.trajectories import events_between, window_spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.tables.time_grid import TimeGrid

BUCKETS = 1200
MOST_SAMPLES = 1024
"""Rows of a lifecycle carpet: what a screen can still show."""

STATES = {"attempt": "queue", "gen": "generating", "tool": "tool_wait"}
"""Spans of `trajectories` as cells; attempts lie below, of the others the one that began last shows."""


def phase_carpet(phases: pl.DataFrame, lanes: pl.DataFrame, grid: TimeGrid) -> pl.DataFrame:
    """Which phase each lane was in.

    Args:
        phases: rows of the `phases` table that overlap the window.
        lanes: the rows to show.
        grid: window and buckets.

    Returns:
        Columns of the `carpet` table; cells are names, null without a phase.
    """
    shown, names = painted(phases, lanes, grid)
    return _of_lanes(lanes, cells_column(shown, names, lanes.height))


def gpu_carpet(
    samples: Iterable[pl.DataFrame],
    coded: pl.DataFrame,
    lanes: pl.DataFrame,
    grid: TimeGrid,
    reading: str,
) -> pl.DataFrame:
    """The highest reading of each lane and bucket.

    Args:
        samples: GPU samples of the window, block by block, with lane numbers.
        coded: the lane numbers; asked once all blocks are read.
        lanes: the rows to show.
        grid: window and buckets.
        reading: util (%), mem_mb (MiB) or power_w (W).

    Returns:
        Columns of the `carpet` table; cells are numbers, null without a reading.
    """
    cells = highest(samples, reading, place_of(coded, lanes), lanes.height, grid)
    if not lanes.height:
        column = pl.Series("cells", [], dtype=pl.List(pl.Float64))
    else:
        flat = pl.Series(cells.ravel()).fill_nan(None)
        column = flat.reshape(cells.shape).cast(pl.List(pl.Float64)).alias("cells")
    return _of_lanes(lanes, column)


def lifecycle_carpet(events: pl.DataFrame, grid: TimeGrid) -> pl.DataFrame:
    """What each sample was doing: queued, generating, or waiting on a tool.

    Args:
        events: the trajectories stream in file order; those that name no sample are shown as one sample, -1.
        grid: window and buckets.

    Returns:
        Columns of the `carpet` table, a row a sample by its first event in the window, at most `MOST_SAMPLES`; cells are states.
        A span that began before the window or did not end in it reaches to the window's edge.
    """
    seen = events_between(events, grid.t0, grid.t1)
    group = pl.col("group_index")
    samples = (
        seen.sort("ts", maintain_order=True)
        .group_by("sample_index", maintain_order=True)
        .agg(pl.coalesce(group.filter(group >= 0).first(), group.first()))
        .head(MOST_SAMPLES)
        .with_row_index("row")
    )
    placed = window_spans(seen).join(
        samples.select("row", "sample_index"),
        on="sample_index",
        how="inner",
        maintain_order="left",
    )
    placed = placed.sort(pl.col("kind") != "attempt", maintain_order=True)
    start = placed["row"].cast(pl.Int64).to_numpy() * grid.buckets
    first = start + grid.of(placed["t0"].fill_null(grid.t0))
    last = start + grid.of(placed["t1"].fill_null(grid.t1))
    shown = paint(samples.height * grid.buckets, first, last)
    names = placed["kind"].replace_strict(STATES, return_dtype=pl.String)
    return _carpet(samples.drop("row"), cells_column(shown, names, samples.height))


def _of_lanes(lanes: pl.DataFrame, cells: pl.Series) -> pl.DataFrame:
    return _carpet(lanes.select("index", "node", "gpu", "roles"), cells)


def _carpet(rows: pl.DataFrame, cells: pl.Series) -> pl.DataFrame:
    """The rows with all columns of the table; cells keep their own type."""
    known = rows.with_columns(cells)
    return known.select(
        (pl.col(name) if name in known.columns else pl.lit(None, dtype=dtype).alias(name))
        for name, dtype in table_schema("carpet").items()
    )
