from __future__ import annotations

import time

import pytest

from miles_report.runtime.clock import ManualClock, SystemClock


def test_the_system_clock_reads_both_clocks():
    clock = SystemClock()
    before = time.time()
    assert before <= clock.wall() <= time.time()
    assert clock.monotonic() <= clock.monotonic()


def test_a_manual_clock_moves_only_when_told():
    clock = ManualClock(wall=100.0, monotonic=5.0)
    clock.advance(2.5)
    assert (clock.wall(), clock.monotonic()) == (102.5, 7.5)
    clock.set_wall(50.0)
    assert (clock.wall(), clock.monotonic()) == (50.0, 7.5)


def test_a_manual_clock_does_not_go_back():
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock().advance(-1.0)
