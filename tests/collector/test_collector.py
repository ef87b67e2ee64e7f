from __future__ import annotations

import json
from dataclasses import replace

import pytest
from builders.streams import ONE_OF_EACH, T

from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from miles_report.runtime.clock import ManualClock
from miles_report.schema.streams import EngineRecord, GpuSample, PhaseRecord

ENGINE = EngineRecord("http://n:1", "regular", 0, (("n", 0),), (None,))
OTHER = EngineRecord("http://n:2", "regular", 1, (("n", 1),), (None,))


@pytest.fixture
def run(tmp_path):
    """Starts a collector as a process of a job does, and ends it."""
    started = []

    def begin(start_ts=T, wall=None, **settings):
        config = CollectorConfig(tmp_path, start_ts=start_ts, flush_interval_s=60.0, **settings)
        clock = ManualClock(wall=start_ts if wall is None else wall)
        collector = DashboardCollector(config, clock=clock)
        collector.start()
        started.append(collector)
        return collector

    yield begin
    for collector in started:
        collector.shutdown()


def read(dump, name):
    return json.loads((dump / "dashboard" / name).read_text())


def lines(dump, name):
    return [json.loads(line) for line in (dump / "dashboard" / name).read_bytes().splitlines()]


def health(dump):
    return [(line["event"], line["detail"]) for line in lines(dump, "health.jsonl")]


def test_a_life_from_start_to_stop(run, tmp_path):
    collector = run()
    assert read(tmp_path, "meta.json")["start_ts"] == T
    assert health(tmp_path) == [("collector_started", None)]
    collector.push_data_buffer([ONE_OF_EACH["data_buffer"]])
    assert collector.shutdown()
    assert collector.shutdown()
    assert health(tmp_path)[-1] == ("collector_stopped", None)
    assert len(lines(tmp_path, "data_buffer.jsonl")) == 1


def test_what_comes_after_the_end_is_ignored(run, tmp_path):
    collector = run()
    collector.shutdown()
    collector.push_data_buffer([ONE_OF_EACH["data_buffer"]])
    collector.flush()
    assert not (tmp_path / "dashboard/data_buffer.jsonl").exists()


def test_it_starts_once(run):
    collector = run()
    with pytest.raises(RuntimeError, match="started before"):
        collector.start()


def test_a_new_attempt_tells_its_start(run, tmp_path):
    run().shutdown()
    run(start_ts=T + 100.0)
    assert read(tmp_path, "meta.json")["start_ts"] == T + 100.0
    assert [event for event, _ in health(tmp_path)] == [
        "collector_started",
        "collector_stopped",
        "collector_started",
    ]


def test_a_collector_that_is_started_again_goes_on_with_the_attempt(run, tmp_path):
    """As Ray does with an actor whose process was killed: the same arguments, another process."""
    first = run()
    first.update_topology([ENGINE, OTHER])
    first.update_topology([ENGINE])
    first.push_phases([PhaseRecord("train", T, T + 1, "n", (3,), 7, "train")])
    first.flush()
    second = run(wall=T + 60.0)
    assert second.engines == (ENGINE,)
    second.update_topology([ENGINE])
    second.learn_engines(["http://n:2"])
    second.push_gpu_samples([GpuSample(T + 61, "n", 9, 1, 1, 1)])
    second.flush()
    assert len(lines(tmp_path, "topology.jsonl")) == 2
    assert read(tmp_path, "meta.json")["start_ts"] == T
    assert health(tmp_path) == [
        ("collector_started", None),
        (
            "records_dropped",
            "all streams: the collector was restarted, what it had not written yet was lost",
        ),
    ]
    lanes = read(tmp_path, "lane_catalog.json")["lanes"]
    assert lanes["n:3"] == {"ranks": [7], "engine_addrs": [], "roles": ["train"]}
    assert lanes["n:9"] == {"ranks": [], "engine_addrs": [], "roles": []}


def test_a_new_attempt_does_not_inherit_engines_but_keeps_the_lanes(run, tmp_path):
    first = run()
    first.update_topology([ENGINE])
    first.shutdown()
    second = run(start_ts=T + 100.0)
    assert second.engines == ()
    second.learn_engines([ENGINE.addr])
    assert [engine.worker_type for engine in second.engines] == ["external"]
    second.flush()
    assert read(tmp_path, "lane_catalog.json")["lanes"]["n:0"]["engine_addrs"] == ["http://n:1"]


def test_the_catalogue_is_in_order_and_written_on_change_only(make, tmp_path):
    collector = make()
    path = tmp_path / "dashboard/lane_catalog.json"
    collector.push_gpu_samples(
        [GpuSample(T, node, gpu, 1, 1, 1) for node, gpu in (("b", 10), ("b", 9), ("a:b", 0))]
    )
    collector.flush()
    assert list(read(tmp_path, "lane_catalog.json")["lanes"]) == ["a:b:0", "b:9", "b:10"]
    path.write_text("mine")
    collector.push_gpu_samples([GpuSample(T, "b", 10, 1, 1, 1)])
    collector.flush()
    assert path.read_text() == "mine"
    collector.push_phases([PhaseRecord("train", T, -1.0, "b", (10,), -1, "train")])
    collector.flush()
    assert read(tmp_path, "lane_catalog.json")["lanes"]["b:10"] == {
        "ranks": [],
        "engine_addrs": [],
        "roles": ["train"],
    }


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"lanes": [1]}', '{"lanes": {"x": {}, "n:0": 1}}']
)
def test_a_damaged_catalogue_is_replaced(run, tmp_path, content):
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard/lane_catalog.json").write_text(content)
    (tmp_path / "dashboard/meta.json").write_text(content)
    (tmp_path / "dashboard/topology.jsonl").write_bytes(content.encode())
    collector = run()
    collector.push_gpu_samples([ONE_OF_EACH["gpu_util"]])
    assert collector.flush().is_clean
    assert list(read(tmp_path, "lane_catalog.json")["lanes"]) == ["n:0"]


def test_documents_that_cannot_be_written_are_tried_again(make, tmp_path, caplog):
    (tmp_path / "dashboard").mkdir()
    for name in ("meta.json", "lane_catalog.json"):
        (tmp_path / "dashboard" / name).mkdir()
    collector = make()
    collector.push_gpu_samples([ONE_OF_EACH["gpu_util"]])
    assert set(collector.flush().failures) == {"meta.json", "lane_catalog.json"}
    assert "collector.flush_failed" in caplog.text
    for name in ("meta.json", "lane_catalog.json"):
        (tmp_path / "dashboard" / name).rmdir()
    assert collector.flush().is_clean
    assert read(tmp_path, "meta.json")["start_ts"] == T
    assert list(read(tmp_path, "lane_catalog.json")["lanes"]) == ["n:0"]
    assert not list((tmp_path / "dashboard").glob("*.new"))


def test_a_torn_tail_is_cut_off_before_anything_is_appended(make, tmp_path, caplog):
    (tmp_path / "dashboard").mkdir()
    whole = b'{"ts":1.0,"length":1}\n'
    (tmp_path / "dashboard/data_buffer.jsonl").write_bytes(whole + b'{"ts":1.0,"len')
    collector = make()
    collector.push_data_buffer([ONE_OF_EACH["data_buffer"]])
    collector.flush()
    assert [line["length"] for line in lines(tmp_path, "data_buffer.jsonl")] == [1, 7]
    assert "collector.torn_tail: 14 bytes" in caplog.text


@pytest.mark.parametrize("bad", [None, 5, [None], ["x"], [replace(ENGINE, gpus=(("n", "x"),))]])
def test_a_topology_that_makes_no_sense_changes_nothing(make, tmp_path, bad, caplog):
    collector = make()
    collector.update_topology([ENGINE])
    collector.update_topology(bad)
    collector.flush()
    assert collector.engines == (ENGINE,)
    assert len(lines(tmp_path, "topology.jsonl")) == 1
    assert "collector.malformed_topology" in caplog.text


def test_a_flush_survives_what_is_done_after_it(tmp_path, clock, caplog):
    def fails():
        raise RuntimeError("no cluster")

    collector = DashboardCollector(CollectorConfig(tmp_path), clock=clock, after_flush=fails)
    assert collector.flush().is_clean
    assert "collector.after_flush_failed" in caplog.text


def test_forwarding_is_off_by_default(tmp_path, clock):
    seen = []
    collector = DashboardCollector(CollectorConfig(tmp_path), clock=clock, forward=seen.append)
    collector.push_gpu_samples([ONE_OF_EACH["gpu_util"]])
    collector.flush()
    assert seen == []


def test_the_newest_values_are_forwarded_at_each_flush(tmp_path, clock):
    seen = []
    config = CollectorConfig(tmp_path, forward_prometheus=True)
    collector = DashboardCollector(config, clock=clock, forward=seen.append)
    sample = ONE_OF_EACH["gpu_util"]
    collector.push_gpu_samples([sample, replace(sample, util=50)])
    collector.push_data_buffer([ONE_OF_EACH["data_buffer"]])
    collector.push_engine_samples([ONE_OF_EACH["engine_series"]])
    collector.flush()
    collector.flush()
    assert seen[0] == {
        "dashboard/gpu_util_percent/n_0": 50.0,
        "dashboard/gpu_mem_mib/n_0": 70000.0,
        "dashboard/gpu_power_w/n_0": 640.0,
        "dashboard/data_buffer_length": 7.0,
        "dashboard/sglang_token_usage/n_1_dp_rank_0": 0.75,
    }
    assert seen[1] == seen[0]
