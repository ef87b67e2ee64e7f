"""The Faults page: which engine failed, when it was found, when it served again, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.charts import render, series
from miles_report.charts.fault_charts import STATES, TOKENS, engine_bands
from miles_report.pages import format as shown
from miles_report.pages.copy_as import copy_as
from miles_report.pages.page import Page, Stat
from miles_report.tables.incident_cost import incident_cost
from miles_report.tables.incidents import (
    ALIVE,
    SUSPECTED,
    believable,
    engine_states,
    restarts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.charts.render import Figure
    from miles_report.tables.incidents import Key, Stretch

EVENTS_SHOWN = 40
INCIDENTS_SHOWN = 200
"""Newest ones in the page; SQL has all."""

OF_THE_COLLECTOR = ("collector_started", "collector_stopped", "records_dropped")
"""Events that no monitor writes."""

QUIET = ("check_passed", "monitor_paused", "monitor_resumed", "first_wait")
"""Events of an ordinary run."""

HELD = ("mass_failure_held", "restart_budget_exhausted", "recovery_failed", "kill_failed")
"""What did not go as it should, but for transfers."""

COSTS_SHOWN = 6
"""Newest incidents whose cost is drawn."""

AROUND_S = 60.0
"""Before and behind what a link to Compute shows."""

TRANSFERS = ("p2p_transfer_failed", "p2p_retried", "p2p_fell_back")


@dataclass(frozen=True)
class Incident:
    """One failure, ready to show; href leads to its time on Compute.

    `found_width` and `back_width` are the bars of the two times, in percent of the longest incident.
    """

    number: int
    engine: str
    node: str | None
    at: str
    href: str
    utc: str
    cause: str | None
    found: str
    back: str | None
    step: str | None
    found_width: float
    back_width: float


@dataclass(frozen=True)
class Event:
    """One health event, ready to show; href leads to its time on Compute."""

    at: str
    href: str
    utc: str
    event: str
    engine: str | None
    addr: str | None
    detail: str | None
    latency: str | None


@dataclass(frozen=True)
class Cost:
    """Generation around one incident, ready to show."""

    label: str
    change: str
    below: str
    href: str
    figure: Figure


@dataclass(frozen=True)
class EngineShare:
    """How long one engine served, ready to show.

    Attributes:
        name: of the engine.
        available: share of its time.
        width: the same in percent, for a bar.
        lost: time dead or starting.
        kills: how often it was killed.
    """

    name: str
    available: str
    width: float
    lost: str
    kills: str


def faults_page(tables: Mapping[str, pl.DataFrame], rates: pl.DataFrame | None = None) -> Page:
    """The value of faults.html.

    Args:
        tables: health, incidents, topology and run; step_times, see `run_timeline`.
        rates: `engine_series` of tokens generated a second, of every engine; null where none was scraped.
    """
    health, incidents = tables["health"], tables["incidents"]
    run = tables["run"].row(0, named=True)
    start, end = run["t0"], run["t1"]
    health = believable(health)
    watched = health.filter(~pl.col("event").is_in(OF_THE_COLLECTOR))
    known = start is not None and end is not None
    stretches = engine_states(health, start, end) if known else []
    figure = _figure(stretches, start, end)
    zero = start or 0.0
    costs = _costs(incidents, rates, zero, end)
    return Page(
        path="faults.html",
        template="faults.html",
        title="Faults",
        subtitle=_subtitle(health, incidents),
        section="faults",
        values={
            "numbers": _numbers(incidents, stretches, health) if watched.height else [],
            "watched": watched.height > 0,
            "picture": figure,
            "shares": _shares(stretches, incidents),
            "legend": [(label, token) for _, token, label in STATES.values()],
            "incidents": [
                _incident(number, row, zero, scale=_longest(incidents), steps=tables["step_times"])
                for number, row in enumerate(incidents.iter_rows(named=True), 1)
                if number > incidents.height - INCIDENTS_SHOWN
            ],
            "n_incidents": _of(incidents.height, INCIDENTS_SHOWN),
            "costs": costs,
            "held": _listed(health.filter(pl.col("event").is_in(HELD)), zero),
            "transfers": _listed(health.filter(pl.col("event").is_in(TRANSFERS)), zero),
            "events": _told(health, zero),
            "restarts": [
                {
                    "at": shown.elapsed(row["ts"] - zero),
                    "engine": str(row["engine_rank"]),
                    "before": row["before"],
                    "after": row["after"],
                }
                for row in restarts(tables["topology"]).iter_rows(named=True)
            ],
            "copies": {name: copy_as(name) for name in ("health", "incidents", "topology")},
        },
        figures=(*((figure,) if figure else ()), *(cost.figure for cost in costs)),
    )


def _subtitle(health: pl.DataFrame, incidents: pl.DataFrame) -> str:
    if health.is_empty():
        return "no health stream was recorded"
    return f"{shown.plural(incidents.height, 'incident')} in {shown.plural(health.height, 'health event')}"


def _numbers(incidents: pl.DataFrame, stretches: list[Stretch], health: pl.DataFrame) -> list[Stat]:
    away = sum(one.t1 - one.t0 for one in stretches if one.state not in (ALIVE, SUSPECTED))
    whole = sum(one.t1 - one.t0 for one in stretches)
    recovered = health.filter(pl.col("event") == "engine_recovered").height
    never = incidents["t_back"].null_count()
    return [
        Stat("Engines killed", shown.count(incidents.height), f"{shown.count(never)} never came back" if never else ""),
        Stat("Found in", *_spread(incidents["detect_s"]), "No engine failed."),
        Stat("Back after", *_spread(incidents["repair_s"]), "No engine came back, or none failed."),
        Stat("Engine time lost", shown.seconds(away), f"{shown.frac(away / whole)} of all engines' time" if whole else ""),
        Stat("Availability", shown.frac(1 - away / whole) if whole else None, "", "Time alive or suspected over the run's time, all engines with events."),
        Stat("Recovered", shown.count(recovered)),
    ]  # fmt: skip


def _shares(stretches: list[Stretch], incidents: pl.DataFrame) -> list[EngineShare]:
    """The engines with events, those that served the least first."""
    spans: dict[Key, list[Stretch]] = {}
    for one in stretches:
        spans.setdefault(one.key, []).append(one)
    shares = []
    for key, own in spans.items():
        whole = sum(one.t1 - one.t0 for one in own)
        lost = sum(one.t1 - one.t0 for one in own if one.state not in (ALIVE, SUSPECTED))
        kills = incidents.filter(pl.col("engine_rank") == key[1]).height
        part = 1 - lost / whole if whole else 1.0
        shares.append((part, EngineShare(_name(key), shown.frac(part), round(100 * part, 2), shown.seconds(lost), shown.count(kills))))  # fmt: skip
    return [share for _, share in sorted(shares, key=lambda pair: pair[0])]


def _around(first: float, last: float) -> str:
    """The Compute page at that time, seconds since the start of the run."""
    return f"compute.html?t={max(first - AROUND_S, 0):.0f},{last + AROUND_S:.0f}#lanes"


def _spread(values: pl.Series) -> tuple[str | None, str]:
    """Range, and the median behind it; of one value the value alone."""
    known = values.drop_nulls()
    if known.is_empty():
        return None, ""
    low, high, median = (float(known.min()), float(known.max()), float(known.median()))  # type: ignore[arg-type]  # floats, not empty
    if known.len() == 1:
        return shown.seconds(low), ""
    return f"{shown.seconds(low)} – {shown.seconds(high)}", f"median {shown.seconds(median)}"


def _name(key: Key) -> str:
    group, rank = key
    return f"engine {rank}" if group is None else f"{group} engine {rank}"


def _figure(stretches: list[Stretch], start: float | None, end: float | None) -> Figure | None:
    if not stretches or start is None or end is None:
        return None
    rows = [
        (
            _name(one.key),
            (one.t0 - start) / 60,
            (one.t1 - start) / 60,
            one.state,
            f"{_name(one.key)} {one.state} {shown.seconds(one.t1 - one.t0)}, from {shown.elapsed(one.t0 - start)}",
        )
        for one in stretches
    ]
    schema = {"engine": pl.String, "x": pl.Float64, "x2": pl.Float64, "state": pl.String, "text": pl.String}  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    engines = frame["engine"].unique(maintain_order=True).to_list()
    alt = f"States of {shown.plural(len(engines), 'engine')} over {shown.elapsed(end - start)}"
    chart = engine_bands(frame, engines, (end - start) / 60)
    return render.figure("fault engines", chart, alt=alt, tokens=TOKENS)


def _costs(
    incidents: pl.DataFrame, rates: pl.DataFrame | None, zero: float, end: float | None
) -> list[Cost]:
    """The newest incidents around which tokens were counted."""
    if rates is None or rates.is_empty() or end is None:
        return []
    found = []
    newest = list(enumerate(incidents.iter_rows(named=True), 1))[-COSTS_SHOWN:]
    for number, row in newest:
        t_back = row["t_back"] or end
        cost = incident_cost(rates, row["t_failed"], row["t_killed"], t_back)
        if cost is None:
            continue
        texts = [
            f"{shown.number(y)} tokens/s, {shown.signed(x, shown.seconds)}"
            for x, y in cost.rates.iter_rows()
        ]
        drawn = cost.rates.with_columns(pl.Series("text", texts))
        words = f"{shown.number(cost.before)} → {shown.number(cost.during)} tokens/s"
        found.append(
            Cost(
                label=f"Incident {number}, rate",
                change=shown.signed(cost.change, shown.frac),
                below=words,
                href=_around(row["t_failed"] - zero, t_back - zero),
                figure=render.figure(
                    f"fault cost {number}",
                    series.sparkline(drawn),
                    alt=f"Tokens a second of all engines around incident {number}: {words}",
                ),
            )
        )
    return found


def _longest(incidents: pl.DataFrame) -> float:
    """Seconds from failure to return of the incident that took longest; 1 without any."""
    spans = incidents.select(pl.col("detect_s") + pl.col("repair_s").fill_null(0.0)).to_series()
    return max(float(spans.max() or 0.0), 1e-9)  # type: ignore[arg-type]  # polars types max for every dtype


def _step_at(steps: pl.DataFrame, ts: float) -> str | None:
    """The step that ran then."""
    found = steps.filter((pl.col("t0") <= ts) & (ts < pl.col("t1")))
    return None if found.is_empty() else str(found["step"][0])


def _incident(
    number: int, row: Mapping[str, Any], zero: float, *, scale: float, steps: pl.DataFrame
) -> Incident:
    rank = "" if row["engine_rank"] is None else f"engine {row['engine_rank']} "
    return Incident(
        number=number,
        engine=f"{rank}{row['addr'] or ''}".strip(),
        node=row["node"],
        at=shown.elapsed(row["t_failed"] - zero),
        href=_around(
            row["t_failed"] - zero, (row["t_back"] or row["t_killed"] or row["t_failed"]) - zero
        ),
        utc=shown.utc(row["t_failed"]),
        cause=row["cause"],
        found=shown.seconds(row["detect_s"]),
        back=None if row["repair_s"] is None else shown.seconds(row["repair_s"]),
        step=_step_at(steps, row["t_failed"]),
        found_width=round(100 * row["detect_s"] / scale, 2),
        back_width=round(100 * (row["repair_s"] or 0.0) / scale, 2),
    )


def _of(amount: int, limit: int) -> str:
    """How many there are, and that not all are shown."""
    if amount <= limit:
        return shown.count(amount)
    return f"the newest {limit} of {shown.count(amount)}"


def _listed(health: pl.DataFrame, zero: float) -> dict[str, Any]:
    """The newest events, and in words how many there are."""
    newest = health.sort("ts", maintain_order=True).tail(EVENTS_SHOWN)
    return {"rows": _events(newest, zero), "note": _of(health.height, EVENTS_SHOWN)}


def _told(health: pl.DataFrame, zero: float) -> dict[str, Any]:
    """The newest events that say something, and in words what is left out."""
    loud = health.filter(~pl.col("event").is_in(QUIET))
    listed = _listed(loud, zero)
    n_quiet = health.height - loud.height
    if n_quiet:
        listed["note"] += (
            f"; without {shown.count(n_quiet)} passed checks and pauses, which SQL has"
        )
    return listed


def _events(health: pl.DataFrame, zero: float) -> list[Event]:
    """Newest first; the rows are by time."""
    return [
        Event(
            at=shown.elapsed(row["ts"] - zero),
            href=_around(row["ts"] - zero, row["ts"] - zero),
            utc=shown.utc(row["ts"]),
            event=row["event"],
            engine=None if row["engine_rank"] is None else str(row["engine_rank"]),
            addr=row["addr"],
            detail=row["detail"],
            latency=None if row["latency_s"] is None else shown.seconds(row["latency_s"]),
        )
        for row in health.reverse().iter_rows(named=True)
    ]
