"""dashboard/metrics.jsonl into one row a logged value, in file order.

What a trainer logs differs from record to record, so the lines are read one by one. A value is kept as it was logged:
numbers as floats, booleans as 0 and 1, text and nested values as text; what is not finite is null and flagged.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from miles_report.sources.complete_lines import LineFile
from miles_report.sources.stream_files import TimeBounds
from miles_report.sources.stream_shapes import INT64, BadLineError, clean_text, parse_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.notices import Notice
    from miles_report.sources.folders import FileStamp

VALUE_COLUMNS = pl.Schema(
    {
        "record": pl.Int64(),
        "ts": pl.Float64(),
        "step_key": pl.String(),
        "step": pl.Int64(),
        "key": pl.String(),
        "value": pl.Float64(),
        "nonfinite": pl.Boolean(),
        "text": pl.String(),
    }
)


@dataclass(frozen=True)
class LoggedMetrics:
    """All values of the metrics stream.

    Attributes:
        values: one row a value: record (0-based number of the line among those that count), ts, step_key, step, key,
            value (null when not finite or text), nonfinite, text.
        bounds: extremes of the records' timestamps, also of those without values; null without a record.
    """

    values: pl.DataFrame
    bounds: TimeBounds | None


def read_metrics(files: Iterable[FileStamp], *, notices: list[Notice]) -> LoggedMetrics:
    """Reads the metrics stream; `notices` gets what was left out. Without files: no rows."""
    gathered = _Gathered()
    for stamp in files:
        source = LineFile(stamp)
        for block in source.blocks():
            for number, line in block.lines():
                try:
                    gathered.add(parse_object(line))
                except BadLineError as cause:
                    source.bad_line(number, str(cause))
        notices.extend(source.notices())
    return gathered.metrics()


class _Gathered:
    """Columns while they grow; one entry a record, or one a value."""

    def __init__(self) -> None:
        self._axes: list[tuple[float, str | None, int | None]] = []
        self._counts: list[int] = []
        self._keys: list[str] = []
        self._values: list[float | None] = []
        self._texts: list[str | None] = []

    def add(self, record: dict[str, Any]) -> None:
        metrics = record.get("metrics")
        if not isinstance(metrics, dict):
            raise BadLineError("has no metrics")
        self._axes.append(_axis(record))
        self._counts.append(len(metrics))
        self._keys.extend(clean_text(key) for key in metrics)
        for value in metrics.values():
            number, text = (value, None) if type(value) is float else _logged(value)
            self._values.append(number)
            self._texts.append(text)

    def metrics(self) -> LoggedMetrics:
        axes = pl.DataFrame(
            self._axes,
            schema={name: VALUE_COLUMNS[name] for name in ("ts", "step_key", "step")},
            orient="row",
        ).with_row_index("record")
        bounds = None
        if self._axes:
            stamps = [ts for ts, _, _ in self._axes]
            bounds = TimeBounds(min(stamps), max(stamps), len(stamps))
        of_value = np.repeat(np.arange(len(self._counts)), self._counts)
        raw = pl.Series("value", self._values, dtype=pl.Float64)
        values = axes[of_value].with_columns(
            pl.Series("key", self._keys, dtype=pl.String),
            pl.when(raw.is_finite()).then(raw).alias("value"),
            (~raw.is_finite()).fill_null(value=False).alias("nonfinite"),
            pl.Series("text", self._texts, dtype=pl.String),
        )
        return LoggedMetrics(values.select(*VALUE_COLUMNS).cast(VALUE_COLUMNS), bounds)


def _axis(record: dict[str, Any]) -> tuple[float, str | None, int | None]:
    """(ts, step_key, step) of a record."""
    ts, step_key, step = record.get("ts"), record.get("step_key"), record.get("step")
    if isinstance(ts, bool) or not isinstance(ts, int | float) or not _is_finite(ts):
        raise BadLineError("has no finite ts")
    if step_key is not None and not isinstance(step_key, str):
        raise BadLineError("has a step_key that is not text")
    if isinstance(step, float) and step.is_integer():
        step = int(step)
    if step is not None and (isinstance(step, bool) or not isinstance(step, int)):
        raise BadLineError("has a step that is not a whole number")
    if step is not None and not -INT64 <= step < INT64:
        raise BadLineError("has a step that is too large")
    return float(ts), None if step_key is None else clean_text(step_key), step


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _logged(value: Any) -> tuple[float | None, str | None]:
    """(number, text) of a value that is not a float; both null for JSON null."""
    if value is None:
        return None, None
    if isinstance(value, str):
        return None, clean_text(value)
    if isinstance(value, int):
        try:
            return float(value), None
        except OverflowError:
            return math.inf, None
    return None, clean_text(json.dumps(value, ensure_ascii=False))
