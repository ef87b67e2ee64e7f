"""The engines of the run: started, watched, replaced when they die, and given new weights."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError

from collector import EnginePart
from miles_report.schema.streams import HealthEvent
from site_example.engine import EngineActor

if TYPE_CHECKING:
    from collector import Dashboard

GROUP = "engines"
CHECK_EVERY_S = 2.0
CHECK_TIMEOUT_S = 5.0
FIRST_PORT = 15800


@dataclass
class Slot:
    """The place of an engine; without a handle it is to be filled."""

    rank: int
    handle: Any = None
    addr: str = ""
    is_known_well: bool = False


class Fleet:
    """Engines behind a health check that generates a token.

    An engine that fails a check is killed at once, which ends what its clients wait for; `recover` starts a new one at a port
    that no engine had before.
    """

    def __init__(self, n: int, dashboard: Dashboard | None) -> None:
        self._dashboard = dashboard
        self._slots = [Slot(rank) for rank in range(n)]
        self._port = FIRST_PORT
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._check_all, name="watch", daemon=True)

    def start(self) -> None:
        """Starts all engines and the watch."""
        self._fill()
        self._tell("monitor_started")
        self._watch.start()

    def addresses(self) -> list[str]:
        """Where to send requests."""
        return [slot.addr for slot in self._slots if slot.addr]

    def recover(self) -> int:
        """Fills the places of engines that were killed; call it before new weights are sent."""
        with self._lock:
            missing = [slot for slot in self._slots if slot.handle is None]
            if not missing:
                return 0
            begun = time.monotonic()
            for slot in missing:
                self._tell("recovery_started", slot)
            self._fill()
            for slot in missing:
                self._tell("engine_recovered", slot, latency_s=time.monotonic() - begun)
            return len(missing)

    def update_weights(self, weights: bytes, version: int) -> None:
        """Sends a new policy to all engines; one that does not take it is left to the watch."""
        packed = ray.put(weights)
        calls = [
            slot.handle.update_weights.remote(packed, str(version))
            for slot in self._slots
            if slot.handle is not None
        ]
        for call in calls:
            try:
                ray.get(call, timeout=40)
            except (RayError, OSError):
                continue

    def break_engine(self, rank: int, name: str) -> None:
        """A fault: SIGSTOP or SIGKILL for the child of an engine."""
        handle = self._slots[rank].handle
        if handle is not None:
            ray.get(handle.send_signal.remote(name))

    def close(self) -> None:
        """Ends the watch and all engines."""
        self._stop.set()
        self._watch.join()
        self._tell("monitor_stopped")
        for slot in self._slots:
            self._kill(slot)

    def _fill(self) -> None:
        missing = [slot for slot in self._slots if slot.handle is None]
        started = []
        for slot in missing:
            handle = (
                ray.remote(EngineActor).options(num_cpus=0, max_concurrency=4).remote(slot.rank)
            )
            port = ray.get(handle.find_ports.remote(self._port, 1))
            self._port = port + 1
            started.append((slot, handle, handle.init.remote(port, port)))
        for slot, handle, call in started:
            slot.addr, slot.handle = ray.get(call), handle
            slot.is_known_well = False
        if self._dashboard is not None:
            self._dashboard.engines(
                EnginePart(slot.rank, "127.0.0.1", (), slot.addr)
                for slot in self._slots
                if slot.addr
            )

    def _check_all(self) -> None:
        while not self._stop.wait(CHECK_EVERY_S):
            with self._lock:
                for slot in self._slots:
                    if slot.handle is not None:
                        self._check(slot)

    def _check(self, slot: Slot) -> None:
        begun = time.monotonic()
        try:
            ray.get(
                slot.handle.health_generate.remote(CHECK_TIMEOUT_S), timeout=2 * CHECK_TIMEOUT_S
            )
        except (RayError, OSError) as cause:
            text = str(cause).strip().splitlines()[-1][:200]
            self._tell("check_failed", slot, latency_s=time.monotonic() - begun, detail=text)
            self._kill(slot)
            self._tell("engine_killed", slot)
            slot.addr = ""
        else:
            if not slot.is_known_well:
                self._tell("check_passed", slot, latency_s=time.monotonic() - begun)
            slot.is_known_well = True

    def _kill(self, slot: Slot) -> None:
        if slot.handle is None:
            return
        with contextlib.suppress(RayError):  # the actor goes in any case
            ray.get(slot.handle.shutdown.remote(), timeout=10)
        ray.kill(slot.handle)
        slot.handle = None

    def _tell(
        self,
        event: str,
        slot: Slot | None = None,
        *,
        latency_s: float | None = None,
        detail: str | None = None,
    ) -> None:
        if self._dashboard is None:
            return
        rank, addr = (None, None) if slot is None else (slot.rank, slot.addr or None)
        told = HealthEvent(time.time(), event, GROUP, rank, addr, "127.0.0.1", latency_s, detail)
        self._dashboard.push_health([told])
