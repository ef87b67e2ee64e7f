"""Readings of one node's GPUs as records, at a steady pace."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from collector.gpus.devices import open_devices
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import Throttle, ThrottledWarnings
from miles_report.schema.streams import GpuProcess, GpuSample

if TYPE_CHECKING:
    from collector.gpus.devices import Devices
    from collector.targets import Target
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

PROCESSES_EVERY_S = 5.0
WARN_EVERY_S = 300.0
STOP_S = 5.0


class GpuSampler:
    """Samples until it is stopped; `tick` is one round."""

    def __init__(
        self,
        target: Target,
        *,
        node: str,
        every_s: float,
        clock: Clock,
        devices: Devices | None = None,
    ) -> None:
        """Opens the node's GPU library, if none is given.

        Args:
            target: gets the records.
            node: as the phases of this node's processes name it.
            every_s: between readings.
            clock: stamps them.
            devices: of the node.
        """
        self._target = target
        self._node = node
        self._clock = clock
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._devices = open_devices(self._warnings.warn) if devices is None else devices
        self._processes_due = clock.monotonic()
        self._periodic = Periodic(
            self.tick,
            every_s=every_s,
            clock=clock,
            name=f"gpus of {node}",
            throttle=Throttle(every_s=WARN_EVERY_S, clock=clock),
        )

    @property
    def has_gpus(self) -> bool:
        """Whether there is anything to sample."""
        return self._devices is not None

    def start(self) -> None:
        """Begins to sample on a thread of its own; does nothing without a library."""
        if self._devices is not None:
            self._periodic.start()

    def stop(self) -> None:
        """Ends; a driver that hangs is left behind."""
        if self._devices is not None and self._periodic.stop(STOP_S):
            self._devices.close()

    def tick(self) -> None:
        """One reading of all GPUs; of their processes too, every five seconds."""
        if self._devices is None:
            return
        ts = self._clock.wall()
        samples = [
            GpuSample(ts, self._node, one.gpu, one.util, one.mem_mib, one.power_w)
            for one in self._devices.read()
        ]
        if samples:
            self._target.push_gpu_samples(samples)
        now = self._clock.monotonic()
        if now < self._processes_due:
            return
        self._processes_due = now + PROCESSES_EVERY_S
        processes = [
            GpuProcess(ts, self._node, one.gpu, one.pid, one.name, one.mem_mib)
            for one in self._devices.holders()
        ]
        if processes:
            self._target.push_gpu_processes(processes)

    def uuids(self) -> dict[int, str]:
        """UUID by physical index; empty without a library."""
        return {} if self._devices is None else self._devices.uuids()
