from __future__ import annotations

import threading
import time

import pytest
from builders.fake_engines import HANGS

from faulttol import RolloutHealthMonitor, Rule, SlotState
from faulttol.state import Start
from miles_report.runtime.clock import SystemClock

RULE = Rule(interval_s=10.0, timeout_s=3.0, shutdown_timeout_s=4.0)


def states(group):
    return [slot.state for slot in group.slots()]


@pytest.fixture
def watch(make_group, make_server, clock, wait):
    """A monitor without its thread, resumed: `turn` is called by the test."""

    def made(rule=RULE, **settings):
        group = make_group(**settings)
        make_server(group).start_engines()
        monitor = RolloutHealthMonitor(group, rule, clock=clock, wait=wait)
        monitor._advance(Start())
        monitor.resume()
        return group, monitor

    return made


def test_without_engines_it_does_not_start(make_group):
    monitor = RolloutHealthMonitor(make_group(n_engines=0))
    assert monitor.start() is False
    assert monitor.stop()


def test_it_starts_once_and_paused(make_group):
    monitor = RolloutHealthMonitor(make_group())
    assert monitor.start() is True
    assert monitor.start() is False
    assert not monitor.is_checking_enabled()
    monitor.resume()
    assert monitor.is_checking_enabled()
    monitor.pause()
    assert not monitor.is_checking_enabled()
    assert monitor.stop()
    monitor.resume()
    assert not monitor.is_checking_enabled()


def test_an_ill_engine_is_shut_down_killed_and_its_slot_emptied(watch, backend, log, sink):
    group, monitor = watch()
    backend.of(1).answers["health_generate"] = OSError("503")
    monitor.turn()
    assert states(group) == [SlotState.ALIVE, SlotState.STOPPED, SlotState.ALIVE]
    assert backend.log[-2:] == [("shutdown", 1, 0), ("kill", 1, 0)]
    assert backend.of(0).calls[-1] == ("health_generate", {"timeout": 3.0})
    monitor.turn()
    monitor.turn()
    assert [entry for entry in backend.log if entry[0] == "kill"] == [("kill", 1, 0)]
    log.flush()
    failed = [one for one in sink.records if one.event in ("check_failed", "engine_killed")]
    assert [(one.event, one.engine_rank, one.addr, one.detail) for one in failed] == [
        ("check_failed", 1, "http://n0:20003", "OSError: 503"),
        ("engine_killed", 1, "http://n0:20003", "OSError: 503"),
    ]


def test_all_nodes_of_an_engine_die_together(watch, backend):
    _, monitor = watch(nodes_per_engine=2)
    backend.of(2).answers["health_generate"] = OSError("gone")
    monitor.turn()
    assert [(p.engine_rank, p.node_rank) for p in backend.parts if p.is_killed] == [(2, 0), (2, 1)]
    asked = [p for p in backend.parts if any(name == "health_generate" for name, _ in p.calls)]
    assert all(part.node_rank == 0 for part in asked)


def test_hung_engines_cost_one_timeout_and_one_bounded_shutdown(watch, backend, clock):
    group, monitor = watch(n_engines=64)
    for rank in range(0, 64, 2):
        backend.of(rank).answers |= {"health_generate": HANGS, "shutdown": HANGS}
    began = clock.monotonic()
    monitor.turn()
    assert clock.monotonic() - began == pytest.approx(3.0 + 4.0)
    assert len(group.alive()) == 32


def test_a_kill_that_fails_is_told_and_the_slot_is_empty(watch, backend, log, sink):
    group, monitor = watch()
    backend.of(0).answers |= {"health_generate": OSError("x"), "kill": RuntimeError("no")}
    monitor.turn()
    assert states(group)[0] is SlotState.STOPPED
    log.flush()
    assert "kill_failed" in sink.events()
    assert "engine_killed" not in sink.events()


def test_a_mass_failure_is_held(watch, backend, log, sink):
    group, monitor = watch(Rule(interval_s=10.0, mass_failure_frac=0.5))
    for rank in (0, 1):
        backend.of(rank).answers["health_generate"] = OSError("switch")
    monitor.turn()
    assert len(group.alive()) == 3
    log.flush()
    assert sink.events().count("mass_failure_held") == 1


def real(group, rule):
    monitor = RolloutHealthMonitor(group, rule, clock=SystemClock())
    assert monitor.start()
    return monitor


@pytest.mark.parametrize("how", ["pause", "stop"])
@pytest.mark.parametrize("during", ["first_wait", "check", "rest", "shutdown"])
def test_every_wait_ends_at_once(make_group, make_server, backend, how, during):
    group = make_group()
    make_server(group).start_engines()
    day = 86400.0
    first_wait_s = day if during == "first_wait" else 0.0
    monitor = real(group, Rule(1e18, day, first_wait_s, shutdown_timeout_s=day))
    is_waiting = threading.Event()
    call = backend.call

    def told(handle, method, **arguments):
        future = call(handle, method, **arguments)
        if method == {"check": "health_generate", "shutdown": "shutdown"}.get(during):
            is_waiting.set()
        return future

    backend.call = told
    if during == "check":
        backend.of(0).answers["health_generate"] = HANGS
    if during == "shutdown":
        backend.of(0).answers |= {"health_generate": OSError("ill"), "shutdown": HANGS}
    monitor.resume()
    if during in ("check", "shutdown"):
        assert is_waiting.wait(5)
    began = time.monotonic()
    if how == "pause":
        monitor.pause()
    assert monitor.stop()
    assert time.monotonic() - began < 2.0
    killed = [part.engine_rank for part in backend.parts if part.is_killed]
    assert killed == ([0] if during == "shutdown" else [])


def test_a_monitor_whose_group_fails_goes_on(make_group, make_server, backend):
    group = make_group()
    make_server(group).start_engines()
    monitor = real(group, Rule(interval_s=0.01))
    n_failures, is_asked = [0], threading.Event()
    ask = group.ask

    def fails_twice(engine, method, **arguments):
        n_failures[0] += 1
        if n_failures[0] <= 1:
            raise RuntimeError("a defect")
        is_asked.set()
        return ask(engine, method, **arguments)

    group.ask = fails_twice
    monitor.resume()
    is_going_on = is_asked.wait(5)
    assert monitor.stop()
    assert is_going_on
    assert len(group.alive()) == 3
