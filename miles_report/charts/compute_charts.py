"""Pictures of the GPU timeline: phases of every lane or shares of the fleet, the spread of utilization, where steps went.

Pure functions from small frames to Altair charts. Times are minutes since the start of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from miles_report.charts import palette, theme
from miles_report.charts.drawn import Drawn
from miles_report.schema.vocabulary import PHASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 1200
LANE_HEIGHT = 14
SHARES_HEIGHT = 180
UTIL_HEIGHT = 120
STEPS_HEIGHT = 160

NO_PHASE = "none"
"""Share of the fleet, or cell of a lane, without a phase."""

HOURS = "'+' + format(floor(datum.value / 60), 'd') + ':' + format(floor(datum.value % 60), '02d')"
SECONDS = HOURS + " + ':' + format(floor(datum.value * 60 % 60), '02d')"
"""Vega expressions: minutes as hours and minutes, with seconds where ticks are close."""

CLOSE_MINUTES = 40.0
"""Shorter runs have ticks between whole minutes."""

FLUSH_PX = 28
"""A label nearer than that to an end of its axis is drawn inwards: half of the longest one."""

MARGIN = 110
"""Pixels left of the time axes, so that they lie below each other."""

PHASE_TOKENS: Mapping[str, str] = {
    phase.colours[0]: f"--p-{name.replace('_', '-')}" for name, phase in PHASES.items()
}
"""Light colour of a phase to the CSS custom property that holds it in a page."""

TOKENS: Mapping[str, str] = {**palette.TOKENS, **PHASE_TOKENS}
"""Colours of these charts: those of a phase go before those of other charts."""


def colour_of(phase: str) -> str:
    """The light colour of a phase; the neutral one of a name that is not known."""
    if phase == NO_PHASE:
        return palette.BAND
    return PHASES.get(phase, PHASES["unknown"]).colours[0]


def lane_bands(bands: pl.DataFrame, lanes: Sequence[str], span: float) -> Drawn:
    """Phases over time, a row a lane.

    Args:
        bands: lane, x, x2 (minutes), phase, text (for the tooltip); neighbours of one phase are one.
        lanes: all names, from top to bottom.
        span: minutes of the run.
    """
    height = max(len(lanes), 1) * LANE_HEIGHT
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        mark = alt.Chart(alt.NamedData("bands")).mark_rect()
        chart = mark.encode(
            x=elapsed_axis("x", span),
            x2="x2:Q",
            y=alt.Y("lane:N", sort=list(lanes), title=None, scale=alt.Scale(paddingInner=0.15), axis=alt.Axis(domain=False, labelLimit=MARGIN - 10, minExtent=MARGIN)),
            color=_phase_colours(bands["phase"]),
            tooltip=alt.Tooltip("text:N"),
        )  # fmt: skip
        sized = theme.sized(chart, (WIDTH, height + 24))
    return Drawn(sized, {"bands": bands})


def fleet_shares(shares: pl.DataFrame, order: Sequence[str], span: float) -> Drawn:
    """What share of all lanes was in which phase.

    Args:
        shares: x, x2 (minutes), phase, low, high (0 to 1, stacked), text.
        order: phases from the bottom.
        span: minutes of the run.
    """
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        mark = alt.Chart(alt.NamedData("shares")).mark_rect()
        chart = mark.encode(
            x=elapsed_axis("x", span),
            x2="x2:Q",
            y=alt.Y("low:Q", title=None, axis=alt.Axis(tickCount=2, format="%", minExtent=MARGIN), scale=alt.Scale(domain=[0, 1])),
            y2="high:Q",
            color=_phase_colours(pl.Series(list(order), dtype=pl.String)),
            tooltip=alt.Tooltip("text:N"),
        )  # fmt: skip
        sized = theme.sized(chart, (WIDTH, SHARES_HEIGHT))
    return Drawn(sized, {"shares": shares})


def util_spread(spread: pl.DataFrame, span: float) -> Drawn:
    """Utilization of all lanes: the band p10 to p90, the median, and the lowest lane.

    Args:
        spread: x (minutes), p10, p50, p90, low (percent; null without a sample), text.
        span: minutes of the run.
    """
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        axis = alt.Axis(tickCount=2, labelExpr="datum.label + ' %'", minExtent=MARGIN)
        scale = alt.Scale(domain=[0, 100])
        base = alt.Chart(alt.NamedData("spread"))
        x = elapsed_axis("x", span)
        layers = [
            base.mark_area(color=palette.AXIS, opacity=0.55, interpolate="step-after").encode(
                x=x, y=alt.Y("p10:Q", title=None, axis=axis, scale=scale), y2="p90:Q"
            ),
            base.mark_line(strokeWidth=1.5, interpolate="step-after").encode(x=x, y="p50:Q"),
            base.mark_line(color=palette.VERMILION, strokeWidth=1, interpolate="step-after").encode(
                x=x, y="low:Q"
            ),
            base.mark_point(style=theme.HOVER).encode(
                x=x, y="p50:Q", tooltip=alt.Tooltip("text:N")
            ),
        ]
        chart = theme.sized(alt.layer(*layers), (WIDTH, UTIL_HEIGHT))
    return Drawn(chart, {"spread": spread})


def step_shares(shares: pl.DataFrame, order: Sequence[str]) -> Drawn:
    """Where the lanes' time of each step went.

    Args:
        shares: step, phase, low, high (0 to 1, stacked), text.
        order: phases from the bottom.
    """
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        mark = alt.Chart(alt.NamedData("steps")).mark_rect()
        chart = mark.encode(
            x=alt.X("step:O", title="step", axis=alt.Axis(labelAngle=0, labelOverlap=True), scale=alt.Scale(paddingInner=0.1)),
            y=alt.Y("low:Q", title=None, axis=alt.Axis(tickCount=2, format="%"), scale=alt.Scale(domain=[0, 1])),
            y2="high:Q",
            color=_phase_colours(pl.Series(list(order), dtype=pl.String)),
            tooltip=alt.Tooltip("text:N"),
        )  # fmt: skip
        sized = theme.sized(chart, (WIDTH, STEPS_HEIGHT))
    return Drawn(sized, {"steps": shares})


def elapsed_axis(field: str, span: float) -> Any:
    """The x axis of minutes since the start; `field` is a column of this package, never a word of a dump."""
    words = SECONDS if span < CLOSE_MINUTES else HOURS
    axis = alt.Axis(labelExpr=words, tickCount=8, labelFlush=FLUSH_PX)
    scale = alt.Scale(nice=False, domain=[0, max(span, 1 / 60)])
    return alt.X(f"{field}:Q", title=None, axis=axis, scale=scale)


def _phase_colours(phases: pl.Series) -> Any:
    names = phases.unique(maintain_order=True).to_list()
    scale = alt.Scale(domain=names, range=[colour_of(name) for name in names])
    return alt.Color("phase:N", scale=scale, legend=None)
