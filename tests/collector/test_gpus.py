from __future__ import annotations

import json
import subprocess
import sys

import pytest
from builders.nvml import N_GPUS, SPLIT, VIRTUAL, build_nvml, with_nvml
from builders.streams import T

from collector.gpus.amd import AmdDevices
from collector.gpus.devices import DeviceError, Holder, Reading
from collector.gpus.sampler import GpuSampler
from miles_report.runtime.clock import ManualClock
from miles_report.schema.streams import GpuProcess, GpuSample

READ = """
import json, logging, sys
logging.basicConfig(format="%(message)s")
from collector.gpus.devices import open_devices
warned = []
devices = open_devices(lambda event, **fields: warned.append([event, fields]))
if devices is None:
    print(json.dumps(None))
    sys.exit()
readings, again = devices.read(), None
if len(sys.argv) > 1:
    open(sys.argv[1], "w").write("27")
    again = devices.read()
    open(sys.argv[1], "w").close()
    again = [again, devices.read()]
print(json.dumps({
    "readings": [vars(one) for one in readings],
    "again": again and [[one.gpu for one in each] for each in again],
    "holders": [vars(one) for one in devices.holders()],
    "uuids": devices.uuids(),
    "warned": warned,
}))
devices.close()
devices.read()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_nvml(tmp_path_factory.mktemp("nvml"))


def read(environment, *argv):
    done = subprocess.run(
        [sys.executable, "-c", READ, *argv],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def answers(library):
    return read(with_nvml(library, CUDA_VISIBLE_DEVICES="3"))[0]


def test_all_gpus_are_read_in_physical_order_whatever_is_visible(answers):
    assert [one["gpu"] for one in answers["readings"]] == [
        gpu for gpu in range(N_GPUS) if gpu != SPLIT
    ]
    assert answers["readings"][3] == {"gpu": 3, "util": 30, "mem_mib": 2003, "power_w": 303}
    assert answers["uuids"] == {str(gpu): f"GPU-{gpu}" for gpu in range(N_GPUS)}


def test_a_virtual_gpu_has_no_power_and_the_older_count_of_memory(answers):
    (virtual,) = (one for one in answers["readings"] if one["gpu"] == VIRTUAL)
    assert virtual == {"gpu": VIRTUAL, "util": 60, "mem_mib": 1006, "power_w": 0}
    assert not [one for one in answers["holders"] if one["gpu"] == VIRTUAL]


def test_a_gpu_split_by_mig_has_no_utilisation_to_make_up_but_processes(answers):
    assert ["gpus.device_without_utilisation", {"gpu": SPLIT, "error": "split by MIG"}] in answers[
        "warned"
    ]
    assert [one for one in answers["holders"] if one["gpu"] == SPLIT] == [
        {"gpu": SPLIT, "pid": 5000, "name": "ray::train 5000", "mem_mib": 201}
    ]


def test_processes_count_once_and_unknown_ones_are_named_by_pid(answers):
    holders = answers["holders"]
    assert holders[0] == {"gpu": 0, "pid": 4000, "name": "ray::train 4000", "mem_mib": 500}
    assert [one["gpu"] for one in holders] == [0, 1, 1, 2, 3, 4, 5, 7]
    assert holders[1] == {"gpu": 1, "pid": 9, "name": "pid 9", "mem_mib": 0}


def test_a_lost_gpu_is_left_out_of_that_tick_only(library, tmp_path):
    lost = tmp_path / "lost"
    answers, _ = read(with_nvml(library, NVML_LOST=str(lost)), str(lost))
    without, after = answers["again"]
    assert without == [0, 1, 3, 4, 6]
    assert after == [0, 1, 2, 3, 4, 6, 7]
    failed = [fields for event, fields in answers["warned"] if event == "gpus.device_failed"]
    assert [one["gpu"] for one in failed] == [2, 7]


def test_without_a_working_library_there_is_one_warning(library):
    answers, said = read(with_nvml(library, NVML_BROKEN="1"))
    assert answers is None
    assert said.count("gpus.no_library") == 1
    assert "NVML does not start" in said
    assert "amdsmi is not installed" in said


# AMD


class SmiError(Exception):
    pass


class Smi:
    """As `amdsmi` answers, in its older and newer manners."""

    AmdSmiException = SmiError

    class AmdSmiMemoryType:
        VRAM = 0

    def __init__(self, monkeypatch, n=3):
        self.n = n
        self.lost = set()
        monkeypatch.setitem(sys.modules, "amdsmi", self)

    def amdsmi_init(self):
        pass

    def amdsmi_shut_down(self):
        raise SmiError("already down")

    def amdsmi_get_processor_handles(self):
        return [f"gpu{n}" for n in range(self.n)]

    def amdsmi_get_gpu_activity(self, handle):
        if handle in self.lost:
            raise SmiError("lost")
        return {"gfx_activity": "N/A" if handle == "gpu2" else 55}

    def amdsmi_get_gpu_memory_usage(self, handle, kind):
        return 3 << 30

    def amdsmi_get_power_info(self, handle):
        return {"current_socket_power": "N/A", "average_socket_power": 410}

    def amdsmi_get_gpu_process_list(self, handle):
        if handle == "gpu0":
            return [{"pid": 7, "name": "N/A", "mem": 2 << 20}]
        return ["handle"]

    def amdsmi_get_gpu_process_info(self, handle, process):
        return {"pid": 8, "name": "train", "memory_usage": {"vram_mem": 5 << 20}}

    def amdsmi_get_gpu_device_uuid(self, handle):
        return f"uuid-{handle}"


def test_amd_gpus(monkeypatch):
    warned = []
    smi = Smi(monkeypatch)
    devices = AmdDevices.open(lambda event, **fields: warned.append((event, fields["gpu"])))
    assert devices.read() == [Reading(0, 55, 3072, 410), Reading(1, 55, 3072, 410)]
    assert warned == [("gpus.device_without_utilisation", 2)]
    assert devices.holders()[:2] == [Holder(0, 7, "pid 7", 2), Holder(1, 8, "train", 5)]
    assert devices.uuids()[1] == "uuid-gpu1"
    smi.lost.add("gpu0")
    assert [one.gpu for one in devices.read()] == [1]


def test_amd_without_gpus(monkeypatch):
    Smi(monkeypatch, n=0)
    with pytest.raises(DeviceError, match="finds no GPU"):
        AmdDevices.open(lambda *_, **__: None)


# the sampler


class Devices:
    """Two GPUs with one process each."""

    def read(self):
        return [Reading(0, 50, 1024, 300), Reading(3, 0, 0, 0)]

    def holders(self):
        return [Holder(0, 7, "train", 1000)]

    def uuids(self):
        return {0: "GPU-a"}

    def close(self):
        self.is_closed = True


class Taken:
    def __init__(self):
        self.samples, self.processes = [], []

    def push_gpu_samples(self, records):
        self.samples += records

    def push_gpu_processes(self, records):
        self.processes += records


def test_gpus_every_tick_processes_every_five_seconds():
    clock, taken = ManualClock(wall=T), Taken()
    sampler = GpuSampler(taken, node="n", every_s=1.0, clock=clock, devices=Devices())
    for _ in range(11):
        sampler.tick()
        clock.advance(1.0)
    assert taken.samples[:2] == [GpuSample(T, "n", 0, 50, 1024, 300), GpuSample(T, "n", 3, 0, 0, 0)]
    assert len(taken.samples) == 22
    assert [one.ts - T for one in taken.processes] == [0.0, 5.0, 10.0]
    assert taken.processes[0] == GpuProcess(T, "n", 0, 7, "train", 1000)


def test_a_sampler_starts_and_stops():
    devices = Devices()
    taken = Taken()
    sampler = GpuSampler(taken, node="n", every_s=0.01, clock=ManualClock(), devices=devices)
    sampler.start()
    sampler.stop()
    assert devices.is_closed
    assert sampler.has_gpus


def test_without_a_library_a_sampler_does_nothing(caplog):
    taken = Taken()
    sampler = GpuSampler(taken, node="n", every_s=1.0, clock=ManualClock())
    sampler.start()
    sampler.tick()
    sampler.stop()
    assert (sampler.has_gpus, sampler.uuids(), taken.samples) == (False, {}, [])
    assert caplog.text.count("gpus.no_library") == 1
