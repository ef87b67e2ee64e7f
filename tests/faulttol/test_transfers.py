from __future__ import annotations

import threading
import time

import pytest

from faulttol import TransferPool, WeightUpdater, in_thread


@pytest.fixture
def hang():
    """A transfer that hangs until the test is over."""
    is_over = threading.Event()
    yield is_over.wait
    is_over.set()


def test_eight_transfers_of_which_three_hang_are_over_by_the_deadline(hang, log, sink, caplog):
    begun = []

    def send(engine, weights):
        begun.append(engine)
        return in_thread(hang if engine in (1, 4, 6) else lambda: None)

    updater = WeightUpdater(TransferPool(timeout_s=0.5, log=log), send)
    updater.connect(range(8))
    began = time.monotonic()
    report = updater.update("w")
    assert 0.5 <= time.monotonic() - began < 1.0
    assert report.done == tuple(f"engine {n}" for n in (0, 2, 3, 5, 7))
    assert list(report.failed) == ["engine 1", "engine 4", "engine 6"]
    lines = [record.message for record in caplog.records]
    assert lines == [
        f"[P2P] Transfer future failed: engine {n}: no answer within 0.5 s" for n in (1, 4, 6)
    ]
    assert begun == list(range(8))
    assert not report.fell_back
    log.flush()
    assert sink.events() == ["p2p_transfer_failed"] * 3


def test_a_transfer_that_raises_or_cannot_begin_harms_no_other(log, sink):
    def refuse():
        raise OSError("no route")

    report = TransferPool(timeout_s=5.0, log=log).run(
        {"a": refuse, "b": lambda: in_thread(refuse), "c": lambda: in_thread(lambda: 1)}
    )
    assert report.failed == {"a": "OSError: no route", "b": "OSError: no route"}
    assert report.done == ("c",)


def test_retries_are_an_option(log, sink):
    tries = []

    def flaky():
        tries.append(1)
        if len(tries) < 3:
            raise OSError("lost")

    report = TransferPool(timeout_s=5.0, n_retries=2, log=log).run({"a": lambda: in_thread(flaky)})
    assert report.done == ("a",)
    log.flush()
    assert sink.events() == ["p2p_transfer_failed", "p2p_retried"] * 2


@pytest.mark.parametrize("works", [True, False])
def test_the_broadcast_fallback_is_an_option(log, sink, works):
    asked = []

    def broadcast(names):
        asked.append(names)
        return in_thread(lambda: None if works else 1 / 0)

    def lost():
        raise OSError("lost")

    report = TransferPool(timeout_s=5.0, fall_back=broadcast, log=log).run(
        {"a": lambda: in_thread(lost), "b": lambda: in_thread(lambda: None)}
    )
    assert asked == [("a",)]
    assert report.fell_back is works
    assert list(report.failed) == ["a"]
    log.flush()
    assert sink.events() == ["p2p_transfer_failed", "p2p_fell_back"]


def test_an_empty_batch_is_over_at_once():
    assert TransferPool().run({}).done == ()
