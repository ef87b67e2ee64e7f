"""Tables of a published site under the parameters of their declaration: the rules of a dump, over slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.errors import NotFoundError, UsageError
from miles_report.slices.read import read_span, read_table
from miles_report.tables.lane_grammar import select_lanes
from miles_report.tables.metrics import of_axis_and_key
from miles_report.tables.phase_records import Window
from miles_report.tables.selection import (
    check_row,
    check_span_has_row,
    rows_of_sample,
    single_row,
)
from miles_report.tables.thinning import PER_BUCKET, thin
from miles_report.tables.time_grid import TimeGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.slices.catalog import Catalog
    from miles_report.slices.read import ReadFile
    from miles_report.slices.slice import Slice
    from miles_report.tables.lane_grammar import Selector

WINDOWED = ("lanes", "phases", "gpu_util", "gpu_processes", "health")
"""Tables that take a window or lanes."""

CUT_BY_TIME = {"phases": "t0", "gpu_util": "ts", "gpu_processes": "ts"}
"""Tables whose slices are stretches of time, while their rows are by lane and this column."""


def run_table(
    read: ReadFile, root: Catalog, name: str, *, step: list[int] | None = None, **selection: Any
) -> pl.DataFrame:
    """A table about the run as a whole.

    Args:
        read: gives the content of a file of the site.
        root: the root catalogue.
        name: of the table.
        step: of `notable`: only these; null: all.
        **selection: step_key and metric of `metrics`; t0, t1, lanes and points of the telemetry.

    Raises:
        NotFoundError: the report has no such step, or does not hold the table.
    """
    if name not in root.tables:
        raise absent(name)
    known = {entry.step for entry in root.steps}
    for one in step or ():
        if one not in known:
            raise NotFoundError(f"There is no step {one} in this report.")
    if name == "engine_series":
        return _engine_series(read, root, **selection)
    if name in WINDOWED:
        return _windowed(read, root, name, **selection)
    if selection.get("t0") is not None or selection.get("t1") is not None:
        raise UsageError(f"A report holds {name} of the whole run: leave out t0 and t1.")
    frame = read_table(read, root, name)
    if name == "metrics":
        frame = of_axis_and_key(frame, **selection)
    return frame if step is None else frame.filter(pl.col("step").is_in(step))


def _windowed(
    read: ReadFile,
    root: Catalog,
    name: str,
    *,
    t0: float | None = None,
    t1: float | None = None,
    lanes: Sequence[Selector] | None = None,
    points: int | None = None,
) -> pl.DataFrame:
    """A table of the telemetry: the rows of a window and of some lanes."""
    if name == "lanes":
        return select_lanes(read_table(read, root, name), lanes)
    chosen = None if lanes is None else select_lanes(read_table(read, root, "lanes"), lanes)
    places = None if chosen is None else chosen["index"].to_list()
    frame = read_table(read, root, name, wanted=lambda entry: _may_hold(entry, t0, t1, lane=places))
    in_window = Window(t0, t1).overlaps() if name == "phases" else _within(t0, t1)
    frame = frame.filter(in_window)
    if chosen is not None:
        frame = frame.join(chosen, on=["node", "gpu"], how="semi", maintain_order="left")
    if name in CUT_BY_TIME:
        frame = frame.sort("node", "gpu", CUT_BY_TIME[name], maintain_order=True)
    grid = _grid(root, t0, t1, points)
    return frame if grid is None else thin(frame, grid, series=["node", "gpu"], value="util")


def _engine_series(
    read: ReadFile,
    root: Catalog,
    *,
    metric: str,
    t0: float | None = None,
    t1: float | None = None,
    per_dp_rank: bool = False,
    points: int | None = None,
) -> pl.DataFrame:
    """One metric of every engine; each has files of its own."""
    known = read_table(read, root, "engine_metrics")["metric"]
    places = (known == metric).arg_true().to_list()
    frame = read_table(
        read, root, "engine_series", wanted=lambda entry: _may_hold(entry, t0, t1, metric=places)
    ).filter(pl.col("metric") == metric, _within(t0, t1))
    frame = frame.sort("addr", "engine_type", "dp_rank", "ts", maintain_order=True)
    ranked = pl.col("dp_rank").is_not_null()
    if per_dp_rank:
        frame = frame.filter(ranked | ~ranked.any().over("addr", "engine_type"))
    else:
        frame = frame.filter(~ranked)
    grid = _grid(root, t0, t1, points)
    series = ["addr", "engine_type", "dp_rank"]
    return frame if grid is None else thin(frame, grid, series=series, value="value")


def _may_hold(entry: Slice, t0: float | None, t1: float | None, **places: list[int] | None) -> bool:
    """Whether a slice can hold rows of a window, and of any of the lanes or metrics; null places are all."""
    low, high = -math.inf if t0 is None else t0, math.inf if t1 is None else t1
    first = entry.keys.get("t0", entry.keys.get("ts", (low, high)))[0]
    last = entry.keys.get("t1", entry.keys.get("ts", (low, high)))[1]
    if first > high or last < low:
        return False
    for key, wanted in places.items():
        span = entry.keys.get(key)
        if wanted is not None and span and not any(span[0] <= place <= span[1] for place in wanted):
            return False
    return True


def _within(t0: float | None, t1: float | None) -> pl.Expr:
    """Whether a reading lies in the window, edges included."""
    low, high = -math.inf if t0 is None else t0, math.inf if t1 is None else t1
    return (pl.col("ts") >= low) & (pl.col("ts") <= high)


def _grid(root: Catalog, t0: float | None, t1: float | None, points: int | None) -> TimeGrid | None:
    """Buckets for so many points; null without points, or in a run without records."""
    first = root.facts.get("t0") if t0 is None else t0
    last = root.facts.get("t1") if t1 is None else t1
    if points is None or first is None or last is None:
        return None
    first = first if t0 is not None else min(first, last)
    return TimeGrid.over(first, last, points // PER_BUCKET)


def step_table(
    read: ReadFile,
    catalog: Catalog,
    step: int,
    name: str,
    *,
    row: int | None = None,
    sample: int | None = None,
    start: int | None = None,
    end: int | None = None,
) -> pl.DataFrame:
    """A table of one step, of one sample if row or sample names it.

    Args:
        read: gives the content of a file of the site.
        catalog: of the step.
        step: its number, for messages.
        name: of the table.
        row: of the sample in the rollout file.
        sample: its index.
        start: of `tokens`: first position.
        end: of `tokens`: position after the last, clipped to the sample's length.

    Raises:
        NotFoundError: the step has no such row or sample.
        UsageError: several rows share the sample index and the table takes only one; the positions selected are none.
    """
    if row is None and sample is None:
        check_span_has_row(start, end)
        return read_table(read, catalog, name)
    rows = _rows(read, catalog, step, row=row, sample=sample)
    if name == "tokens":
        return read_span(read, catalog, single_row(rows, sample, step), start, end)
    return pl.concat([read_table(read, catalog, name, row=one) for one in rows])


def step_lifecycles(
    read: ReadFile,
    catalog: Catalog,
    step: int,
    *,
    row: int | None = None,
    sample: int | None = None,
) -> pl.DataFrame:
    """The `trajectories` of one step, of one sample if row or sample names it.

    Raises:
        NotFoundError: the step has no such row or sample.
    """
    frame = read_table(read, catalog, "trajectories")
    if row is None and sample is None:
        return frame
    rows = _rows(read, catalog, step, row=row, sample=sample)
    samples = read_table(read, catalog, "samples").filter(pl.col("row").is_in(rows))
    return frame.filter(
        pl.col("sample_index").is_in(samples["sample_index"].drop_nulls().to_list())
    )


def absent(name: str) -> NotFoundError:
    """The error for a table that reports do not hold, such as those of the timeline."""
    return NotFoundError(f"This report holds no table {name}: ask the dump itself, with open_run.")


def check_lifecycles(step: list[int] | None, t0: float | None, t1: float | None) -> list[int]:
    """The steps whose lifecycles are asked for.

    Raises:
        UsageError: none, or a window of time, which slices do not have.
    """
    if step is None:
        raise UsageError("A report holds lifecycles by step: give step, or ask the dump itself.")
    if t0 is not None or t1 is not None:
        raise UsageError("Give either step or a window t0, t1; a step has its own window.")
    return step


def _rows(
    read: ReadFile, catalog: Catalog, step: int, *, row: int | None, sample: int | None
) -> list[int]:
    """The rows that row or sample names; of a row the catalogue alone knows whether it is there."""
    if row is not None:
        check_row(row, sum(part.rows for part in catalog.tables.get("samples", ())), step)
        return [row]
    assert sample is not None
    return rows_of_sample(read_table(read, catalog, "samples"), sample, step)
