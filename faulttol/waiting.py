"""Waiting for several calls at once, with one deadline, ended early by a bell."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from miles_report.runtime.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from miles_report.runtime.clock import Clock

    Wait = Callable[[threading.Event, float | None], object]


def wait_for_bell(bell: threading.Event, seconds: float | None) -> None:
    """Waits until the bell rings or the seconds are over; any number of seconds, also 1e18."""
    bell.wait(None if seconds is None else max(0.0, min(seconds, threading.TIMEOUT_MAX)))


def wait_all(
    futures: Iterable[Future[Any]],
    timeout_s: float,
    *,
    clock: Clock | None = None,
    bell: threading.Event | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
    wait: Wait = wait_for_bell,
) -> bool:
    """Waits until all calls are answered, the time is over, or nobody wants the answers any more.

    Args:
        futures: the calls; they go on, whatever happens here.
        timeout_s: for all of them together.
        clock: the host's, if null.
        bell: whoever changes `is_wanted` rings it; it is also rung by every answer.
        is_wanted: whether to go on waiting.
        wait: how to wait for the bell.

    Returns:
        Whether all were answered.
    """
    clock = SystemClock() if clock is None else clock
    bell = threading.Event() if bell is None else bell
    waiting = list(futures)
    deadline = clock.monotonic() + timeout_s
    for future in waiting:
        future.add_done_callback(lambda _: bell.set())
    while True:
        bell.clear()
        if all(future.done() for future in waiting):
            return True
        left_s = deadline - clock.monotonic()
        if left_s <= 0 or not is_wanted():
            return False
        wait(bell, left_s)
