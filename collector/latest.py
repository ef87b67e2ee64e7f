"""The newest value of each gauge, for an external Prometheus.

Names hold only letters, digits and "_" and "/", which the receiving collector turns into "_": anything else would make it fail.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.schema.streams import DataBufferRecord, EngineSample, GpuSample

PREFIX = "dashboard"
NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]+")


class LatestValues:
    """Gauges by name; any thread may set while one reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a snapshot is of one moment
        self._values: dict[str, float] = {}

    def see_gpus(self, samples: Iterable[GpuSample]) -> None:
        """Utilisation (percent), memory (MiB) and power (W) of each GPU."""
        with self._lock:
            for one in samples:
                lane = _name(f"{one.node}_{one.gpu}")
                self._values[f"{PREFIX}/gpu_util_percent/{lane}"] = float(one.util)
                self._values[f"{PREFIX}/gpu_mem_mib/{lane}"] = float(one.mem_mb)
                self._values[f"{PREFIX}/gpu_power_w/{lane}"] = float(one.power_w)

    def see_engines(self, samples: Iterable[EngineSample]) -> None:
        """Every scraped metric of each engine and rank."""
        with self._lock:
            for one in samples:
                parts = [one.addr.split("://")[-1], *(f"{k}_{v}" for k, v in one.labels.items())]
                name = f"{PREFIX}/{_name(one.metric)}/{_name('_'.join(parts))}"
                self._values[name] = float(one.value)

    def see_data_buffer(self, records: Iterable[DataBufferRecord]) -> None:
        """The queued samples."""
        with self._lock:
            for one in records:
                self._values[f"{PREFIX}/data_buffer_length"] = float(one.length)

    def snapshot(self) -> dict[str, float]:
        """All gauges now."""
        with self._lock:
            return dict(self._values)


def _name(text: str) -> str:
    return NOT_A_NAME.sub("_", text)
