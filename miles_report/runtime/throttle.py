"""Warnings at a bounded rate that tell how many were held back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

    from miles_report.runtime.clock import Clock


class Throttle:
    """Lets one event a period pass and counts the others. Any thread may ask."""

    def __init__(self, *, every_s: float, clock: Clock) -> None:
        """Lets the first event pass.

        Args:
            every_s: at least so many seconds lie between two events that pass.
            clock: its monotonic reading counts.
        """
        self._every_s = every_s
        self._clock = clock
        self._lock = threading.Lock()  # the count and the moment belong together
        self._passed_at: float | None = None
        self._n_held_back = 0

    def allow(self) -> int | None:
        """Whether an event may pass now.

        Returns:
            How many were held back since the last that passed; null: hold this one back too.
        """
        now = self._clock.monotonic()
        with self._lock:
            if self._passed_at is not None and now - self._passed_at < self._every_s:
                self._n_held_back += 1
                return None
            self._passed_at = now
            n_held_back, self._n_held_back = self._n_held_back, 0
            return n_held_back


class ThrottledWarnings:
    """Warnings by event name, each name at its own bounded rate."""

    def __init__(self, logger: logging.Logger, *, every_s: float, clock: Clock) -> None:
        """Prepares; see `warn`.

        Args:
            logger: gets the warnings.
            every_s: at least so many seconds lie between two warnings of one name.
            clock: its monotonic reading counts.
        """
        self._logger = logger
        self._every_s = every_s
        self._clock = clock
        self._lock = threading.Lock()  # two threads may meet a new name at once
        self._throttles: dict[str, Throttle] = {}

    def warn(self, event: str, **fields: object) -> None:
        """Logs an event, with `held_back` among its fields, or counts it.

        Args:
            event: its name, such as "collector.flush_failed"; one of few, as each is remembered.
            fields: `extra` of the log record.
        """
        with self._lock:
            throttle = self._throttles.setdefault(
                event, Throttle(every_s=self._every_s, clock=self._clock)
            )
        held_back = throttle.allow()
        if held_back is not None:
            self._logger.warning(event, extra={**fields, "held_back": held_back})
