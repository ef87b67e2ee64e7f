"""The `health` and `incidents` tables, and the states of engines that follow from the events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.tables.frames import conform, empty_table, table_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = tuple[str | None, int]
"""Group and rank of an engine."""

ALIVE, SUSPECTED, DEAD, STARTING = "alive", "suspected", "dead", "starting"

AFTER = {
    "check_passed": ALIVE,
    "engine_recovered": ALIVE,
    "check_failed": SUSPECTED,
    "engine_killed": DEAD,
    "kill_failed": DEAD,
    "recovery_started": STARTING,
    "recovery_failed": DEAD,
}
"""State of an engine after an event of its own."""


SERVES = ("check_passed", "engine_recovered")
"""After both an engine serves in its place."""

LATEST_TS = 1e11
"""Later times, in the year 5138, are no times."""

KILLS = ("engine_killed", "kill_failed")
"""After both the place of the engine is empty; a failed kill may leave its process behind."""


@dataclass(frozen=True)
class Stretch:
    """An engine in one state.

    Attributes:
        key: the engine.
        state: alive, suspected, dead or starting.
        t0: since when, Unix seconds.
        t1: until when.
    """

    key: Key
    state: str
    t0: float
    t1: float


def health_table(
    health: pl.DataFrame, *, t0: float | None = None, t1: float | None = None
) -> pl.DataFrame:
    """Health events of a window, edges included.

    Args:
        health: the stream in file order.
        t0: Unix seconds; null: from the first.
        t1: Unix seconds; null: to the last.
    """
    if t0 is not None:
        health = health.filter(pl.col("ts") >= t0)
    if t1 is not None:
        health = health.filter(pl.col("ts") <= t1)
    return conform("health", health)


def incidents_table(health: pl.DataFrame) -> pl.DataFrame:
    """Kills with what led to them and what came after, by t_failed.

    Args:
        health: columns of the `health` table.

    Returns:
        Columns of the `incidents` table. A check that fails and then passes again is no incident.
    """
    suspected: dict[Key, dict[str, Any]] = {}
    open_: dict[Key, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    for key, event in _of_engines(health):
        name, ts = event["event"], event["ts"]
        if name == "check_failed":
            suspected.setdefault(key, event)
        elif name in SERVES:
            suspected.pop(key, None)
            open_.pop(key, {})["t_back"] = ts
        elif name in KILLS and key not in open_:
            first = suspected.pop(key, None)
            row = _incident(event, first)
            open_[key] = row
            rows.append(row)
    if not rows:
        return empty_table("incidents")
    frame = pl.DataFrame(rows, schema=table_schema("incidents"))
    killed, back = pl.col("t_killed"), pl.col("t_back")
    times = frame.with_columns(
        (killed - pl.col("t_failed")).alias("detect_s"), (back - killed).alias("repair_s")
    )
    return times.sort("t_failed", maintain_order=True)


def _incident(kill: dict[str, Any], first: dict[str, Any] | None) -> dict[str, Any]:
    """The row of a kill; `first` is the first failed check before it, whose time is when it gave up."""
    began = kill["ts"]
    if first is not None:
        took = first["latency_s"] or 0.0
        began = first["ts"] - (took if 0.0 <= took < LATEST_TS else 0.0)
    told = first["detail"] if first and first["detail"] else kill["detail"]
    return {
        "addr": kill["addr"] or (first or {}).get("addr"),
        "engine_rank": kill["engine_rank"],
        "node": kill["node"] or (first or {}).get("node"),
        "t_failed": min(began, kill["ts"]),
        "t_killed": kill["ts"],
        "t_back": None,
        "detect_s": None,
        "repair_s": None,
        "cause": told,
    }


def engine_states(health: pl.DataFrame, start: float, end: float) -> list[Stretch]:
    """What every engine that has events was, from the start to the end of the run.

    Args:
        health: columns of the `health` table.
        start: first record of the run, Unix seconds.
        end: last record of the run, Unix seconds.

    Returns:
        Stretches by engine and time, without empty ones; an engine is alive until an event says otherwise.
    """
    begun: dict[Key, tuple[str, float]] = {}
    found: list[Stretch] = []
    for key, event in _of_engines(health):
        state = AFTER.get(event["event"])
        if state is None:
            continue
        ts = min(max(event["ts"], start), end)
        old, since = begun.get(key, (ALIVE, start))
        if state == old or (state == SUSPECTED and old in (DEAD, STARTING)):
            begun.setdefault(key, (old, since))
            continue
        found.append(Stretch(key, old, since, ts))
        begun[key] = (state, ts)
    found += [Stretch(key, state, since, end) for key, (state, since) in begun.items()]
    kept = [stretch for stretch in found if stretch.t1 > stretch.t0]
    return sorted(kept, key=lambda one: (one.key[0] or "", one.key[1], one.t0))


def restarts(topology: pl.DataFrame) -> pl.DataFrame:
    """Engines whose address changed from one topology to the next: ts, engine_rank, before, after.

    Args:
        topology: the `topology` table.
    """
    known = topology.filter(pl.col("engine_rank") >= 0).sort(
        "engine_rank", "t0", maintain_order=True
    )
    moved = known.select(
        pl.col("t0").alias("ts"),
        "engine_rank",
        pl.col("addr").shift(1).over("engine_rank").alias("before"),
        pl.col("addr").alias("after"),
    )
    return moved.filter(pl.col("before") != pl.col("after")).sort("ts", maintain_order=True)


def believable(health: pl.DataFrame) -> pl.DataFrame:
    """The events whose time can be one."""
    return health.filter(pl.col("ts").is_between(0.0, LATEST_TS))


def _of_engines(health: pl.DataFrame) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Events about one engine, by time, those of one moment in file order."""
    rows = believable(health).filter(pl.col("engine_rank").is_not_null())
    for event in rows.sort("ts", maintain_order=True).iter_rows(named=True):
        yield (event["group"], event["engine_rank"]), event
