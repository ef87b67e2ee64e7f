from __future__ import annotations

import logging

from miles_report.runtime.clock import ManualClock
from miles_report.runtime.throttle import Throttle, ThrottledWarnings


def test_one_event_a_period_passes_and_tells_how_many_did_not():
    clock = ManualClock()
    throttle = Throttle(every_s=10.0, clock=clock)
    assert throttle.allow() == 0
    assert throttle.allow() is None
    clock.advance(9.9)
    assert throttle.allow() is None
    clock.advance(0.1)
    assert throttle.allow() == 2
    clock.advance(10.0)
    assert throttle.allow() == 0


def test_a_jump_of_the_wall_clock_changes_nothing():
    clock = ManualClock(wall=1000.0)
    throttle = Throttle(every_s=10.0, clock=clock)
    assert throttle.allow() == 0
    clock.set_wall(0.0)
    assert throttle.allow() is None


def test_warnings_are_throttled_by_name(caplog):
    clock = ManualClock()
    warnings = ThrottledWarnings(logging.getLogger("t"), every_s=60.0, clock=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            warnings.warn("collector.flush_failed", path="a")
        warnings.warn("collector.scrape_failed", addr="b")
        clock.advance(60.0)
        warnings.warn("collector.flush_failed", path="c")
    assert [(r.message, r.held_back) for r in caplog.records] == [
        ("collector.flush_failed", 0),
        ("collector.scrape_failed", 0),
        ("collector.flush_failed", 2),
    ]
    assert caplog.records[2].path == "c"
