"""A collector in another process as a target: pushes that are sent and forgotten.

Nothing here waits for it. It is found when it is first needed; a push that finds too many others under way is refused and offered
again by the outbox; a collector that started anew is told the router and the engines again. How messages travel is a channel's
business.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from miles_report.runtime.throttle import ThrottledWarnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import Record

logger = logging.getLogger(__name__)

RESOLVE_S = 30.0
"""How long the collector is looked for at first; the driver starts it before the ranks."""

LOOK_EVERY_S = 1.0
PROBE_EVERY_S = 10.0
WARN_EVERY_S = 300.0


class ChannelGoneError(Exception):
    """The collector at the other end died; it may be back under its name."""


class Channel(Protocol):
    """The way to one collector. No method but `settle` waits."""

    def send(self, method: str, value: Any) -> bool:
        """Calls a method of the collector; False if too many calls are under way. May raise anything."""
        ...

    def probe(self) -> None:
        """Asks which life the collector is in."""
        ...

    def life(self) -> str | None:
        """The answer to the last probe; null while there is none.

        Raises:
            ChannelGoneError: it died.
        """
        ...

    def settle(self, timeout_s: float) -> bool:
        """Waits until the calls sent before have been done; False if they weren't in time. May raise anything."""
        ...


class RemoteTarget:
    """See `Target`. One thread uses it."""

    def __init__(
        self,
        clock: Clock,
        find: Callable[[], Channel | None],
        *,
        channel: Channel | None = None,
        resolve_s: float = RESOLVE_S,
    ) -> None:
        """Prepares; the collector is looked for at the first push.

        Args:
            clock: for the limits below.
            find: how to look for it; null: it is not there (yet).
            channel: to it, where it is known.
            resolve_s: how long it is looked for at first; then one warning, and nothing is sent any more.
        """
        self._clock = clock
        self._find = find
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._channel = channel
        self._give_up_at: float | None = clock.monotonic() + resolve_s
        self._is_off = False
        self._look_at = clock.monotonic()
        self._probe_at: float | None = clock.monotonic()
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

    def settle(self, timeout_s: float) -> bool:
        """Waits until the collector has what was pushed; for the end of a process, whose calls under way end with it.

        Returns:
            False if it did not say so in time. True also without a collector: nothing is under way then.
        """
        if self._channel is None:
            return True
        try:
            return self._channel.settle(timeout_s)
        except Exception as cause:  # noqa: BLE001 - the barrier of a collector hook: the cluster may be going down
            self._warnings.warn("remote_target.not_settled", error=repr(cause))
            return False

    def _send(self, method: str, value: Any) -> bool | None:
        if self._is_off:
            return None
        try:
            self._look_after_channel()
            if self._channel is None:
                return None if self._is_off else False
            return self._channel.send(method, value)
        except Exception as cause:  # noqa: BLE001 - the barrier of a collector hook: the cluster may be going down
            self._warnings.warn("remote_target.send_failed", method=method, error=repr(cause))
            return None

    def _look_after_channel(self) -> None:
        """Looks for the collector, or at the answer to the last probe."""
        now = self._clock.monotonic()
        if self._channel is None:
            self._look(now)
        elif self._probe_at is None:
            self._read_probe(self._channel, now)
        elif now >= self._probe_at:
            self._channel.probe()
            self._probe_at = None

    def _look(self, now: float) -> None:
        if now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY_S
        self._channel = self._find()
        if self._channel is not None:
            self._give_up_at = None
            self._probe_at = now
        elif self._give_up_at is not None and now >= self._give_up_at:
            self._is_off = True
            logger.warning(
                "remote_target.no_collector: none was found; this process sends no telemetry"
            )

    def _read_probe(self, channel: Channel, now: float) -> None:
        """A collector that is gone is looked for again; one that began anew is told the state."""
        try:
            life = channel.life()
        except ChannelGoneError:
            self._warnings.warn("remote_target.collector_died")
            self._channel = None
            self._give_up_at = None  # there was one: it is looked for as long as this process lives
            self._look_at = now + LOOK_EVERY_S
            return
        if life is None:
            return
        self._probe_at = now + PROBE_EVERY_S
        if self._life is not None and life != self._life:
            for method, value in self._state.items():
                channel.send(method, value)
        self._life = life
