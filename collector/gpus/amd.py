"""AMD GPUs through AMD SMI (`amdsmi`, which comes with ROCm).

Its answers differ by version: numbers may be the text "N/A", processes may be handles or ready dictionaries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from collector.gpus.devices import MIB, DeviceError, Holder, Reading

if TYPE_CHECKING:
    from collections.abc import Callable


class AmdDevices:
    """The GPUs of this node; made by `open`."""

    def __init__(self, smi: Any, warn: Callable[..., None]) -> None:
        self._smi = smi
        self._warn = warn

    @classmethod
    def open(cls, warn: Callable[..., None]) -> Self:
        """Starts AMD SMI.

        Raises:
            DeviceError: there is no binding, no driver, or no GPU.
        """
        try:
            import amdsmi  # noqa: PLC0415 - comes with ROCm
        except (
            ImportError,
            OSError,
            KeyError,
        ) as cause:  # without ROCm its import looks for a library and for HOME
            raise DeviceError("amdsmi is not installed") from cause
        try:
            amdsmi.amdsmi_init()
            if not amdsmi.amdsmi_get_processor_handles():
                raise DeviceError("AMD SMI finds no GPU")
        except amdsmi.AmdSmiException as cause:
            raise DeviceError(f"AMD SMI does not start ({cause})") from cause
        return cls(amdsmi, warn)

    def read(self) -> list[Reading]:
        """All GPUs that answer, in physical order."""
        smi = self._smi
        readings = []
        for gpu, handle in self._each():
            try:
                util = _number(smi.amdsmi_get_gpu_activity(handle).get("gfx_activity"))
            except smi.AmdSmiException as cause:
                self._warn("gpus.device_failed", gpu=gpu, error=str(cause))
                continue
            if util is None:
                self._warn("gpus.device_without_utilisation", gpu=gpu, error="not available")
                continue
            readings.append(Reading(gpu, round(util), self._memory(handle), self._power(handle)))
        return readings

    def holders(self) -> list[Holder]:
        """Processes with memory on GPUs, in order of GPU and pid."""
        smi = self._smi
        found = []
        for gpu, handle in self._each():
            try:
                processes = [
                    entry
                    if isinstance(entry, dict)
                    else smi.amdsmi_get_gpu_process_info(handle, entry)
                    for entry in smi.amdsmi_get_gpu_process_list(handle)
                ]
            except smi.AmdSmiException as cause:
                self._warn("gpus.processes_failed", gpu=gpu, error=str(cause))
                continue
            holders = [
                Holder(
                    gpu,
                    int(process["pid"]),
                    _name(process),
                    round(_number(_vram(process)) or 0) // MIB,
                )
                for process in processes
                if _number(process.get("pid"))
            ]
            found += sorted(holders, key=lambda holder: holder.pid)
        return found

    def uuids(self) -> dict[int, str]:
        """UUID by physical index."""
        found = {}
        for gpu, handle in self._each():
            try:
                found[gpu] = str(self._smi.amdsmi_get_gpu_device_uuid(handle))
            except self._smi.AmdSmiException:
                continue
        return found

    def close(self) -> None:
        """Ends AMD SMI."""
        try:
            self._smi.amdsmi_shut_down()
        except self._smi.AmdSmiException as cause:
            self._warn("gpus.close_failed", error=str(cause))

    def _each(self) -> list[tuple[int, Any]]:
        try:
            return list(enumerate(self._smi.amdsmi_get_processor_handles()))
        except self._smi.AmdSmiException as cause:
            self._warn("gpus.driver_failed", error=str(cause))
            return []

    def _memory(self, handle: Any) -> int:
        smi = self._smi
        try:
            used = smi.amdsmi_get_gpu_memory_usage(handle, smi.AmdSmiMemoryType.VRAM)
        except smi.AmdSmiException:
            return 0
        return int(_number(used) or 0) // MIB

    def _power(self, handle: Any) -> int:
        try:
            power = self._smi.amdsmi_get_power_info(handle)
        except self._smi.AmdSmiException:
            return 0
        for name in ("current_socket_power", "average_socket_power", "socket_power"):
            watts = _number(power.get(name))
            if watts:
                return round(watts)
        return 0


def _number(value: Any) -> float | None:
    """A number; null for "N/A" and the like."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _name(process: dict[str, Any]) -> str:
    name = str(process.get("name") or "")
    return name if name and name != "N/A" else f"pid {int(process['pid'])}"


def _vram(process: dict[str, Any]) -> Any:
    usage = process.get("memory_usage")
    return usage.get("vram_mem") if isinstance(usage, dict) else process.get("mem")
