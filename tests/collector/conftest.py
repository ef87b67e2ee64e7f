"""Collectors on a clock that stands still, and the promise that no thread outlives a test."""

from __future__ import annotations

import threading
import time

import pytest
from builders.streams import T

from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from miles_report.runtime.clock import ManualClock

ENDS_WITHIN_S = 10.0


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    ours = [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and thread.name.startswith(("collector", "dashboard", "engine", "scrape", "gpus"))
    ]
    deadline = time.monotonic() + ENDS_WITHIN_S
    for thread in ours:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not [thread.name for thread in ours if thread.is_alive()]


@pytest.fixture
def clock():
    return ManualClock(wall=T)


@pytest.fixture
def make(tmp_path, clock):
    """A collector that is not started: `flush` is called by the test, and no thread runs."""

    def made(**settings):
        config = CollectorConfig(tmp_path, **({"start_ts": T} | settings))
        return DashboardCollector(config, clock=clock)

    return made
