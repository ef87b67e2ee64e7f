"""What a process is doing, from its timers: an interval is told when it begins and again when it ends.

The hooks run on the training thread. They append to a queue and nothing else: no lock, no system call, no wait.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from miles_report.runtime.clock import SystemClock
from miles_report.schema.streams import OPEN_END, PhaseRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from collector.outbox import Queue
    from miles_report.runtime.clock import Clock

    F = TypeVar("F", bound=Callable[..., Any])

logger = logging.getLogger(__name__)

TRAIN = "train"
ROLLOUT_MANAGER = "rollout_manager"
NO_RANK = -1

MOST_OPEN = 1024
"""Intervals whose rank is remembered; a timer that never ends one must not fill the memory."""


class PhaseSink:
    """An event sink of a timer: `begin(name, t0)` when an interval begins, `sink(name, t0, t1)` when it has ended.

    A timer that only tells ended intervals (older Miles) works too; they are then seen when they end.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        node: str,
        gpus: Sequence[int] = (),
        rank: int | Callable[[], int] = NO_RANK,
        role: str = TRAIN,
    ) -> None:
        """Prepares.

        Args:
            queue: of the phases stream.
            node: as the GPU sampler of this node names it.
            gpus: physical ids of this process's GPUs; none for the rollout manager.
            rank: of the process, or what tells it once it is known (-1 before).
            role: train or rollout_manager.
        """
        self._put = queue.put
        self._node = node
        self._gpus = tuple(gpus)
        self._rank = rank if callable(rank) else None
        self._known_rank = NO_RANK if callable(rank) else rank
        self.role = role
        self._open: dict[tuple[str, float], int] = {}

    def begin(self, name: str, t0: float) -> None:
        """An interval begins.

        Args:
            name: of the phase.
            t0: Unix seconds.
        """
        try:
            rank = self._rank_now()
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            self._open[name, t0] = rank
            self._put(PhaseRecord(name, t0, OPEN_END, self._node, self._gpus, rank, self.role))
        except Exception:  # the barrier of a collector hook
            logger.debug("phases.hook_failed", exc_info=True)

    def __call__(self, name: str, t0: float, t1: float) -> None:
        """An interval has ended.

        Args:
            name: of the phase.
            t0: the same number that `begin` got.
            t1: Unix seconds.
        """
        try:
            rank = self._open.pop(
                (name, t0), None
            )  # the rank it began with, else the two do not meet
            if rank is None:
                rank = self._rank_now()
            self._put(PhaseRecord(name, t0, t1, self._node, self._gpus, rank, self.role))
        except Exception:  # the barrier of a collector hook
            logger.debug("phases.hook_failed", exc_info=True)

    def _rank_now(self) -> int:
        if self._known_rank < 0 and self._rank is not None:
            self._known_rank = int(self._rank())
        return self._known_rank


class IntervalSink(Protocol):
    """What a `PhaseTimer` tells."""

    def begin(self, name: str, t0: float) -> None:
        """An interval begins at t0."""
        ...

    def __call__(self, name: str, t0: float, t1: float) -> None:
        """An interval from t0 to t1 has ended."""
        ...


class PhaseTimer:
    """A timer for trainers that have none: `with timer.phase("actor_train"): ...`, also as a decorator.

    Starts are wall clock; lengths are monotonic, so that a clock that is set does not turn an interval round.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Starts without sinks; add them to `event_sinks`."""
        self._clock = SystemClock() if clock is None else clock
        self.event_sinks: list[IntervalSink] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Times the block; it ends also when the block raises."""
        t0, begun = self._clock.wall(), self._clock.monotonic()
        for sink in self.event_sinks:
            sink.begin(name, t0)
        try:
            yield
        finally:
            t1 = t0 + self._clock.monotonic() - begun
            for sink in self.event_sinks:
                sink(name, t0, t1)

    def timed(self, function: F) -> F:
        """Decorates a function: its calls are phases of its name."""

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.phase(function.__name__):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]
