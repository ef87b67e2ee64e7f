from __future__ import annotations

import numpy as np
import polars as pl

from miles_report.tables import paint as module
from miles_report.tables.paint import cells_column, paint
from miles_report.tables.time_grid import TimeGrid


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_the_last_wins_and_ends_are_inclusive():
    shown = paint(6, ints(0, 2, 3), ints(4, 3, 3))
    assert shown.tolist() == [0, 0, 1, 2, 0, -1]


def test_an_interval_that_ends_before_it_begins_paints_nothing():
    assert paint(3, ints(2, 1), ints(0, 1)).tolist() == [-1, 1, -1]


def test_without_intervals_or_cells():
    assert paint(2, ints(), ints()).tolist() == [-1, -1]
    assert paint(0, ints(), ints()).tolist() == []


def test_long_intervals_are_painted_in_batches():
    width = module.CELLS_AT_ONCE // 2 + 7
    shown = paint(width, ints(0, 0, 5, 0), ints(width - 1, width - 1, width - 1, 2))
    assert np.unique(shown, return_counts=True)[0].tolist() == [1, 2, 3]
    assert shown[[2, 3, 4, 5, -1]].tolist() == [3, 1, 1, 2, 2]


def test_cells_are_lists_of_names():
    names = pl.Series(["train", "sleep"])
    assert cells_column(ints(-1, 0, 1, -1), names, 2).to_list() == [
        [None, "train"],
        ["sleep", None],
    ]
    assert cells_column(ints(-1, -1), names.clear(), 2).to_list() == [[None], [None]]
    assert cells_column(ints(), names.clear(), 0).to_list() == []


def test_buckets_are_cut_down_and_clipped_to_the_last():
    grid = TimeGrid.over(10.0, 20.0, 4)
    times = np.array([9.0, 10.0, 12.49, 12.5, 19.99, 20.0, 99.0])
    assert grid.bucket(times).tolist() == [0, 0, 0, 1, 3, 3, 3]
    assert grid.edges().tolist() == [10.0, 12.5, 15.0, 17.5, 20.0]


def test_a_window_without_length_is_one_bucket():
    for end in (10.0, 5.0):
        grid = TimeGrid.over(10.0, end, 600)
        assert (grid.buckets, grid.edges().tolist()) == (1, [10.0, 10.0])
        assert grid.bucket(np.array([0.0, 10.0])).tolist() == [0, 0]
