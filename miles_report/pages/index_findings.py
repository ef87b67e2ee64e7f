"""What is wrong with a run as far as notices and the newest step tell, one line each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from miles_report.pages import format as shown
from miles_report.pages.page import Link

if TYPE_CHECKING:
    from collections.abc import Mapping

ZERO_STD_SHARE = 0.5
"""From here most of a batch gives no gradient."""

TRUNCATED_SHARE = 0.25
"""From here the length limit, not the model, decides many rewards."""

STRANGE = {
    "reward_mean": "Mean reward",
    "mean_abs_lp_diff": "Mean |lp diff|",
    "mean_entropy": "Mean entropy",
}
"""Columns of `steps` that a healthy run never fills with NaN or infinities."""

SHOWN_NOTICES = 6
"""More kinds of trouble than this are counted, not listed."""

TOLD_BY_STEPS = ("zero_std_groups", "truncated_samples")
"""Rules whose finding the newest step gives in the same words as its page."""

ENGINE_FAULTS = "engine_faults"
"""Rule whose place is the page of faults."""

_SENTENCE = re.compile(r"\. (?=[A-Z])")
_REMEDY_LENGTH = 160


@dataclass(frozen=True)
class Finding:
    """One line under "Needs attention".

    Attributes:
        level: critical or warning.
        what: the finding, first words first.
        detail: what makes it readable.
        since: since when; "" if it has no time.
        remedy: what to do.
        link: where to look; None if nowhere.
    """

    level: Literal["critical", "warning"]
    what: str
    detail: str
    since: str
    remedy: str
    link: Link | None


def index_findings(tables: Mapping[str, pl.DataFrame]) -> list[Finding]:
    """Findings of the newest step that can be read, of advisories, and of notices with severity error or warning, worst first."""
    steps = tables["steps"]
    found = [
        *_notice_findings(tables["notices"]),
        *_strange_findings(steps),
        *_step_findings(steps),
        *_advisory_findings(tables["advisories"], tables["run"]["t0"][0]),
    ]
    return sorted(found, key=lambda finding: finding.level != "critical")


def _step_findings(steps: pl.DataFrame) -> list[Finding]:
    readable = steps.filter(pl.col("state") == "ok").sort("step")
    checks = (
        ("zero_std_group_frac", ZERO_STD_SHARE, "of groups have equal rewards", "They give no gradient: choose harder or easier prompts, or filter such groups."),
        ("truncated_frac", TRUNCATED_SHARE, "of samples are truncated", "Raise the response length limit, or penalise length."),
    )  # fmt: skip
    found = []
    for column, share, words, remedy in checks:
        known = readable.filter(pl.col(column).is_finite())
        if known.is_empty() or known[column][-1] < share:
            continue
        step = known["step"][-1]
        first_step, first = known["step"][0], known[column][0]
        detail = f"at step {step}" + (
            f", {shown.frac(first)} at step {first_step}" if known.height > 1 else ""
        )
        found.append(
            Finding(
                "warning",
                f"{shown.frac(known[column][-1])} {words}",
                detail,
                f"step {_streak_start(known, column, share)}",
                remedy,
                Link(f"Step {step}", f"rollouts/step-{step}.html"),
            )
        )
    return found


def _strange_findings(steps: pl.DataFrame) -> list[Finding]:
    """Means that are not finite at the newest step: training on such values ends in NaN weights."""
    readable = steps.filter(pl.col("state") == "ok").sort("step")
    found = []
    for column, words in STRANGE.items():
        known = readable.filter(pl.col(column).is_not_null())
        strange = known.select("step", (~pl.col(column).is_finite()).cast(pl.Float64).alias(column))
        if strange.is_empty() or not strange[column][-1]:
            continue
        step = strange["step"][-1]
        found.append(
            Finding(
                "critical",
                f"{words} is not finite",
                f"at step {step}",
                f"step {_streak_start(strange, column, 1.0)}",
                "Training on such values spoils the weights: look for samples marked not finite, and at what gave them.",
                Link(f"Step {step}", f"rollouts/step-{step}.html"),
            )
        )
    return found


def _advisory_findings(advisories: pl.DataFrame, start: float | None) -> list[Finding]:
    """Advisories that are not held back, but for what the newest step tells already.

    Args:
        advisories: the table.
        start: of the run, Unix seconds; links to a place in time count from there.
    """
    serious = advisories.filter(
        pl.col("suppressed_by").is_null(),
        pl.col("level").is_in(["critical", "warning"]),
        ~pl.col("rule").is_in(TOLD_BY_STEPS),
    )
    found = []
    columns = ("rule", "level", "message", "evidence")
    for rule, level, message, evidence in serious.select(columns).iter_rows():
        what, _, remedy = _SENTENCE.sub("\n", message, count=1).partition("\n")
        since, href = "", "compute.html#advice"
        window = advice_window(evidence, start)
        if window:
            since, href = (
                shown.elapsed(window[0]),
                f"compute.html?t={window[0]:.1f},{window[1]:.1f}#lanes",
            )
        link = (
            Link("Faults", "faults.html#incidents")
            if rule == ENGINE_FAULTS
            else Link("Compute", href)
        )
        found.append(Finding(level, what, "", since, remedy, link))
    return found


def advice_window(evidence: str | None, start: float | None) -> tuple[float, float] | None:
    """When an advisory saw what it tells, seconds since the start of the run; null if it names no time."""
    known = json.loads(evidence) if evidence else {}
    t0, t1 = known.get("t0"), known.get("t1")
    if start is None or not (isinstance(t0, (int, float)) and isinstance(t1, (int, float))):
        return None
    return t0 - start, t1 - start


def _streak_start(known: pl.DataFrame, column: str, share: float) -> int:
    """First step of the unbroken run of steps at or above `share` that ends with the newest."""
    below = known.filter(pl.col(column) < share)
    after = known if below.is_empty() else known.filter(pl.col("step") > below["step"][-1])
    return int(after["step"][0])


def _notice_findings(notices: pl.DataFrame) -> list[Finding]:
    """One finding a kind of notice, since a broken disk breaks many files."""
    serious = notices.filter(pl.col("severity").is_in(["error", "warning"]))
    kinds = serious.group_by("severity", "code", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("message", "source", "remedy").first()
    )
    found = [_notice_finding(row) for row in kinds.iter_rows(named=True)]
    found.sort(key=lambda finding: finding.level != "critical")
    if len(found) <= SHOWN_NOTICES:
        return found
    rest = len(found) - SHOWN_NOTICES + 1
    more = Finding(
        "warning",
        shown.plural(rest, "further kind") + " of trouble",
        "",
        "",
        "",
        Link("Notices", "notices.html"),
    )
    return [*found[: SHOWN_NOTICES - 1], more]


def _notice_finding(row: Mapping[str, str]) -> Finding:
    n = int(row["n"])
    detail = row["source"] + (
        f", and {shown.plural(n - 1, 'more like it', 'more like it')}" if n > 1 else ""
    )
    remedy = row["remedy"]
    return Finding(
        "critical" if row["severity"] == "error" else "warning",
        row["message"],
        detail,
        "",
        remedy if len(remedy) <= _REMEDY_LENGTH else remedy[: _REMEDY_LENGTH - 1] + "…",
        Link("Notices", "notices.html"),
    )
