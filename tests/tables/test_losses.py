from __future__ import annotations

import polars as pl
from builders.streams import T, write_telemetry

import miles_report
from miles_report.schema.streams import HealthEvent
from miles_report.tables.losses import losses


def dropped(ts, detail, addr=None):
    return HealthEvent(ts, "records_dropped", addr=addr, detail=detail)


def notices(tmp_path, *events):
    run = miles_report.open_run(write_telemetry(tmp_path, health=events))
    return [
        one
        for one in run.table("notices").to_dicts()
        if one["code"] in ("records-dropped", "no-engine-answer")
    ]


def test_no_loss_no_notice(tmp_path):
    assert notices(tmp_path, HealthEvent(T, "collector_started")) == []
    assert (
        list(
            losses(
                pl.DataFrame(schema={"ts": pl.Float64, "event": str, "addr": str, "detail": str})
            )
        )
        == []
    )


def test_repeated_losses_are_one_notice_with_their_time(tmp_path):
    (notice,) = notices(
        tmp_path,
        dropped(T, "gpu_util: 22 records were lost: the disk was full"),
        dropped(T + 60, "gpu_util: 7 records were lost: the disk was full"),
    )
    assert (notice["code"], notice["severity"], notice["source"]) == (
        "records-dropped",
        "warning",
        "dashboard/gpu_util",
    )
    assert notice["message"] == (
        "Telemetry was lost: 22 records were lost: the disk was full "
        "(2 times between 2026-02-03 23:30:00 UTC and 2026-02-03 23:31:00 UTC)."
    )


def test_why_engine_series_are_missing(tmp_path):
    (notice,) = notices(tmp_path, dropped(T, "engine_series: the router answers 404", "http://r:1"))
    assert notice["code"] == "no-engine-answer"
    assert notice["message"] == (
        "Engine series have gaps: http://r:1 was asked for metrics and the router answers 404 "
        "(at 2026-02-03 23:30:00 UTC)."
    )
    assert "--dashboard-sglang-scrape-mode" in notice["remedy"]


def test_engine_that_was_killed_or_stopped_is_no_warning():
    lost = "engine_series: the engine did not answer"
    frame = pl.DataFrame(
        {
            "ts": [10.0, 11.0, 12.0, 20.0, 20.5],
            "addr": [
                "http://n1:15000",
                "http://n1:15000",
                "http://n1:15003",
                None,
                "http://n1:15006",
            ],
            "event": [
                "records_dropped",
                "engine_killed",
                "records_dropped",
                "monitor_stopped",
                "records_dropped",
            ],
            "detail": [lost, None, lost, None, lost],
        }
    )
    assert [(one.code, one.severity) for one in losses(frame)] == [
        ("engine-gone", "info"),
        ("no-engine-answer", "warning"),
        ("engine-gone", "info"),
    ]


def test_details_of_any_kind_are_told_and_never_too_many(tmp_path):
    many = [dropped(T, f"phases: reason {'x' * n}") for n in range(1, 50)]
    found = notices(
        tmp_path,
        dropped(T, None),
        dropped(T, "all streams: the collector was restarted"),
        dropped(T, "free text"),
        dropped(T, "engine_series: odd"),
        dropped(1e300, "phases: a clock\nthat is broken"),
        *many,
    )
    messages = [one["message"] for one in found]
    assert (
        "Telemetry was lost: the collector was restarted (at 2026-02-03 23:30:00 UTC)." in messages
    )
    assert "Telemetry was lost: a clock\\nthat is broken (at 1e+300)." in messages
    assert len([one for one in found if one["source"] == "dashboard/phases"]) == 8
