"""Engines as Ray actors, and the collector actor as a sink; the only module that imports Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import PendingCallsLimitExceeded, RayError

from miles_report.runtime.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import HealthEvent

COLLECTOR_NAME = "miles_dashboard_collector"
LOOK_EVERY_S = 5.0


class RayBackend:
    """Creates each part of an engine as an actor of one class."""

    def __init__(
        self,
        actor_class: type,
        *,
        options: Callable[[int, int], Mapping[str, Any]] | None = None,
        arguments: Callable[[int, int], Mapping[str, Any]] | None = None,
    ) -> None:
        """Prepares.

        Args:
            actor_class: a plain class with the methods of `EngineBackend`'s parts.
            options: (engine_rank, node_rank) gives options of the actor, such as its placement group bundle.
            arguments: (engine_rank, node_rank) gives keyword arguments of its constructor.
        """
        self._class = ray.remote(actor_class)
        self._options = options
        self._arguments = arguments

    def create(self, *, group: str, engine_rank: int, node_rank: int) -> Any:  # noqa: ARG002 - for other backends
        """An actor that Ray never restarts by itself: recovery does, with new ports."""
        options = {} if self._options is None else dict(self._options(engine_rank, node_rank))
        arguments = {} if self._arguments is None else dict(self._arguments(engine_rank, node_rank))
        return self._class.options(**({"max_restarts": 0} | options)).remote(**arguments)

    def call(self, handle: Any, method: str, **arguments: Any) -> Future[Any]:
        """Sends a call."""
        answer: Future[Any] = getattr(handle, method).remote(**arguments).future()
        return answer

    def kill(self, handle: Any) -> None:
        """Kills the actor's process."""
        ray.kill(handle, no_restart=True)


class RaySink:
    """The job's collector actor, found by its name; while there is none, events wait."""

    def __init__(self, clock: Clock, *, name: str = COLLECTOR_NAME) -> None:
        """Prepares.

        Args:
            clock: limits how often the actor is looked for.
            name: of the actor.
        """
        self._name = name
        self._handle: Any = None
        self._looks = Throttle(every_s=LOOK_EVERY_S, clock=clock)

    def push_health(self, records: Sequence[HealthEvent]) -> bool | None:
        """Sends them and forgets them; False while there is no collector."""
        if not ray.is_initialized():  # asking would start a cluster
            return False
        if self._handle is None and self._looks.allow() is not None:
            try:
                self._handle = ray.get_actor(self._name)
            except (ValueError, RayError):
                return False
        if self._handle is None:
            return False
        try:
            self._handle.push_health.options(num_returns=0).remote(list(records))
        except PendingCallsLimitExceeded:
            return False
        return True
