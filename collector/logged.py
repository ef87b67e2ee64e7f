"""Whatever a tracking call is given into a record of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miles_report.schema.streams import MetricsRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.schema.streams import MetricValue


def metrics_record(
    metrics: Mapping[str, Any], *, ts: float, step: int | None = None, step_key: str | None = None
) -> MetricsRecord:
    """One tracking call as a record.

    Args:
        metrics: numbers, bools and texts are kept; one-element tensors, arrays and numpy scalars become floats; all else
            (images, histograms, null, larger tensors) is dropped.
        ts: when it was logged, Unix seconds.
        step: of the step axis; null: what `metrics` has under `step_key`.
        step_key: name of the axis, such as "rollout/step".
    """
    values = {}
    for key, value in metrics.items():
        plain = plain_value(value)
        if plain is not None:
            values[str(key)] = plain
    if step is None and step_key is not None:
        step = values.get(step_key)  # type: ignore[assignment]
    return MetricsRecord(ts, step_key, _whole(step), values)


def plain_value(value: Any) -> MetricValue:
    """A value as the stream can hold it; null if it cannot.

    NaN and infinities are values. Reading a tensor of a GPU waits for the GPU, as every tracker does.
    """
    kind = type(value)
    if kind in (float, int, bool, str):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):  # numpy's float64 is one
        return float.__float__(value)
    item = getattr(value, "item", None)
    if item is None or _n_elements(value) != 1:
        return None
    try:
        return float(item())
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def _n_elements(value: Any) -> int | None:
    """How many numbers a tensor or array holds."""
    count = getattr(value, "numel", None)
    try:
        return int(count() if callable(count) else value.size)
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _whole(step: Any) -> int | None:
    try:
        return None if step is None or int(step) != step else int(step)
    except (TypeError, ValueError, OverflowError):
        return None
