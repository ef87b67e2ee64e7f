"""The Faults page: its numbers, its words, and what it says without events."""

from __future__ import annotations

import polars as pl
from builders.run_tables import run_tables

from miles_report.pages.faults import faults_page
from miles_report.site.html import render_body
from miles_report.tables.frames import empty_table
from miles_report.tables.incidents import incidents_table

HOSTILE = "</script><img src=x onerror=alert(1)>"
ENGINE = {"group": "main", "engine_rank": 3, "addr": "10.2.0.6:30001", "node": "10.2.0.6"}
EVENTS = [
    {"ts": 1000.0, "event": "monitor_started", "group": "main"},
    {"ts": 1100.0, "event": "check_failed", "latency_s": 30.0, "detail": HOSTILE, **ENGINE},
    {"ts": 1101.0, "event": "engine_killed", **ENGINE},
    {"ts": 1160.0, "event": "recovery_started", **ENGINE},
    {"ts": 1341.0, "event": "engine_recovered", **ENGINE},
    {"ts": 1400.0, "event": "mass_failure_held", "group": "main", "detail": "5 of 8"},
    {"ts": 1500.0, "event": "p2p_transfer_failed", "detail": "to engine 3"},
]


def page_of(events, rates=None):
    steps = [{"step": 7, "t0": 1050.0, "t1": 1200.0}]
    tables = run_tables(run={"t0": 1000.0, "t1": 2000.0}, health=events, step_times=steps)
    tables["incidents"] = incidents_table(tables["health"])
    return faults_page(tables | {"topology": empty_table("topology")}, rates)


def test_an_incident_is_told_with_its_times():
    page = page_of(EVENTS)
    (one,) = page.values["incidents"]
    assert (one.number, one.engine, one.at) == (1, "engine 3 10.2.0.6:30001", "+0:01:10")
    assert (one.found, one.back) == ("31\u202fs", "4\u202fm\u202f00\u202fs")
    assert one.href == "compute.html?t=10,401#lanes"
    assert (one.step, one.found_width, one.back_width) == (
        "7",
        11.44,
        88.56,
    )  # 31 s and 240 s of 271 s
    (share,) = page.values["shares"]
    assert (share.name, share.kills, share.lost, share.available) == ("main engine 3", "1", "4\u202fm\u202f00\u202fs", "76.0\u202f%")  # fmt: skip
    numbers = {stat.label: stat.value for stat in page.values["numbers"]}
    assert numbers["Engines killed"] == "1"
    assert numbers["Found in"] == "31\u202fs"
    assert numbers["Availability"] == "76.0\u202f%"  # dead 59 s and starting 181 s of 1,000 s
    assert page.subtitle == "1 incident in 7 health events"


def test_what_was_held_and_what_transfers_failed():
    page = page_of(EVENTS)
    assert [event.detail for event in page.values["held"]["rows"]] == ["5 of 8"]
    assert [event.event for event in page.values["transfers"]["rows"]] == ["p2p_transfer_failed"]
    assert page.values["events"]["rows"][0].event == "p2p_transfer_failed"  # newest first


def test_every_engine_has_its_states():
    page = page_of(EVENTS)
    svg = page.values["picture"].svg
    assert page.values["picture"].alt == "States of 1 engine over +0:16:40"
    for token in ("--h-alive", "--h-dead", "--h-starting", "--h-suspected"):
        assert token in svg


def test_text_of_the_stream_stays_text():
    body = render_body(page_of(EVENTS))
    assert "<img" not in body
    assert "&lt;img" in body


def test_without_a_monitor_the_page_says_so():
    page = page_of([{"ts": 1.0, "event": "collector_started"}])
    body = render_body(page)
    assert "No engine was watched" in body
    assert page.figures == ()


def test_a_monitor_without_events_of_engines_is_one():
    held = {"ts": 1400.0, "event": "mass_failure_held", "group": "main", "detail": "5 of 8"}
    body = render_body(page_of([EVENTS[0], held]))
    assert "No engine was watched" not in body
    assert "No engine was killed." in body
    assert "5 of 8" in body


def test_ten_thousand_events_make_a_page_that_can_be_read():
    many = [{"ts": 1000.0 + i / 100, "event": "p2p_transfer_failed"} for i in range(10_000)]
    kills = [
        {"ts": 1000.0 + i, "event": event, "engine_rank": 0}
        for i, event in enumerate(["engine_killed", "engine_recovered"] * 400)
    ]
    page = page_of(many + kills)
    body = render_body(page)
    assert len(body) < 300_000
    assert "the newest 40 of 10\u202f000" in body
    assert "the newest 200 of 400" in body
    assert page.values["incidents"][-1].number == 400


def test_what_an_incident_cost_is_drawn():
    rates = pl.DataFrame(
        [{"ts": 900.0 + 5 * i, "addr": "a", "value": 100.0 if i < 34 else 75.0} for i in range(120)]
    )
    (cost,) = page_of(EVENTS, rates).values["costs"]
    assert (cost.label, cost.change) == ("Incident 1, rate", "\u221225.0\u202f%")
    assert cost.below == "100 → 75 tokens/s"
    assert "What it cost" in render_body(page_of(EVENTS, rates))
    assert page_of(EVENTS).values["costs"] == []
