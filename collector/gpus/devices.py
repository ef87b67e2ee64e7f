"""What a library of GPU readings has to offer, and the choice between them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

MIB = 1 << 20


@dataclass(frozen=True)
class Reading:
    """One GPU now.

    Attributes:
        gpu: physical index on the node.
        util: percent.
        mem_mib: used memory; 0: unavailable.
        power_w: watts; 0: unavailable.
    """

    gpu: int
    util: int
    mem_mib: int
    power_w: int


@dataclass(frozen=True)
class Holder:
    """A process that holds memory of a GPU.

    Attributes:
        gpu: physical index on the node.
        pid: as the driver knows it.
        name: "pid N" when unknown.
        mem_mib: 0: unavailable.
    """

    gpu: int
    pid: int
    name: str
    mem_mib: int


class DeviceError(Exception):
    """A library or a device that does not answer."""


class Devices(Protocol):
    """The GPUs of a node through one library. A device that fails is left out of an answer, never an error."""

    def read(self) -> list[Reading]:
        """All devices that answer, in physical order, whatever CUDA_VISIBLE_DEVICES says."""
        ...

    def holders(self) -> list[Holder]:
        """Processes with memory on them."""
        ...

    def uuids(self) -> dict[int, str]:
        """UUID by physical index, where the driver tells."""
        ...

    def close(self) -> None:
        """Lets the library go."""
        ...


def open_devices(warn: Callable[..., None]) -> Devices | None:
    """NVML if it works here, else AMD SMI, else null with one warning.

    Args:
        warn: gets rate-limited warnings of devices that fail later: an event name and fields.
    """
    from collector.gpus.amd import AmdDevices  # noqa: PLC0415 - neither library is there on most machines
    from collector.gpus.nvml import NvmlDevices  # noqa: PLC0415

    reasons = []
    for library in (NvmlDevices, AmdDevices):
        try:
            return library.open(warn)
        except DeviceError as cause:
            reasons.append(str(cause))
    logger.warning("gpus.no_library: GPUs are not sampled here: %s", "; ".join(reasons))
    return None
