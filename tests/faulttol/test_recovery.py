from __future__ import annotations

from types import SimpleNamespace

import pytest
from builders.fake_engines import HANGS

import faulttol
from faulttol import RestartBudget, SlotState
from faulttol.ports import PortsExhaustedError
from miles_report.errors import UsageError
from miles_report.runtime.clock import SystemClock


def kill(group, *ranks):
    for rank in ranks:
        group.release(group.slot(rank).engine)


def calls(part):
    return [name for name, _ in part.calls]


def test_slots_are_stopped_starting_alive(make_group, make_server, backend):
    group = make_group(n_engines=1)
    assert group.slot(0).state is SlotState.STOPPED
    slot = group.occupy(0)
    assert slot.state is SlotState.STARTING
    assert group.occupy(0) is None
    assert group.settle(slot.engine, addr="http://a", node="n")
    assert group.slot(0).state is SlotState.ALIVE
    kill(group, 0)
    assert group.slot(0).state is SlotState.STOPPED
    assert not group.settle(slot.engine, addr="http://a", node="n")
    assert group.release(slot.engine) is None


def test_what_was_meant_for_one_engine_is_never_done_to_its_successor(
    make_group, make_server, backend
):
    group = make_group(n_engines=1)
    server = make_server(group)
    server.start_engines()
    old = group.slot(0).engine
    kill(group, 0)
    server.recover()
    group.release(old)
    assert group.shut_down(old) == []
    assert group.ask(old, "health_generate") is None
    assert group.slot(0).state is SlotState.ALIVE
    assert not backend.of(0).is_killed


def test_ports_are_never_handed_out_twice(make_group, make_server, backend):
    group, other = make_group(), make_group("h", first_rank=3, n_engines=2)
    server = make_server(group, other)
    server.start_engines()
    kill(group, 0, 2)
    server.recover()
    ports = []
    for part in backend.parts:
        given = dict(part.calls)["init"]
        assert given["host"] == "n0"
        assert given["dist_init_addr"] == f"n0:{given['port'] + 2}"
        ports += [given["port"], given["nccl_port"], given["port"] + 2]
    assert len(ports) == len(set(ports)) == 7 * 3


def test_ports_end_and_must_not_go_back():
    ports = faulttol.Ports(65530)
    assert ports.take("n", 3, lambda start, n: start + 1) == (65531, 65532, 65533)
    with pytest.raises(ValueError, match="below"):
        ports.take("n", 1, lambda start, n: 65531)
    with pytest.raises(PortsExhaustedError):
        ports.take("n", 3, lambda start, n: start)
    assert ports.take("other", 1, lambda start, n: start) == (65530,)


def test_new_engines_release_memory_and_resume_weights_where_the_group_offloads(
    make_group, make_server, backend
):
    group, plain = make_group(offloads=True), make_group("plain", first_rank=3)
    server = make_server(group, plain)
    server.start_engines()
    assert "release_memory_occupation" not in calls(backend.of(0))
    kill(group, 1)
    kill(plain, 4)
    server.recover()
    assert calls(backend.of(1))[-2:] == ["release_memory_occupation", "resume_memory_occupation"]
    assert backend.of(1).calls[-1][1] == {"tags": ["weights"]}
    assert calls(backend.of(4))[-1] == "init"
    assert "release_memory_occupation" not in calls(backend.of(0))


def test_start_up_overlaps_over_groups(make_group, make_server, backend):
    server = make_server(make_group(), make_group("h", first_rank=3))
    server.start_engines()
    order = [entry[0] for entry in backend.log]
    assert order == ["create"] * 6 + ["node_address"] * 6 + ["find_ports"] * 6 + ["init"] * 6


def test_with_nothing_dead_nothing_changes(make_group, make_server, backend, log, sink):
    server = make_server(make_group())
    fleet = faulttol.RolloutFleet([server])
    server.start_engines()
    assert fleet.updatable_engines().has_new_engines
    before = list(backend.log)
    assert fleet.recover_updatable_engines().has_new_engines
    fleet.engines_are_connected()
    assert not fleet.recover_updatable_engines().has_new_engines
    assert backend.log == before
    log.flush()
    assert "recovery_started" not in sink.events()


def test_a_recovery_gives_all_engines_back_and_says_there_are_new_ones(
    make_group, make_server, backend, log, sink
):
    group = make_group()
    server = make_server(group)
    fleet = faulttol.RolloutFleet([server])
    server.start_engines()
    fleet.engines_are_connected()
    kill(group, 1)
    assert fleet.updatable_engines() == faulttol.UpdatableEngines(
        (backend.of(0), backend.of(2)), has_new_engines=False
    )
    assert fleet.recover_updatable_engines() == faulttol.UpdatableEngines(
        tuple(backend.of(rank) for rank in range(3)), has_new_engines=True
    )
    log.flush()
    assert sink.events() == ["recovery_started", "engine_recovered"]


def test_two_updatable_servers_are_an_error(make_group, make_server):
    fleet = faulttol.RolloutFleet(
        [make_server(make_group("a")), make_server(make_group("b"), name="critic")]
    )
    with pytest.raises(UsageError, match="actor, critic"):
        fleet.recover_updatable_engines()


def test_a_server_without_updates_is_left_alone(make_group, make_server, backend):
    group = make_group()
    server = make_server(group, is_updatable=False)
    fleet = faulttol.RolloutFleet([server])
    server.start_engines()
    kill(group, 0)
    assert fleet.recover_updatable_engines() == faulttol.UpdatableEngines((), has_new_engines=False)
    assert group.slot(0).state is SlotState.STOPPED


@pytest.mark.parametrize("answer", [RuntimeError("no GPU"), HANGS])
def test_an_engine_that_does_not_start_leaves_its_slot_empty_and_the_others_go_on(
    make_group, make_server, backend, log, sink, answer
):
    group = make_group()
    server = make_server(group, start_timeout_s=0.2)
    server.start_engines()
    kill(group, 0, 1)
    create = backend.create

    def ill(**place):
        part = create(**place)
        if place["engine_rank"] == 0:
            part.answers["init"] = answer
        return part

    backend.create = ill
    server._clock = SystemClock()
    started = server.recover()
    assert [rank for _, rank, _ in started.failed] == [0]
    assert group.slot(0).state is SlotState.STOPPED
    assert group.slot(1).state is SlotState.ALIVE
    assert backend.of(0).is_killed
    backend.create = create
    assert [engine.rank for _, engine in server.recover().engines] == [0]
    log.flush()
    assert sink.events().count("recovery_failed") == 1


def test_a_first_start_that_fails_is_an_error(make_group, make_server, backend):
    backend.answers["init"] = RuntimeError("no GPU")
    with pytest.raises(faulttol.EngineStartError, match="no GPU"):
        make_server(make_group()).start_engines()


def test_a_backend_that_cannot_create_leaves_nothing_behind(make_group, make_server, backend):
    group = make_group(n_engines=1, nodes_per_engine=2)
    create = backend.create

    def half(**place):
        if place["node_rank"] == 1:
            raise RuntimeError("no node")
        return create(**place)

    backend.create = half
    with pytest.raises(faulttol.EngineStartError, match="no node"):
        make_server(group).start_engines()
    assert [part.is_killed for part in backend.parts] == [True]
    assert group.slot(0).state is SlotState.STOPPED


def test_the_budget_of_restarts_and_its_backoff(make_group, make_server, clock, log, sink):
    group = make_group(n_engines=1, budget=RestartBudget(most=2, backoff_s=60.0))
    server = make_server(group)
    server.start_engines()

    def is_back():
        kill(group, 0)
        return bool(server.recover().engines)

    assert is_back()
    clock.advance(59.0)
    assert not is_back()
    clock.advance(1.0)
    assert is_back()
    clock.advance(1e6)
    assert not is_back()
    assert not is_back()
    log.flush()
    assert sink.events().count("restart_budget_exhausted") == 1


def test_backoff_doubles():
    budget = RestartBudget(backoff_s=10.0)
    assert budget.verdict((0.0, 10.0, 30.0), 69.9) == "too_early"
    assert budget.verdict((0.0, 10.0, 30.0), 70.0) == "allowed"


def test_the_wiring_of_offload_onload_generate_and_dispose(make_group, make_server, backend):
    group = make_group()
    fleet = faulttol.RolloutFleet([make_server(group)], rule=faulttol.Rule(interval_s=1e18))
    (monitor,) = fleet.monitors

    def is_on(call):
        call()
        return monitor.is_checking_enabled()

    assert not is_on(fleet.start)
    assert is_on(fleet.before_generate)
    assert not is_on(fleet.before_offload)
    assert is_on(fleet.after_onload)
    assert not is_on(fleet.recover_updatable_engines)
    assert is_on(fleet.before_eval)
    assert not is_on(fleet.dispose)
    assert all(part.is_killed for part in backend.parts)
    assert "shutdown" in calls(backend.of(0))


def test_groups_need_different_names(make_group, make_server):
    with pytest.raises(UsageError, match="different names"):
        faulttol.RolloutFleet([make_server(make_group()), make_server(make_group(), name="b")])


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("has_new", [True, False])
def test_what_a_training_rank_does_before_an_update(is_on, rank, has_new):
    done = []
    connected_anew = faulttol.before_weight_update(
        SimpleNamespace(use_fault_tolerance=is_on),
        rank,
        lambda: done.append("recover"),
        lambda: faulttol.UpdatableEngines(("e",), has_new_engines=has_new),
        done.append,
        lambda: done.append("connected"),
        lambda: done.append("barrier"),
    )
    assert connected_anew == has_new
    assert done == [
        *["recover"] * (is_on and rank == 0),
        "barrier",
        *[("e",)] * has_new,
        "barrier",
        *["connected"] * (has_new and rank == 0),
    ]
