from __future__ import annotations

import json
import math

import pytest
from builders.streams import T
from builders.timeline import open_telemetry, scrape

RUNNING = "sglang_num_running_reqs"
USAGE = "sglang_token_usage"
REQUESTS = "sglang_num_requests_total"
TTFT_SUM = "sglang_time_to_first_token_seconds_sum"
TTFT_COUNT = "sglang_time_to_first_token_seconds_count"


def values(run, metric: str, **parameters) -> list[tuple]:
    table = run.table("engine_series", metric=metric, **parameters)
    assert set(table["metric"]) <= {metric}
    return (
        table.with_columns(table["ts"] - T)
        .select("addr", "engine_type", "dp_rank", "ts", "value")
        .rows()
    )


def test_dp_ranks_are_summed_but_shares_averaged(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(RUNNING, (0, 3), (2, 4), rank="0", kind="unified"),
            *scrape(RUNNING, (0, 5), rank="10", kind="unified"),
            *scrape(RUNNING, (0, 7), addr="http://b:1"),
            *scrape(USAGE, (0, 0.5), rank="0"),
            *scrape(USAGE, (0, 0.25), rank="1"),
        ],
    )
    assert values(run, RUNNING) == [
        ("http://a:1", "unified", None, 0, 8),
        ("http://a:1", "unified", None, 2, 4),
        ("http://b:1", None, None, 0, 7),
    ]
    assert values(run, RUNNING, per_dp_rank=True) == [
        ("http://a:1", "unified", "0", 0, 3),
        ("http://a:1", "unified", "0", 2, 4),
        ("http://a:1", "unified", "10", 0, 5),
        ("http://b:1", None, None, 0, 7),
    ]
    assert values(run, USAGE) == [("http://a:1", None, None, 0, 0.375)]


def test_values_of_one_rank_and_moment_are_folded_too(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[*scrape(RUNNING, (0, 3), (0, 4)), *scrape(USAGE, (0, 0.2), (0, 0.4))],
    )
    assert values(run, RUNNING, per_dp_rank=True) == [("http://a:1", None, None, 0, 7)]
    assert values(run, USAGE, per_dp_rank=True)[0][-1] == pytest.approx(0.3)


def test_a_rate_is_growth_over_time_and_a_reset_is_a_gap(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(REQUESTS, (0, 10), (2, 14), (4, 14), (6, 3), (10, 11), rank="0"),
            *scrape(REQUESTS, (0, 1), (2, 1), (4, 1), (6, 1), (10, 1), rank="1"),
        ],
    )
    assert values(run, "sglang_requests_per_s") == [
        ("http://a:1", None, None, 2, 2.0),
        ("http://a:1", None, None, 4, 0.0),
        ("http://a:1", None, None, 10, 2.0),
    ]
    per_rank = values(run, "sglang_requests_per_s", per_dp_rank=True)
    assert [row[2:] for row in per_rank] == [
        ("0", 2, 2.0),
        ("0", 4, 0.0),
        ("0", 10, 2.0),
        ("1", 2, 0.0),
        ("1", 4, 0.0),
        ("1", 6, 0.0),
        ("1", 10, 0.0),
    ]
    assert [row[3:] for row in values(run, REQUESTS)] == [
        (0, 11),
        (2, 15),
        (4, 15),
        (6, 4),
        (10, 12),
    ]


def test_a_window_takes_scrapes_before_rates_are_derived(tmp_path):
    run = open_telemetry(tmp_path, engine_series=scrape(REQUESTS, (0, 0), (2, 4), (4, 8)))
    assert [row[3:] for row in values(run, "sglang_requests_per_s", t0=T + 2, t1=T + 4)] == [
        (4, 2.0)
    ]


def test_a_mean_is_growth_over_growth_and_has_a_gap_where_nothing_was_counted(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(TTFT_SUM, (0, 1.0), (2, 3.0), (4, 3.0), (5, 9.0), (6, 4.0), (8, 1.0)),
            *scrape(TTFT_COUNT, (0, 10), (2, 14), (4, 14), (6, 16), (8, 20)),
        ],
    )
    assert [row[3:] for row in values(run, "sglang_ttft_mean_s")] == [(2, 0.5), (6, 0.5)]


def test_what_is_not_finite_stays(tmp_path):
    (tmp_path / "dashboard").mkdir()
    line = '{{"ts":{},"addr":"a","metric":"sglang_num_running_reqs","labels":{{}},"value":{}}}\n'
    lines = line.format(T, 1.0) + line.format(T + 1, "NaN") + line.format(T + 2, "Infinity")
    (tmp_path / "dashboard" / "engine_series.jsonl").write_text(lines)
    got = [row[-1] for row in values(open_telemetry(tmp_path), RUNNING)]
    assert got[0] == 1.0
    assert math.isnan(got[1])
    assert got[2] == math.inf


def test_labels_first_seen_late_are_kept(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(RUNNING, *((second, 1) for second in range(300))),
            *scrape(RUNNING, (300, 2), rank="3"),
        ],
    )
    assert values(run, RUNNING, per_dp_rank=True)[-1] == ("http://a:1", None, "3", 300, 2)


def test_points_keep_extremes_of_each_series(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(RUNNING, *((second, (second * 7) % 10) for second in range(100))),
            *scrape(RUNNING, (0, 5), addr="b"),
        ],
    )
    table = run.table("engine_series", metric=RUNNING, points=10)
    first = table.filter(table["addr"] == "http://a:1")
    assert first.height == 10
    assert first["value"].to_list().count(0) == first["value"].to_list().count(9) == 5
    assert table.filter(table["addr"] == "b")["value"].to_list() == [5]


def test_the_catalogue_lists_gauges_rates_and_means_but_no_counters(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(RUNNING, (0, 1)),
            *scrape(RUNNING, (0, 1), addr="http://b:1"),
            *scrape(REQUESTS, (0, 1)),
            *scrape(TTFT_SUM, (0, 1)),
            *scrape("sglang_e2e_request_latency_seconds_sum", (0, 1)),
            *scrape("sglang_e2e_request_latency_seconds_count", (0, 1)),
            *scrape("custom_gauge", (0, 1), addr="http://c:1"),
        ],
    )
    assert run.table("engine_metrics").rows() == [
        ("custom_gauge", "gauge", 1),
        ("sglang_e2e_latency_mean_s", "mean", 1),
        (RUNNING, "gauge", 2),
        ("sglang_requests_per_s", "rate", 1),
    ]
    assert run.table("engine_series", metric="nope").height == 0


def test_a_v1_file_counts_beside_partitions(tmp_path):
    old = {"ts": T - 1, "addr": "a", "metric": RUNNING, "labels": {}, "value": 9.0}
    run = open_telemetry(tmp_path, engine_series=scrape(RUNNING, (0, 1), addr="a"))
    (tmp_path / "dashboard" / "engine_series.jsonl").write_text(json.dumps(old) + "\n")
    run = open_telemetry(tmp_path)
    assert [row[3:] for row in values(run, RUNNING)] == [(-1, 9), (0, 1)]
    assert [row[3:] for row in values(run, RUNNING, t0=T - 5, t1=T - 0.5)] == [(-1, 9)]
