"""Tokens as text for a page that is read without script: runs of prompt, trained and masked tokens.

How a character is written follows `js/sample/glyphs.js`: nothing invisible, nothing that reorders
its line.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from miles_report.pages.format import DASH

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN_TOKENS = 4_000
"""Tokens written into a page as text; the script shows all."""

EXTREMES = 8

_INVISIBLE = re.compile(
    "[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_REPLACEMENT = "\ufffd"
_CONTROL_PICTURES = 0x2400


@dataclass(frozen=True)
class Run:
    """Tokens of one kind that follow each other.

    Attributes:
        kind: prompt, trained, masked, or response (no mask recorded).
        label: the kind in words with its positions.
        text: what is shown.
    """

    kind: str
    label: str
    text: str


@dataclass(frozen=True)
class Extreme:
    """A token where trainer and engine disagree most.

    Attributes:
        position: in prompt and response.
        text: one line.
        lp_diff: train minus rollout log prob in nats; may be NaN or infinite.
        ratio: exp(lp_diff).
    """

    position: int
    text: str
    lp_diff: float
    ratio: float


def visible(text: str) -> str:
    """The text with a name for each control or invisible character; newlines as ↵ and a newline."""
    return _INVISIBLE.sub(_name, text).replace("\n", "↵\n")


def one_line(text: str, longest: int = 32) -> str:
    """For lists: spaces at the ends as dots, newlines as ↵, cut with an ellipsis."""
    shown = visible(text).replace("\n", "")
    inner = shown.strip(" ")
    lead = len(shown) - len(shown.lstrip(" "))
    dotted = "·" * lead + inner + "·" * (len(shown) - lead - len(inner))
    return dotted if len(dotted) <= longest else dotted[: longest - 1] + "…"


def runs(payload: Mapping[str, Any]) -> list[Run]:
    """The first SHOWN_TOKENS tokens as runs of one kind, in order.

    Args:
        payload: of `sample_payload.payload`.
    """
    tokens = payload["tokens"]
    offset = payload["response_offset"]
    mask = tokens["loss_mask"]
    shown = range(min(len(tokens["token_id"]), SHOWN_TOKENS))

    def kind(position: int) -> str:
        if position < offset:
            return "prompt"
        if mask[position] is None:
            return "response"
        return "trained" if mask[position] else "masked"

    return [_run(payload, name, list(positions)) for name, positions in groupby(shown, kind)]


def extremes(payload: Mapping[str, Any]) -> list[Extreme]:
    """The EXTREMES tokens with the largest |lp_diff|, largest first, not finite ones before all."""
    series = payload["tokens"].get("lp_diff", [])
    values = [
        (position, float(value)) for position, value in enumerate(series) if value is not None
    ]
    ranked = sorted(values, key=lambda item: -_size(item[1]))[:EXTREMES]
    return [
        Extreme(position, one_line(token_text(payload, position)), value, _exp(value))
        for position, value in ranked
    ]


def token_text(payload: Mapping[str, Any], position: int) -> str:
    """The decoded text of a token, or its id in angle brackets where it has none of its own."""
    identifier = payload["tokens"]["token_id"][position]
    text = payload["token_texts"].get(str(identifier))
    if not text or _REPLACEMENT in text:
        return f"⟨{identifier}⟩"
    return str(text)


def _run(payload: Mapping[str, Any], kind: str, positions: list[int]) -> Run:
    text = "".join(visible(token_text(payload, position)) for position in positions)
    return Run(kind, f"{kind} {positions[0]}{DASH}{positions[-1]}", text)


def _name(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character == "\t":
        return "⇥"
    if character == "\r":
        return "␍"
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    return f"⟨U+{code:04X}⟩"


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
