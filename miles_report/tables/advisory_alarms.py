"""Alarms: rules that say something is going wrong. While one holds, tuning advice would mislead.

Every threshold is a heuristic; its reason stands beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from miles_report.tables.advisory_inputs import ABORTED, REQUESTS, RUNNING, TOKEN_USAGE
from miles_report.tables.engine_series import SERIES
from miles_report.tables.words import duration, grouped, moment, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from miles_report.tables.advisory_inputs import AdvisoryInputs

STALL_FACTOR = 6.0
"""Times the usual length; a checkpoint or a long evaluation takes three or four times as long, a hang much more."""

STALL_FLOOR_S = 1800.0
"""Short phases vary by more than the factor; half an hour of nothing is worth a look in any run."""

STALL_MIN_CLOSED = 3
"""Fewer tell no usual length."""

RECENT_S = 1800.0
"""What happened within half an hour is still happening; older trouble may be over."""

ABORT_MIN_REQUESTS = 100
"""Of fewer requests a handful of aborts already is a large share."""

ABORT_SHARE = 0.05
"""A few aborts are normal with over-sampling and at the end of a rollout."""

KV_BOUND_USAGE = 0.90
"""A mean this high leaves engines no room to admit requests."""

KV_BOUND_RUNNING = 0.5
"""Of the cap: fewer requests run than half of what was allowed, so it is memory that limits them."""

KV_SATURATED_USAGE = 0.95
"""Beyond it engines retract requests and compute them again."""

ZERO_STD_SHARE = 0.5
"""Half of the groups teach nothing: the step costs twice what it gives."""

TRUNCATED_SHARE = 0.25
"""Of samples; what is cut is mostly scored as wrong, which biases the reward."""

FAULTS_RECENT = 3
"""Kills within `RECENT_S`; one or two are repaired in passing."""

FAULTS_OF_SLOT = 2
"""Kills of one engine slot: the second points at the machine, not at chance."""

HEURISTIC = "A heuristic."


@dataclass(frozen=True)
class Finding:
    """What a rule found.

    Attributes:
        rule: its name.
        level: critical, warning or info.
        message: what was seen, since when, what to do.
        evidence: the numbers behind it; t0 and t1, Unix seconds, say where to look.
    """

    rule: str
    level: Literal["critical", "warning", "info"]
    message: str
    evidence: str


def finding(
    rule: str, level: Literal["critical", "warning", "info"], message: str, **evidence: Any
) -> Finding:
    """A finding whose message ends with what all of them are."""
    return Finding(rule, level, f"{message} {HEURISTIC}", json.dumps(evidence, ensure_ascii=False))


def stalled_phase(run: AdvisoryInputs) -> list[Finding]:
    """Phases open for much longer than they usually take; one finding a name, the longest open first."""
    since = run.records
    if run.start_ts is not None:
        since = since.filter(pl.col("t0") >= run.start_ts)
    length = pl.col("t1") - pl.col("t0")
    usual = (
        since.filter(~pl.col("open"))
        .group_by("name")
        .agg(length.median().alias("median_s"), pl.len().alias("n_closed"))
        .filter(pl.col("n_closed") >= STALL_MIN_CLOSED)
        .with_columns(
            pl.max_horizontal(pl.col("median_s") * STALL_FACTOR, STALL_FLOOR_S).alias("limit_s")
        )
    )
    stalled = (
        since.filter("open")
        .with_columns(length.alias("age_s"))
        .join(usual, on="name")
        .filter(pl.col("age_s") > pl.col("limit_s"))
        .sort("age_s", "order", descending=[True, False])
    )
    counts = dict(stalled.group_by("name").len().iter_rows())
    oldest = stalled.unique("name", keep="first", maintain_order=True)
    return [_stalled(row, counts[row["name"]]) for row in oldest.iter_rows(named=True)]


def _stalled(row: dict[str, Any], n_open: int) -> Finding:
    where = f"rank {row['rank']} on {row['node']}" if row["rank"] >= 0 else row["node"]
    others = f" and {n_open - 1} more" if n_open > 1 else ""
    return finding(
        "stalled_phase",
        "critical",
        f"{row['name']} has been open for {duration(row['age_s'])} on {where}{others}, since {moment(row['t0'])}; it "
        f"usually takes {duration(row['median_s'])}. Look at the log and the stack of that process; if it hangs, restart "
        "from the last checkpoint.",
        t0=row["t0"],
        t1=row["t1"],
        phase=row["name"],
        node=row["node"],
        rank=row["rank"],
        gpus=row["gpus"],
        open=n_open,
        age_s=row["age_s"],
        median_s=row["median_s"],
        limit_s=row["limit_s"],
    )


def abort_storm(run: AdvisoryInputs) -> list[Finding]:
    """Many of the latest requests aborted."""
    newest = run.engines.newest_ts
    if newest is None:
        return []
    key = ("metric", *SERIES)
    grown = (
        run.engines.folded.filter(pl.col("metric").is_in([REQUESTS, ABORTED]))
        .with_columns(
            pl.col("value").diff().over(key).alias("grown"),
            pl.col("ts").shift(1).over(key).alias("before"),
        )
        .filter(
            (pl.col("ts") >= newest - RECENT_S)
            & (pl.col("grown") > 0)
            & pl.col("grown").is_finite()
        )
    )
    totals = dict(grown.group_by("metric").agg(pl.col("grown").sum()).iter_rows())
    requests, aborted = totals.get(REQUESTS, 0.0), totals.get(ABORTED, 0.0)
    if not (requests >= ABORT_MIN_REQUESTS and aborted > ABORT_SHARE * requests):
        return []
    since = float(grown.filter(pl.col("metric") == ABORTED)["before"].to_numpy().min())
    return [
        finding(
            "abort_storm",
            "warning",
            f"{grouped(aborted)} of {grouped(requests)} requests ({percent(aborted / requests)}) were aborted since "
            f"{moment(since)}. Look for timeouts of the rollout, for engines that restart, and for over-sampling that is "
            "set too high.",
            t0=since,
            t1=newest,
            requests=requests,
            aborted=aborted,
            limit=ABORT_SHARE,
        )
    ]


def kv_pool_bound(run: AdvisoryInputs) -> list[Finding]:
    """KV memory limits how many requests run."""
    usage, peak, cap = run.engines.mean(TOKEN_USAGE), run.engines.peak(RUNNING), run.max_running
    if not (usage > KV_BOUND_USAGE and peak < KV_BOUND_RUNNING * cap):
        return []
    t0, t1 = run.engines.span(TOKEN_USAGE)
    return [
        finding(
            "kv_pool_bound",
            "warning",
            f"KV memory was {percent(usage)} full on average since {moment(t0)}, yet never more than {number(peak)} of "
            f"{number(cap)} allowed requests ran on an engine: the pool is too small for the cap. Raise "
            "--sglang-mem-fraction-static; do not lower the cap.",
            t0=t0,
            t1=t1,
            token_usage_mean=usage,
            running_peak=peak,
            max_running_requests=cap,
            limit=KV_BOUND_USAGE,
        )
    ]


def kv_cache_saturated(run: AdvisoryInputs) -> list[Finding]:
    """KV memory is full."""
    usage = run.engines.mean(TOKEN_USAGE)
    if not usage > KV_SATURATED_USAGE or kv_pool_bound(run):
        return []
    t0, t1 = run.engines.span(TOKEN_USAGE)
    return [
        finding(
            "kv_cache_saturated",
            "warning",
            f"KV memory was {percent(usage)} full on average since {moment(t0)}: it is what bounds throughput. Use more "
            "GPUs for the engines, or a smaller rollout batch.",
            t0=t0,
            t1=t1,
            token_usage_mean=usage,
            limit=KV_SATURATED_USAGE,
        )
    ]


def zero_std_groups(run: AdvisoryInputs) -> list[Finding]:
    """Most groups of the newest step have one reward."""
    step = run.step
    if step is None or not step["n_rewarded_groups"]:
        return []
    n_flat, n_groups = step["n_zero_std_groups"], step["n_rewarded_groups"]
    if n_flat < ZERO_STD_SHARE * n_groups:
        return []
    return [
        finding(
            "zero_std_groups",
            "warning",
            f"{grouped(n_flat)} of {grouped(n_groups)} groups with rewards in step {step['step']} have equal rewards and "
            "give no gradient. Filter such prompts (dynamic sampling), or mix in easier or harder ones.",
            step=step["step"],
            zero_std=n_flat,
            groups=n_groups,
            limit=ZERO_STD_SHARE,
        )
    ]


def truncated_samples(run: AdvisoryInputs) -> list[Finding]:
    """Many samples of the newest step hit the limit of length."""
    step = run.step
    share = None if step is None else step["truncated_frac"]
    if step is None or share is None or not share >= TRUNCATED_SHARE:
        return []
    return [
        finding(
            "truncated_samples",
            "warning",
            f"{percent(share)} of the samples of step {step['step']} were cut at the length limit. Raise the response "
            "limit, or shorten the answers by reward or prompt.",
            step=step["step"],
            truncated=share,
            samples=step["n_samples"],
            limit=TRUNCATED_SHARE,
        )
    ]


def unplaceable_slices(run: AdvisoryInputs) -> list[Finding]:
    """Per-token data of the newest step that could not be put in place."""
    step = run.step
    if step is None or not step["n_alignment_failed"]:
        return []
    return [
        finding(
            "unplaceable_slices",
            "info",
            f"The per-token data of {grouped(step['n_alignment_failed'])} samples of step {step['step']} are slices that "
            "cannot be put in place and are left out. Copy the train files of all ranks; files of an older Miles lack "
            "what it takes.",
            step=step["step"],
            samples=step["n_alignment_failed"],
        )
    ]


def engine_faults(run: AdvisoryInputs) -> list[Finding]:
    """Engines killed often, or one of them again."""
    kills = run.health.filter(pl.col("event") == "engine_killed")
    if run.last_ts is None or not kills.height:
        return []
    recent = kills.filter(pl.col("ts") >= run.last_ts - RECENT_S)
    slot = pl.when(pl.col("engine_rank").is_null()).then("addr").alias("place")
    again = (
        kills.group_by("group", "engine_rank", slot)
        .agg(pl.len().alias("n"), pl.col("ts").min(), pl.col("addr").last())
        .filter(pl.col("n") >= FAULTS_OF_SLOT)
        .sort("n", "ts", descending=[True, False])
    )
    if recent.height < FAULTS_RECENT and not again.height:
        return []
    begins: list[float] = []
    seen = []
    if recent.height >= FAULTS_RECENT:
        seen.append(f"{recent.height} engines were killed in the last {duration(RECENT_S)}")
        begins.append(float(recent["ts"].to_numpy().min()))
    if again.height:
        worst = again.row(0, named=True)
        name = worst["addr"] if worst["engine_rank"] is None else f"engine {worst['engine_rank']}"
        seen.append(f"{name} was killed {worst['n']} times")
        begins.append(worst["ts"])
    return [
        finding(
            "engine_faults",
            "warning",
            f"{' and '.join(seen)}, since {moment(min(begins))}. Read the log of the engine; if one node is behind it, take it "
            "out.",
            t0=min(begins),
            t1=run.last_ts,
            killed=kills.height,
            recent=recent.height,
            repeated=again.height,
        )
    ]


ALARMS: Sequence[Callable[[AdvisoryInputs], list[Finding]]] = (
    stalled_phase,
    abort_storm,
    kv_pool_bound,
    kv_cache_saturated,
    zero_std_groups,
    truncated_samples,
    engine_faults,
    unplaceable_slices,
)
