"""The `advisories` table: alarms, then tuning advice, which an alarm hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.advisory_alarms import ALARMS, Finding, finding
from miles_report.tables.advisory_inputs import CACHE_HIT_RATE, RUNNING
from miles_report.tables.frames import table_schema
from miles_report.tables.words import moment, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from miles_report.tables.advisory_inputs import AdvisoryInputs

LOW_MFU = 0.15
"""Dense training reaches 30 to 50 %; below half of that something other than arithmetic takes the time."""

LOW_MFU_MIN_STEPS = 3
"""The mean of fewer steps is mostly warm-up."""

LOW_CONCURRENCY = 0.30
"""Of the cap; memory is set aside for requests that never come."""

LOW_CACHE_HIT = 0.10
"""Samples of a group share their prompt, so that a working prefix cache hits far more often."""

BUSY_RANK = 1.0
"""Mean running requests of the busiest dp rank; below it all ranks are idle and their ratio says nothing."""

IDLE_RANK = 0.25
"""Of the busiest: routing sends its requests elsewhere."""


def advisories_table(run: AdvisoryInputs) -> pl.DataFrame:
    """All findings: alarms, then tuning advice, hidden by the first alarm if there is any.

    Low utilization means opposite things on a healthy and on a starved run, so advice waits until nothing is wrong.
    """
    alarms = [found for rule in ALARMS for found in rule(run)]
    advice = [found for rule in TUNING for found in rule(run)]
    hidden_by = alarms[0].rule if alarms else None
    rows: list[tuple[str | None, ...]] = [
        (one.rule, one.level, one.message, one.evidence, hidden_by if is_advice else None)
        for findings, is_advice in ((alarms, False), (advice, True))
        for one in findings
    ]
    return pl.DataFrame(rows, schema=table_schema("advisories"), orient="row")


def low_mfu(run: AdvisoryInputs) -> list[Finding]:
    """Training makes little of its GPUs."""
    if not run.mfu.height:
        return []
    row = run.mfu.row(0, named=True)
    if not (row["steps"] >= LOW_MFU_MIN_STEPS and row["mean"] < LOW_MFU):
        return []
    since = "" if run.start_ts is None else f" since {moment(run.start_ts)}"
    return [
        finding(
            "low_mfu",
            "warning",
            f"Actor training reached {percent(row['mean'])} of the peak on average over {row['steps']} steps{since}. Look "
            "for small micro batches, much recomputation, pipeline bubbles, and waiting on other ranks.",
            t0=run.start_ts,
            t1=run.last_ts,
            mean=row["mean"],
            steps=row["steps"],
            limit=LOW_MFU,
        )
    ]


def low_concurrency(run: AdvisoryInputs) -> list[Finding]:
    """Engines never came near the cap on running requests."""
    peak, cap = run.engines.peak(RUNNING), run.max_running
    if not peak < LOW_CONCURRENCY * cap:
        return []
    t0, t1 = run.engines.span(RUNNING)
    gain = ": that frees memory for training" if run.colocate else ""
    return [
        finding(
            "low_concurrency",
            "info",
            f"No engine ran more than {number(peak)} requests at once since {moment(t0)}, {percent(peak / cap)} of the "
            f"{number(cap)} allowed. Lower --sglang-max-running-requests{gain}.",
            t0=t0,
            t1=t1,
            running_peak=peak,
            max_running_requests=cap,
            limit=LOW_CONCURRENCY,
        )
    ]


def low_cache_hit(run: AdvisoryInputs) -> list[Finding]:
    """The prefix cache rarely hits."""
    rate = run.engines.mean(CACHE_HIT_RATE)
    if run.colocate or not rate < LOW_CACHE_HIT:
        return []
    t0, t1 = run.engines.span(CACHE_HIT_RATE)
    return [
        finding(
            "low_cache_hit",
            "info",
            f"The prefix cache held {percent(rate)} of the prompt tokens on average since {moment(t0)}. Raise "
            "--sglang-mem-fraction-static for a larger cache, and route samples of a group to one engine.",
            t0=t0,
            t1=t1,
            cache_hit_rate_mean=rate,
            limit=LOW_CACHE_HIT,
        )
    ]


def dp_imbalance(run: AdvisoryInputs) -> list[Finding]:
    """One dp rank of an engine works while another idles; one finding, the most uneven engine first."""
    ranks = run.engines.by_rank.group_by("addr", "engine_type", "dp_rank").agg(
        pl.col("value").mean().alias("mean"),
        pl.col("ts").min().alias("t0"),
        pl.col("ts").max().alias("t1"),
    )
    uneven = (
        ranks.filter(pl.col("mean").is_finite())
        .group_by("addr", "engine_type")
        .agg(
            pl.len().alias("ranks"),
            pl.col("mean").max().alias("busiest"),
            pl.col("mean").min().alias("idlest"),
            pl.col("t0").min(),
            pl.col("t1").max(),
        )
        .filter(
            (pl.col("ranks") >= 2)
            & (pl.col("busiest") >= BUSY_RANK)
            & (pl.col("idlest") < IDLE_RANK * pl.col("busiest"))
        )
        .sort(pl.col("idlest") / pl.col("busiest"), "addr")
    )
    if not uneven.height:
        return []
    worst = uneven.row(0, named=True)
    others = f" and {uneven.height - 1} more" if uneven.height > 1 else ""
    return [
        finding(
            "dp_imbalance",
            "warning",
            f"{worst['addr']}{others}: its busiest dp rank ran {number(worst['busiest'])} requests on average since "
            f"{moment(worst['t0'])}, its idlest {number(worst['idlest'])}. Look at the routing policy: with dp-aware "
            "routing each rank is balanced by itself.",
            t0=worst["t0"],
            t1=worst["t1"],
            engines=uneven["addr"].to_list(),
            busiest=worst["busiest"],
            idlest=worst["idlest"],
            limit=IDLE_RANK,
        )
    ]


TUNING: Sequence[Callable[[AdvisoryInputs], list[Finding]]] = (
    low_mfu,
    low_concurrency,
    low_cache_hit,
    dp_imbalance,
)
