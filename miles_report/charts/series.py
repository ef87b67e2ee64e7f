"""Lines over steps: the sparkline of a tile, the chart of a metric, the data buffer over time."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from miles_report.charts import palette, theme
from miles_report.charts.drawn import Drawn

MAX_POINTS = 240
"""More than a chart has pixels for: beyond, each bucket keeps its lowest and highest point."""

TILE = (180, 48)
METRIC = (317, 118)


def thinned(points: pl.DataFrame, limit: int = MAX_POINTS) -> pl.DataFrame:
    """At most `limit` rows of (x, y, ...), in order; extremes, first, last and gaps survive.

    Args:
        points: column `y` is the value; rows in drawing order.
        limit: largest number of rows to keep.
    """
    if points.height <= limit:
        return points
    buckets = max(1, limit // 4)
    value = pl.col("y")
    numbered = points.with_row_index("_row").with_columns(
        (pl.col("_row") * buckets // points.height).alias("_bucket")
    )
    keep = numbered.group_by("_bucket").agg(
        pl.col("_row").sort_by(value, nulls_last=True).first().alias("low"),
        pl.col("_row").sort_by(value, descending=True, nulls_last=True).first().alias("high"),
        pl.col("_row").filter(value.is_null() | value.is_nan()).first().alias("gap"),
        pl.col("_row").first().alias("first"),
    )
    rows = set[int]()
    for name in ("low", "high", "gap", "first"):
        rows.update(keep.get_column(name).drop_nulls().to_list())
    rows.add(points.height - 1)
    return points[sorted(rows)]


def sparkline(
    points: pl.DataFrame,
    *,
    word: theme.AxisWord = "step",
    style: Literal["line", "points"] = "line",
    size: tuple[int, int] = TILE,
) -> Drawn:
    """The small line of a tile: own y range, a base line, the last value as a dot.

    Args:
        points: x (step), y (value; null, NaN and infinite are gaps), text (the value as written).
        word: what x counts, for the tooltip.
        style: `points` for a few values far apart: dashed, every value a ring.
        size: width and height in pixels.
    """
    finite = points.filter(pl.col("y").is_finite())
    points = thinned(finite if style == "points" else points)
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        place = {
            "x": alt.X("x:Q", axis=None, scale=_x_scale(points)),
            "y": alt.Y("y:Q", axis=None, scale=_y_scale(points)),
        }
        layers = [_base_line()]
        if style == "points":
            layers.append(_marks("line").mark_line(strokeDash=[2, 3]).encode(**place))
            ring = _marks("line").mark_point(size=22, fill=palette.PAPER, strokeWidth=1.5)
            layers.append(ring.encode(**place))
        else:
            layers.append(_marks("line").mark_line(strokeJoin="round").encode(**place))
            layers.append(_marks("lone").mark_point(size=8, filled=True).encode(**place))
        layers.append(_marks("last").mark_point(size=26, filled=True).encode(**place))
        layers.append(_hover(points, place, word))
        chart = theme.sized(alt.layer(*layers), size)
    rows = {"base": pl.DataFrame({"x": [0]}), "line": points, "last": finite.tail(1)}
    return Drawn(chart, rows | ({} if style == "points" else {"lone": isolated(points)}))


def metric_line(
    points: pl.DataFrame,
    *,
    word: theme.AxisWord = "step",
    size: tuple[int, int] = METRIC,
) -> Drawn:
    """One metric over its step axis, each attempt a line of its own.

    Args:
        points: x (step, whole), y (value; not finite is a gap), attempt (0-based), text.
        word: what x counts: the first label and the tooltip say it.
        size: width and height in pixels, axes inside.
    """
    points = thinned(points)
    xs = theme.finite_range(points.get_column("x").cast(pl.Float64).to_list()) or (0.0, 0.0)
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        axis = theme.step_axis(theme.step_ticks(int(xs[0]), int(xs[1])), word)
        y_axis = alt.Axis(tickCount=3, labelExpr=theme.GROUPED)
        place = {
            "x": alt.X("x:Q", axis=axis, scale=_x_scale(points)),
            "y": alt.Y("y:Q", title=None, axis=y_axis, scale=_y_scale(points, nice=True)),
        }
        line = _marks("line").mark_line(strokeWidth=2, strokeJoin="round")
        lone = _marks("lone").mark_point(size=12, filled=True)
        layers = [
            line.encode(detail="attempt:N", **place),
            lone.encode(**place),
            _hover(points, place, word),
        ]
        chart = theme.sized(alt.layer(*layers), size)
    return Drawn(chart, {"line": points, "lone": isolated(points)})


def isolated(points: pl.DataFrame) -> pl.DataFrame:
    """The finite points without a finite neighbour in their attempt: no line would show them."""
    attempt = pl.col("attempt").fill_null(0) if "attempt" in points.columns else pl.lit(0)
    same = pl.struct(
        pl.col("y").is_finite().fill_null(value=False).alias("ok"), attempt.alias("of")
    )
    runs = points.with_columns(same.rle_id().alias("_run"))
    alone = pl.len().over("_run") == 1
    return runs.filter(pl.col("y").is_finite() & alone).drop("_run")


def _marks(name: str) -> Any:
    return alt.Chart(alt.NamedData(name))


def _x_scale(points: pl.DataFrame) -> alt.Scale:
    span = theme.finite_range(points.get_column("x").cast(pl.Float64).to_list()) or (0.0, 1.0)
    low, high = theme.padded_domain(*span)
    return alt.Scale(domain=[low, high], nice=False, zero=False)


def _y_scale(points: pl.DataFrame, *, nice: bool = False) -> alt.Scale:
    span = theme.finite_range(points.get_column("y").cast(pl.Float64).to_list()) or (0.0, 1.0)
    low, high = theme.padded_domain(*span)
    if nice and span[0] >= 0:
        low = max(0.0, low)
    if nice:
        return alt.Scale(domain=[low, high], nice=3, zero=False)
    return alt.Scale(domain=[low, high], nice=False, zero=False, padding=4)


def _base_line() -> Any:
    rule: Any = _marks("base").mark_rule(color=palette.LINE, strokeWidth=1)
    return rule.encode(y=alt.value("height"), x=alt.value(0), x2=alt.value("width"))


def _hover(points: pl.DataFrame, place: dict[str, Any], word: theme.AxisWord) -> Any:
    value = "text:N" if "text" in points.columns else "y:Q"
    shown = [alt.Tooltip("x:Q", title=word), alt.Tooltip(value, title="value")]
    return _marks("line").mark_point(style=theme.HOVER, clip=True).encode(tooltip=shown, **place)
