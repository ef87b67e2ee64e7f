from __future__ import annotations

import polars as pl
import pytest
from builders.streams import T, life
from builders.timeline import OPEN, open_telemetry, phase, readings

from miles_report.schema.streams import GpuSample, TrajectoryEvent
from miles_report.schema.tables import TABLES
from miles_report.tables.carpet import MOST_SAMPLES


def cells(run, metric: str, t0: float, t1: float, buckets: int, **kw) -> list[list]:
    table = run.table("carpet", metric=metric, t0=T + t0, t1=T + t1, buckets=buckets, **kw)
    assert table.columns == [column.name for column in TABLES["carpet"].columns]
    return table["cells"].to_list()


@pytest.fixture
def run(tmp_path):
    return open_telemetry(
        tmp_path,
        start=None,
        phases=[
            phase("train", 0, 10),
            phase("log_probs", 4, 5),
            phase("train_wait", 3, 20),
            phase("sleep", 12, 30),
            phase("actor_train", 30, OPEN, rank=1),
        ],
        gpu_util=[
            *readings("a", 0, [10, 90, 20]),
            *readings("a", 1, [0], t0=9),
            *readings("a", 1, [7], t0=39.9),
        ],
    )


def test_idle_phases_lie_below_and_the_one_that_began_last_wins(run):
    assert cells(run, "phase", 0, 40, 8) == [
        ["log_probs", "log_probs", "train", "sleep", "sleep", "sleep", "sleep", None],
        [None, None, None, None, None, None, "actor_train", "actor_train"],
    ]


def test_what_began_before_the_window_fills_its_first_bucket(run):
    assert cells(run, "phase", 11, 15, 2, lanes="g:0") == [["sleep", "sleep"]]
    assert cells(run, "phase", 100, 101, 2) == [[None, None], [None, None]]


def test_a_reading_is_the_highest_of_its_bucket_and_zero_is_one(run):
    assert cells(run, "util", 0, 40, 8) == [
        [90.0, *[None] * 7],
        [None, 0.0, None, None, None, None, None, 7.0],
    ]
    assert cells(run, "mem_mb", 0, 4, 4, lanes="g:0") == [[1010.0, 1090.0, 1020.0, None]]
    assert cells(run, "power_w", 1, 2, 2, lanes="g:0") == [[390.0, 320.0]]


def test_rows_are_the_chosen_lanes(run):
    table = run.table("carpet", metric="util", lanes="g:1")
    assert table.select("index", "node", "gpu", "roles", "sample_index").rows() == [
        (1, "a", 1, ["train"], None)
    ]
    assert run.table("carpet", metric="util", lanes="node:x").height == 0
    assert run.table("carpet", metric="phase", lanes="node:x").height == 0


def test_twelve_hundred_buckets_of_phases_are_the_default(run):
    table = run.table("carpet")
    assert [len(row) for row in table["cells"]] == [1200, 1200]
    assert table["cells"][0][0] == "train"


def test_mig_without_utilization_has_memory_alone(tmp_path):
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "gpu_util.jsonl").write_text(
        f'{{"ts":{T},"node":"m","gpu":0,"util":null,"mem_mb":70,"power_w":0}}\n'
        f'{{"ts":{T + 10},"node":"m","gpu":0,"mem_mb":71}}\n'
    )
    run = open_telemetry(tmp_path)
    assert run.table("gpu_util").rows() == [
        (T, "m", 0, None, 70, 0),
        (T + 10, "m", 0, None, 71, None),
    ]
    assert cells(run, "util", 0, 10, 2) == [[None, None]]
    assert cells(run, "mem_mb", 0, 10, 2) == [[70.0, 71.0]]
    assert run.table("fleet", buckets=2)["util_p50"].to_list() == [None, None]
    assert run.table("gpu_util", points=2).height == 2
    assert run.table("outliers", by="lowest_util").height == 0


def test_a_run_whose_extremes_coincide_is_one_bucket(tmp_path):
    run = open_telemetry(tmp_path, gpu_util=readings("a", 0, [42]))
    assert run.table("carpet", metric="util")["cells"].to_list() == [[42.0]]
    assert run.table("fleet").select("bucket", "t0", "t1", "util_min", "phase.none").rows() == [
        (0, T, T, 42.0, 1.0)
    ]


def test_lives_of_samples_by_their_first_event(tmp_path):
    events = [
        *life(7, (2, "attempt_start", -1), (4, "gen_start", 1), (6, "gen_end", 1)),
        *life(7, (6, "tool_start", 1), (8, "tool_end", 1), (10, "attempt_end", -1)),
        *life(3, (5, "gen_end", 1), (7, "attempt_end", -1), group=-1),
        *life(9, (6, "attempt_start", -1), group=4),
        *life(-1, (9, "gen_start", -1), group=-1),
        *life(8, (2, "attempt_start", -1), (3, "attempt_end", -1)),
    ]
    events = [
        TrajectoryEvent(T + e.ts, e.kind, e.sample_index, e.group_index, e.turn, "", "")
        for e in events
    ]
    run = open_telemetry(tmp_path, trajectories=events)
    table = run.table("carpet", metric="lifecycle", t0=T, t1=T + 10, buckets=5, lanes="g:0")
    assert table.select("index", "node", "sample_index", "group_index").rows() == [
        (None, None, 7, 0),
        (None, None, 8, 0),
        (None, None, 3, -1),
        (None, None, 9, 4),
        (None, None, -1, -1),
    ]
    assert table["cells"].to_list() == [
        [None, "queue", "generating", "tool_wait", "tool_wait"],
        [None, "queue", None, None, None],
        ["generating", "generating", "generating", "queue", None],
        [None, None, None, "queue", "queue"],
        [None, None, None, None, "generating"],
    ]


def test_a_window_of_lives_looks_at_its_own_events_alone(tmp_path):
    events = life(1, (T, "attempt_start", -1), (T + 4, "gen_start", 1), (T + 8, "gen_end", 1))
    run = open_telemetry(tmp_path, trajectories=events)
    assert cells(run, "lifecycle", 6, 10, 2) == [["generating", "generating"]]
    assert cells(run, "lifecycle", 20, 30, 2) == []


def test_at_most_so_many_samples_are_shown(tmp_path):
    events = [
        TrajectoryEvent(T + i, "attempt_start", i, 0, -1, "", "") for i in range(MOST_SAMPLES + 5)
    ]
    run = open_telemetry(tmp_path, trajectories=events)
    table = run.table("carpet", metric="lifecycle", buckets=2)
    assert table["sample_index"].to_list() == list(range(MOST_SAMPLES))


def test_the_fleet_is_shares_of_lanes_and_percentiles_of_their_peaks(tmp_path):
    gpu_util = []
    for gpu in range(10):
        gpu_util += readings("a", gpu, [gpu * 10, 1], t0=0)
    gpu_util += readings("a", 3, [77], t0=15)
    run = open_telemetry(
        tmp_path,
        start=None,
        phases=[
            phase("train", 0, 9),
            phase("train", 12, 19, rank=1),
            phase("sleep", 0, 19, rank=2),
            phase("train_wait", 0, 19, rank=1),
        ],
        gpu_util=gpu_util,
    )
    table = run.table("fleet", t0=T, t1=T + 20, buckets=2)
    declared = [column.name for column in TABLES["fleet"].columns]
    assert table.columns[: len(declared)] == declared
    assert table.select("bucket", "t0", "t1").rows() == [(0, T, T + 10), (1, T + 10, T + 20)]
    phases = table.select("phase.none", "phase.sleep", "phase.train", "phase.train_wait")
    assert phases.rows() == [
        (pytest.approx(0.7), 0.1, 0.1, 0.1),
        (pytest.approx(0.8), 0.1, 0.1, 0.0),
    ]
    assert phases.sum_horizontal().to_list() == pytest.approx([1.0, 1.0])
    # peaks of bucket 0 are 1, 10, 20, ..., 90; "nearest" of ten values takes those at 1, 5 (4.5 rounds up), 8
    assert table.select("util_min", "util_p10", "util_p50", "util_p90").rows() == [
        (1.0, 10.0, 50.0, 80.0),
        (77.0, 77.0, 77.0, 77.0),
    ]


def test_a_fleet_without_lanes_has_no_shares(tmp_path):
    run = open_telemetry(tmp_path, trajectories=life(1, (T, "gen_start", 1), (T + 9, "gen_end", 1)))
    table = run.table("fleet", buckets=3)
    assert table["phase.none"].to_list() == [None] * 3
    assert table["util_p50"].to_list() == [None] * 3


def test_a_window_behind_the_end_is_one_empty_bucket(tmp_path):
    run = open_telemetry(tmp_path, gpu_util=readings("a", 0, [1, 2]))
    assert run.table("fleet", t0=T + 50)["util_min"].to_list() == [None]
    assert run.table("carpet", metric="util", t1=T - 50)["cells"].to_list() == [[None]]


def test_only_the_default_metric_and_known_ones_exist(run):
    with pytest.raises(ValueError, match="'heat'"):
        run.table("carpet", metric="heat")


def test_readings_beyond_32_bits_are_kept(tmp_path):
    huge = 1 << 40
    samples = [GpuSample(T, "a", 0, 1, huge, 1), GpuSample(T + 1, "a", 0, 2, 5, 1)]
    run = open_telemetry(tmp_path, gpu_util=samples)
    assert run.table("gpu_util")["mem_mb"].to_list() == [huge, 5]
    assert run.table("gpu_util").schema["mem_mb"] == pl.Int64
    assert run.table("carpet", metric="mem_mb", buckets=2)["cells"].to_list() == [
        [float(huge), 5.0]
    ]
