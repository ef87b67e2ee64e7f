"""Where producers send records: a collector in this process, or one far away behind the same methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.schema.streams import (
        DataBufferRecord,
        EngineRecord,
        GpuProcess,
        GpuSample,
        HealthEvent,
        MetricsRecord,
        PhaseRecord,
        TrajectoryEvent,
    )


class Target(Protocol):
    """What a collector takes.

    A method returns False if the records were not taken and may be offered again later; anything else means that they
    were, or that nobody will ever take them.
    """

    def push_metrics(self, records: Sequence[MetricsRecord]) -> bool | None:
        """Logged values."""
        ...

    def push_phases(self, records: Sequence[PhaseRecord]) -> bool | None:
        """Intervals of work, open or ended."""
        ...

    def push_trajectories(self, records: Sequence[TrajectoryEvent]) -> bool | None:
        """Events in the life of samples."""
        ...

    def push_gpu_samples(self, records: Sequence[GpuSample]) -> bool | None:
        """Readings of GPUs."""
        ...

    def push_gpu_processes(self, records: Sequence[GpuProcess]) -> bool | None:
        """Processes on GPUs."""
        ...

    def push_data_buffer(self, records: Sequence[DataBufferRecord]) -> bool | None:
        """Reports of the data buffer's length."""
        ...

    def push_health(self, records: Sequence[HealthEvent]) -> bool | None:
        """Health events."""
        ...

    def update_topology(self, engines: Sequence[EngineRecord]) -> bool | None:
        """All engines that the trainer has now."""
        ...

    def set_router(self, router: str) -> bool | None:
        """Where the router is."""
        ...
