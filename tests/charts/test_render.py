"""Figures: page colours, unique ids, a title, no control over the page from text in data."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from miles_report.charts import palette, render, series

HOSTILE = (
    '</svg></script><img src=x onerror=alert(1)> "#0072b2" fill="#0072b2" \u2028 \x00 \x1b \ud800'
)


def line(ys=(1.0, 3.0, 2.0)):
    frame = pl.DataFrame({"x": range(len(ys)), "y": pl.Series(ys, dtype=pl.Float64)})
    return frame.with_columns(pl.lit("v").alias("text"), pl.lit(0).alias("attempt"))


def test_colours_are_custom_properties_and_text_has_the_page_font():
    figure = render.figure("reward", series.metric_line(line()), alt="Reward over 3 steps")
    assert "var(--c-blue)" in figure.svg
    assert not re.search(r'="#[0-9a-f]{6}"', figure.svg)
    assert "font-family" not in figure.svg
    assert figure.spec["usermeta"]["tokens"][palette.BLUE] == "--c-blue"


def test_two_renderings_are_equal():
    first = render.figure("a", series.metric_line(line()), alt="a")
    second = render.figure("a", series.metric_line(line()), alt="a")
    assert first == second


def test_ids_carry_the_name_and_the_title_names_the_image():
    figure = render.figure("Reward / mean", series.sparkline(line()), alt="Reward <b>")
    assert figure.name == "reward-mean"
    root = ET.fromstring(figure.svg)
    assert root.get("role") == "img"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title.text == "Reward <b>"
    assert root.get("aria-labelledby") == title.get("id") == "figure-reward-mean"
    assert all("reward-mean" in node.get("id", "reward-mean") for node in root.iter())


def test_layers_for_the_pointer_are_only_in_the_spec():
    figure = render.figure("a", series.sparkline(line((1.0,) * 50)), alt="a")
    assert any(layer["mark"].get("style") == "hover" for layer in figure.spec["layer"])
    assert figure.svg.count("<path") < 5


@pytest.mark.parametrize("ys", [(), (math.nan,), (math.inf, 1.0, -math.inf, 2.0), (None, None)])
def test_what_is_not_finite_neither_blanks_nor_peaks(ys):
    figure = render.figure("a", series.metric_line(line(ys)), alt="a")
    ET.fromstring(figure.svg)
    assert "NaN" not in figure.svg
    assert "Infinity" not in figure.svg


def test_a_gap_is_not_drawn_at_an_extreme():
    figure = render.figure("a", series.sparkline(line((1.0, 2.0, None, 2.0, 1.0))), alt="a")
    path = next(d for d in re.findall(r'<path d="([^"]*)"', figure.svg) if "L" in d)
    assert path.count("M") == 2


def test_hostile_text_stays_text():
    text = HOSTILE.replace("\ud800", "")
    chart = series.sparkline(line().with_columns(pl.lit(text).alias("text")))
    chart.chart.title = HOSTILE
    figure = render.figure(HOSTILE, chart, alt=HOSTILE)
    assert re.fullmatch(r"[a-z0-9-]+", figure.name)
    tags = {node.tag.rpartition("}")[2] for node in ET.fromstring(figure.svg).iter()}
    assert tags <= {"svg", "title", "g", "line", "path", "text"}
