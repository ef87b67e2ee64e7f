"""Groups of engines on a fake backend with a clock that moves when somebody waits; no thread outlives a test."""

from __future__ import annotations

import threading
import time

import pytest
from builders.fake_engines import FakeBackend, Sink

import faulttol
from miles_report.runtime.clock import ManualClock, SystemClock

ENDS_WITHIN_S = 10.0


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    ours = [
        one
        for one in threading.enumerate()
        if one not in before and one.name.startswith("faulttol")
    ]
    deadline = time.monotonic() + ENDS_WITHIN_S
    for one in ours:
        one.join(max(0.0, deadline - time.monotonic()))
    assert not [one.name for one in ours if one.is_alive()]


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def log(sink):
    log = faulttol.HealthLog(sink, clock=SystemClock())
    yield log
    log.close()


@pytest.fixture
def clock():
    return ManualClock(wall=1000.0)


@pytest.fixture
def backend():
    return FakeBackend()


@pytest.fixture
def wait(clock):
    """Waiting is moving the clock; a wait that has no end is none."""

    def waited(bell, seconds):
        if not bell.is_set() and seconds is not None:
            clock.advance(seconds)

    return waited


@pytest.fixture
def make_group(backend, log, clock):
    ports = faulttol.Ports(20000)

    def made(name="g", **settings):
        defaults = {"n_engines": 3, "ports": ports, "log": log, "clock": clock}
        return faulttol.EngineGroup(name, backend, **(defaults | settings))

    return made


@pytest.fixture
def make_server(clock):
    def made(*groups, name="actor", **settings):
        return faulttol.RolloutServer(name, groups, **({"clock": clock} | settings))

    return made
