from __future__ import annotations

import math

import pytest
from builders.timeline import open_telemetry, readings

from miles_report.errors import UsageError


@pytest.fixture
def run(tmp_path):
    return open_telemetry(tmp_path, gpu_util=readings("a", 0, [1, 2, 3]))


@pytest.mark.parametrize(
    ("table", "parameters", "told"),
    [
        ("phases", {"t0": 10.0, "t1": 5.0}, "t1"),
        ("fleet", {"t0": 10.0, "t1": 10.0}, "t1"),
        ("phases", {"t0": math.nan}, "t0"),
        ("phases", {"t0": "soon"}, "t0"),
        ("phases", {"lanes": "g:x"}, "'g:x'"),
        ("phases", {"lanes": 5}, "lanes"),
        ("lanes", {"lanes": "rank:a-b"}, "'rank:a-b'"),
        ("carpet", {"lanes": "all,nope"}, "'nope'"),
        ("fleet", {"buckets": 1}, "buckets"),
        ("fleet", {"buckets": 4001}, "buckets"),
        ("carpet", {"buckets": 1}, "buckets"),
        ("carpet", {"buckets": 10.0}, "buckets"),
        ("carpet", {"metric": "heat"}, "'heat'"),
        ("carpet", {"metric": ""}, "''"),
        ("gpu_util", {"points": 1}, "points"),
        ("gpu_util", {"points": True}, "points"),
        ("engine_series", {"metric": "x", "points": 0}, "points"),
        ("engine_series", {}, "metric"),
        ("engine_series", {"metric": "x", "per_dp_rank": 1}, "per_dp_rank"),
        ("outliers", {}, "by"),
        ("outliers", {"by": "lowest_util", "top": 0}, "top"),
        ("outliers", {"by": "lowest_util", "top": 257}, "top"),
        ("fleet", {"lanes": "all"}, "lanes"),
        ("topology", {"t0": 1.0}, "t0"),
    ],
)
def test_what_makes_no_sense_is_refused_and_named(run, table, parameters, told):
    with pytest.raises(UsageError) as error:
        run.table(table, **parameters)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("table", "parameters"),
    [
        ("fleet", {"buckets": 2}),
        ("fleet", {"buckets": 4000}),
        ("gpu_util", {"points": 2}),
        ("outliers", {"by": "lowest_util", "top": 256}),
        ("outliers", {"by": "lowest_util", "top": 1}),
        ("phases", {"t0": 0, "t1": 1e9}),
        ("carpet", {"metric": "power_w", "lanes": "all"}),
    ],
)
def test_the_edges_of_what_makes_sense_are_taken(run, table, parameters):
    assert run.table(table, **parameters).width


def test_a_window_may_be_longer_than_the_run(run):
    assert run.table("gpu_util", t0=0.0, t1=4e9).height == 3
