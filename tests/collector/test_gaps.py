"""From a router that misbehaves to the sentence in the report: real HTTP, a real collector, the product's reader."""

from __future__ import annotations

import pytest
from builders.engines import engine, hangs, raw_server, says, wait_until

import miles_report
from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from collector.topology import EnginePart, merge_parts

HTML = b"<html>welcome</html>"
HALF = b"sglang_num_running_reqs 5\nsglang_token_us"


@pytest.fixture
def started(tmp_path):
    made = []

    def start(**settings):
        config = CollectorConfig(
            tmp_path, start_ts=1.0, flush_interval_s=60.0, scrape_interval_s=0.05, **settings
        )
        made.append(DashboardCollector(config))
        made[-1].start()
        return made[-1]

    yield start
    for collector in made:
        assert collector.shutdown()


@pytest.fixture
def short_timeout(monkeypatch):
    monkeypatch.setattr("collector.scrape.scraper.TIMEOUT_S", 0.3)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says(404, b"no"), "the router answers 404"),
        (says(200, HTML), "the router answers without engine metrics"),
        (says(200, HALF), "the router sent metrics that break off in the middle of a line"),
        (says(200, HALF, "Content-Length: 900"), "the router sent only a part of its answer"),
        (hangs, "the router did not answer within 0.3 s"),
    ],
)
@pytest.mark.usefixtures("short_timeout")
def test_the_report_says_why_engine_series_are_missing(started, tmp_path, caplog, answer, reason):
    with raw_server(answer) as address:
        collector = started(scrape_mode="router", router=address)
        wait_until(lambda: collector.ping().n_waiting, "the first gap")
        collector.shutdown()
    run = miles_report.open_run(tmp_path)
    (notice,) = (
        one for one in run.table("notices").to_dicts() if one["code"] == "no-engine-answer"
    )
    assert f"{address} was asked for metrics and {reason}" in notice["message"]
    assert run.table("run")["has_engine_series"].to_list() == [False]
    assert caplog.text.count("scraper.gap") == 1


def test_in_auto_mode_the_same_router_costs_nothing_but_a_warning(started, tmp_path, caplog):
    with engine("plain") as addr, raw_server(says(404, b"no")) as address:
        collector = started(router=address)
        collector.update_topology(merge_parts([EnginePart(0, "n", (0,), addr)]))
        wait_until(lambda: collector.ping().n_waiting > 10, "engine samples")
        collector.shutdown()
    run = miles_report.open_run(tmp_path)
    assert run.table("run")["has_engine_series"].to_list() == [True]
    assert caplog.text.count("scraper.router_given_up") <= 1
