"""The columns of each telemetry stream, and one JSON value into the type of its column.

Derived from the records of `schema.streams`, so that a field is declared once. Two paths read a line: polars reads
whole blocks, `row_of` reads single lines with the same outcome where polars refuses a block.
"""

from __future__ import annotations

import functools
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import polars as pl

from miles_report.schema.streams import STREAMS

ENGINE_LABELS = ("engine_type", "dp_rank")
"""The labels Miles keeps of an engine's metrics."""

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "topology": ("ts", "engines"),
    "data_buffer": ("ts", "length"),
    "health": ("ts", "event"),
    "phases": ("name", "t0", "t1", "node", "rank"),
    "gpu_util": ("ts", "node", "gpu"),
    "gpu_processes": ("ts", "node", "gpu", "pid"),
    "engine_series": ("ts", "addr", "metric", "value"),
    "trajectories": ("ts", "kind", "sample_index"),
}
"""Fields without which a line of the stream says nothing; any other may be missing and is null."""

INT64 = 1 << 63


class BadLineError(ValueError):
    """A complete line that does not count; the message continues "line 7 …"."""


class MistypedError(ValueError):
    """A value that is not of its column's type; the message continues "a ts that is …"."""


@dataclass(frozen=True)
class Shape:
    """What the lines of one stream look like.

    Attributes:
        columns: of its frame, in record order.
        required: never null.
        ts_fields: never null, finite.
    """

    columns: Mapping[str, pl.DataType]
    required: tuple[str, ...]
    ts_fields: tuple[str, ...]

    def empty(self) -> pl.DataFrame:
        """A frame of no rows."""
        return pl.DataFrame(schema=dict(self.columns))

    def is_sound(self, frame: pl.DataFrame) -> bool:
        """Whether no row lacks a required field or has a timestamp that is not finite."""
        return all(frame[name].null_count() == 0 for name in self.required) and all(
            bool(frame[name].is_finite().all()) for name in self.ts_fields
        )

    def row_of(self, line: bytes) -> dict[str, Any]:
        """One line as a row of the frame.

        Raises:
            BadLineError: it is not JSON, not an object, or lacks or mistypes a field.
        """
        record = parse_object(line)
        row = {}
        for name, dtype in self.columns.items():
            try:
                row[name] = _value(record.get(name), dtype)
            except MistypedError as cause:
                raise BadLineError(f"has a {name} that is {cause}") from cause
            if row[name] is None and name in self.required:
                raise BadLineError(f"has no {name}")
            if name in self.ts_fields and not math.isfinite(row[name]):
                raise BadLineError(f"has a {name} that is not finite")
        return row


@functools.cache
def shape_of(stream: str) -> Shape:
    """The shape of a stream; metrics, whose keys differ from line to line, has none."""
    declared = STREAMS[stream]
    return Shape(_columns(declared.record), REQUIRED[stream], declared.ts_fields)


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object on a line; bare NaN and Infinity count as numbers.

    Raises:
        BadLineError: it is not one.
    """
    try:
        value = json.loads(line)
    except UnicodeDecodeError as cause:
        raise BadLineError("is not UTF-8") from cause
    except (ValueError, RecursionError) as cause:
        raise BadLineError("is not JSON") from cause
    if not isinstance(value, dict):
        raise BadLineError("is not a JSON object")
    return value


def clean_text(text: str) -> str:
    """Text that can be written as UTF-8: half of a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _columns(record: type[Any]) -> dict[str, pl.DataType]:
    hints = typing.get_type_hints(record)
    return {field.name: _dtype(hints[field.name]) for field in fields(record)}


def _dtype(hint: Any) -> pl.DataType:
    if isinstance(hint, types.UnionType):
        (hint,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and args[1:] == (Ellipsis,):
        return pl.List(_dtype(args[0]))
    if origin is tuple:  # of mixed types, such as (node, gpu): the JSON array as texts
        return pl.List(pl.String())
    if origin is Mapping:
        return pl.Struct({label: pl.String() for label in ENGINE_LABELS})
    if is_dataclass(hint):
        return pl.Struct(_columns(typing.cast("type[Any]", hint)))
    return {float: pl.Float64(), int: pl.Int64(), str: pl.String()}[hint]


def _value(value: Any, dtype: pl.DataType) -> Any:
    """A JSON value as polars would read it into a column of that type."""
    if value is None:
        return None
    if isinstance(dtype, pl.String):
        return clean_text(value if isinstance(value, str) else json.dumps(value))
    if isinstance(dtype, pl.List):
        if not isinstance(value, list):
            raise MistypedError("not a list")
        return [_value(item, typing.cast("pl.DataType", dtype.inner)) for item in value]
    if isinstance(dtype, pl.Struct):
        if not isinstance(value, dict):
            raise MistypedError("not an object")
        return {
            field.name: _value(value.get(field.name), typing.cast("pl.DataType", field.dtype))
            for field in dtype.fields
        }
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MistypedError("not a number")
    return _number(value, whole=isinstance(dtype, pl.Int64))


def _number(value: float, *, whole: bool) -> float:
    if not whole:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, float) and not value.is_integer():
        raise MistypedError("not a whole number")
    if not -INT64 <= value < INT64:
        raise MistypedError("too large")
    return int(value)
