"""Telemetry that the collector could not keep or get, from its own events: told, so that a gap is not read as silence."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from miles_report.notices import Notice
from miles_report.schema.streams import STREAMS
from miles_report.sources.folders import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TOLD = 8
"""Different losses of one stream that are told; more say nothing new."""

ENGINE_SERIES = "engine_series"


def losses(health: pl.DataFrame) -> Iterator[Notice]:
    """One notice for each stream, address and reason of `records_dropped` events: a warning, but for an engine that was stopped or killed.

    Args:
        health: the health stream; needs ts, event, addr and detail. A detail that names no stream counts for all.
    """
    events = health.filter(pl.col("event") == "records_dropped").with_columns(
        stream=pl.col("detail").str.extract(r"^([a-z_]+): "),
        reason=pl.col("detail").fill_null("no reason was recorded").str.replace(r"^[a-z_ ]+: ", ""),
    )
    known = pl.col("stream").is_in(list(STREAMS))
    kinds = (
        events.with_columns(stream=pl.when(known).then("stream"))
        .with_columns(kind=pl.col("reason").str.replace_all(r"[0-9.]+", "#"))
        .group_by("stream", "addr", "kind", maintain_order=True)
        .agg(
            pl.len(),
            pl.col("ts").min().alias("t0"),
            pl.col("ts").max().alias("t1"),
            pl.col("reason").first(),
        )
    )
    killed = set(health.filter(pl.col("event") == "engine_killed")["addr"].to_list())
    stops = health.filter(pl.col("event") == "monitor_stopped")["ts"].to_list()
    stopped = max(stops, default=math.inf)
    told: dict[str | None, int] = {}
    for stream, addr, _, n, t0, t1, reason in kinds.iter_rows():
        told[stream] = told.get(stream, 0) + 1
        if told[stream] <= MOST_TOLD:
            when = f"at {_utc(t0)}" if n == 1 else f"{n} times between {_utc(t0)} and {_utc(t1)}"
            yield _notice(stream, addr, reason, when, is_over=addr in killed or t0 >= stopped)


def _notice(
    stream: str | None, addr: str | None, reason: str, when: str, *, is_over: bool
) -> Notice:
    source = "dashboard" if stream is None else f"dashboard/{stream}"
    if stream == ENGINE_SERIES and addr and is_over:
        return Notice(
            "engine-gone",
            "info",
            source,
            f"Engine series of {printable(addr)} end: {printable(reason)} ({when}), and it had been stopped or killed.",
            "None: the series go on at the address of the engine that took its place, if one did.",
        )
    if stream == ENGINE_SERIES and addr:
        return Notice(
            "no-engine-answer",
            "warning",
            source,
            f"Engine series have gaps: {printable(addr)} was asked for metrics and {printable(reason)} ({when}).",
            "Check that the address serves metrics (sglang: --enable-metrics), or set --dashboard-sglang-scrape-mode.",
        )
    return Notice(
        "records-dropped",
        "warning",
        source,
        f"Telemetry was lost: {printable(reason)} ({when}).",
        "None for this run; look for a full disk or an overloaded driver node.",
    )


def _utc(ts: float) -> str:
    """To the second; a broken clock's number as it is."""
    try:
        return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{ts}"
