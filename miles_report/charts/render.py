"""Charts to figures: a static SVG in the colours of the page, and the spec that makes it alive.

The only module that knows vl_convert. The SVG holds no colour of its own: every colour of the
palette becomes its CSS custom property, text takes the font of the page. Two renderings of one
chart are equal.
"""

from __future__ import annotations

import copy
import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import vl_convert

from miles_report.charts import palette, theme

if TYPE_CHECKING:
    from collections.abc import Mapping

VL_VERSION = "6.4"
"""Vega-Lite of the specs, here and in the bundle of the page."""

_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_COLOUR = re.compile(r'\b(fill|stroke|stop-color)="(#[0-9a-f]{6})"')
_NOISE = re.compile(r' (?:class|role|aria-[a-z]+|pointer-events|stroke-miterlimit)="[^"]*"')
_FRAME = re.compile(r'<path class="(?:background|foreground)"[^<>]*/>')
_LONG = re.compile(r"(\d\.\d\d)\d+")
_FONT = re.compile(r' font-family="[^"]*"')
_ID = re.compile(r'\b(id="|url\(#|href="#)')
_NAME = re.compile(r"[^a-z0-9-]+")
_ROOT = re.compile(r"^<svg[^>]*>")
_BACKGROUND = re.compile(r'<rect[^<>]*fill="transparent"[^<>]*/>')
_SIZE = re.compile(r'\bviewBox="0 0 ([0-9.]+) ([0-9.]+)"')


@dataclass(frozen=True)
class Figure:
    """One chart of a page.

    Attributes:
        name: unique on its page: lower-case words joined by hyphens.
        svg: inline SVG, drawn without script; colours are CSS custom properties.
        spec: Vega-Lite, self-contained, with hex colours; `usermeta.tokens` maps them to properties.
        alt: what the chart shows, in one sentence, for those who cannot see it.
        caption: words under the chart; "" for none.
    """

    name: str
    svg: str
    spec: Mapping[str, Any] = field(repr=False)
    alt: str
    caption: str = ""


def figure(
    name: str,
    chart: Any,
    *,
    alt: str,
    caption: str = "",
    tokens: Mapping[str, str] = palette.TOKENS,
) -> Figure:
    """Renders an Altair chart.

    About 10 ms a chart, after half a second for the first of a process.

    Args:
        name: becomes part of ids and file names; other characters than a-z, 0-9 and - are replaced.
        chart: with inline data of fixed field names; its theme is added here.
        alt: title of the image.
        caption: shown under it.
        tokens: light colour to the CSS custom property of each colour of the chart.
    """
    name = _NAME.sub("-", name.lower()).strip("-") or "figure"
    alt = theme.cleaned(alt)
    spec = theme.cleaned(chart.to_dict(validate=False))
    spec["config"] = dict(theme.CONFIG)
    spec["usermeta"] = {"tokens": dict(tokens)}
    svg = vl_convert.vegalite_to_svg(without_hover(spec), vl_version=VL_VERSION)
    return Figure(
        name=name,
        svg=themed_svg(svg, name=name, alt=alt, tokens=tokens),
        spec=spec,
        alt=alt,
        caption=caption,
    )


def without_hover(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without the layers that exist for the pointer only."""
    static = copy.deepcopy(dict(spec))
    layers = static.get("layer")
    if layers is not None:
        static["layer"] = [layer for layer in layers if not _is_hover(layer)]
    return static


def _is_hover(layer: Mapping[str, Any]) -> bool:
    mark = layer.get("mark")
    return isinstance(mark, dict) and mark.get("style") == theme.HOVER


def themed_svg(svg: str, *, name: str, alt: str, tokens: Mapping[str, str] = palette.TOKENS) -> str:
    """The SVG of vl_convert as part of a page: colours and font of the page, unique ids, a title."""
    size = _SIZE.search(svg)
    width, height = size.groups() if size else ("300", "150")
    title = f"figure-{name}"
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="{title}">'
        f'<title id="{title}">{html.escape(alt)}</title>'
    )
    body = _FRAME.sub("", _BACKGROUND.sub("", _ROOT.sub("", svg), count=1))
    return root + _TAG.sub(lambda match: _themed_tag(match[0], name, tokens), body)


def _themed_tag(tag: str, name: str, tokens: Mapping[str, str]) -> str:
    tag = _LONG.sub(r"\1", _NOISE.sub("", tag))
    tag = _COLOUR.sub(lambda match: f'{match[1]}="{_themed_colour(match[2], tokens)}"', tag)
    tag = _ID.sub(lambda match: f"{match[1]}{name}-", tag)
    return _FONT.sub("", tag) if tag.startswith("<text") else tag


def _themed_colour(colour: str, tokens: Mapping[str, str]) -> str:
    token = tokens.get(colour)
    return f"var({token})" if token else colour
