from __future__ import annotations

import logging
import math
import threading

import pytest

from miles_report.runtime.clock import ManualClock, SystemClock
from miles_report.runtime.periodic import Periodic, next_due
from miles_report.runtime.throttle import Throttle


def fail():
    raise OSError("disk full")


def test_run_once_ticks_on_the_calling_thread():
    ticks = []
    periodic = Periodic(
        lambda: ticks.append(threading.current_thread()), every_s=1.0, clock=ManualClock(), name="t"
    )
    periodic.run_once()
    assert ticks == [threading.current_thread()]
    assert not periodic.is_running


def test_what_a_tick_raises_is_counted_and_logged(caplog):
    periodic = Periodic(fail, every_s=1.0, clock=ManualClock(), name="flush")
    with caplog.at_level(logging.WARNING):
        periodic.run_once()
        periodic.run_once()
    assert periodic.n_failed == 2
    assert [record.message for record in caplog.records] == ["periodic.tick_failed"] * 2
    assert caplog.records[0].periodic == "flush"
    assert "disk full" in caplog.text


def test_warnings_about_failing_ticks_can_be_throttled(caplog):
    clock = ManualClock()
    periodic = Periodic(
        fail, every_s=1.0, clock=clock, name="flush", throttle=Throttle(every_s=60.0, clock=clock)
    )
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            periodic.run_once()
        clock.advance(60.0)
        periodic.run_once()
    assert [record.held_back for record in caplog.records] == [0, 2]
    assert periodic.n_failed == 4


@pytest.mark.parametrize(
    ("now", "due"),
    [(100.0, 110.0), (104.0, 110.0), (109.9, 110.0), (110.0, 120.0), (147.0, 150.0), (99.0, 110.0)],
)
def test_missed_moments_are_skipped(now, due):
    assert next_due(100.0, 10.0, now) == due


@pytest.mark.parametrize("every_s", [0.0, -1.0, math.inf, math.nan])
def test_a_period_must_be_a_time(every_s):
    with pytest.raises(ValueError, match="every_s"):
        Periodic(fail, every_s=every_s, clock=ManualClock(), name="t")


def test_a_real_thread_ticks_and_stops():
    ticked = threading.Event()
    periodic = Periodic(ticked.set, every_s=0.001, clock=SystemClock(), name="smoke")
    periodic.start()
    assert ticked.wait(10.0)
    assert periodic.is_running
    assert periodic.stop(10.0)
    assert not periodic.is_running
    assert periodic.stop(0.0)


def test_stopping_wakes_a_long_wait_and_a_tick_that_hangs_is_told():
    entered, leave = threading.Event(), threading.Event()

    def hang():
        entered.set()
        leave.wait(10.0)

    periodic = Periodic(hang, every_s=3600.0, clock=SystemClock(), name="hang")
    periodic.start()
    assert entered.wait(10.0)
    assert not periodic.stop(0.0)
    leave.set()
    assert periodic.stop(10.0)


def test_it_starts_once_and_may_stop_before_it_starts():
    periodic = Periodic(lambda: None, every_s=3600.0, clock=SystemClock(), name="once")
    assert periodic.stop(0.0)
    periodic.start()
    with pytest.raises(RuntimeError, match="once was started before"):
        periodic.start()
    assert periodic.stop(10.0)


def test_a_tick_may_stop_its_own_thread():
    results = []
    done = threading.Event()

    def tick():
        results.append(periodic.stop(10.0))
        done.set()

    periodic = Periodic(tick, every_s=0.001, clock=SystemClock(), name="self")
    periodic.start()
    assert done.wait(10.0)
    assert periodic.stop(10.0)
    assert results == [True]
