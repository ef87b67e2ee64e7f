"""Telemetry as files by stretches of time: what the catalogue says of them, and that those that are over stay."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from builders.streams import T
from builders.timeline import open_telemetry, phase, scrape

from miles_report.schema.streams import GpuSample
from miles_report.site import telemetry_output
from miles_report.site.telemetry_output import write_telemetry
from miles_report.slices.read import read_slices
from miles_report.tables.pyramid import RAW_TILE_S

ZERO = (T // RAW_TILE_S + 1) * RAW_TILE_S
"""Beginning of a stretch, Unix seconds."""

TABLES = ("lanes", "engine_metrics", "phases", "gpu_processes")


class Memory:
    """A writer that keeps the files."""

    def __init__(self):
        self.files = {}

    def write(self, path, content):
        self.files[path] = content


def written(folder, seconds):
    times = [ZERO - T + t for t in range(0, seconds, 10)]
    run = open_telemetry(
        folder,
        gpu_util=[
            GpuSample(T + t, "a", i, int(t) % 100, 1000, 300) for t in times for i in range(20)
        ],
        engine_series=sorted(
            (
                one
                for metric in ("sglang_num_running_reqs", "sglang_token_usage")
                for one in scrape(metric, *((t, t % 7) for t in times))
            ),
            key=lambda one: one.ts,
        ),
        phases=[phase("rollout", t, t + 9) for t in times],
    )
    memory = Memory()
    slices = write_telemetry(run, {name: run.table(name) for name in TABLES}, memory)
    return run, slices, memory.files


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(telemetry_output, "FEW_ROWS", 1000)
    monkeypatch.setattr(telemetry_output, "ROWS_A_STRETCH", 300)


def test_a_file_holds_some_lanes_or_one_metric_over_a_stretch(tmp_path):
    run, slices, files = written(tmp_path / "run", 9000)
    keys = [entry.keys for entry in slices["gpu_util"]]
    assert [key["lane"] for key in keys] == [(0, 19)] * 3
    spans = [tuple(time - ZERO for time in key["ts"]) for key in keys]
    assert spans == [(0.0, 4090.0), (4100.0, 8190.0), (8200.0, 8990.0)]
    assert {entry.keys["width_s"] for entry in slices["gpu_levels"]} == {(64, 64), (512, 512), (4096, 4096)}  # fmt: skip
    assert {entry.keys["metric"] for entry in slices["engine_series"]} == {(0, 0), (1, 1)}
    levels = read_slices(files.__getitem__, slices["gpu_levels"])
    first = levels.filter(width_s=64, lane=3, ts=ZERO + 64).row(0, named=True)
    inside = run.table("gpu_util", t0=ZERO + 64, t1=ZERO + 127.9).filter(gpu=3)["util"]
    assert (first["util_min"], first["util_max"]) == (inside.min(), inside.max())
    assert first["util_mean"] == pytest.approx(inside.mean())


def test_phases_are_cut_by_time_and_none_is_lost(tmp_path):
    run, slices, files = written(tmp_path / "run", 9000)
    spans = [(entry.keys["t0"], entry.keys["t1"]) for entry in slices["phases"]]
    assert len(spans) > 1
    assert all(a[0][1] < b[0][0] for a, b in pairwise(spans))
    told = read_slices(files.__getitem__, slices["phases"]).sort("node", "gpu", "t0")
    assert told.select("name", "t0", "t1").equals(run.table("phases").select("name", "t0", "t1"))


def test_stretches_that_are_over_stay_while_the_run_grows(tmp_path):
    _, before, _ = written(tmp_path / "early", 9000)
    _, after, _ = written(tmp_path / "late", 12_000)
    for table, n_over in (("gpu_util", 2), ("engine_series", 4), ("phases", 1)):
        paths = [[entry.path for entry in slices[table][:n_over]] for slices in (before, after)]
        assert paths[0] == paths[1]


def test_few_samples_have_no_levels_and_no_samples_an_empty_file(tmp_path, monkeypatch):
    monkeypatch.setattr(telemetry_output, "FEW_ROWS", 10_000_000)
    _, slices, files = written(tmp_path / "run", 9000)
    assert "gpu_levels" not in slices
    run = open_telemetry(tmp_path / "none", phases=[phase("rollout", 1.0, 2.0)])
    empty = write_telemetry(run, {name: run.table(name) for name in TABLES}, Memory())
    assert [entry.rows for entry in empty["gpu_util"]] == [0]
    assert isinstance(read_slices(files.__getitem__, slices["gpu_util"][:1]), pl.DataFrame)
