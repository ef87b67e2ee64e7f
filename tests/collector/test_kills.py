"""A collector killed with SIGKILL at random moments while it writes; the next one goes on in the same files."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

import miles_report

WRITER = """
import itertools, os, sys, time
from pathlib import Path
from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from miles_report.schema.streams import DataBufferRecord, EngineRecord, GpuSample, PhaseRecord

life = int(sys.argv[2])
T = 1770161400.0
collector = DashboardCollector(CollectorConfig(Path(sys.argv[1]), start_ts=T, flush_interval_s=1000.0))
collector.start()
flushed = open(sys.argv[3], "a")
print("up", flush=True)
for n in itertools.count():
    first = life * 10_000_000 + n * 3000
    collector.push_data_buffer(DataBufferRecord(T + n, first + k) for k in range(3000))
    collector.push_gpu_samples(GpuSample(T + 3600 * (k % 2), "node" * 20, k % 8, 1, first + k, 1) for k in range(3000))
    collector.push_phases([PhaseRecord(f"phase{life}-{n}", T, T + 1, "n", (n % 4096,), 0, "train")])
    collector.update_topology([EngineRecord(f"http://n:{n}", "regular", 0, (("n", 0),), (None,))])
    if not collector.flush().failures:
        os.write(flushed.fileno(), f"{first}\\n".encode())
"""

UNTIL_S = 0.25


def kill_at_random(dump, life, flushed, moment_s):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, dump, str(life), flushed], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout.readline() == b"up\n"
        time.sleep(moment_s)  # the moment is what is tried here
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()


def whole_lines(path):
    content = path.read_bytes()
    return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]


def check(dump, flushed):
    """Every line that is complete can be read, no record is there twice, and every record of a finished flush is there."""
    dashboard = dump / "dashboard"
    assert json.loads((dashboard / "meta.json").read_text())["start_ts"] == 1770161400.0
    for path in dashboard.glob("*.json"):
        json.loads(path.read_text())
    for path in dashboard.rglob("*.jsonl"):
        whole_lines(path)
    firsts = [int(line) for line in flushed.read_text().splitlines()]
    expected = {first + k for first in firsts for k in range(3000)}
    lengths = [
        line["length"] for path in dashboard.glob("data_buffer.jsonl") for line in whole_lines(path)
    ]
    samples = [
        line["mem_mb"] for path in dashboard.glob("gpu_util/*") for line in whole_lines(path)
    ]
    for found in (lengths, samples):
        assert len(found) == len(set(found))
        assert expected <= set(found)


def killed_many_times(tmp_path, n_kills, seed):
    chance = random.Random(seed)
    dump, flushed = tmp_path / "dump", tmp_path / "flushed"
    flushed.touch()
    for life in range(1, n_kills + 1):
        kill_at_random(dump, life, flushed, chance.uniform(0.0, UNTIL_S))
        check(dump, flushed)
    return dump


def test_five_kills(tmp_path):
    dump = killed_many_times(tmp_path, 5, seed=5)
    run = miles_report.open_run(dump)
    assert "error" not in run.table("notices")["severity"].to_list()
    assert run.table("run")["t1"][0] is not None


@pytest.mark.stress
def test_fifty_kills(tmp_path):
    killed_many_times(tmp_path, 50, seed=50)
