"""Records of one process on their way to the collector.

The training thread only appends to a bounded queue, without a lock and without a system call; a thread of its own hands batches
on. Whatever the collector does (slow, wedged, dead), the training thread does not notice; what finds no room is counted.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from collector.losses import Loss, loss_event
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import ThrottledWarnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from collector.targets import Target
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

QUEUE_RECORDS = 100_000
BATCH_RECORDS = 5_000
EVERY_S = 0.5
"""How soon the collector hears of a phase that has begun."""

WARN_EVERY_S = 300.0

METHODS = {
    "metrics": "push_metrics",
    "phases": "push_phases",
    "trajectories": "push_trajectories",
    "data_buffer": "push_data_buffer",
    "health": "push_health",
}


class Queue:
    """A bounded queue of one stream that one thread empties; the oldest give way.

    `deque` appends and drops in one step under the interpreter's lock, and the counter counts in one: nothing else is needed.
    """

    def __init__(self, most: int) -> None:
        self._items: deque[Any] = deque(maxlen=most)
        self._n_put = itertools.count()
        self._n_taken = 0
        self._n_told = 0
        self._append = self._items.append
        self._count = self._n_put.__next__

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Any) -> None:
        """Adds an item; never raises, never waits."""
        self._append(item)
        self._count()

    def take(self, n: int) -> list[Any]:
        """Removes and returns at most n of the oldest items."""
        taken: list[Any] = []
        with contextlib.suppress(IndexError):
            while len(taken) < n:
                taken.append(self._items.popleft())
        self._n_taken += len(taken)
        return taken

    def put_back(self, items: list[Any]) -> None:
        """Puts items that were taken back in front, as many of the newest as there is room for."""
        room = max(0, (self._items.maxlen or 0) - len(self._items))
        self._items.extendleft(reversed(items[max(0, len(items) - room) :]))
        self._n_taken -= len(items)

    def take_loss(self) -> int:
        """How many were dropped since the last call."""
        n_put = int(repr(self._n_put)[len("count(") : -1])  # reading it otherwise would count
        lost = max(0, n_put - self._n_taken - len(self._items) - self._n_told)
        self._n_told += lost
        return lost


class Outbox:
    """Queues of one process before one target."""

    def __init__(
        self,
        target: Target,
        clock: Clock,
        *,
        origin: str = "",
        most: int = QUEUE_RECORDS,
        every_s: float = EVERY_S,
    ) -> None:
        """Prepares; nothing is sent before `start` or `drain`.

        Args:
            target: the collector.
            clock: of the events about losses.
            origin: node of this process, told with its losses.
            most: records a stream holds.
            every_s: between two hand-overs.
        """
        self._target = target
        self._clock = clock
        self._origin = origin
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._queues = {stream: Queue(most) for stream in METHODS}
        self._losses: dict[str, Loss] = {}
        self._draining = threading.Lock()  # the thread and a last flush may meet
        self._state: dict[str, Any] = {}
        self._periodic = Periodic(self.drain, every_s=every_s, clock=clock, name="dashboard outbox")

    def start(self) -> None:
        """Begins to hand over on a thread of its own."""
        self._periodic.start()

    def queue(self, stream: str) -> Queue:
        """The queue of a stream, for a producer to put into."""
        return self._queues[stream]

    def put(self, stream: str, record: Any) -> None:
        """Adds one record; never raises, never waits."""
        self._queues[stream].put(record)

    def set_state(self, method: str, value: Any) -> None:
        """Has a method of the target called with a value; of several values only the newest counts."""
        self._state[method] = value

    @property
    def n_waiting(self) -> int:
        """Records that were not handed over yet."""
        return sum(len(queue) for queue in self._queues.values())

    def drain(self) -> None:
        """Hands over what waits; stops where the target takes no more."""
        with self._draining:
            for method in list(self._state):
                value = self._state.pop(method)
                if self._send(method, value) is False:
                    self._state.setdefault(method, value)
            for stream, queue in self._queues.items():
                self._drain_one(stream, queue)
            self._tell_losses()

    def stop(self, timeout_s: float) -> bool:
        """Hands over what waits and ends.

        Returns:
            False if the target did not let go in time or takes no more; what waits then is lost.
        """
        if not self._periodic.stop(timeout_s):
            return False
        self.drain()
        return self.n_waiting == 0

    def _drain_one(self, stream: str, queue: Queue) -> None:
        left = len(queue)
        while left > 0 and (batch := queue.take(min(left, BATCH_RECORDS))):
            left -= len(batch)
            if self._send(METHODS[stream], batch) is False:
                queue.put_back(batch)
                return

    def _send(self, method: str, value: Any) -> bool | None:
        send: Callable[[Any], bool | None] = getattr(self._target, method)
        try:
            return send(value)
        except Exception as cause:  # noqa: BLE001 - the barrier of a collector hook
            self._warnings.warn("outbox.send_failed", method=method, error=repr(cause))
            return None

    def _tell_losses(self) -> None:
        for stream, queue in self._queues.items():
            lost = queue.take_loss()
            if lost:
                self._losses.setdefault(stream, Loss()).n += lost
        now = self._clock.wall()
        for stream in list(self._losses):
            event = loss_event(
                stream,
                self._losses[stream],
                "the collector did not take them in time",
                now=now,
                node=self._origin or None,
            )
            if self._send("push_health", [event]) is False:
                return
            del self._losses[stream]
