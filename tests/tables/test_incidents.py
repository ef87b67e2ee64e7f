"""Incidents and states of engines from health events, computed by hand."""

from __future__ import annotations

import polars as pl
import pytest

from miles_report.tables.frames import table_schema
from miles_report.tables.incidents import (
    Stretch,
    engine_states,
    health_table,
    incidents_table,
    restarts,
)


def events(*rows):
    """(ts, event, engine_rank, and more) as the health table."""
    schema = table_schema("health")
    named = [
        {"ts": ts, "event": event, "engine_rank": rank, "group": "a", "addr": f"h:{rank}", "node": "h"} | more
        for ts, event, rank, more in rows
    ]  # fmt: skip
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in named], schema=schema)


FAILURE = (
    (110.0, "check_passed", 3, {}),
    (140.0, "check_failed", 3, {"latency_s": 30.0, "detail": "timeout"}),
    (141.0, "engine_killed", 3, {"detail": "killed"}),
    (150.0, "recovery_started", 3, {}),
    (171.0, "engine_recovered", 3, {"addr": "h:9"}),
)


def test_a_failure_is_found_and_repaired():
    (row,) = incidents_table(events(*FAILURE)).to_dicts()
    assert row == {
        "addr": "h:3",
        "engine_rank": 3,
        "node": "h",
        "t_failed": 110.0,
        "t_killed": 141.0,
        "t_back": 171.0,
        "detect_s": 31.0,
        "repair_s": 30.0,
        "cause": "timeout",
    }


def test_the_first_failed_check_counts():
    rows = (
        (100.0, "check_failed", 0, {"latency_s": 5.0, "detail": "first"}),
        (120.0, "check_failed", 0, {"latency_s": 5.0, "detail": "second"}),
        (121.0, "engine_killed", 0, {}),
    )
    (row,) = incidents_table(events(*rows)).to_dicts()
    assert (row["t_failed"], row["detect_s"], row["cause"]) == (95.0, 26.0, "first")
    assert (row["t_back"], row["repair_s"]) == (None, None)


def test_a_blip_is_no_incident_and_is_forgotten():
    rows = (
        (100.0, "check_failed", 0, {"latency_s": 1.0}),
        (110.0, "check_passed", 0, {}),
        (200.0, "engine_killed", 0, {"detail": "by hand"}),
    )
    (row,) = incidents_table(events(*rows)).to_dicts()
    assert (row["t_failed"], row["detect_s"], row["cause"]) == (200.0, 0.0, "by hand")


def test_a_check_that_passes_tells_that_an_engine_is_back():
    rows = (
        (100.0, "engine_killed", 0, {}),
        (130.0, "check_passed", 0, {}),
        (150.0, "engine_killed", 0, {}),
        (160.0, "engine_recovered", 0, {}),
    )
    assert incidents_table(events(*rows))["repair_s"].to_list() == [30.0, 10.0]
    states = engine_states(events(*rows), 90.0, 200.0)
    assert sum(one.t1 - one.t0 for one in states if one.state == "dead") == 40.0


@pytest.mark.parametrize("latency", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_latency_that_is_none_is_left_out(latency):
    rows = ((100.0, "check_failed", 0, {"latency_s": latency}), (101.0, "engine_killed", 0, {}))
    (row,) = incidents_table(events(*rows)).to_dicts()
    assert (row["t_failed"], row["detect_s"]) == (100.0, 1.0)


@pytest.mark.parametrize("ts", [float("nan"), float("inf"), 1e300, -5.0])
def test_an_event_at_no_time_is_left_out(ts):
    assert incidents_table(events((ts, "engine_killed", 0, {}))).height == 0


def test_engines_of_two_groups_with_one_rank_are_two():
    rows = (
        (100.0, "engine_killed", 0, {}),
        (101.0, "engine_killed", 0, {"group": "b"}),
        (110.0, "engine_recovered", 0, {"group": "b"}),
    )
    table = incidents_table(events(*rows))
    assert table["t_back"].to_list() == [None, 110.0]


def test_a_second_kill_before_the_engine_is_back_is_the_same_incident():
    rows = (
        (100.0, "kill_failed", 0, {}),
        (105.0, "engine_killed", 0, {}),
        (110.0, "engine_recovered", 0, {}),
        (120.0, "engine_killed", 0, {}),
    )
    assert incidents_table(events(*rows))["t_killed"].to_list() == [100.0, 120.0]


def test_events_out_of_order_are_read_by_time():
    assert incidents_table(events(*reversed(FAILURE)))["detect_s"].to_list() == [31.0]


def test_unknown_events_and_events_of_nobody_change_nothing():
    rows = (
        *FAILURE,
        (142.0, "no such event", 3, {}),
        (143.0, "engine_killed", None, {}),
        (144.0, "collector_started", None, {}),
    )
    assert incidents_table(events(*rows)).height == 1
    assert engine_states(events(*rows), 100.0, 200.0) == engine_states(
        events(*FAILURE), 100.0, 200.0
    )


def test_without_events_there_is_nothing():
    assert incidents_table(events()).height == 0
    assert engine_states(events(), 0.0, 1.0) == []


def test_states_cover_the_run_without_gaps():
    key = ("a", 3)
    assert engine_states(events(*FAILURE), 100.0, 200.0) == [
        Stretch(key, "alive", 100.0, 140.0),
        Stretch(key, "suspected", 140.0, 141.0),
        Stretch(key, "dead", 141.0, 150.0),
        Stretch(key, "starting", 150.0, 171.0),
        Stretch(key, "alive", 171.0, 200.0),
    ]


def test_a_failed_check_of_a_dead_engine_does_not_revive_it():
    rows = ((100.0, "engine_killed", 0, {}), (110.0, "check_failed", 0, {}))
    assert [one.state for one in engine_states(events(*rows), 90.0, 120.0)] == ["alive", "dead"]


@pytest.mark.parametrize(("t0", "t1", "n"), [(None, None, 5), (140.0, 150.0, 3), (200.0, None, 0)])
def test_a_window_has_its_edges(t0, t1, n):
    assert health_table(events(*FAILURE), t0=t0, t1=t1).height == n


def test_the_topology_reveals_restarts():
    schema = table_schema("topology")
    rows = [
        {"t0": 0.0, "addr": "a:1", "engine_rank": 0},
        {"t0": 0.0, "addr": "b:1", "engine_rank": 1},
        {"t0": 50.0, "addr": "a:1", "engine_rank": 0},
        {"t0": 50.0, "addr": "b:2", "engine_rank": 1},
        {"t0": 50.0, "addr": "x:1", "engine_rank": -1},
    ]
    topology = pl.DataFrame(
        [{name: row.get(name) for name in schema} for row in rows], schema=schema
    )
    assert restarts(topology).rows() == [(50.0, 1, "b:1", "b:2")]
