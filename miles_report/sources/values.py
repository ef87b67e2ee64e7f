"""Single values of a pickled sample into plain Python values, told apart from what they should not be.

Nothing is guessed: a value of another type is null and counted, so that one notice a field tells of all of them.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from miles_report.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
MAX_JSON_NODES = 200_000
"""Values in one JSON text; a shared list inside a list inside a list can stand for more than memory holds."""
MAX_JSON_CHARS = 64_000_000
MAX_JSON_DEPTH = 60
MAX_SHOWN = 60

T = TypeVar("T")


class UnfitError(ValueError):
    """A value of another type or range than its field."""


def clean_text(text: str) -> str:
    """The text with lone surrogates, which no file can hold, as U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_scalar(value: Any) -> Any:
    """A numpy scalar or an array of one element as a Python number; anything else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return value


def integer(value: Any) -> int:
    """A whole number within int64; booleans, floats and text are not.

    Raises:
        UnfitError: it is something else.
    """
    value = plain_scalar(value)
    if type(value) is not int or not INT64_MIN <= value <= INT64_MAX:
        raise UnfitError
    return value


def number(value: Any) -> float:
    """An int, float or bool as a float; NaN and infinities stay.

    Raises:
        UnfitError: it is something else, or an integer beyond a float.
    """
    value = plain_scalar(value)
    if type(value) is float:
        return value
    if type(value) not in (int, bool):
        raise UnfitError
    try:
        return float(value)
    except OverflowError as cause:
        raise UnfitError from cause


def flag(value: Any) -> bool:
    """A bool, or an integer 0 or 1.

    Raises:
        UnfitError: it is something else.
    """
    value = plain_scalar(value)
    if type(value) is bool:
        return value
    if type(value) is int and value in (0, 1):
        return bool(value)
    raise UnfitError


def text(value: Any) -> str:
    """A text.

    Raises:
        UnfitError: it is something else.
    """
    if not isinstance(value, str):
        raise UnfitError
    return clean_text(value)


def json_text(value: Any) -> str:
    """Any recorded value as compact JSON: NaN as null, what JSON does not know as a short name in brackets.

    Raises:
        UnfitError: it is nested or repeated beyond any honest prompt.
    """
    if isinstance(value, str):
        return json.dumps(clean_text(value), ensure_ascii=False)
    plain = _Plain().of(value, 0)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class _Plain:
    """Copies a value into what JSON can hold, within a budget."""

    def __init__(self) -> None:
        self._nodes = 0
        self._chars = 0

    def of(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_JSON_NODES or depth > MAX_JSON_DEPTH:
            raise UnfitError
        value = plain_scalar(value)
        if isinstance(value, np.ndarray) and value.size <= MAX_JSON_NODES - self._nodes:
            value = value.tolist()
        if value is None or type(value) in (bool, int, float):
            return self._scalar(value)
        return self._text(value) if isinstance(value, str) else self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            return {self._key(key, depth): self.of(item, depth) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, depth) for item in value]
        return f"[{type_name(value)}]"

    def _key(self, key: Any, depth: int) -> str:
        return self._text(key) if isinstance(key, str) else str(self.of(key, depth))

    def _text(self, value: str) -> str:
        self._chars += len(value)
        if self._chars > MAX_JSON_CHARS:
            raise UnfitError
        return clean_text(value)

    @staticmethod
    def _scalar(value: Any) -> Any:
        if type(value) is float and not math.isfinite(value):
            return None
        if type(value) is int and not INT64_MIN <= value <= INT64_MAX:
            return f"[integer of {value.bit_length()} bits]"
        return value


def type_name(value: Any) -> str:
    """What a value is, for messages: the recorded class of a placeholder, else the Python type."""
    recorded = getattr(value, "qualname", None)
    name = recorded if isinstance(recorded, str) else type(value).__name__
    return clean_text(name)[:MAX_SHOWN]


class Unfit:
    """Counts values that were left out, one notice a field and kind of trouble.

    Args:
        source: name of the file for the notices.
        unit: what the file is counted in: "sample" or "row".
    """

    def __init__(self, source: str, unit: str = "sample") -> None:
        self._source = source
        self._unit = unit
        self._found: dict[tuple[str, str], list[int]] = {}
        self._trouble: dict[tuple[str, str], str] = {}

    def read(self, convert: Callable[[Any], T], value: Any, field: str, place: int) -> T | None:
        """`convert(value)`; null where the value is None or does not fit, and then counted."""
        if value is None:
            return None
        try:
            return convert(value)
        except UnfitError:
            kind = type_name(plain_scalar(value))
            self.add(field, place, f"is of type {kind}, which does not belong there", kind="type")
            return None

    def add(self, field: str, place: int, trouble: str, *, kind: str = "") -> None:
        """Notes that `field` of sample `place` was left out because it `trouble` (a phrase)."""
        self._found.setdefault((field, kind or trouble), []).append(place)
        self._trouble.setdefault((field, kind or trouble), trouble)

    def notices(self) -> Iterable[Notice]:
        """One warning each, naming the first places."""
        for key, places in self._found.items():
            shown = ", ".join(str(place) for place in places[:3])
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            yield Notice(
                "unfit-value",
                "warning",
                self._source,
                f"{key[0]} of {self._unit} {shown}{more} {self._trouble[key]}; it is left out there.",
                "Look at what wrote the file: Miles does not write such values.",
            )
