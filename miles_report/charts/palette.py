"""The colours of charts: the light values a spec is written with, and the tokens pages show instead.

A spec holds plain hex colours, so that it also draws outside a page. Where a page shows it, each of
them becomes the CSS custom property of that colour, so that dark needs no second figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BLUE = "#0072b2"
ORANGE = "#e69f00"
ORANGE_INK = "#ad7200"
GREEN = "#009e73"
PURPLE = "#7a5195"
VERMILION = "#d55e00"
SKY = "#56b4e9"
PINK = "#cc79a7"
GREY = "#8c8c8c"

PAPER = "#ffffff"
TEXT = "#1a1b1e"
MUTED = "#5d6068"
ACCENT = "#2d3db0"
LINE = "#e2e2de"
GRID = "#ececea"
AXIS = "#b9b9b4"
BAND = "#f1efe8"

TOKENS: Mapping[str, str] = {
    BLUE: "--c-blue",
    ORANGE: "--c-orange",
    ORANGE_INK: "--c-orange-ink",
    GREEN: "--c-green",
    PURPLE: "--c-purple",
    VERMILION: "--c-vermilion",
    SKY: "--c-sky",
    PINK: "--c-pink",
    GREY: "--c-grey",
    PAPER: "--paper",
    TEXT: "--text",
    MUTED: "--muted",
    ACCENT: "--accent",
    LINE: "--line",
    GRID: "--grid",
    AXIS: "--axis",
    BAND: "--band",
}
"""Light value of a colour to the CSS custom property that holds it in a page."""

CATEGORIES = (BLUE, ORANGE_INK, GREEN, PURPLE, VERMILION, SKY, PINK, GREY)
"""Order for series without an own colour; as lines, so orange is the ink."""
