from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from builders.streams import T, write_stream
from builders.timeline import (
    OPEN,
    engine,
    logged,
    managed,
    open_telemetry,
    phase,
    readings,
    topology,
)

import miles_report
from miles_report.schema.streams import HealthEvent
from miles_report.streams.wire import encode
from miles_report.tables.step_phases import mean_util


def shown(table, *columns: str) -> list[tuple]:
    """Rows with times in seconds from T."""
    seconds = [name for name in ("t0", "t1") if name in columns]
    return table.with_columns(table[name] - T for name in seconds).select(columns).rows()


def test_a_closed_record_takes_the_place_of_its_marker_wherever_it_lies(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[
            phase("train", 0, OPEN),
            phase("train", 0, 7200),
            phase("sleep", 1, OPEN),
            phase("train", 0, OPEN, rank=1),
            phase("train", 3, OPEN),
        ],
    )
    names = sorted(path.name for path in (tmp_path / "dashboard" / "phases").iterdir())
    assert names == ["20260203_23.jsonl", "20260204_01.jsonl"]
    assert shown(run.table("phases"), "name", "t0", "t1", "gpu", "open", "attempt") == [
        ("train", 0, 7200, 0, False, 0),
        ("sleep", 1, 7200, 0, True, 0),
        ("train", 3, 7200, 0, True, 0),
        ("train", 0, 7200, 1, True, 0),
    ]


def test_a_closed_record_before_its_marker_counts_too(tmp_path):
    run = open_telemetry(
        tmp_path, start=None, phases=[phase("train", 0, 5), phase("train", 0, OPEN)]
    )
    assert shown(run.table("phases"), "t0", "t1", "open") == [(0, 5, False)]


def test_a_marker_written_twice_is_one_phase(tmp_path):
    marker = phase("train", 0, OPEN)
    run = open_telemetry(tmp_path, start=None, phases=[marker, marker, phase("sleep", 0, 9)])
    assert shown(run.table("phases"), "name", "t1") == [("train", 9), ("sleep", 9)]


def test_an_open_phase_of_eleven_hours_ends_with_the_run(tmp_path):
    hours = 11 * 3600.0
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[phase("train", 0, OPEN)],
        gpu_util=readings("a", 0, [5], t0=hours),
    )
    assert shown(run.table("phases"), "t0", "t1", "open") == [(0, hours, True)]
    assert run.table("phases", t0=T + hours - 1, t1=T + hours).height == 1
    assert run.table("phases", t0=T + hours).height == 0


def test_a_window_takes_what_overlaps_it_and_clips_nothing(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[phase("a", 0, 10), phase("b", 10, 20), phase("c", 20, 30), phase("z", 15, 15)],
    )
    assert shown(run.table("phases", t0=T + 10, t1=T + 20), "name", "t0", "t1") == [
        ("b", 10, 20),
        ("z", 15, 15),
    ]
    assert run.table("phases", t0=T + 10)["name"].to_list() == ["b", "z", "c"]
    assert run.table("phases", t1=T + 10)["name"].to_list() == ["a"]


def test_ties_stay_in_file_order_and_nodes_are_sorted_as_text(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[
            phase("inner", 5, 6, node="10.0.0.2"),
            phase("outer", 5, 9, node="10.0.0.2"),
            phase("x", 7, 8, node="10.0.0.10", gpus=(1, 0)),
        ],
    )
    assert shown(run.table("phases"), "node", "gpu", "name") == [
        ("10.0.0.10", 0, "x"),
        ("10.0.0.10", 1, "x"),
        ("10.0.0.2", 0, "inner"),
        ("10.0.0.2", 0, "outer"),
    ]


def test_the_flat_file_of_an_older_run_comes_first(tmp_path):
    write_stream(tmp_path, "phases", [phase("new", 5, 6)])
    flat = tmp_path / "dashboard" / "phases.jsonl"
    flat.write_bytes(encode(phase("old", 5, 7)) + encode(phase("older", 1, 2)))
    run = miles_report.open_run(tmp_path)
    assert run.table("phases")["name"].to_list() == ["older", "old", "new"]


def test_the_manager_is_drawn_on_the_engines_of_the_time(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[managed("rollout", 0, 40), managed("eval_rollout", 50, OPEN)],
        topology=[
            topology(10, engine("e1", ("a", 0), ("a", 1)), engine("e2", ("a", 1))),
            topology(20, engine("e1", ("a", 0))),
            topology(30),
            topology(35, engine("e3", ("b", 0))),
        ],
        gpu_util=readings("b", 0, [0], t0=60),
    )
    table = run.table("phases")
    assert shown(table, "node", "gpu", "name", "t0", "t1", "open") == [
        ("a", 0, "rollout", 10, 20, False),
        ("a", 0, "rollout", 20, 30, False),
        ("a", 1, "rollout", 10, 20, False),
        ("b", 0, "rollout", 35, 40, False),
        ("b", 0, "eval_rollout", 50, 60, True),
    ]
    assert set(table["rank"]) == {-1}
    assert set(table["role"]) == {"rollout_manager"}
    assert run.table("phases", lanes="gpu:b:0").height == 2


def test_a_window_keeps_every_piece_of_a_phase_that_overlaps_it(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[managed("rollout", 0, 40), managed("rollout", 90, 95)],
        topology=[topology(0, engine("e", ("a", 0))), topology(20, engine("e", ("a", 0)))],
    )
    assert shown(run.table("phases", t0=T + 30, t1=T + 50), "t0", "t1") == [(0, 20), (20, 40)]


def test_without_topology_the_manager_is_drawn_nowhere(tmp_path):
    run = open_telemetry(
        tmp_path, start=None, phases=[managed("rollout", 0, 40)], gpu_util=readings("a", 0, [1])
    )
    assert run.table("phases").height == 0


@pytest.mark.parametrize(
    "addr", ["http://10.0.0.1:15000", "10.0.0.1:15000", "https://u@10.0.0.1/x"]
)
def test_external_engines_are_drawn_on_the_known_lanes_of_their_hosts(tmp_path, addr):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[managed("rollout", 0, 40)],
        topology=[topology(0, engine(addr), engine("http://other:1"))],
        gpu_util=[
            *readings("10.0.0.1", 0, [1]),
            *readings("10.0.0.1", 1, [1]),
            *readings("n", 0, [1]),
        ],
    )
    assert shown(run.table("phases"), "node", "gpu") == [("10.0.0.1", 0), ("10.0.0.1", 1)]


def test_a_host_in_brackets_is_an_ipv6_node(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[managed("rollout", 0, 40)],
        topology=[topology(0, engine("http://[fd00::1]:15000"))],
        gpu_util=readings("fd00::1", 2, [1]),
    )
    assert shown(run.table("phases"), "node", "gpu") == [("fd00::1", 2)]


def test_an_engine_with_gpus_speaks_for_its_snapshot(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[managed("rollout", 0, 40)],
        topology=[topology(0, engine("http://n:1"), engine("http://n:2", ("n", 1)))],
        gpu_util=[*readings("n", 0, [1]), *readings("n", 1, [1])],
    )
    assert shown(run.table("phases"), "gpu") == [(1,)]


def test_initialize_reaches_to_the_first_phase_of_each_lane_in_the_window(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=0,
        phases=[phase("train", 5, 10), phase("train", 20, 30), phase("train", 20, 30, rank=1)],
    )

    def initialized(**window) -> list[tuple]:
        table = run.table("phases", **{name: T + ts for name, ts in window.items()})
        derived = table.filter(table["role"] == "derived")
        assert set(derived["name"]) <= {"initialize"}
        assert set(derived["rank"]) <= {-1}
        return shown(derived, "gpu", "t0", "t1")

    both = [(0, 0, 5), (1, 0, 20)]
    assert initialized() == both
    assert initialized(t0=0) == both
    assert initialized(t0=-10, t1=100) == both
    assert initialized(t0=1) == []
    assert initialized(t0=0, t1=12) == [(0, 0, 5)]


def test_phases_of_a_run_that_was_resumed_carry_their_attempt(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=100,
        phases=[phase("train", 0, 10), phase("train", 50, OPEN), phase("train", 120, 130)],
        health=[HealthEvent(T, "collector_started"), HealthEvent(T + 100, "collector_started")],
    )
    assert shown(run.table("phases"), "name", "t0", "t1", "attempt") == [
        ("train", 0, 10, 0),
        ("train", 50, 130, 0),
        ("train", 120, 130, 1),
    ]


STEPS = (logged(100, 0, step_time=100), logged(200, 1, step_time=90))


def test_where_the_time_of_a_step_went(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[
            phase("train_wait", 0, 100),
            phase("train", 60, 100),
            phase("log_probs", 60, 70),
            phase("actor_train", 105, 210, rank=1),
        ],
        metrics=STEPS,
    )
    table = run.table("step_phases")
    assert table.select("step", "phase", "lane_seconds", "fraction").rows() == [
        (0, "log_probs", 10, 0.05),
        (0, "train", 30, 0.15),
        (0, "train_wait", 60, 0.30),
        (1, "actor_train", 90, 0.5),
    ]
    assert shown(table.unique("step", maintain_order=True), "step", "t0", "t1") == [
        (0, 0, 100),
        (1, 110, 200),
    ]
    assert set(table["overlap_fraction"]) == {None}


def test_overlap_is_the_share_of_rollout_time_in_which_a_rank_trains(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[
            managed("rollout", 0, 40),
            managed("rollout", 20, 50),
            phase("train", 30, 60),
            phase("train", 35, 60, rank=1),
            phase("train_wait", 0, 30, rank=1),
            managed("rollout", 100, 150),
        ],
        metrics=STEPS,
    )
    table = run.table("step_phases")
    of_step = dict(table.select("step", "overlap_fraction").unique().rows())
    assert of_step[0] == pytest.approx(20 / 50)
    assert 1 not in of_step  # no lane showed a phase in it


def test_steps_do_not_overlap_and_fall_back_on_the_step_before(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[phase("train", 0, 400)],
        metrics=[
            logged(100, 0, wait_time_ratio=0.5),
            logged(200, 1, step_time=150),
            logged(300, 2, wait_time_ratio=0.5),
            logged(400, 3, step_time=50),
        ],
    )
    table = run.table("step_phases")
    assert shown(table, "step", "t0", "t1") == [
        (0, 0, 100),
        (1, 100, 200),
        (2, 200, 300),
        (3, 350, 400),
    ]
    assert table["fraction"].to_list() == [1.0] * 4


def test_of_a_step_done_twice_the_last_attempt_counts(tmp_path):
    run = open_telemetry(
        tmp_path,
        start=150,
        phases=[phase("train", 0, 300)],
        metrics=[logged(100, 0, step_time=50), logged(250, 0, step_time=200)],
    )
    assert shown(run.table("step_phases"), "step", "t0", "t1") == [(0, 150, 250)]


def test_utilization_of_a_step_is_that_of_all_readings_in_it():
    steps = pl.DataFrame({"step": [0, 1, 2], "t0": [0.0, 10.0, 20.0], "t1": [10.0, 18.0, 30.0]})
    blocks = [
        pl.DataFrame({"ts": [-1.0, 0.0, 9.9], "util": [100, 10, 30]}),
        pl.DataFrame({"ts": [10.0, 18.0, 12.0], "util": [50, 100, None]}),
    ]
    assert mean_util(blocks, steps).tolist()[:2] == [0.2, 0.5]
    assert np.isnan(mean_util(blocks, steps)[2])
    assert mean_util(blocks, steps.clear()).tolist() == []
