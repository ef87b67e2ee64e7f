from __future__ import annotations

import math
from dataclasses import replace

import pytest
from builders.streams import ONE_OF_EACH, T

from miles_report.streams.partition import partition_key, partition_ts, stream_file


@pytest.mark.parametrize(
    ("ts", "key"),
    [
        (0.0, "19700101_00"),
        (1000125.0, "19700112_13"),
        (T, "20260203_23"),
        (T + 1799.999, "20260203_23"),
        (T + 1800.0, "20260204_00"),
        (-62135596800.0, "00010101_00"),
    ],
)
def test_a_partition_is_the_hour_in_utc(ts, key):
    assert partition_key(ts) == key


@pytest.mark.parametrize("ts", [math.nan, math.inf, -math.inf, 1e18])
def test_a_timestamp_without_hour_is_refused(ts):
    with pytest.raises(ValueError, match=r"hour|year|NaN|convert"):
        partition_key(ts)


def test_a_phase_lies_in_the_hour_it_ended_or_began_if_open():
    phase = ONE_OF_EACH["phases"]
    assert partition_ts(phase) == T + 7200.0
    assert partition_ts(replace(phase, t1=-1.0)) == T
    assert str(stream_file("phases", phase)) == "phases/20260204_01.jsonl"


def test_other_streams_go_by_their_timestamp_or_stay_flat():
    assert str(stream_file("gpu_util", ONE_OF_EACH["gpu_util"])) == "gpu_util/20260203_23.jsonl"
    assert str(stream_file("metrics", ONE_OF_EACH["metrics"])) == "metrics.jsonl"
    assert str(stream_file("health", ONE_OF_EACH["health"])) == "health.jsonl"
