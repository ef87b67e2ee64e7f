"""Scatter and histograms of a step: nothing lost, nothing invented, whole numbers stay whole."""

from __future__ import annotations

import math

import polars as pl
import pytest

from miles_report.charts.render import figure
from miles_report.charts.step_charts import (
    Axis,
    Panel,
    binned,
    distributions,
    scatter,
    spans_decades,
    thinned,
)


def points(count: int) -> pl.DataFrame:
    rows = list(range(count))
    return pl.DataFrame(
        {
            "row": rows,
            "x": [float(row) for row in rows],
            "y": [float((row * 37) % count) for row in rows],
            "strong": [row % 3 == 0 for row in rows],
            "text": [str(row) for row in rows],
        }
    )


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([0.001, 1.0], True),
        ([0.0, 1000.0], False),
        ([-1.0, 1000.0], False),
        ([1.0, 99.0], False),
        ([math.inf, 0.001, 1.0], True),
        ([None, math.nan], False),
        ([], False),
    ],
)
def test_positive_values_over_decades_ask_for_a_log_scale(values, log):
    assert spans_decades(pl.Series(values, dtype=pl.Float64)) is log


def test_few_whole_numbers_get_a_bin_each():
    counted = binned(pl.Series([0, 0, 2]), pl.Series([True, False, True]), log=False)
    assert counted.rows() == [(-0.5, 0.5, 1, False), (-0.5, 0.5, 1, True), (1.5, 2.5, 1, True)]
    assert Panel("x", counted).whole


def test_every_finite_value_is_counted_once():
    values = pl.Series([0.1 * i for i in range(100)] + [math.nan, math.inf, None])
    better = pl.Series([i % 2 == 0 for i in range(103)])
    counted = binned(values, better, log=False)
    assert counted["n"].sum() == 100
    assert not Panel("x", counted).whole


@pytest.mark.parametrize("value", [5.0, 0.3, -1e300, 1e-300])
def test_one_value_is_one_bin(value):
    counted = binned(pl.Series([value, value]), pl.Series([True, True]), log=False)
    assert counted["n"].to_list() == [2]
    assert counted["start"][0] <= value <= counted["end"][0]


def test_log_bins_hold_both_ends():
    counted = binned(pl.Series([0.001, 1.0, 1000.0]), pl.Series([False] * 3), log=True)
    assert counted["n"].sum() == 3


def test_nothing_finite_gives_no_bin():
    counted = binned(
        pl.Series([math.nan, None], dtype=pl.Float64), pl.Series([True, True]), log=False
    )
    assert counted.height == 0


def test_thinning_keeps_order_and_the_highest():
    many = points(1000)
    few = thinned(many, limit=100)
    assert few.height <= 100
    assert few["row"].is_sorted()
    assert set(many.sort("y", descending=True).head(10)["row"]) <= set(few["row"])
    assert thinned(many, limit=1000).height == 1000


def test_a_scatter_names_extremes_and_draws_its_mean():
    drawn = figure("s", scatter(points(9), Axis("x"), Axis("y"), mean=4.0), alt="s")
    # y is row * 37 % 9 = row, since 37 = 4 * 9 + 1
    assert [row["text"] for row in drawn.spec["datasets"]["names"]] == ["8", "7", "6"]
    assert drawn.spec["datasets"]["mean"] == [{"y": 4.0}]
    no_mean = figure("s", scatter(points(9), Axis("x"), Axis("y"), mean=math.nan), alt="s")
    assert no_mean.spec["datasets"]["mean"] == []


def test_histograms_stack_the_better_on_the_others():
    bins = binned(pl.Series([1, 1, 1]), pl.Series([True, False, False]), log=False)
    drawn = figure("d", distributions([Panel("Reward", bins)]), alt="d")
    rows = drawn.spec["datasets"]["bins-0"]
    assert [(row["better"], row["below"], row["above"]) for row in rows] == [
        (False, 0, 2),
        (True, 2, 3),
    ]
    assert "<svg" in drawn.svg
