from __future__ import annotations

from builders.streams import T
from builders.timeline import open_telemetry, readings

from miles_report.schema.streams import GpuProcess, GpuSample


def test_samples_are_sorted_by_lane_and_time_and_windows_are_inclusive(tmp_path):
    run = open_telemetry(
        tmp_path,
        gpu_util=[
            *readings("b", 0, [5]),
            *readings("a", 10, [1]),
            *readings("a", 2, [4], t0=2),
            *readings("a", 2, [1, 2]),
            GpuSample(T + 2, "a", 2, 9, 0, 0),
        ],
    )
    assert run.table("gpu_util").rows() == [
        (T, "a", 2, 1, 1001, 301),
        (T + 1, "a", 2, 2, 1002, 302),
        (T + 2, "a", 2, 4, 1004, 304),
        (T + 2, "a", 2, 9, 0, 0),
        (T, "a", 10, 1, 1001, 301),
        (T, "b", 0, 5, 1005, 305),
    ]
    assert run.table("gpu_util", t0=T + 1, t1=T + 2)["util"].to_list() == [2, 4, 9]
    assert run.table("gpu_util", lanes="node:b")["util"].to_list() == [5]
    assert run.table("gpu_util", lanes="node:c").height == 0


def test_across_midnight_and_hours_nothing_is_lost(tmp_path):
    run = open_telemetry(tmp_path, gpu_util=readings("a", 0, list(range(100)) * 40, t0=0))
    files = sorted(path.name for path in (tmp_path / "dashboard" / "gpu_util").iterdir())
    assert files == ["20260203_23.jsonl", "20260204_00.jsonl"]
    assert run.table("gpu_util").height == 4000
    window = run.table("gpu_util", t0=T + 1795, t1=T + 1805)
    assert window["ts"].to_list() == [T + second for second in range(1795, 1806)]


def test_points_keep_the_lowest_and_highest_of_each_bucket(tmp_path):
    utils = [50, 10, 60, 99, 20, 30, 30, 0, 100, 5]
    run = open_telemetry(tmp_path, gpu_util=[*readings("a", 0, utils), *readings("a", 1, [3, 4])])
    table = run.table("gpu_util", points=4)
    # two buckets over [0, 9]: seconds 0 to 4 and 5 to 9
    assert table.filter(table["gpu"] == 0).select("ts", "util").rows() == [
        (T + 1, 10),
        (T + 3, 99),
        (T + 7, 0),
        (T + 8, 100),
    ]
    assert table.filter(table["gpu"] == 1)["util"].to_list() == [3, 4]
    assert run.table("gpu_util", points=10).height == 12
    assert run.table("gpu_util", points=3, lanes="g:0")["util"].to_list() == [0, 100]
    assert run.table("gpu_util", points=2, t0=T + 1, t1=T + 3, lanes="g:0")["util"].to_list() == [
        10,
        99,
    ]


def test_processes_are_sorted_by_lane_and_time(tmp_path):
    run = open_telemetry(
        tmp_path,
        gpu_util=readings("a", 0, [1]),
        gpu_processes=[
            GpuProcess(T + 5, "a", 0, 7, "python", 10),
            GpuProcess(T, "a", 0, 9, "pid 9", 20),
            GpuProcess(T, "a", 0, 7, "python", 30),
            GpuProcess(T, "b", 1, 7, "sglang", 40),
        ],
    )
    assert run.table("gpu_processes").rows() == [
        (T, "a", 0, 9, "pid 9", 20),
        (T, "a", 0, 7, "python", 30),
        (T + 5, "a", 0, 7, "python", 10),
        (T, "b", 1, 7, "sglang", 40),
    ]
    assert run.table("gpu_processes", t0=T + 1)["mem_mb"].to_list() == [10]
    assert run.table("gpu_processes", lanes="all", t1=T)["pid"].to_list() == [9, 7]
