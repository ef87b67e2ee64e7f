"""The picture of the Faults page: what every engine was, over the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
from altair.utils.schemapi import debug_mode

from miles_report.charts import palette, theme
from miles_report.charts.compute_charts import LANE_HEIGHT, MARGIN, WIDTH, elapsed_axis
from miles_report.charts.drawn import Drawn
from miles_report.tables.incidents import ALIVE, DEAD, STARTING, SUSPECTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

STATES: Mapping[str, tuple[str, str, str]] = {
    ALIVE: ("#cfe6dc", "--h-alive", "Alive"),
    SUSPECTED: ("#f0c460", "--h-suspected", "Suspected"),
    DEAD: ("#a5170f", "--h-dead", "Dead"),
    STARTING: ("#93cbee", "--h-starting", "Starting"),
}
"""Of each state: light colour, custom property of pages, and word."""

TOKENS: Mapping[str, str] = {
    **palette.TOKENS,
    **{colour: token for colour, token, _ in STATES.values()},
}


def engine_bands(bands: pl.DataFrame, engines: Sequence[str], span: float) -> Drawn:
    """States over time, a row an engine.

    Args:
        bands: engine, x, x2 (minutes), state, text (for the tooltip).
        engines: all names, from top to bottom.
        span: minutes of the run.
    """
    scale = alt.Scale(domain=list(STATES), range=[colour for colour, _, _ in STATES.values()])
    with debug_mode(False):  # noqa: FBT003  # positional in Altair
        mark = alt.Chart(alt.NamedData("bands")).mark_rect()
        axis = alt.Axis(domain=False, labelLimit=MARGIN - 10, minExtent=MARGIN)
        chart = mark.encode(
            x=elapsed_axis("x", span),
            x2="x2:Q",
            y=alt.Y("engine:N", sort=list(engines), title=None, scale=alt.Scale(paddingInner=0.3), axis=axis),
            color=alt.Color("state:N", scale=scale, legend=None),
            tooltip=alt.Tooltip("text:N"),
        )  # fmt: skip
        height = max(len(engines), 1) * (LANE_HEIGHT + 6) + 24
        return Drawn(theme.sized(chart, (WIDTH, height)), {"bands": bands})
