"""The Compute page: what every GPU was doing, where the steps' time went, what stands out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.charts.compute_charts import NO_PHASE
from miles_report.pages import format as shown
from miles_report.pages.compute_figures import (
    MOST_LANES,
    is_fleet,
    lanes_figure,
    shares_figure,
    step_bars,
    steps_figure,
    util_figure,
)
from miles_report.pages.compute_series import label_of, lane_name, ordered
from miles_report.pages.copy_as import copy_as
from miles_report.pages.index_findings import advice_window
from miles_report.pages.page import Page, Stat
from miles_report.schema.vocabulary import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from miles_report.charts.render import Figure
    from miles_report.pages.compute_figures import Overview

BUCKETS = 240
"""Of the pictures: one in four pixels."""

MOST_CHOSEN = 32
"""Lanes of a larger run that are drawn at once."""

WAITS = ("train_wait", "sleep", "initialize")
"""Phases in which a lane does nothing: not worth a pick."""


@dataclass(frozen=True)
class Legend:
    """One phase of a legend: its words, and its custom property or "" for no phase."""

    label: str
    token: str
    doc: str


@dataclass(frozen=True)
class Advice:
    """One advisory, ready to show.

    Attributes:
        where: when it was seen, in words; "" if it names no time.
        window: the same for the address: seconds since the start of the run, "120,360".
        hidden_by: what it is held back by.
    """

    level: str
    message: str
    where: str
    window: str
    hidden_by: str


@dataclass(frozen=True)
class Pick:
    """A lane that stands out; `word` chooses it in the grammar of lanes."""

    why: str
    lane: str
    word: str
    score: str


def pick_criteria(step_phases: pl.DataFrame) -> dict[str, str]:
    """What to pick lanes by: criterion of `outliers` to its words.

    Args:
        step_phases: the table; the phase that took most of the lanes' time is looked at.
    """
    busy = step_phases.filter(~pl.col("phase").is_in(WAITS))
    totals = busy.group_by("phase").agg(pl.col("lane_seconds").sum())
    totals = totals.sort("lane_seconds", "phase", descending=[True, False])
    criteria = {"lowest_util": "Lowest utilization"}
    for phase in totals["phase"][:1]:
        criteria[f"slowest_phase:{phase}"] = f"Slowest {label_of(phase).lower()}"
        criteria[f"latest_start:{phase}"] = f"Latest start of {label_of(phase).lower()}"
    return criteria


def compute_page(
    tables: Mapping[str, pl.DataFrame],
    outliers: Mapping[str, pl.DataFrame],
    *,
    overview: Overview = "auto",
) -> Page:
    """The value of compute.html.

    Args:
        tables: lanes, topology, step_phases, bubbles, mfu, advisories, run, step_times and process_phases (see `run_timeline`); fleet and, up to `MOST_LANES` lanes, carpet (of
            phases) over the whole run with `BUCKETS` buckets.
        outliers: words of each pick to its rows of `outliers`, worst first.
        overview: when shares of all lanes are drawn instead of a row a lane.
    """
    lanes, fleet = tables["lanes"], tables["fleet"]
    start = _start(tables)
    as_fleet = is_fleet(lanes.height, overview)
    figures: dict[str, Figure | None] = {
        **_overview(tables, start, fleet=as_fleet),
        "util": util_figure(fleet, start) if start is not None else None,
        "steps": steps_figure(tables["step_phases"], "compute steps"),
    }
    phases = _phases(tables)
    picks = [pick for why, rows in outliers.items() for pick in _picks(why, rows)]
    is_empty = all(tables[name].is_empty() for name in ("lanes", "topology", "process_phases"))
    is_alive = start is not None and not is_empty
    advices = [_advice(row, start or 0.0) for row in tables["advisories"].iter_rows(named=True)]
    return Page(
        path="compute.html",
        template="compute.html",
        title="Compute",
        subtitle=_subtitle(tables),
        section="compute",
        view="compute" if is_alive else "",
        data=_data(tables, start, picks) if start is not None and is_alive else {},
        values={
            "numbers": _numbers(tables),
            "has_lanes": lanes.height > 0,
            "is_empty": is_empty,
            "is_alive": is_alive,
            "is_fleet": as_fleet,
            "is_large": lanes.height > MOST_LANES,
            "most_lanes": MOST_LANES,
            "legend": phase_legend(phases),
            "advices": [advice for advice in advices if not advice.hidden_by],
            "hidden": [advice for advice in advices if advice.hidden_by],
            "picks": picks,
            "engines": _engines(tables["topology"], start),
            "copies": {
                name: copy_as(name)
                for name in ("phases", "gpu_util", "step_phases", "topology", "advisories")
            },
            **figures,
        },
        figures=tuple(figure for figure in figures.values() if figure),
    )


def _overview(
    tables: Mapping[str, pl.DataFrame], start: float | None, *, fleet: bool
) -> dict[str, Figure | None]:
    """The picture of the run, and the other one behind a switch where both can be read."""
    if start is None:
        return {"overview": None, "other": None}
    if fleet:
        return {"overview": shares_figure(tables, start, "compute overview"), "other": None}
    rows = lanes_figure(tables, start, "compute overview")
    other = shares_figure(tables, start, "compute shares") if rows else None
    return {"overview": rows, "other": other}


def _start(tables: Mapping[str, pl.DataFrame]) -> float | None:
    """Zero of the time axes, Unix seconds: the first record of the run; null without records."""
    fleet, first = tables["fleet"], tables["run"]["t0"][0]
    return first if fleet.is_empty() else float(fleet["t0"][0])


def _data(
    tables: Mapping[str, pl.DataFrame], start: float, picks: Sequence[Pick]
) -> dict[str, Any]:
    """What the script has to know: the axis, and which lanes it draws unasked."""
    lanes, fleet = tables["lanes"], tables["fleet"]
    end = tables["run"]["t1"][0] if fleet.is_empty() else float(fleet["t1"][-1])
    heads = lanes.unique("node", keep="first", maintain_order=True)
    words = [pick.word for pick in picks]
    words += [_word(node, gpu) for node, gpu in heads.select("node", "gpu").iter_rows()]
    return {
        "start": start,
        "end": max(end, start + 1.0),
        "most_lanes": MOST_LANES,
        "most_chosen": MOST_CHOSEN,
        "chosen": list(dict.fromkeys(words))[:MOST_CHOSEN] if lanes.height > MOST_LANES else [],
        "bars": step_bars(tables["step_phases"], start),
        "steps": tables["step_times"]
        .select("step", "t0", "t1", "wait_ratio", "overlap_fraction")
        .to_dicts(),
    }


def _word(node: str, gpu: int) -> str:
    """How the grammar of lanes names one."""
    return f"gpu:{node}:{gpu}"


def _subtitle(tables: Mapping[str, pl.DataFrame]) -> str:
    lanes = tables["lanes"]
    if lanes.is_empty():
        ranks = tables["process_phases"].filter(pl.col("rank") >= 0)["rank"].n_unique()
        engines = tables["topology"]["addr"].n_unique()
        known = [(ranks, "rank"), (engines, "engine")]
        words = [shown.plural(n, word) for n, word in known if n]
        return ", ".join([*words, "no GPU is known"])
    nodes = lanes["node"].n_unique()
    return f"{shown.plural(lanes.height, 'GPU')} on {shown.plural(nodes, 'node')}"


def _numbers(tables: Mapping[str, pl.DataFrame]) -> list[Stat]:
    bubbles, mfu = tables["bubbles"], tables["mfu"]
    waits = bubbles.filter(bubbles["wait_ratio"].is_not_null())
    overlap = tables["step_phases"].drop_nulls("overlap_fraction")
    engines = tables["topology"]["addr"].n_unique()
    wait = waits["wait_ratio"][-1] if waits.height else None
    share = overlap["overlap_fraction"][-1] if overlap.height else None
    reached = mfu.row(0, named=True) if mfu.height else {"latest": None, "peak": None}
    return [
        Stat("Lanes", shown.count(tables["lanes"].height)),
        Stat("Engines", shown.count(engines), title="Addresses in the topology, over the whole run."),
        Stat("Train wait", None if wait is None else shown.frac(wait), f"step {waits['step'][-1]}" if waits.height else "", "perf/wait_time_ratio was not logged" if wait is None else "Share of the step in which training waited."),
        Stat("Rollout beside training", None if share is None else shown.frac(share), f"step {overlap['step'][-1]}" if overlap.height else "", "no rollout phase within a step" if share is None else "Share of the rollout's time in which some rank trained."),
        Stat("MFU, actor train", None if reached["latest"] is None else shown.frac(reached["latest"]), "" if reached["peak"] is None else f"of {shown.number(reached['peak'])} TFLOPS", "perf/actor_train_mfu was not logged" if reached["latest"] is None else "Model FLOPs utilization of the newest step, and the peak it refers to."),
    ]  # fmt: skip


def _phases(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Every phase of the run, in order."""
    names = [
        name.removeprefix("phase.") for name in tables["fleet"].columns if name.startswith("phase.")
    ]
    others = (tables["step_phases"]["phase"], tables["process_phases"]["name"])
    return ordered(name for name in (*names, *chain(*others)) if name != NO_PHASE)


def phase_legend(phases: Iterable[str]) -> list[Legend]:
    """Their legend, each once, in the order of the vocabulary."""
    return [_legend(name) for name in ordered(phases)]


def _legend(name: str) -> Legend:
    known = PHASES.get(name, PHASES["unknown"])
    return Legend(label_of(name), f"--p-{known.name.replace('_', '-')}", known.doc)


def _advice(row: Mapping[str, Any], start: float) -> Advice:
    window = advice_window(row["evidence"], start)
    where = " to ".join(map(shown.elapsed, window)) if window else ""
    text = ",".join(f"{edge:.1f}" for edge in window) if window else ""
    return Advice(row["level"], row["message"], where, text, row["suppressed_by"] or "")


def _picks(why: str, rows: pl.DataFrame) -> list[Pick]:
    found = []
    for node, gpu, score in rows.select("node", "gpu", "score").iter_rows():
        if why.startswith("Latest") and score <= 0:
            continue
        text = f"{shown.number(score)} %" if why.startswith("Lowest") else shown.seconds(score)
        found.append(Pick(why, lane_name(node, gpu), _word(node, gpu), text))
    return found


def _engines(topology: pl.DataFrame, start: float | None) -> list[dict[str, str]]:
    zero = start or 0.0
    return [
        {
            "addr": row["addr"],
            "type": row["worker_type"] or "",
            "rank": _rank(row["engine_rank"]),
            "gpus": ", ".join(row["gpus"] or []) or "external",
            "since": shown.elapsed(max(row["t0"] - zero, 0.0)),
            "until": "" if row["t1"] is None else shown.elapsed(row["t1"] - zero),
        }
        for row in topology.iter_rows(named=True)
    ]


def _rank(rank: int | None) -> str:
    """An engine's rank; "" for an external one, which has -1."""
    return "" if rank is None or rank < 0 else str(rank)
