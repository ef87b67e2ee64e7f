"""Health events on their way to the health stream; a sink that fails, hangs or is gone disturbs nobody.

Events wait in a bounded queue and a thread of its own hands them over. What does not fit is dropped, oldest first, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import Throttle
from miles_report.schema.streams import HealthEvent
from miles_report.streams.appender import StreamAppender

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from miles_report.runtime.clock import Clock

MOST_WAITING = 4096
FLUSH_EVERY_S = 0.25
CLOSE_S = 5.0
WARN_EVERY_S = 300.0


class HealthSink(Protocol):
    """What takes health events: a collector, or one of the sinks here."""

    def push_health(self, records: Sequence[HealthEvent]) -> bool | None:
        """Takes them; False: not now, offer them again."""
        ...


class StreamSink:
    """Appends to `dashboard/health.jsonl` itself; for runs without a collector, as a file has one writer."""

    def __init__(self, dashboard: Path) -> None:
        """Prepares; nothing is touched before the first event."""
        self._appender = StreamAppender(dashboard)

    def push_health(self, records: Sequence[HealthEvent]) -> bool | None:
        """Appends whole lines.

        Raises:
            OSError: the file could not be written.
        """
        self._appender.append("health", records)
        return True


class HealthLog:
    """Takes events from any thread at once, and hands them to the sink later."""

    def __init__(self, sink: HealthSink | None, *, clock: Clock) -> None:
        """Begins to hand over.

        Args:
            sink: null: events go nowhere.
            clock: its wall reading stamps events.
        """
        self._sink = sink
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[HealthEvent] = deque()
        self._n_dropped = 0
        self._flusher = Periodic(
            self.flush,
            every_s=FLUSH_EVERY_S,
            clock=clock,
            name="faulttol-events",
            throttle=Throttle(every_s=WARN_EVERY_S, clock=clock),
        )
        if sink is not None:
            self._flusher.start()

    def tell(
        self,
        event: str,
        *,
        group: str | None = None,
        engine_rank: int | None = None,
        addr: str | None = None,
        node: str | None = None,
        latency_s: float | None = None,
        detail: str | None = None,
    ) -> None:
        """Records an event that happens now; never raises, never waits for the sink."""
        if self._sink is None:
            return
        record = HealthEvent(
            self._clock.wall(), event, group, engine_rank, addr, node, latency_s, detail
        )
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self._n_dropped += 1
            self._waiting.append(record)

    def flush(self) -> None:
        """Offers what waits to the sink, once; what it does not take waits on.

        Raises:
            Exception: whatever the sink raises.
        """
        with self._lock:
            batch = list(self._waiting)
            n_dropped = self._n_dropped
        if self._sink is None or not batch:
            return
        lost = [self._loss(n_dropped)] if n_dropped else []
        if self._sink.push_health([*batch, *lost]) is False:
            return
        with self._lock:
            self._n_dropped -= n_dropped
            for record in batch:
                if self._waiting and self._waiting[0] is record:
                    self._waiting.popleft()

    def _loss(self, n: int) -> HealthEvent:
        """In the words of the collector, which the report reads: the stream and a colon first."""
        detail = f"health: {n} records were lost: the sink did not take them in time"
        return HealthEvent(self._clock.wall(), "records_dropped", detail=detail)

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Hands over the rest and ends; False if the sink did not take it in time."""
        if not self._flusher.stop(timeout_s):
            return False
        self._flusher.run_once()
        with self._lock:
            return not self._waiting
