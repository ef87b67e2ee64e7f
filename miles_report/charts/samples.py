"""Pictures of many samples: two columns against each other, one column counted in bins."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from miles_report.charts import palette, theme

SCATTER = (640, 300)
HISTOGRAM = (300, 140)
MAX_MARKS = 2000
"""Marks of a static scatter: more make a page heavy without showing more."""


def scatter(
    points: pl.DataFrame,
    *,
    x_title: str,
    y_title: str,
    size: tuple[int, int] = SCATTER,
) -> Any:
    """One mark a sample; above `MAX_MARKS` every n-th of them, the caption should say so.

    Args:
        points: x, y (not finite: left out), strong (bool: a hollow diamond, such as mixed versions),
            text (all the tooltip says: titles would become part of an expression).
        x_title: name and unit of x.
        y_title: name and unit of y.
        size: width and height in pixels, axes inside.
    """
    finite = points.filter(pl.col("x").is_finite() & pl.col("y").is_finite())
    every = math.ceil(finite.height / MAX_MARKS) or 1
    drawn = finite.gather_every(every)
    x = alt.X("x:Q", title=x_title, axis=_axis(5), scale=alt.Scale(zero=False, nice=True))
    y = alt.Y("y:Q", title=y_title, axis=_axis(4), scale=alt.Scale(zero=False, nice=True))
    dots: Any = alt.Chart(theme.inline(drawn.filter(~pl.col("strong"))))
    diamonds: Any = alt.Chart(theme.inline(drawn.filter(pl.col("strong"))))
    tooltip = [alt.Tooltip("text:N", title="sample")]
    return theme.sized(
        alt.layer(
            dots.mark_point(size=14, filled=True, opacity=0.65).encode(x=x, y=y, tooltip=tooltip),
            diamonds.mark_point(
                shape="diamond",
                size=44,
                stroke=palette.VERMILION,
                fill=palette.PAPER,
                strokeWidth=1.5,
            ).encode(x=x, y=y, tooltip=tooltip),
        ),
        size,
    )


def binned(values: pl.Series, bins: int = 24) -> pl.DataFrame:
    """Counts of the finite values in equal bins: start, end, n; no rows without a finite value."""
    finite = [
        float(v) for v in values.cast(pl.Float64).to_list() if v is not None and math.isfinite(v)
    ]
    if not finite:
        return pl.DataFrame(schema={"start": pl.Float64, "end": pl.Float64, "n": pl.Int64})
    low, high = theme.padded_domain(min(finite), max(finite))
    width = (high - low) / bins
    counts = [0] * bins
    for value in finite:
        counts[min(bins - 1, int((value - low) / width))] += 1
    starts = [low + width * index for index in range(bins)]
    ends = [*starts[1:], high]
    return pl.DataFrame({"start": starts, "end": ends, "n": counts})


def histogram(counted: pl.DataFrame, *, title: str, size: tuple[int, int] = HISTOGRAM) -> Any:
    """Bars of `binned` counts.

    Args:
        counted: start, end, n.
        title: name and unit of the counted column.
        size: width and height in pixels, axes inside.
    """
    chart: Any = alt.Chart(theme.inline(counted))
    bars = chart.mark_bar(binSpacing=1).encode(
        x=alt.X(
            "start:Q",
            bin="binned",
            title=title,
            axis=_axis(4),
            scale=alt.Scale(zero=False, nice=False),
        ),
        x2="end:Q",
        y=alt.Y("n:Q", title=None, axis=_axis(3)),
        tooltip=[
            alt.Tooltip("n:Q", title="samples"),
            alt.Tooltip("start:Q", title="from"),
            alt.Tooltip("end:Q", title="to"),
        ],
    )
    return theme.sized(bars, size)


def _axis(count: int) -> alt.Axis:
    return alt.Axis(tickCount=count, labelExpr=theme.GROUPED)
