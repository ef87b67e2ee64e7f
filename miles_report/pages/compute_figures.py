"""Pictures of the Compute page: phases of lanes or shares of the fleet, utilization, where steps went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from miles_report.charts import render
from miles_report.charts.compute_charts import (
    TOKENS,
    fleet_shares,
    lane_bands,
    step_shares,
    util_spread,
)
from miles_report.pages import format as shown
from miles_report.pages.compute_series import (
    fleet_rows,
    lane_name,
    lane_rows,
    ordered,
    process_rows,
    spread_rows,
    step_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from miles_report.charts.render import Figure

Overview = Literal["auto", "always"]
"""When the utilization overview takes the place of a row a lane: above `MOST_LANES`, or always."""

MOST_LANES = 64
"""Up to so many lanes each has a row; of more the shares of all are drawn."""

MOST_DRAWN = 4000
"""Phases of processes without a GPU in the picture of the run; more are drawn by script alone."""

STEPS_SHOWN = 60
"""Newest steps in the picture of where their time went."""


def is_fleet(n_lanes: int, overview: Overview) -> bool:
    """Whether shares of all lanes are drawn instead of a row a lane."""
    return n_lanes > MOST_LANES or (overview == "always" and n_lanes > 0)


def lanes_figure(tables: Mapping[str, pl.DataFrame], start: float, name: str) -> Figure | None:
    """Phases over time, a row a lane, or a row a process where no GPU is known; null without any.

    Args:
        tables: lanes, fleet, carpet, process_phases, run.
        start: of the run, Unix seconds.
        name: of the figure.
    """
    lanes, fleet = tables["lanes"], tables["fleet"]
    if lanes.is_empty():
        return _processes(tables, start, name)
    rows = lane_rows(tables["carpet"], fleet, start)
    if rows.is_empty():
        return None
    names = [lane_name(node, gpu) for node, gpu in lanes.select("node", "gpu").iter_rows()]
    chart = lane_bands(rows, names, (float(fleet["t1"][-1]) - start) / 60)
    alt = f"Phases of {_span(lanes, fleet, start)}"
    return render.figure(name, chart, alt=alt, tokens=TOKENS)


def shares_figure(tables: Mapping[str, pl.DataFrame], start: float, name: str) -> Figure | None:
    """What share of all lanes was in which phase; null without lanes.

    Args:
        tables: lanes and fleet.
        start: of the run, Unix seconds.
        name: of the figure.
    """
    lanes, fleet = tables["lanes"], tables["fleet"]
    if lanes.is_empty():
        return None
    rows = fleet_rows(fleet, start)
    chart = fleet_shares(rows, ordered(rows["phase"]), (float(fleet["t1"][-1]) - start) / 60)
    alt = f"Shares of phases of {_span(lanes, fleet, start)}"
    return render.figure(name, chart, alt=alt, tokens=TOKENS)


def _span(lanes: pl.DataFrame, fleet: pl.DataFrame, start: float) -> str:
    end = float(fleet["t1"][-1]) - start
    return f"{shown.plural(lanes.height, 'GPU lane')} over {shown.elapsed(end)}"


def _processes(tables: Mapping[str, pl.DataFrame], start: float, name: str) -> Figure | None:
    """Phases by rank, where no GPU is known; null where they are too many to be drawn so."""
    phases = tables["process_phases"]
    if not 0 < phases.height <= MOST_DRAWN:
        return None
    rows, names = process_rows(phases, start)
    seconds = float(tables["run"]["t1"][0]) - start
    alt = f"Phases of {shown.plural(len(names), 'process', 'processes')} over {shown.elapsed(seconds)}"
    return render.figure(name, lane_bands(rows, names, seconds / 60), alt=alt, tokens=TOKENS)


def util_figure(fleet: pl.DataFrame, start: float) -> Figure | None:
    """The spread of utilization over all lanes; null without a reading.

    Args:
        fleet: the table.
        start: of the run, Unix seconds.
    """
    rows = spread_rows(fleet, start)
    known = rows["p50"].drop_nulls()
    if known.is_empty():
        return None
    alt = f"Utilization of all GPUs: median between {shown.number(known.min())} and {shown.number(known.max())} %"  # type: ignore[arg-type]  # polars types min for every dtype
    return render.figure(
        "compute util", util_spread(rows, (fleet["t1"][-1] - start) / 60), alt=alt, tokens=TOKENS
    )


def step_bars(step_phases: pl.DataFrame, start: float | None) -> list[tuple[int, float, float]]:
    """The steps of `steps_figure` from left to right: step, and its beginning and end in seconds since the start of the run."""
    if start is None:
        return []
    steps = step_phases.unique("step", keep="first").sort("step").tail(STEPS_SHOWN)
    return [
        (step, round(t0 - start, 1), round(t1 - start, 1))
        for step, t0, t1 in steps.select("step", "t0", "t1").iter_rows()
    ]


def steps_figure(step_phases: pl.DataFrame, name: str) -> Figure | None:
    """Where the lanes' time of the newest steps went; null without steps.

    Args:
        step_phases: the table.
        name: of the figure.
    """
    if step_phases.is_empty():
        return None
    newest = step_phases["step"].unique().sort().tail(STEPS_SHOWN)
    rows = step_rows(step_phases.filter(step_phases["step"].is_in(newest.implode())))
    alt = f"Where the lanes' time of steps {newest[0]} to {newest[-1]} went"
    chart = step_shares(rows, ordered(rows["phase"]))
    return render.figure(name, chart, alt=alt, tokens=TOKENS)
