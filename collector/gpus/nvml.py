"""NVIDIA GPUs through NVML (`pynvml`, of the package nvidia-ml-py).

NVML numbers devices in physical order and does not know CUDA_VISIBLE_DEVICES. What a device cannot tell: memory and power are
0 (never a real value), utilisation has no such value, so the device is left out. That is so for a GPU split by MIG, whose
processes are found on its instances, and for much of what a virtual GPU is asked.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from collector.gpus.devices import MIB, DeviceError, Holder, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class NvmlDevices:
    """The GPUs of this node; made by `open`."""

    def __init__(self, nvml: Any, warn: Callable[..., None]) -> None:
        self._nvml = nvml
        self._warn = warn
        self._handles: dict[int, Any] = {}
        self._is_open = True
        self._lock = threading.Lock()  # readings and closing may come from two threads

    @classmethod
    def open(cls, warn: Callable[..., None]) -> Self:
        """Starts NVML.

        Raises:
            DeviceError: there is no binding, no driver, or no GPU.
        """
        try:
            import pynvml  # noqa: PLC0415 - an extra
        except ImportError as cause:
            raise DeviceError("pynvml is not installed (pip install nvidia-ml-py)") from cause
        try:
            pynvml.nvmlInit()
            if pynvml.nvmlDeviceGetCount() == 0:
                raise DeviceError("NVML finds no GPU")
        except pynvml.NVMLError as cause:
            raise DeviceError(f"NVML does not start ({cause})") from cause
        return cls(pynvml, warn)

    def read(self) -> list[Reading]:
        """All GPUs that answer, in physical order."""
        readings = []
        for gpu, handle in self._each():
            try:
                readings.append(
                    Reading(
                        gpu,
                        int(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
                        self._memory(handle),
                        self._power(handle),
                    )
                )
            except self._nvml.NVMLError as cause:
                self._failed(gpu, handle, cause)
        return readings

    def holders(self) -> list[Holder]:
        """Processes on GPUs and on their MIG instances, in order of GPU and pid."""
        found = []
        for gpu, handle in self._each():
            try:
                memory: dict[int, int] = {}
                for device in self._instances(handle) or [handle]:
                    for pid, used in self._processes(device).items():
                        memory[pid] = memory.get(pid, 0) + used
            except self._nvml.NVMLError as cause:
                self._failed(gpu, handle, cause)
                continue
            found += [
                Holder(gpu, pid, self._name(pid), used // MIB)
                for pid, used in sorted(memory.items())
            ]
        return found

    def uuids(self) -> dict[int, str]:
        """UUID by physical index."""
        found = {}
        for gpu, handle in self._each():
            value = self._unless_unsupported(self._nvml.nvmlDeviceGetUUID, handle)
            if value is not None:
                found[gpu] = _text(value)
        return found

    def close(self) -> None:
        """Ends NVML."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                try:
                    self._nvml.nvmlShutdown()
                except self._nvml.NVMLError as cause:
                    self._warn("gpus.close_failed", error=str(cause))

    def _each(self) -> Iterator[tuple[int, Any]]:
        """Index and handle of every GPU that is there; starts NVML again if the driver was reloaded."""
        nvml = self._nvml
        if not self._is_open:
            return
        try:
            n = nvml.nvmlDeviceGetCount()
        except nvml.NVMLError as cause:
            self._handles.clear()
            self._warn("gpus.driver_failed", error=str(cause))
            try:
                nvml.nvmlInit()
                n = nvml.nvmlDeviceGetCount()
            except nvml.NVMLError:
                return
        for gpu in range(n):
            if gpu not in self._handles:
                try:
                    self._handles[gpu] = nvml.nvmlDeviceGetHandleByIndex(gpu)
                except nvml.NVMLError as cause:
                    self._warn("gpus.device_failed", gpu=gpu, error=str(cause))
                    continue
            yield gpu, self._handles[gpu]

    def _failed(self, gpu: int, handle: Any, cause: Exception) -> None:
        """A device that did not answer: its handle is fetched anew, and the reason is told at a bounded rate."""
        self._handles.pop(gpu, None)
        if self._is_unsupported(cause):
            why = "split by MIG" if self._is_split(handle) else str(cause)
            self._warn("gpus.device_without_utilisation", gpu=gpu, error=why)
        else:
            self._warn("gpus.device_failed", gpu=gpu, error=str(cause))

    def _memory(self, handle: Any) -> int:
        """MiB in use without what the driver reserves, as nvidia-smi counts; with it where only the old call exists."""
        nvml = self._nvml
        try:
            used = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2).used
        except nvml.NVMLError as cause:
            if (
                not self._is_unsupported(cause)
                and cause.value != nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH
            ):
                raise
            old = self._unless_unsupported(nvml.nvmlDeviceGetMemoryInfo, handle)
            used = 0 if old is None else old.used
        return int(used) // MIB

    def _power(self, handle: Any) -> int:
        milliwatts = self._unless_unsupported(self._nvml.nvmlDeviceGetPowerUsage, handle)
        return 0 if milliwatts is None else round(milliwatts / 1000)

    def _is_split(self, handle: Any) -> bool:
        modes = self._unless_unsupported(self._nvml.nvmlDeviceGetMigMode, handle)
        return modes is not None and modes[0] == self._nvml.NVML_DEVICE_MIG_ENABLE

    def _instances(self, handle: Any) -> list[Any]:
        """The MIG instances of a GPU; none if it is not split."""
        nvml = self._nvml
        if not self._is_split(handle):
            return []
        instances = []
        for index in range(
            self._unless_unsupported(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
        ):
            try:
                instances.append(nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
            except nvml.NVMLError as cause:
                if cause.value != nvml.NVML_ERROR_NOT_FOUND:  # an unused place
                    raise
        return instances

    def _processes(self, device: Any) -> dict[int, int]:
        """Bytes by pid; a process that computes and draws holds its memory once."""
        nvml = self._nvml
        memory: dict[int, int] = {}
        for ask in (
            nvml.nvmlDeviceGetComputeRunningProcesses,
            nvml.nvmlDeviceGetGraphicsRunningProcesses,
        ):
            for process in self._unless_unsupported(ask, device) or []:
                used = process.usedGpuMemory or 0
                memory[process.pid] = max(memory.get(process.pid, 0), int(used))
        return memory

    def _name(self, pid: int) -> str:
        """What the process is called; a driver outside the container knows pids that mean nothing here."""
        try:
            return _text(self._nvml.nvmlSystemGetProcessName(pid)) or f"pid {pid}"
        except (self._nvml.NVMLError, UnicodeDecodeError):
            return f"pid {pid}"

    def _unless_unsupported(self, ask: Callable[[Any], Any], handle: Any) -> Any:
        """The answer; null if this device or this driver does not know the question."""
        try:
            return ask(handle)
        except self._nvml.NVMLError as cause:
            if self._is_unsupported(cause):
                return None
            raise

    def _is_unsupported(self, cause: Any) -> bool:
        nvml = self._nvml
        return cause.value in (
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            nvml.NVML_ERROR_NO_PERMISSION,
        )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
