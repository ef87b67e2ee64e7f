"""One record of a telemetry stream to one JSON line and back.

The line is compact JSON in the order of the record's fields, ASCII only, NaN and infinities bare, as Miles writes it. Reading is
strict about what the record declares and tolerant of fields that it does not.
"""

from __future__ import annotations

import json
import operator
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, TypeVar

from miles_report.schema.streams import STREAMS, EngineRecord, Record

R = TypeVar("R", bound=Record | EngineRecord)


class WireError(ValueError):
    """A line that is not a record of the expected type."""


def encode(record: Record) -> bytes:
    """The record as one line, newline included.

    Numbers of other libraries (numpy's, say) are written as the declared type.

    Raises:
        TypeError: a value is not what its field declares.
        ValueError: a value cannot be written.
    """
    names, writers = _LAYOUTS[type(record)]
    return _line(names(record), writers)


def _line(values: tuple[Any, ...], writers: tuple[tuple[str, Callable[[Any], str]], ...]) -> bytes:
    parts = [key + write(value) for (key, write), value in zip(writers, values, strict=True)]
    return ("".join(parts) + "}\n").encode("ascii")


def _write_float(value: Any) -> str:
    if value.__class__ is not float:
        if isinstance(value, str | bytes):
            raise TypeError(f"{value!r} is not a number")
        value = float(value)
    if value - value != 0.0:  # not finite
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124
    return float.__repr__(value)


def _write_int(value: Any) -> str:
    return int.__repr__(value if value.__class__ is int else operator.index(value))


def _write_text(value: Any) -> str:
    return encode_basestring_ascii(value)


def _write_any(value: Any) -> str:
    return _to_json(value if value.__class__ is dict else _plain(value))


def decode(line: bytes | str, record_type: type[R]) -> R:
    """The record on a line.

    Args:
        line: with or without its newline.
        record_type: what it should hold.

    Raises:
        WireError: it is no JSON object, lacks a field that has no default, or one is of another type.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as cause:
        raise WireError("not JSON") from cause
    return _record(value, record_type, "")


def _writer(hint: Any) -> Callable[[Any], str]:
    """What writes a field of a declared type."""
    if isinstance(hint, types.UnionType):
        one = [part for part in typing.get_args(hint) if part is not types.NoneType]
        if len(one) == 1 and one[0] in _WRITERS:
            write = _WRITERS[one[0]]
            return lambda value: "null" if value is None else write(value)
    return _WRITERS.get(hint, _write_any)


def _layout(
    record_type: type[Any],
) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[str, Callable[[Any], str]], ...]]:
    """How the fields of a record are fetched, and how each is written with its key before it."""
    hints = typing.get_type_hints(record_type)
    names = [field.name for field in fields(record_type)]
    writers = tuple(
        ("{" * (place == 0) + "," * (place > 0) + f'"{name}":', _writer(hints[name]))
        for place, name in enumerate(names)
    )
    return operator.attrgetter(*names), writers


_to_json = json.JSONEncoder(separators=(",", ":")).encode
_WRITERS: Mapping[Any, Callable[[Any], str]] = {
    float: _write_float,
    int: _write_int,
    str: _write_text,
}
_LAYOUTS = {stream.record: _layout(stream.record) for stream in STREAMS.values()}


def _plain(value: Any) -> Any:
    """A record as what `json` knows."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _record(value: Any, record_type: type[R], place: str) -> R:
    if not isinstance(value, dict):
        raise WireError(f"{place or 'the line'} is not an object")
    hints = typing.get_type_hints(record_type)
    known = {
        field.name: _value(value[field.name], hints[field.name], f"{place}{field.name}")
        for field in fields(record_type)
        if field.name in value
    }
    lacking = [
        field.name
        for field in fields(record_type)
        if field.name not in known and field.default is MISSING
    ]
    if lacking:
        raise WireError(f"{place or 'the line'} has no {', '.join(lacking)}")
    return record_type(**known)


def _value(value: Any, hint: Any, place: str) -> Any:
    """A JSON value as the declared type."""
    if isinstance(hint, types.UnionType):
        return _one_of(value, typing.get_args(hint), place)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return _record(value, typing.cast("type[EngineRecord]", hint), f"{place}.")
    if origin is tuple:
        return _tuple(value, args, place)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise WireError(f"{place} is not an object")
        return {key: _value(item, args[1], f"{place}.{key}") for key, item in value.items()}
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise WireError(f"{place} is not of type {getattr(hint, '__name__', hint)}")
    return value


def _one_of(value: Any, hints: tuple[Any, ...], place: str) -> Any:
    """The value unchanged if its own type is allowed, else as the first type it fits."""
    if type(value) in hints:
        return value
    for hint in hints:
        if hint is float and type(value) is int:
            return float(value)
    raise WireError(f"{place} is of none of the allowed types")


def _tuple(value: Any, args: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise WireError(f"{place} is not a list")
    if args[1:] == (Ellipsis,):
        args = (args[0],) * len(value)
    if len(value) != len(args):
        raise WireError(f"{place} does not have {len(args)} items")
    return tuple(
        _value(item, hint, f"{place}[{index}]")
        for index, (item, hint) in enumerate(zip(value, args, strict=True))
    )
