"""The one theme of all charts, and the parts they share: data, ticks, number labels."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from miles_report.charts import palette

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


FONT = "Liberation Sans"
"""Measured with at build time; pages replace it by their own, whose widths are close."""

AxisWord = Literal["step", "minute"]
"""What x counts. Words from a dump never come here: they would become part of an expression."""

HOVER = "hover"
"""Style of a layer that exists for the pointer only: left out of the static figure."""

CONFIG: Mapping[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "aria": False,
    "padding": {"left": 0, "top": 0, "right": 1, "bottom": 2},
    "view": {"stroke": None, "clip": False},
    "mark": {"invalid": "break-paths-filter-domains"},
    "axis": {
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleColor": palette.MUTED,
        "labelFontSize": 12,
        "labelColor": palette.MUTED,
        "labelPadding": 6,
        "ticks": False,
        "gridColor": palette.GRID,
        "domainColor": palette.AXIS,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False},
    "line": {"strokeWidth": 1.5, "color": palette.BLUE},
    "point": {"color": palette.BLUE, "size": 24, "opacity": 1},
    "bar": {"color": palette.BLUE},
    "range": {"category": list(palette.CATEGORIES)},
    "style": {HOVER: {"opacity": 0, "size": 200, "filled": True}},
}

GROUPED = "replace(datum.label, regexp(',', 'g'), '\\u202f')"
"""Vega expression: the label of a tick with thin groups instead of commas."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_CHANGE_OF_MAGNITUDE = (1.0, 2.0, 5.0)


def sized(chart: Any, size: tuple[int, int]) -> Any:
    """The chart at `size` (width, height in pixels), axes and labels inside."""
    return chart.properties(
        width=size[0],
        height=size[1],
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )


def cleaned(value: Any) -> Any:
    """JSON that every SVG can hold.

    NaN and infinities become null; control characters and lone surrogates become U+FFFD.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {name: cleaned(item) for name, item in value.items()}
    return value


def finite_range(values: Iterable[float | None]) -> tuple[float, float] | None:
    """Smallest and largest finite value, or None when there is none."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return (min(finite), max(finite)) if finite else None


def padded_domain(low: float, high: float) -> tuple[float, float]:
    """A y range that shows a constant as a line in the middle instead of at an edge."""
    if high > low:
        return low, high
    margin = abs(low) * 0.1 or 1.0
    return low - margin, high + margin


def step_ticks(first: int, last: int, count: int = 5) -> list[int]:
    """Round whole ticks from `first` to `last`, both always among them, about `count` in all."""
    if last <= first:
        return [first]
    stride = _round_stride((last - first) / max(1, count - 1))
    inner = range(first - first % stride + stride, last, stride)
    room = stride * 0.55
    return [first, *(tick for tick in inner if tick - first > room and last - tick > room), last]


def _round_stride(least: float) -> int:
    magnitude = 10.0 ** math.floor(math.log10(least)) if least > 1 else 1.0
    for factor in (*_CHANGE_OF_MAGNITUDE, 10.0):
        if factor * magnitude >= least:
            return int(factor * magnitude)
    return int(10.0 * magnitude)


def step_axis(ticks: Sequence[int], word: AxisWord = "step") -> alt.Axis:
    """An x axis whose first label carries the word."""
    first = ticks[0] if ticks else 0
    return alt.Axis(
        values=list(ticks),
        title=None,
        labelExpr=f"datum.value === {first} ? '{word} ' + {GROUPED} : {GROUPED}",
        format=",d",
        labelFlush=True,
        labelOverlap=False,
    )
