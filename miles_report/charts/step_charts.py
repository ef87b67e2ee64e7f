"""Pictures of one step: its samples as a scatter, its columns as histograms by outcome.

Pure functions from small frames to Altair charts. What is not finite has no place on an axis: it is
left out here and counted in the caption by the caller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from altair.utils.schemapi import debug_mode

from miles_report.charts import palette, theme
from miles_report.charts.drawn import Drawn

SCATTER = (830, 250)
PANEL = (262, 110)
MAX_MARKS = 600
"""Marks of a static scatter: more make a page heavy without showing more."""

LABELS = 3
"""Extreme samples whose index stands beside their mark."""

BINS = 20
MAX_WHOLE = 2.0**51
"""Above it a float holds no half, so that no bin can lie around a whole number."""

LOG_DECADES = 2.0
"""A positive column that spans more is drawn on a log scale."""


@dataclass(frozen=True)
class Axis:
    """One axis of the scatter.

    Attributes:
        title: name and unit.
        log: whether its scale is logarithmic; then every value is positive.
    """

    title: str
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """One histogram of the distributions.

    Attributes:
        title: name and unit.
        bins: start, end, n, better (bool: the lighter part of a stack).
        log: whether the bins are equal in the logarithm.
    """

    title: str
    bins: pl.DataFrame
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether each bin is one whole number, so that ticks are whole too."""
        widths = self.bins["end"] - self.bins["start"]
        halves = (self.bins["start"] - 0.5) % 1
        return bool((widths == 1).all()) and bool((halves == 0).all())


def spans_decades(values: pl.Series) -> bool:
    """Whether a column is positive throughout and wide enough for a log scale."""
    finite = values.drop_nulls().cast(pl.Float64)
    finite = finite.filter(finite.is_finite())
    if not finite.len():
        return False
    low, high = float(finite.min()), float(finite.max())  # type: ignore[arg-type]  # finite, not null
    return low > 0 and math.log10(high / low) > LOG_DECADES


def thinned(points: pl.DataFrame, limit: int = MAX_MARKS) -> pl.DataFrame:
    """At most `limit` rows: the most extreme in y always, evenly spread ones of the rest."""
    if points.height <= limit:
        return points
    extreme = points.sort("y", descending=True).head(limit // 10)
    rest = points.join(extreme, on="row", how="anti")
    every = math.ceil(rest.height / (limit - extreme.height))
    return pl.concat([extreme, rest.gather_every(every)]).sort("row")


def scatter(
    points: pl.DataFrame,
    x: Axis,
    y: Axis,
    *,
    mean: float | None,
    size: tuple[int, int] = SCATTER,
) -> Drawn:
    """One mark a sample: a hollow diamond where `strong`, else a dot; the extreme ones are named.

    Args:
        points: row (unique), x, y (finite), strong (bool), text (the label of a mark).
        x: its axis.
        y: its axis.
        mean: of y over all samples, drawn as a line; None or not finite: no line.
        size: width and height in pixels, axes inside.
    """
    with debug_mode(False):  # noqa: FBT003 - positional in Altair
        encode_x = alt.X("x:Q", axis=_axis(6, x.title), scale=_scale(points["x"], log=x.log))
        encode_y = alt.Y("y:Q", axis=_axis(4, y.title), scale=_scale(points["y"], log=y.log))
        tips = _tips(text="sample", x=x.title, y=y.title)
        dots = alt.Chart(alt.NamedData("dots")).mark_point(
            size=14, filled=True, color=palette.GREY, opacity=0.7
        )
        diamonds = alt.Chart(alt.NamedData("diamonds")).mark_point(
            shape="diamond", size=40, color=palette.VERMILION, strokeWidth=1.2
        )
        names = alt.Chart(alt.NamedData("names")).mark_text(
            align="left", dx=7, dy=1, fontSize=12, color=palette.TEXT
        )
        rule = alt.Chart(alt.NamedData("mean")).mark_rule(strokeDash=[2, 3], color=palette.MUTED)
        chart = alt.layer(
            rule.encode(encode_y),
            dots.encode(encode_x, encode_y, tooltip=tips),
            diamonds.encode(encode_x, encode_y, tooltip=tips),
            names.encode(encode_x, encode_y, alt.Text("text:N")),
        )
    has_mean = mean is not None and math.isfinite(mean)
    return Drawn(
        theme.sized(chart, size),
        {
            "dots": points.filter(~pl.col("strong")),
            "diamonds": points.filter(pl.col("strong")),
            "names": points.sort("y", "row", descending=[True, False]).head(LABELS),
            "mean": pl.DataFrame({"y": [mean] if has_mean else []}, schema={"y": pl.Float64}),
        },
    )


def distributions(panels: list[Panel], *, size: tuple[int, int] = PANEL, columns: int = 4) -> Drawn:
    """Small histograms side by side, each with its own scales; `better` bins stack on the others.

    Args:
        panels: in order; at least one.
        size: width and height of one plot in pixels.
        columns: panels in one line.
    """
    with debug_mode(False):  # noqa: FBT003 - positional in Altair
        plots = [_histogram(f"bins-{at}", panel, size) for at, panel in enumerate(panels)]
        chart = alt.concat(*plots, columns=columns, spacing=24)
    return Drawn(chart, {f"bins-{at}": _stacked(panel.bins) for at, panel in enumerate(panels)})


def binned(values: pl.Series, better: pl.Series, *, log: bool, bins: int = BINS) -> pl.DataFrame:
    """Counts of the finite values in equal bins, apart by `better`.

    Few whole numbers get a bin each, centred on the number.

    Args:
        values: numbers; null and not finite are left out.
        better: bool of the same length; null counts as false.
        log: equal bins of the logarithm; every finite value must be positive.
        bins: at most so many.

    Returns:
        start, end, n (only bins with n > 0), better; no rows without a finite value.
    """
    schema = {"start": pl.Float64, "end": pl.Float64, "n": pl.Int64, "better": pl.Boolean}
    numbers = values.cast(pl.Float64).fill_null(math.nan).to_numpy()
    keep = np.isfinite(numbers)
    if not keep.any():
        return pl.DataFrame(schema=schema)
    edges = _edges(numbers[keep], log=log, bins=bins)
    good = better.fill_null(value=False).to_numpy()
    parts = []
    for side in (False, True):
        counts, _ = np.histogram(numbers[keep & (good == side)], bins=edges)
        filled = np.flatnonzero(counts)
        parts.append(
            pl.DataFrame(
                {
                    "start": edges[filled],
                    "end": edges[filled + 1],
                    "n": counts[filled],
                    "better": [side] * len(filled),
                },
                schema=schema,
            )
        )
    return pl.concat(parts)


def _edges(finite: np.ndarray[Any, Any], *, log: bool, bins: int) -> np.ndarray[Any, Any]:
    low, high = float(finite.min()), float(finite.max())
    if log:
        return np.geomspace(low * 0.999, high * 1.001, bins + 1)
    exact = max(abs(low), abs(high)) < MAX_WHOLE
    if exact and high - low < bins and np.all(finite == np.floor(finite)):
        return np.arange(low - 0.5, high + 1.0)
    low, high = theme.padded_domain(low, high)
    edges = np.linspace(low, high, bins + 1)
    return edges if np.all(np.diff(edges) > 0) else np.array([low, high])


def _histogram(name: str, panel: Panel, size: tuple[int, int]) -> Any:
    bins = panel.bins
    low = theme.finite_range(bins["start"].to_list())
    high = theme.finite_range(bins["end"].to_list())
    domain = [low[0], high[1]] if low and high else [0.0, 1.0]
    kind: dict[str, Any] = {"type": "log"} if panel.log else {"zero": False}
    scale = alt.Scale(domain=domain, nice=False, **kind)
    whole = {"values": _whole_ticks(domain), "format": "d"} if panel.whole else {}
    colours = alt.Scale(domain=[False, True], range=[palette.GREY, palette.BLUE])
    return (
        alt.Chart(alt.NamedData(name), width=size[0], height=size[1])
        .mark_rect(stroke=palette.PAPER, strokeWidth=1)
        .encode(
            alt.X("start:Q", axis=_axis(4, panel.title, **whole), scale=scale),
            alt.X2("end"),
            alt.Y("below:Q", axis=_axis(3, None, tickMinStep=1)),
            alt.Y2("above"),
            alt.Color("better:N", legend=None, scale=colours),
            tooltip=_tips(n="samples", start="from", end="to"),
        )
    )


def _tips(**titles: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{name}:{'N' if name == 'text' else 'Q'}", title=title)
        for name, title in titles.items()
    ]


def _whole_ticks(domain: list[float], count: int = 6) -> list[int]:
    first, last = math.ceil(domain[0]), math.floor(domain[1])
    return list(range(first, last + 1, max(1, math.ceil((last - first) / count))))


def _stacked(bins: pl.DataFrame) -> pl.DataFrame:
    """The bins with `below` and `above`: where each lies when `better` ones stand on the others."""
    above = pl.col("n").cum_sum().over("start")
    return bins.sort("start", "better").with_columns(
        (above - pl.col("n")).alias("below"), above.alias("above")
    )


def _axis(count: int, title: str | None, **more: Any) -> alt.Axis:
    return alt.Axis(tickCount=count, title=title, labelExpr=theme.GROUPED, **more)


def _scale(values: pl.Series, *, log: bool) -> alt.Scale:
    if log:
        return alt.Scale(type="log", nice=True)
    span = theme.finite_range(values.to_list()) or (0.0, 1.0)
    low, high = theme.padded_domain(*span)
    return alt.Scale(domain=[low, high], nice=True, zero=False)
