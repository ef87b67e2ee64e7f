from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from miles_report.errors import UsageError
from miles_report.tables.frames import table_schema
from miles_report.tables.lane_grammar import parse_lanes, select_lanes

CASES = json.loads((Path(__file__).parents[1] / "data" / "lane_cases.json").read_text())
"""Held by the browser's parser too, in tests/js/compute.test.js."""

LANES = pl.DataFrame(CASES["lanes"], schema=table_schema("lanes"))


def chosen(expression: str) -> list[int]:
    return select_lanes(LANES, parse_lanes(expression))["index"].to_list()


@pytest.mark.parametrize(("expression", "indices"), CASES["selections"])
def test_what_is_selected(expression, indices):
    assert chosen(expression) == indices


@pytest.mark.parametrize("token", CASES["wrong"])
def test_what_is_wrong_is_named(token):
    with pytest.raises(UsageError) as error:
        parse_lanes(f"g:0,{token},g:1")
    assert repr(token) in str(error.value)
    assert "\n" not in str(error.value)


def test_no_selection_is_all_lanes():
    assert select_lanes(LANES, None).equals(LANES)
