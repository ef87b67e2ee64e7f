"""Every field of every record as FORMATS section 5 and 8 have it: order on the wire, and the way back."""

from __future__ import annotations

import json

import polars as pl
import pytest
from builders.streams import ONE_OF_EACH, T

import miles_report
from miles_report.schema.streams import STREAMS, EngineRecord
from miles_report.streams.wire import decode

KEYS = {
    "metrics": "ts step_key step metrics",
    "phases": "name t0 t1 node gpus rank role",
    "topology": "ts engines",
    "gpu_util": "ts node gpu util mem_mb power_w",
    "gpu_processes": "ts node gpu pid name mem_mb",
    "engine_series": "ts addr metric labels value",
    "trajectories": "ts kind sample_index group_index turn weight_version detail",
    "data_buffer": "ts length",
    "health": "ts event group engine_rank addr node latency_s detail",
}
ENGINE_KEYS = "addr worker_type engine_rank gpus gpu_uuids"

FILES = {
    "metrics": "metrics.jsonl",
    "topology": "topology.jsonl",
    "data_buffer": "data_buffer.jsonl",
    "health": "health.jsonl",
    "phases": "phases/20260204_01.jsonl",
    "gpu_util": "gpu_util/20260203_23.jsonl",
    "gpu_processes": "gpu_processes/20260203_23.jsonl",
    "engine_series": "engine_series/20260203_23.jsonl",
    "trajectories": "trajectories/20260203_23.jsonl",
}


def push_all(collector):
    collector.push_metrics([ONE_OF_EACH["metrics"]])
    collector.push_phases([ONE_OF_EACH["phases"]])
    collector.push_trajectories([ONE_OF_EACH["trajectories"]])
    collector.push_gpu_samples([ONE_OF_EACH["gpu_util"]])
    collector.push_gpu_processes([ONE_OF_EACH["gpu_processes"]])
    collector.push_data_buffer([ONE_OF_EACH["data_buffer"]])
    collector.push_health([ONE_OF_EACH["health"]])
    collector.push_engine_samples([ONE_OF_EACH["engine_series"]])
    collector.update_topology(ONE_OF_EACH["topology"].engines)


@pytest.fixture
def written(make, tmp_path):
    collector = make()
    push_all(collector)
    assert collector.flush().is_clean
    return tmp_path / "dashboard"


def test_the_table_names_every_stream():
    assert set(KEYS) == set(FILES) == set(STREAMS)


@pytest.mark.parametrize("stream", STREAMS)
def test_a_record_is_in_its_file_with_its_keys_in_order(written, stream):
    line = (written / FILES[stream]).read_bytes()
    assert line.count(b"\n") == 1
    assert list(json.loads(line)) == KEYS[stream].split()
    assert decode(line, STREAMS[stream].record) == ONE_OF_EACH[stream]
    assert b": " not in line.replace(b"no </script>", b"")


def test_the_keys_of_an_engine(written):
    (engine, _) = json.loads((written / FILES["topology"]).read_bytes())["engines"]
    assert list(engine) == ENGINE_KEYS.split()
    assert EngineRecord(**engine).gpus == [["fe80::1", 0], ["fe80::1", 1]]


def test_meta_and_catalogue_have_the_keys_of_miles(make, tmp_path):
    collector = make(args={"colocate": True}, run_name="r")
    push_all(collector)
    collector.flush()
    meta = json.loads((tmp_path / "dashboard/meta.json").read_text())
    assert list(meta) == ["run_name", "start_ts", "args", "schema_version"]
    assert meta == {"run_name": "r", "start_ts": T, "args": {"colocate": True}, "schema_version": 1}
    catalogue = json.loads((tmp_path / "dashboard/lane_catalog.json").read_text())
    assert catalogue == {
        "version": 1,
        "lanes": {
            "fe80::1:0": {"ranks": [], "engine_addrs": ["http://n:1"], "roles": ["rollout"]},
            "fe80::1:1": {"ranks": [], "engine_addrs": ["http://n:1"], "roles": ["rollout"]},
            "n:0": {"ranks": [3], "engine_addrs": [], "roles": ["train"]},
            "n:1": {"ranks": [3], "engine_addrs": [], "roles": ["train"]},
        },
    }


def test_the_reader_takes_every_stream_without_a_complaint(written):
    run = miles_report.open_run(written.parent)
    assert run.table("notices").filter(pl.col("severity") != "info").rows() == []
    assert run.table("metrics").height >= 1
    assert run.table("run")["data_buffer_length"].to_list() == [7]
