"""Whether a table read from slices tells what the dump says, within the rounding that the schema states."""

from __future__ import annotations

import math

import polars as pl

from miles_report.schema.tables import TABLES

HALF_STEP = 2.0**-15
HALF_BIT = 2.0**-14
ROUNDING = {column.name: column.rounding for table in TABLES.values() for column in table.columns}
OWN_SERIES = "2^-14"
"""The looser of the two ways, for columns of the run's own."""


def is_told(column, told, true):
    """Whether one cell is as near to the truth as its column promises."""
    if told is None or true is None or not isinstance(true, float) or not math.isfinite(true):
        return told == true or (
            isinstance(true, float)
            and isinstance(told, float)
            and math.isnan(told) == math.isnan(true)
            and (math.isnan(true) or told == true)
        )
    rounding = ROUNDING.get(column, OWN_SERIES)
    if rounding == "2^-14":
        return abs(told - true) <= HALF_STEP * (1 + 1e-6) + abs(true) * 2.0**-23
    if rounding == "13 bits":
        return abs(told - true) <= abs(true) * HALF_BIT * (1 + 1e-6)
    return told == true


def assert_told(name, told, true):
    """Same columns, types, rows; every cell within its rounding; imp_ratio that of the lp_diff beside it."""
    assert told.columns == true.columns
    assert told.height == true.height
    for column in true.columns:
        a, b = told[column], true[column]
        assert a.dtype == b.dtype, (name, column)
        if column == "imp_ratio" or a.equals(b, null_equal=True):
            continue
        bad = [
            i
            for i, (x, y) in enumerate(zip(a.to_list(), b.to_list(), strict=True))
            if not is_told(column, x, y)
        ]
        assert not bad, (name, column, bad[:3], a[bad[0]], b[bad[0]])
    if "imp_ratio" in told.columns:
        assert told["imp_ratio"].is_null().equals(true["imp_ratio"].is_null())
        ratio = told.select((pl.col("imp_ratio").log() - pl.col("lp_diff")).abs().max()).item()
        assert ratio is None or not math.isfinite(ratio) or ratio < 1e-4
