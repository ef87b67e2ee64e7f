from __future__ import annotations

from builders.streams import ONE_OF_EACH, T, write_meta, write_telemetry

from miles_report.schema.streams import DataBufferRecord, HealthEvent
from miles_report.sources.files import list_dump
from miles_report.sources.telemetry import Telemetry


def test_all_streams_together(tmp_path):
    write_telemetry(tmp_path, **{name: [record] for name, record in ONE_OF_EACH.items()})
    write_meta(tmp_path, run_name="r", start_ts=T)
    telemetry = Telemetry(list_dump(tmp_path, now=2e9))
    assert sorted(telemetry.bounds) == sorted(ONE_OF_EACH)
    assert (telemetry.first_ts, telemetry.last_ts) == (T, T + 7200.0)
    assert telemetry.meta.run_name == "r"
    assert telemetry.events["sample_index"].to_list() == [5]
    assert telemetry.notices() == ()


def test_health_and_buffer_reports_count_for_the_extremes(tmp_path):
    write_telemetry(
        tmp_path,
        health=[HealthEvent(T - 5, "collector_started")],
        data_buffer=[DataBufferRecord(T + 5, 1)],
    )
    telemetry = Telemetry(list_dump(tmp_path, now=2e9))
    assert (telemetry.first_ts, telemetry.last_ts) == (T - 5, T + 5)


def test_a_dump_without_telemetry(tmp_path):
    (tmp_path / "rollout_data").mkdir()
    telemetry = Telemetry(list_dump(tmp_path, now=2e9))
    assert (telemetry.first_ts, telemetry.last_ts, telemetry.bounds) == (None, None, {})
    assert telemetry.health.height == telemetry.events.height == telemetry.data_buffer.height == 0
    assert telemetry.notices() == ()


def test_trouble_of_every_file_is_told_once(dumps):
    telemetry = Telemetry(list_dump(dumps / "torn", now=2e9))
    assert [(notice.code, notice.source) for notice in telemetry.notices()] == [
        ("torn-tail", "dashboard/engine_series/19700112_13.jsonl"),
        ("torn-tail", "dashboard/gpu_util/19700112_13.jsonl"),
        ("torn-tail", "dashboard/metrics.jsonl"),
        ("torn-tail", "dashboard/phases/19700112_13.jsonl"),
        ("torn-tail", "dashboard/trajectories/19700112_13.jsonl"),
    ]
    assert telemetry.notices() == telemetry.notices()
