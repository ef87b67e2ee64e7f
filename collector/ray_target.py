"""The collector actor as a target: pushes that are sent and forgotten, from any process of the job.

Nothing here waits for the actor. It is found by name; a push that finds too many others under way is refused and offered again by
the outbox; an actor that started anew is told the router and the engines again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError

from miles_report.runtime.throttle import ThrottledWarnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import Record

logger = logging.getLogger(__name__)

COLLECTOR_NAME = "miles_dashboard_collector"

RESOLVE_S = 30.0
"""How long the collector is looked for at first; the driver starts it before the ranks."""

PROBE_EVERY_S = 10.0
WARN_EVERY_S = 300.0


def find_collector() -> Any:
    """The handle of the collector; null if there is none, or no Ray."""
    if not ray.is_initialized():  # asking would start a cluster
        return None
    try:
        return ray.get_actor(COLLECTOR_NAME)
    except (ValueError, RayError):
        return None


class RayTarget:
    """See `Target`. One thread uses it."""

    def __init__(
        self,
        clock: Clock,
        *,
        handle: Any = None,
        find: Callable[[], Any] = find_collector,
        resolve_s: float = RESOLVE_S,
    ) -> None:
        """Prepares; the collector is looked for at the first push.

        Args:
            clock: for the limits below.
            handle: of the collector, where it is known.
            find: how to look for it.
            resolve_s: how long; then one warning, and nothing is sent any more.
        """
        self._clock = clock
        self._find = find
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._handle = handle
        self._give_up_at: float | None = clock.monotonic() + resolve_s
        self._is_off = False
        self._look_again_at = 0.0
        self._probe: Any = None
        self._probe_at = 0.0
        self._life: str | None = None
        self._state: dict[str, Any] = {}

    @property
    def is_off(self) -> bool:
        """Whether no collector was found and nothing will be sent."""
        return self._is_off

    def push_metrics(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_metrics", records)

    def push_phases(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_phases", records)

    def push_trajectories(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_trajectories", records)

    def push_gpu_samples(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_gpu_samples", records)

    def push_gpu_processes(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_gpu_processes", records)

    def push_data_buffer(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_data_buffer", records)

    def push_health(self, records: Sequence[Record]) -> bool | None:
        """See `Target`."""
        return self._send("push_health", records)

    def update_topology(self, engines: Sequence[Any]) -> bool | None:
        """See `Target`."""
        self._state["update_topology"] = engines
        return self._send("update_topology", engines)

    def set_router(self, router: str) -> bool | None:
        """See `Target`."""
        self._state["set_router"] = router
        return self._send("set_router", router)

    def _send(self, method: str, value: Any) -> bool | None:
        if self._is_off:
            return None
        try:
            self._look_after_handle()
            if self._handle is None:
                return None if self._is_off else False
            getattr(self._handle, method).options(num_returns=0).remote(value)
        except PendingCallsLimitExceeded:
            return False
        except Exception as cause:  # noqa: BLE001 - the barrier of a collector hook: Ray may be going down
            self._warnings.warn("ray_target.send_failed", method=method, error=repr(cause))
            return None
        return True

    def _look_after_handle(self) -> None:
        """Looks for the collector, or at the answer of the last probe."""
        now = self._clock.monotonic()
        if self._handle is None:
            self._look(now)
        elif self._probe is None:
            if now >= self._probe_at:
                self._probe = self._handle.ping.remote()
        else:
            self._read_probe(now)

    def _look(self, now: float) -> None:
        if now < self._look_again_at:
            return
        self._look_again_at = now + 1.0
        self._handle = self._find()
        if self._handle is not None:
            self._give_up_at = None
            self._probe_at = now
        elif self._give_up_at is not None and now >= self._give_up_at:
            self._is_off = True
            logger.warning(
                "ray_target.no_collector: there is no actor %s; this process sends no telemetry",
                COLLECTOR_NAME,
            )

    def _read_probe(self, now: float) -> None:
        """Never waits. An actor that is gone for good is looked for by name again; one that began anew is told the state."""
        ready, _ = ray.wait([self._probe], timeout=0)
        if not ready:
            return
        probe, self._probe = self._probe, None
        self._probe_at = now + PROBE_EVERY_S
        try:
            life = ray.get(probe, timeout=0.1).life
        except RayActorError:
            self._warnings.warn("ray_target.collector_died")
            self._handle = self._find()  # the same one while it restarts
            self._give_up_at = None
            self._probe_at = now + 1.0
            return
        except (RayError, GetTimeoutError):
            return
        if self._life is not None and life != self._life:
            for method, value in self._state.items():
                getattr(self._handle, method).options(num_returns=0).remote(value)
        self._life = life
