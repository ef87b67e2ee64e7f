"""What a caller may ask of a table: names and values checked once, before anything is read."""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING, Any

from miles_report.errors import UsageError
from miles_report.schema.overview_columns import CARPET_METRICS
from miles_report.schema.tables import TABLES
from miles_report.tables.criteria import parse_criterion
from miles_report.tables.lane_grammar import parse_lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from miles_report.schema.columns import Table

RANGE_PART = re.compile(r"(\d+)(?:-(\d+))?")
MOST_STEPS = 1_000_000
"""A range may not name more steps than this; a typo would otherwise fill the memory."""

INTEGERS = ("row", "sample", "start", "end", "buckets", "points", "top")
LIMITS: Mapping[str, tuple[int, int | None]] = {
    "row": (0, None),
    "start": (0, None),
    "end": (0, None),
    "buckets": (2, 4000),
    "points": (2, None),
    "top": (1, 256),
}
"""Smallest and largest value of whole numbers."""

SWITCHES = ("evaluation", "per_dp_rank")
TIMES = ("t0", "t1")
TEXTS = ("metric", "step_key", "lanes", "by")
REQUIRED: Mapping[str, str] = {"engine_series": "metric", "outliers": "by"}


def known_table(name: str) -> Table:
    """The declaration of a table.

    Raises:
        UsageError: there is no such table.
    """
    if name in TABLES:
        return TABLES[name]
    near = difflib.get_close_matches(str(name), TABLES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TABLES)}."
    raise UsageError(f"There is no table {name!r}; {hint}")


def checked(table: Table, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters with their values in canonical types; null ones are dropped.

    `step` becomes a list of ascending ints, times floats, indices ints, `lanes` selectors, `by` a criterion.

    Raises:
        UsageError: a parameter the table does not take, or a value that makes no sense.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in table.parameters:
            takes = ", ".join(table.parameters) or "none"
            raise UsageError(f"Table {table.name} takes no parameter {name!r}; it takes: {takes}.")
    needed = REQUIRED.get(table.name)
    if needed is not None and needed not in given:
        raise UsageError(f"Table {table.name} needs the parameter {needed!r}.")
    out: dict[str, Any] = {name: _value(name, value) for name, value in given.items()}
    if "t0" in out and "t1" in out and out["t1"] <= out["t0"]:
        raise UsageError(f"t1 ({out['t1']}) must be later than t0 ({out['t0']}).")
    if "row" in out and "sample" in out:
        raise UsageError("Give either row or sample, not both.")
    if table.name == "carpet" and out.get("metric", "phase") not in CARPET_METRICS:
        known = ", ".join(CARPET_METRICS)
        raise UsageError(f"A carpet cannot show {out['metric']!r}; it shows: {known}.")
    return out


def parse_steps(steps: int | str | Iterable[int]) -> list[int]:
    """Step numbers from an int, a text such as "0-4,9", or several ints; ascending, without repeats.

    Raises:
        UsageError: not of that form.
    """
    if isinstance(steps, bool):
        raise UsageError("step must be a number, not true or false.")
    if isinstance(steps, int):
        return [steps]
    if not isinstance(steps, str):
        values = list(steps)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise UsageError("step must be ints, or a text such as '0-4,9'.")
        return sorted(set(values))
    chosen: set[int] = set()
    for part in steps.split(","):
        match = RANGE_PART.fullmatch(part.strip())
        if not match:
            raise UsageError(f"{part.strip()!r} is no step; write steps as in 0-4,9.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"The range {part.strip()} ends before it begins.")
        if last - first >= MOST_STEPS:
            raise UsageError(f"The range {part.strip()} is longer than {MOST_STEPS} steps.")
        chosen.update(range(first, last + 1))
    return sorted(chosen)


def _value(name: str, value: Any) -> Any:
    if name in INTEGERS:
        return _whole(name, value)
    if name in TIMES:
        return _time(name, value)
    if name in SWITCHES and not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false.")
    if name in TEXTS and not isinstance(value, str):
        raise UsageError(f"{name} must be text, not {value!r}.")
    parse = PARSERS.get(name)
    return value if parse is None else parse(value)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} must be a whole number, not {value!r}.")
    low, high = LIMITS.get(name, (None, None))
    if low == 0 and value < 0:
        raise UsageError(f"{name} must not be negative.")
    if low is not None and (value < low or (high is not None and value > high)):
        bounds = f"{low} to {high}" if high is not None else f"at least {low}"
        raise UsageError(f"{name} must be {bounds}, not {value}.")
    return value


def _time(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} must be Unix seconds, not {value!r}.")
    return float(value)


PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "step": parse_steps,
    "lanes": parse_lanes,
    "by": parse_criterion,
}
"""Of parameters that are more than a number or a text."""
