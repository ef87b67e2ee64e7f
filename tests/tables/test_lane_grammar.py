from __future__ import annotations

import polars as pl
import pytest

from miles_report.errors import UsageError
from miles_report.tables.frames import table_schema
from miles_report.tables.lane_grammar import parse_lanes, select_lanes

LANES = pl.DataFrame(
    [
        (0, "10.0.0.10", 0, [0], [], ["train"]),
        (1, "10.0.0.10", 1, [1, 9], [], ["train"]),
        (2, "10.0.0.2", 0, [], ["http://10.0.0.2:15000"], ["rollout"]),
        (3, "10.0.0.2", 1, [2], ["http://10.0.0.2:15000"], ["rollout", "train"]),
        (4, "fd00::1", 0, [], [], []),
    ],
    schema=table_schema("lanes"),
    orient="row",
)


def chosen(expression: str) -> list[int]:
    return select_lanes(LANES, parse_lanes(expression))["index"].to_list()


@pytest.mark.parametrize(
    ("expression", "indices"),
    [
        ("all", [0, 1, 2, 3, 4]),
        ("", [0, 1, 2, 3, 4]),
        (" ", [0, 1, 2, 3, 4]),
        ("g:3", [3]),
        ("g:1-3", [1, 2, 3]),
        ("g:3-900", [3, 4]),
        ("g:99", []),
        ("rank:1", [1]),
        ("rank:9", [1]),
        ("rank:1-2", [1, 3]),
        ("node:10.0.0.2", [2, 3]),
        ("node:10.0.0", []),
        ("node:fd00::1", [4]),
        ("gpu:10.0.0.2:1", [3]),
        ("gpu:fd00::1:0", [4]),
        ("gpu:fd00::1:7", []),
        ("engine:15000", [2, 3]),
        ("engine:1500.", []),
        ("role:train", [0, 1, 3]),
        ("role:rollout", [2, 3]),
        ("every:2", [0, 2, 4]),
        ("every:100", [0]),
        ("g:0, rank:2 ,g:0", [0, 3]),
        ("g:4,,", [4]),
    ],
)
def test_what_is_selected(expression, indices):
    assert chosen(expression) == indices


@pytest.mark.parametrize(
    "token",
    [
        "bogus",
        "bogus:1",
        "ALL",
        "all:1",
        "g:",
        "g:x",
        "g:-1",
        "g:1-",
        "g:5-2",
        "g:1-2-3",
        "g:٣",
        "g:99999999999",
        "rank:x",
        "node:",
        "gpu:10.0.0.2",
        "gpu:10.0.0.2:x",
        "gpu::1",
        "engine:",
        "role:x",
        "every:0",
        "every:x",
    ],
)
def test_what_is_wrong_is_named(token):
    with pytest.raises(UsageError) as error:
        parse_lanes(f"g:0,{token},g:1")
    assert repr(token) in str(error.value)
    assert "\n" not in str(error.value)


def test_no_selection_is_all_lanes():
    assert select_lanes(LANES, None).equals(LANES)
