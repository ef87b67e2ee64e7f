"""The words by which outliers are asked for: "slowest_phase:actor_train" into a criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from miles_report.errors import UsageError

Rule = Literal["lowest_util", "slowest_phase", "latest_start"]


@dataclass(frozen=True)
class Criterion:
    """What makes a lane stand out.

    Attributes:
        rule: see the `outliers` table.
        phase: name of the phase; "" for lowest_util.
    """

    rule: Rule
    phase: str = ""


def parse_criterion(text: str) -> Criterion:
    """The criterion a text names.

    Raises:
        UsageError: it names none.
    """
    rule, colon, phase = text.partition(":")
    if rule == "lowest_util" and not colon:
        return Criterion("lowest_util")
    for known in get_args(Rule)[1:]:
        if rule == known and phase:
            return Criterion(known, phase)
    raise UsageError(
        f"by: {text!r} is no criterion; there are lowest_util, slowest_phase:<name> and latest_start:<name>."
    )
