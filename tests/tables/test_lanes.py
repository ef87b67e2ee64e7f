from __future__ import annotations

import json

from builders.streams import T
from builders.timeline import engine, managed, open_telemetry, phase, readings, topology

from miles_report.schema.tables import TABLES


def catalog(dump, **lanes):
    path = dump / "dashboard" / "lane_catalog.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 1, "lanes": lanes}))


def test_lanes_are_those_of_all_streams_by_node_as_text(tmp_path):
    run = open_telemetry(
        tmp_path,
        phases=[
            phase("train", 0, 1, rank=3, node="10.0.0.2"),
            phase("wake_up", 0, 1, rank=-1, node="10.0.0.2", gpus=(3,)),
            managed("rollout", 0, 1),
        ],
        topology=[
            topology(0, engine("http://e:2", ("10.0.0.10", 1))),
            topology(5, engine("http://e:1", ("10.0.0.10", 1), ("10.0.0.10", 0))),
        ],
        gpu_util=readings("fd00::1", 0, [1]),
    )
    table = run.table("lanes")
    assert table.columns == [column.name for column in TABLES["lanes"].columns]
    assert table.rows() == [
        (0, "10.0.0.10", 0, [], ["http://e:1"], ["rollout"]),
        (1, "10.0.0.10", 1, [], ["http://e:1", "http://e:2"], ["rollout"]),
        (2, "10.0.0.2", 3, [3], [], ["train"]),
        (3, "fd00::1", 0, [], [], []),
    ]
    assert run.table("lanes", lanes="role:train")["index"].to_list() == [2]


def test_a_catalogue_that_lags_behind_is_completed(tmp_path):
    catalog(
        tmp_path,
        **{
            "n:0": {"ranks": [0], "engine_addrs": [], "roles": ["train"]},
            "gone:5": {"ranks": [], "engine_addrs": ["http://old:1"], "roles": ["rollout"]},
        },
    )
    run = open_telemetry(
        tmp_path,
        phases=[phase("train", 0, 1, rank=7, node="n", gpus=(0, 1))],
        topology=[topology(0, engine("http://e:1", ("n", 0)))],
    )
    assert run.table("lanes").rows() == [
        (0, "gone", 5, [], ["http://old:1"], ["rollout"]),
        (1, "n", 0, [0, 7], ["http://e:1"], ["rollout", "train"]),
        (2, "n", 1, [7], [], ["train"]),
    ]


def test_external_engines_give_no_lane_an_address(tmp_path):
    run = open_telemetry(
        tmp_path,
        topology=[topology(0, engine("http://n:1"))],
        gpu_util=readings("n", 0, [1]),
        phases=[managed("rollout", 0, 5)],
    )
    assert run.table("lanes").rows() == [(0, "n", 0, [], [], [])]


def test_a_run_without_telemetry_has_no_lanes(tmp_path):
    run = open_telemetry(tmp_path, start=None)
    for name in ("lanes", "topology", "phases", "step_phases", "gpu_util", "gpu_processes"):
        table = run.table(name)
        assert table.height == 0
        assert table.columns == [column.name for column in TABLES[name].columns]
    assert run.table("engine_series", metric="x").height == 0
    assert run.table("engine_metrics").height == 0
    assert run.table("fleet").height == 0
    assert run.table("carpet", metric="phase").height == 0
    assert run.table("outliers", by="lowest_util").height == 0
    assert run.table("advisories").height == 0


def test_topology_is_windows_of_engines(tmp_path):
    run = open_telemetry(
        tmp_path,
        topology=[
            topology(10, engine("http://[fd00::1]:1", ("fd00::1", 0), ("fd00::1", 1), rank=4)),
            topology(20),
            topology(30, engine("http://x:2"), engine("http://[fd00::1]:1", ("fd00::1", 1))),
            topology(30, engine("http://x:3")),
        ],
    )
    assert run.table("topology").rows() == [
        (
            T + 10,
            T + 20,
            "http://[fd00::1]:1",
            "regular",
            4,
            ["fd00::1:0", "fd00::1:1"],
            [None, None],
        ),
        (T + 30, None, "http://x:3", "external", -1, [], []),
    ]
