"""A step's samples, groups and texts -> the `notable` table: a short reading list, chosen by fixed rules.

A rule names its best sample or nobody. Superlatives count only if they set a sample apart: a value that everybody shares
is no reason to read anything. A sample stands under its first reason only, so rules come in order of weight.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from miles_report.tables.frames import table_schema
from miles_report.tables.words import duration, grouped, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_ROWS = 12
"""Reasons a step; a reading list that is not read in a coffee break is no list."""

MAX_SHARED = 0.05
"""Share of samples that may tie for a superlative; more, and it tells nothing."""

MIN_REPEATS = 12
"""Repetitions of one line that no honest answer needs."""
MIN_LINE = 8
"""Characters; shorter lines (braces, list marks) repeat in good answers too."""

MIN_RATIO = 1.05
"""Mean importance ratio; below, engine and trainer agree."""
MIN_WAIT_S = 1.0
MIN_STALENESS = 2


class Candidate(NamedTuple):
    """A row that a rule names.

    Attributes:
        row: of the sample.
        why: in words.
        value: the number behind it; null if it has none.
    """

    row: int
    why: str
    value: float | None


def notable_table(samples: pl.DataFrame, groups: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """At most `MAX_ROWS` samples of a step, each with its first reason, by weight of the reason.

    Args:
        samples: of one step.
        groups: of the same step; the null group counts as no group.
        texts: of the same step.
    """
    step = _Step(samples, groups, texts)
    chosen: list[tuple[str, Candidate]] = []
    taken: set[int] = set()
    for kind, rule in RULES:
        candidate = next((found for found in rule(step) if found.row not in taken), None)
        if candidate is not None and len(chosen) < MAX_ROWS:
            taken.add(candidate.row)
            chosen.append((kind, candidate))
    indices = samples["sample_index"]
    return pl.DataFrame(
        [
            (
                samples["step"][0],
                samples["evaluation"][0],
                found.row,
                indices[found.row],
                kind,
                found.why,
                found.value,
            )
            for kind, found in chosen
        ],
        schema=table_schema("notable"),
        orient="row",
    )


class _Step:
    """The columns that rules look at, as lists with one entry a sample."""

    def __init__(self, samples: pl.DataFrame, groups: pl.DataFrame, texts: pl.DataFrame) -> None:
        self._samples = samples
        self.n_samples = samples.height
        self.responses = texts["response"]
        self.groups: list[int | None] = samples["group_index"].to_list()
        mixed = groups.filter((pl.col("n") > 2) & ~pl.col("zero_std"))
        self.mixed_groups = set(mixed["group_index"].drop_nulls())
        self.rewards: list[float | None] = samples["reward_value"].to_list()
        finite = {reward for reward in self.rewards if reward is not None and math.isfinite(reward)}
        self.outcomes = sorted(finite) if len(finite) == 2 else None

    def column(self, name: str) -> list[float | None]:
        """A numeric column; booleans as 0 and 1."""
        return self._samples[name].cast(pl.Float64).to_list()

    def texts(self, name: str) -> list[str | None]:
        """A text column."""
        return self._samples[name].to_list()

    def succeeded(self, row: int) -> bool | None:
        """Whether the sample has the better of two rewards; null unless the step's rewards take two values."""
        if self.outcomes is None or self.rewards[row] not in self.outcomes:
            return None
        return self.rewards[row] == self.outcomes[1]


Rule = "Callable[[_Step], Iterable[Candidate]]"


def _highest(values: Sequence[float | None], *, above: float = -math.inf) -> int | None:
    """Row of the largest finite value if it sets the row apart; the first of few equals."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if len(finite) < 2 or max(finite) <= above or max(finite) == min(finite):
        return None
    best = max(finite)
    if finite.count(best) > max(1, int(MAX_SHARED * len(values))):
        return None
    return next(row for row, value in enumerate(values) if value == best)


def _superlative(
    values: Sequence[float | None], say: Callable[[float], str], *, above: float = -math.inf
) -> Iterable[Candidate]:
    row = _highest(values, above=above)
    if row is not None:
        value = values[row]
        assert value is not None
        yield Candidate(row, say(value), value)


def _reward_not_finite(step: _Step) -> Iterable[Candidate]:
    for row, reward in enumerate(step.rewards):
        if reward is not None and not math.isfinite(reward):
            yield Candidate(row, "Reward is not finite", None)


def _log_prob_not_finite(step: _Step) -> Iterable[Candidate]:
    for row, distance in enumerate(step.column("max_abs_lp_diff")):
        if distance is not None and not math.isfinite(distance):
            yield Candidate(row, "A log prob is not finite", None)


def _unplaceable(step: _Step) -> Iterable[Candidate]:
    for row, failed in enumerate(step.column("alignment_failed")):
        if failed:
            yield Candidate(row, "Its trainer values could not be placed", None)


def _lp_diff(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("max_abs_lp_diff"), lambda _: "Largest |lp diff| of the step", above=0.0
    )


def _mean_lp_diff(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("mean_abs_lp_diff"), lambda _: "Largest mean |lp diff| of the step", above=0.0
    )


def _ratio(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("mean_imp_ratio"),
        lambda value: f"Largest mean ratio, {number(value)}",
        above=MIN_RATIO,
    )


def _lone(step: _Step, *, success: bool, why: str) -> Iterable[Candidate]:
    """The one sample of its group with that outcome, larger groups first; the rest must have the other one."""
    members: dict[int, list[int]] = {}
    for row, group in enumerate(step.groups):
        if group is not None and group in step.mixed_groups:
            members.setdefault(group, []).append(row)
    found = []
    for rows in members.values():
        outcomes = [step.succeeded(row) for row in rows]
        if None not in outcomes and outcomes.count(success) == 1:
            found.append((-len(rows), rows[outcomes.index(success)]))
    for _, row in sorted(found):
        yield Candidate(row, why, step.rewards[row])


def _only_success(step: _Step) -> Iterable[Candidate]:
    return _lone(step, success=True, why="The only success in its group")


def _only_failure(step: _Step) -> Iterable[Candidate]:
    return _lone(step, success=False, why="The only failure in its group")


def _repeats(step: _Step) -> Iterable[Candidate]:
    counts: list[float | None] = []
    for response in step.responses:
        if response is None or response.count("\n") < MIN_REPEATS - 1:
            counts.append(None)
            continue
        lines = Counter(response.split("\n"))
        long = (n for line, n in lines.items() if n > 1 and len(line.strip()) >= MIN_LINE)
        counts.append(float(max(long, default=0)))
    worst = max((count for count in counts if count is not None), default=0.0)
    if worst >= MIN_REPEATS:
        yield Candidate(counts.index(worst), f"Repeats one line {grouped(worst)} times", worst)


def _wait(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("non_generation_time"),
        lambda seconds: f"Longest wait outside the model, {duration(seconds)}",
        above=MIN_WAIT_S,
    )


def _tools(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("tool_calls"), lambda count: f"Most tool calls, {grouped(count)}", above=0.0
    )


def _versions(step: _Step) -> Iterable[Candidate]:
    oldest = step.column("weight_version_min")
    newest = [
        float(text) if text is not None and text.isdecimal() and len(text) < 16 else None
        for text in step.texts("weight_version")
    ]
    spans = [
        None if first is None or last is None else last - first + 1
        for first, last in zip(oldest, newest, strict=True)
    ]
    row = _highest(spans, above=1.0)
    if row is not None:
        first, last = oldest[row], newest[row]
        assert first is not None
        assert last is not None
        yield Candidate(row, f"Most weight versions, v{first:.0f}\u2013v{last:.0f}", spans[row])


def _staleness(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("staleness"),
        lambda count: f"Stalest, {grouped(count)} versions behind",
        above=MIN_STALENESS - 1,
    )


def _entropy(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("mean_entropy"), lambda nats: f"Highest entropy, {number(nats)} nats", above=0.0
    )


def _shortest_right(step: _Step) -> Iterable[Candidate]:
    shortness = [
        -length if length and step.succeeded(row) else None
        for row, length in enumerate(step.column("response_length"))
    ]
    row = _highest(shortness)
    if row is not None:
        length = -(shortness[row] or 0)
        yield Candidate(row, f"Shortest answer that is right, {grouped(length)} tokens", length)


def _longest(step: _Step) -> Iterable[Candidate]:
    return _superlative(
        step.column("response_length"), lambda length: f"Longest answer, {grouped(length)} tokens"
    )


def _ended(step: _Step, status: str, word: str) -> Iterable[Candidate]:
    statuses = step.texts("status")
    if statuses.count(status) == step.n_samples:
        return
    for row, (own, length) in enumerate(zip(statuses, step.column("response_length"), strict=True)):
        if own == status:
            after = f"after {grouped(length)} tokens" if length else "without a token"
            yield Candidate(row, f"{word} {after}", length)


def _failed(step: _Step) -> Iterable[Candidate]:
    return _ended(step, "failed", "Failed")


def _aborted(step: _Step) -> Iterable[Candidate]:
    return _ended(step, "aborted", "Aborted")


RULES: tuple[tuple[str, Callable[[_Step], Iterable[Candidate]]], ...] = (
    ("reward_not_finite", _reward_not_finite),
    ("log_prob_not_finite", _log_prob_not_finite),
    ("unplaceable", _unplaceable),
    ("max_abs_lp_diff", _lp_diff),
    ("mean_imp_ratio", _ratio),
    ("mean_abs_lp_diff", _mean_lp_diff),
    ("only_success", _only_success),
    ("only_failure", _only_failure),
    ("repeated_line", _repeats),
    ("non_generation_time", _wait),
    ("tool_calls", _tools),
    ("weight_versions", _versions),
    ("mean_entropy", _entropy),
    ("shortest_right", _shortest_right),
    ("failed", _failed),
    ("aborted", _aborted),
    ("staleness", _staleness),
    ("response_length", _longest),
)
