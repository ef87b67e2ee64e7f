"""Lines over steps: what is thinned, what is a gap, what a constant looks like."""

from __future__ import annotations

import json
import math

import altair as alt
import polars as pl
import pytest

from miles_report.charts import render, series, theme


def points(ys, attempts=None):
    frame = pl.DataFrame(
        {
            "x": list(range(len(ys))),
            "y": pl.Series(ys, dtype=pl.Float64),
            "text": [str(y) for y in ys],
        }
    )
    return frame.with_columns(pl.Series("attempt", attempts or [0] * len(ys), dtype=pl.Int64))


def test_few_points_are_kept_as_they_are():
    frame = points([1.0, 2.0, 3.0])
    assert series.thinned(frame, 3).equals(frame)


def test_thinning_keeps_extremes_ends_and_gaps():
    ys = [0.5] * 10_000
    ys[0], ys[4321], ys[7000], ys[9999] = 0.1, 9.0, -9.0, 0.2
    ys[5000] = math.nan
    kept = series.thinned(points(ys), 200)
    assert kept.height <= 201
    assert kept["x"].is_sorted()
    assert {0, 4321, 7000, 9999, 5000} <= set(kept["x"].to_list())


def test_a_point_between_gaps_is_isolated():
    frame = points([1.0, math.nan, 2.0, None, 3.0, 4.0])
    assert series.isolated(frame)["x"].to_list() == [0, 2]


def test_attempts_do_not_join():
    frame = points([1.0, 2.0, 3.0], attempts=[0, 1, 1])
    assert series.isolated(frame)["x"].to_list() == [0]


@pytest.mark.parametrize("chart", [series.sparkline, series.metric_line])
@pytest.mark.parametrize(
    "ys",
    [
        [],
        [1.0],
        [None],
        [math.nan, math.inf, -math.inf],
        [2.0, 2.0],
        [1e300, -1e300],
        [1.0, None, 3.0],
    ],
)
def test_every_series_is_a_valid_spec_without_infinities(chart, ys):
    assert "NaN" not in render.figure("a", chart(points(ys)), alt="a").svg
    spec = theme.cleaned(chart(points(ys)).to_dict(validate=True))
    json.dumps(spec, allow_nan=False)
    alt.LayerChart.from_dict(spec)


def test_eval_points_are_joined_over_missing_steps():
    spec = series.sparkline(points([1.0, None, 3.0]), style="points").to_dict()
    line = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "line")
    assert line["mark"]["strokeDash"] == [2, 3]
    rows = spec["datasets"][line["data"]["name"]]
    assert [row["y"] for row in rows] == [1.0, 3.0]


def test_constant_values_lie_in_the_middle():
    assert theme.padded_domain(2.0, 2.0) == (1.8, 2.2)
    assert theme.padded_domain(0.0, 0.0) == (-1.0, 1.0)
    assert theme.padded_domain(1.0, 3.0) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (0, 19, [0, 5, 10, 15, 19]),
        (0, 0, [0]),
        (7, 7, [7]),
        (0, 1, [0, 1]),
        (0, 3, [0, 1, 2, 3]),
        (100, 200, [100, 150, 200]),
        (0, 1000, [0, 500, 1000]),
        (3, 1001, [3, 500, 1001]),
    ],
)
def test_step_ticks_are_round_and_hold_both_ends(first, last, ticks):
    assert theme.step_ticks(first, last) == ticks
