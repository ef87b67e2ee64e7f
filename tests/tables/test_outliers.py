from __future__ import annotations

import pytest
from builders.streams import T
from builders.timeline import OPEN, open_telemetry, phase, readings

from miles_report.errors import UsageError
from miles_report.schema.streams import HealthEvent


def outliers(run, by: str, **parameters) -> list[tuple]:
    return run.table("outliers", by=by, **parameters).rows()


def test_lowest_mean_utilization_first(tmp_path):
    run = open_telemetry(
        tmp_path,
        gpu_util=[
            *readings("b", 0, [30, 50]),
            *readings("a", 1, [40]),
            *readings("a", 0, [10, 100]),
            *readings("c", 0, [90, 0, 0]),
        ],
    )
    assert outliers(run, "lowest_util") == [
        ("c", 0, 30.0),
        ("a", 1, 40.0),
        ("b", 0, 40.0),
        ("a", 0, 55.0),
    ]
    assert outliers(run, "lowest_util", top=1) == [("c", 0, 30.0)]
    assert outliers(run, "lowest_util", t0=T, t1=T + 0.5)[0] == ("a", 0, 10.0)


def test_slowest_phase_is_the_longest_on_average_of_whole_intervals(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=0,
        phases=[
            phase("train", 10, 20),
            phase("train", 30, 60),
            phase("train", 10, 25, rank=1),
            phase("train", 30, OPEN, rank=2),
            phase("sleep", 0, 70, rank=3),
        ],
    )
    assert outliers(run, "slowest_phase:train") == [("a", 2, 40.0), ("a", 0, 20.0), ("a", 1, 15.0)]
    assert outliers(run, "slowest_phase:train", t0=T + 15, t1=T + 22) == [
        ("a", 1, 15.0),
        ("a", 0, 10.0),
    ]
    assert outliers(run, "slowest_phase:initialize")[0] == ("a", 2, 30.0)
    assert outliers(run, "slowest_phase:nope") == []


def step(at: float, *starts: float) -> list:
    """One training phase a rank, beginning so many seconds after `at`."""
    return [phase("actor_train", at + s, at + s + 10, rank=r) for r, s in enumerate(starts)]


def test_the_latest_start_is_measured_against_the_other_lanes(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[*step(0, 0, 1, 2, 8), *step(100, 0, 1, 2, 6), *step(200, 0, 1, 2, 3)],
    )
    # rank 3: behind the median 1 of the others by 7, 5, 2; rank 0: before their medians 2, 2, 2
    assert outliers(run, "latest_start:actor_train") == [
        ("a", 3, 5.0),
        ("a", 2, 1.0),
        ("a", 1, -1.0),
        ("a", 0, -2.0),
    ]


def test_a_window_that_cuts_a_round_does_not_pair_a_straggler_with_the_next(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[*step(0, 0, 0, 0, 8), *step(100, 0, 0, 0, 8), *step(200, 0, 0, 0, 8)],
    )
    # the window begins when only the straggler is still at its first interval
    assert outliers(run, "latest_start:actor_train", t0=T + 15, t1=T + 150)[0] == ("a", 3, 8.0)


def test_a_lane_that_missed_a_round_is_compared_in_the_others(tmp_path):
    run = open_telemetry(
        tmp_path, start=None, phases=[*step(0, 0, 0, 3), *step(100, 0, 0), *step(200, 0, 0, 5)]
    )
    assert outliers(run, "latest_start:actor_train")[0] == ("a", 2, 4.0)


def test_a_new_attempt_begins_a_new_round(tmp_path):
    killed = step(100, 0, 0)  # rank 2 had not begun when the run was killed
    run = open_telemetry(
        tmp_path,
        start=150,
        phases=[*step(0, 0, 0, 3), *killed, *step(200, 0, 0, 5)],
        health=[HealthEvent(T, "collector_started"), HealthEvent(T + 150, "collector_started")],
    )
    assert outliers(run, "latest_start:actor_train")[0] == ("a", 2, 4.0)


def test_a_phase_of_a_single_lane_has_nothing_to_be_late_against(tmp_path):
    run = open_telemetry(
        tmp_path, start=None, phases=[phase("save_model", 0, 1), phase("save_model", 5, 6)]
    )
    assert outliers(run, "latest_start:save_model") == []
    assert outliers(run, "latest_start:nope") == []


def test_two_lanes_are_late_against_each_other(tmp_path):
    run = open_telemetry(tmp_path, start=None, phases=step(0, 0, 5))
    assert outliers(run, "latest_start:actor_train") == [("a", 1, 5.0), ("a", 0, -5.0)]


@pytest.mark.parametrize(
    "by",
    [
        "",
        "bogus",
        "lowest_util:",
        "lowest_util:x",
        "slowest_phase",
        "slowest_phase:",
        "latest_start:",
    ],
)
def test_what_is_no_criterion_is_named(tmp_path, by):
    with pytest.raises(UsageError, match=f"by: {by!r}"):
        outliers(open_telemetry(tmp_path), by)
