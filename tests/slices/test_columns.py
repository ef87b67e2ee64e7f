"""Parquet files written by hand: other readers read them as they were meant."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miles_report.slices.columns import Nulls, NumericColumn, encode_columns
from miles_report.slices.thrift import encode_struct, varint

KINDS = ("bool", "int32", "int64", "float32", "float64")


def encode(columns, n_rows):
    return encode_columns(columns, n_rows, pa.Codec("zstd", 1))


def column(values, kind, name="a", *, extremes=False):
    """A column of Python values, None for null."""
    valid = np.array([value is not None for value in values], bool)
    present = np.array([value for value in values if value is not None], kind)
    return NumericColumn(name, present, Nulls(valid), extremes)


def read_both(content):
    """The column `a` as pyarrow and as polars read it; they must agree."""
    arrow = pq.read_table(io.BytesIO(content))["a"].to_pylist()
    assert pl.read_parquet(io.BytesIO(content))["a"].to_list() == arrow
    return arrow


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        [1, 0, 1],
        [None, 1, None, None, 0],
        [None, None],
        [],
        [1],
        [None],
        [0, None] * 700,
        [None] * 300 + [1] * 200 + [None] * 100,
    ],
    ids=["full", "mixed", "null", "empty", "one", "one null", "alternating", "runs"],
)
def test_values_and_nulls_come_back(kind, values):
    assert read_both(encode([column(values, kind)], len(values))) == values


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=400))
def test_any_pattern_of_nulls_comes_back(values):
    assert read_both(encode([column(values, "int64")], len(values))) == values


def test_required_columns_are_required_and_types_are_kept():
    columns = [NumericColumn(kind, np.ones(3, kind)) for kind in KINDS]
    schema = pq.ParquetFile(io.BytesIO(encode(columns, 3))).schema_arrow
    assert [(field.name, field.nullable) for field in schema] == [(kind, False) for kind in KINDS]
    assert [str(field.type) for field in schema] == ["bool", "int32", "int64", "float", "double"]


def test_floats_that_are_not_finite_come_back():
    values = [np.inf, -np.inf, -0.0, 1e-45]
    got = read_both(encode([column(values, "float32")], 4))
    assert got[:2] == [np.inf, -np.inf]
    assert np.signbit(got[2])
    assert got[3] == np.float32(1e-45)


def test_extremes_are_stated_where_asked():
    columns = [column([3, None, -5], "int32", extremes=True), column([1, 2, 3], "int32", "b")]
    group = pq.ParquetFile(io.BytesIO(encode(columns, 3))).metadata.row_group(0)
    assert (group.column(0).statistics.min, group.column(0).statistics.max) == (-5, 3)
    assert not group.column(1).is_stats_set


def test_many_columns_have_a_long_list_in_the_foot():
    columns = [NumericColumn(f"c{number}", np.full(2, number, np.int32)) for number in range(40)]
    table = pq.read_table(io.BytesIO(encode(columns, 2)))
    assert table.to_pylist()[1] == {f"c{number}": number for number in range(40)}


def test_names_may_be_any_text():
    name = 'a.b["ü"]\n'
    table = pq.read_table(io.BytesIO(encode([NumericColumn(name, np.ones(1, np.int32))], 1)))
    assert table.column_names == [name]


def test_numbers_in_groups_of_seven_bits():
    assert [varint(number) for number in (0, 127, 128, 300)] == [
        b"\0",
        b"\x7f",
        b"\x80\x01",
        b"\xac\x02",
    ]


def test_fields_state_the_distance_to_the_one_before():
    assert encode_struct({1: 1, 3: -1, 4: "ab"}) == b"\x15\x02\x25\x01\x18\x02ab\x00"
