"""What a sample is, as one line of label and value; the browser writes the same (`js/sample/head.js`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.pages.format import DASH, count, logprob, number, plural, signed

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPONENT = "reward."
SUM_TOLERANCE = 1e-6
"""Relative: components that add up to the reward are joined by plus signs."""


@dataclass(frozen=True)
class Fact:
    """One figure of the head line.

    Attributes:
        label: muted words before it; "" where the value speaks for itself.
        value: ready to show.
        title: why it is absent, or what it means.
    """

    label: str
    value: str
    title: str = ""


def facts(payload: Mapping[str, Any]) -> list[Fact]:
    """The head line of a sample, absent figures left out but for the reward.

    Args:
        payload: of `sample_payload.payload`.
    """
    sample = payload["sample"]
    return [
        fact
        for fact in (
            Fact("", sample["status"] or "status not recorded"),
            _reward(sample),
            _advantage(sample),
            _versions(sample),
            _plain("staleness", sample["staleness"]),
            _turns(sample),
            _lengths(payload),
            _difference(sample),
            _trouble(sample),
        )
        if fact is not None
    ]


def finite_or_word(value: Any) -> float | None:
    """A figure of the payload as a float: its words for what is not finite become NaN and infinities."""
    return None if value is None else float(value)


def _reward(sample: Mapping[str, Any]) -> Fact:
    value = finite_or_word(sample["reward_value"])
    parts = {
        name.removeprefix(COMPONENT): part
        for name, part in sample.items()
        if name.startswith(COMPONENT) and part is not None
    }
    shown = [f"{name} {_component(part)}" for name, part in parts.items()]
    if value is None and not parts:
        return Fact("reward", DASH, "no reward was given")
    if not parts:
        return Fact("reward", number(value))
    numbers = [float(part) for part in parts.values() if _is_number(part)]
    whole = len(numbers) == len(parts) and value is not None
    if whole and math.isclose(math.fsum(numbers), value or 0.0, rel_tol=SUM_TOLERANCE):
        return Fact("reward", f"{number(value)} = {' + '.join(shown)}")
    return Fact("reward", f"{number(value)} ({', '.join(shown)})")


def _is_number(part: Any) -> bool:
    return isinstance(part, int | float) or part in {"NaN", "Infinity", "-Infinity"}


def _component(part: Any) -> str:
    if isinstance(part, bool):
        return "yes" if part else "no"
    return number(float(part)) if _is_number(part) else str(part)


def _advantage(sample: Mapping[str, Any]) -> Fact | None:
    value = finite_or_word(sample["adv_mean"])
    return None if value is None else Fact("advantage", signed(value), "mean over trained tokens")


def _versions(sample: Mapping[str, Any]) -> Fact | None:
    last, oldest = sample["weight_version"], sample["weight_version_min"]
    if last is None:
        return None
    shown = f"v{last}" if last.isdigit() else last
    if sample["mixed_version"] and oldest is not None and str(oldest) != last:
        return Fact("versions", f"v{oldest}{DASH}{shown}")
    return Fact("version", shown)


def _plain(label: str, value: int | None) -> Fact | None:
    return None if value is None else Fact(label, count(value))


def _turns(sample: Mapping[str, Any]) -> Fact | None:
    turns, tools = sample["turns"], sample["tool_calls"]
    words = [plural(turns, "turn")] if turns else []
    if tools:
        words.append(plural(tools, "tool message") + " in the prompt")
    return Fact("", ", ".join(words)) if words else None


def _lengths(payload: Mapping[str, Any]) -> Fact:
    total = len(payload["tokens"]["token_id"])
    prompt = payload["response_offset"]
    if total == 0:
        return Fact("tokens", "none recorded")
    shown = f"{count(prompt)} prompt + {count(total - prompt)} response"
    mask = payload["tokens"]["loss_mask"]
    if all(value is None for value in mask):
        return Fact("tokens", shown)
    trained = sum(1 for value in mask if value)
    return Fact("tokens", f"{shown}, {count(trained)} trained")


def _difference(sample: Mapping[str, Any]) -> Fact | None:
    mean = finite_or_word(sample["mean_abs_lp_diff"])
    largest = finite_or_word(sample["max_abs_lp_diff"])
    if mean is None and largest is None:
        return None
    return Fact("|lp diff|", f"mean {logprob(mean)}, max {logprob(largest)}", "over trained tokens")


def _trouble(sample: Mapping[str, Any]) -> Fact | None:
    if sample["alignment_failed"]:
        return Fact("", "slices of the trainer could not be put together")
    if sample["remove_sample"]:
        return Fact("", "removed from the loss")
    return None
