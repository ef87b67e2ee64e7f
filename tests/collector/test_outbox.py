from __future__ import annotations

import threading

import pytest
from builders.streams import T
from builders.targets import Target

from collector.outbox import Outbox, Queue
from collector.phases import PhaseSink, PhaseTimer
from collector.session import Dashboard
from collector.topology import EnginePart
from miles_report.runtime.clock import ManualClock
from miles_report.schema.streams import DataBufferRecord

# the outbox


def test_beyond_its_bound_a_queue_drops_the_oldest_and_counts():
    queue = Queue(3)
    for n in range(5):
        queue.put(n)
    assert queue.take_loss() == 2
    assert queue.take(2) == [2, 3]
    queue.put(5)
    queue.put(6)
    queue.put_back([2, 3])
    assert queue.take_loss() == 2
    assert queue.take(9) == [4, 5, 6]
    assert queue.take_loss() == 0


def test_no_count_is_lost_between_threads():
    queue = Queue(50)
    n_each, n_threads = 5000, 4
    threads = [
        threading.Thread(target=lambda: [queue.put(n) for n in range(n_each)])
        for _ in range(n_threads)
    ]
    for thread in threads:
        thread.start()
    n_taken, n_lost = 0, 0
    while any(thread.is_alive() for thread in threads):
        n_taken += len(queue.take(10))
        n_lost += queue.take_loss()
    n_taken += len(queue.take(100))
    n_lost += queue.take_loss()
    assert n_taken + n_lost == n_each * n_threads


def test_what_is_refused_is_offered_again_in_order():
    answers = iter([None, False, None])
    target = Target(lambda _: next(answers))
    outbox = Outbox(target, ManualClock(), most=20_000)
    for n in range(12_000):
        outbox.put("data_buffer", DataBufferRecord(T, n))
    outbox.drain()
    assert outbox.n_waiting == 7000
    target.answer = None
    outbox.drain()
    assert [one.length for one in target.records("push_data_buffer")] == list(range(12_000))


def test_losses_are_told_to_the_collector_once_it_takes_records():
    target = Target(answer=False)
    outbox = Outbox(target, ManualClock(wall=T), origin="n", most=10)
    for n in range(25):
        outbox.put("phases", n)
    outbox.drain()
    outbox.drain()
    assert target.calls == []
    target.answer = None
    outbox.drain()
    outbox.drain()
    assert target.records("push_phases") == list(range(15, 25))
    (event,) = target.records("push_health")
    assert (event.event, event.node) == ("records_dropped", "n")
    assert event.detail == "phases: 15 records were lost: the collector did not take them in time"


def test_a_target_that_raises_costs_its_batch_and_one_warning(caplog):
    def fails(method):
        raise RuntimeError(method)

    outbox = Outbox(Target(fails), ManualClock())
    for _ in range(3):
        outbox.put("phases", 1)
        outbox.drain()
    assert outbox.n_waiting == 0
    assert caplog.text.count("outbox.send_failed") == 1


def test_a_target_that_hangs_does_not_hold_the_producer():
    entered, leave = threading.Event(), threading.Event()

    def hangs(_):
        entered.set()
        leave.wait(10)

    outbox = Outbox(Target(hangs), ManualClock(), every_s=0.01)
    outbox.put("phases", 0)
    outbox.start()
    assert entered.wait(5)
    for n in range(1000):
        outbox.put("phases", n)
    assert not outbox.stop(0.05)
    leave.set()
    assert outbox.stop(5)


# a process's dashboard


@pytest.fixture
def dashboard():
    target = Target()
    board = Dashboard(target, node="n", gpus=(2,), clock=ManualClock(wall=T))
    yield board, target
    board.finish()


def test_engines_and_router_are_sent_on_change_only(dashboard):
    board, target = dashboard
    parts = [EnginePart(0, "n", (0,), "http://n:1")]
    for _ in range(3):
        board.engines(parts)
        board.router("http://r:1")
        board._outbox.drain()
    board.engines([])
    board.finish()
    assert [(name, len(value)) for name, value in target.calls if name == "update_topology"] == [
        ("update_topology", 1),
        ("update_topology", 0),
    ]
    assert [value for name, value in target.calls if name == "set_router"] == ["http://r:1"]


def test_a_timer_is_attached_once_and_taken_off_at_the_end(dashboard):
    board, target = dashboard
    timer = PhaseTimer(ManualClock(wall=T))
    board.attach(timer)
    board.attach(timer)
    with timer.phase("train"):
        pass
    board.finish()
    assert timer.event_sinks == []
    assert [(one.rank, one.gpus) for one in target.records("push_phases")] == [(-1, (2,))] * 2


def test_the_rollout_manager_has_no_gpus_and_no_rank(dashboard):
    board, target = dashboard
    board.phase_sink(role="rollout_manager")("rollout", T, T + 1)
    board.data_buffer(5)
    board.data_buffer(None)
    board.log({"a": 1.0, "b": None})
    board.finish()
    (phase,) = target.records("push_phases")
    assert (phase.gpus, phase.rank) == ((), -1)
    assert target.records("push_data_buffer") == [DataBufferRecord(T, 5)]
    assert [dict(one.metrics) for one in target.records("push_metrics")] == [{"a": 1.0}]


def test_an_idle_process_still_hands_over():
    """Nothing else happens after the last hook, and yet the record arrives."""
    arrived = threading.Event()
    target = Target(lambda _: arrived.set())
    outbox = Outbox(target, ManualClock(), every_s=0.01)
    outbox.start()
    PhaseSink(outbox.queue("phases"), node="n").begin("train", T)
    assert arrived.wait(5)
    outbox.stop(5)
