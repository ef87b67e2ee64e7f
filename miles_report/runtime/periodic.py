"""The only class that owns a thread: runs one function again and again until it is stopped."""

from __future__ import annotations

import logging
import math
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from miles_report.runtime.clock import Clock
    from miles_report.runtime.throttle import Throttle

logger = logging.getLogger(__name__)


class Periodic:
    """Calls `tick` every `every_s` seconds on a daemon thread of its own.

    Ticks are due at fixed moments from the start. Moments missed during a slow tick are skipped, so ticks never queue up. What a
    tick raises is logged and counted, and the next tick comes.
    """

    def __init__(
        self,
        tick: Callable[[], None],
        *,
        every_s: float,
        clock: Clock,
        name: str,
        throttle: Throttle | None = None,
    ) -> None:
        """Prepares; nothing runs before `start`.

        Args:
            tick: what to do; takes as long as it takes.
            every_s: seconds from one due moment to the next.
            clock: its monotonic reading decides when a tick is due.
            name: of the thread, and in the log.
            throttle: rate limit of the warnings about ticks that raise; null: each is logged.

        Raises:
            ValueError: every_s is not a positive number of seconds.
        """
        if not 0 < every_s < math.inf:
            raise ValueError(f"every_s must be positive and finite, not {every_s}")
        self._tick = tick
        self._every_s = every_s
        self._clock = clock
        self._name = name
        self._throttle = throttle
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._n_failed = 0

    @property
    def n_failed(self) -> int:
        """Ticks that raised so far."""
        return self._n_failed

    @property
    def is_running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def run_once(self) -> None:
        """One tick behind the exception barrier; the thread calls nothing else."""
        try:
            self._tick()
        except Exception as cause:  # noqa: BLE001 - the barrier: whatever a tick raises, the next one comes
            self._n_failed += 1
            self._warn(cause)

    def _warn(self, cause: Exception) -> None:
        held_back = 0
        if self._throttle is not None:
            allowed = self._throttle.allow()
            if allowed is None:
                return
            held_back = allowed
        logger.warning(
            "periodic.tick_failed",
            exc_info=cause,
            extra={"periodic": self._name, "held_back": held_back},
        )

    def start(self) -> None:
        """Starts the thread; the first tick is due at once.

        Raises:
            RuntimeError: it was started before.
        """
        if self._thread is not None:
            raise RuntimeError(f"{self._name} was started before")
        self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Asks the thread to end and waits for it; may be called at any time, also twice.

        Args:
            timeout_s: how long to wait for a tick that is under way.

        Returns:
            False if the tick did not end in time: the caller decides what to log. A thread that stops itself counts as ended.
        """
        self._stop.set()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def _loop(self) -> None:
        due = self._clock.monotonic()
        while not self._stop.is_set():
            self.run_once()
            due = next_due(due, self._every_s, self._clock.monotonic())
            self._stop.wait(due - self._clock.monotonic())


def next_due(due: float, every_s: float, now: float) -> float:
    """The first due moment after `now` on the grid of `due`; moments missed meanwhile are skipped."""
    missed = max(0.0, (now - due) // every_s)
    return due + (missed + 1) * every_s
