"""What collecting costs: run by hand or by `make bench`; prints one line a figure with its budget, exits 1 beyond a budget."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from collector.outbox import Outbox
from collector.phases import PhaseSink, PhaseTimer
from collector.session import Dashboard
from miles_report.runtime.clock import SystemClock
from miles_report.schema.streams import GpuSample

HOOK_P99_US = 50.0
IMPORT_MS = 100.0
STEP_MS = 5.0
N_HOOKS = 20_000
PAUSE_S = 0.0002
N_FLUSHED = 500_000
T = 1770161400.0


class Sleeping:
    """A collector in which every push takes five seconds."""

    def __init__(self):
        self.wakes = threading.Event()

    def __getattr__(self, method):
        if not method.startswith("push"):
            raise AttributeError(method)
        return lambda _: self.wakes.wait(5.0)


class Dead:
    """A collector that cannot be reached."""

    def __getattr__(self, method):
        if not method.startswith("push"):
            raise AttributeError(method)

        def fails(_):
            raise ConnectionError("no such actor")

        return fails


class Figures:
    """Prints figures and remembers whether one was beyond its budget."""

    def __init__(self):
        self.is_over = False

    def tell(self, what, value, unit, budget=None):
        over = budget is not None and value > budget
        self.is_over |= over
        limit = (
            "" if budget is None else f"   (budget {budget:g} {unit}{', EXCEEDED' if over else ''})"
        )
        print(f"{what:<58} {value:>10.4g} {unit}{limit}", flush=True)


def percentile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def hooks(figures, name, target):
    """Time of each hook, `begin` and end apart, while the outbox hands over in the background."""
    clock = SystemClock()
    outbox = Outbox(target, clock, origin="n", every_s=0.05)
    outbox.start()
    sink = PhaseSink(outbox.queue("phases"), node="10.0.0.1", gpus=(0,), rank=0)
    took = []
    for n in range(N_HOOKS):
        t0 = clock.wall()
        begun = time.perf_counter()
        sink.begin("actor_train", t0)
        between = time.perf_counter()
        sink("actor_train", t0, t0 + 1.0)
        ended = time.perf_counter()
        took += [between - begun, ended - between]
        if n % 10 == 0:
            time.sleep(PAUSE_S)  # a trainer works between its hooks, and the outbox gets its turn
    if isinstance(target, Sleeping):
        target.wakes.set()
    outbox.stop(10.0)
    later = [1e6 * one for one in took[2:]]
    figures.tell(f"phase hook, {name} collector, first call", 1e6 * took[0], "µs")
    figures.tell(f"phase hook, {name} collector, p50", percentile(later, 0.5), "µs")
    figures.tell(f"phase hook, {name} collector, p99", percentile(later, 0.99), "µs", HOOK_P99_US)


def step_mix(figures, folder):
    """What one training step adds on one rank: 14 phases, 512 samples of four turns, a tracking call of 80 values."""
    collector = DashboardCollector(CollectorConfig(folder, start_ts=T))
    collector.start()
    board = Dashboard(collector, node="10.0.0.1", gpus=(0,), close=collector.shutdown)
    timer = PhaseTimer()
    timer.event_sinks.append(board.phase_sink(rank=0))
    sink = board.trajectory_sink()
    metrics = {f"train/value{n}": float(n) for n in range(80)}
    samples = [
        SimpleNamespace(
            index=n,
            group_index=n // 8,
            weight_versions=["3"],
            status="completed",
            response_length=100,
        )
        for n in range(512)
    ]
    train, rollout = [], []
    for step in range(30):
        begun = time.perf_counter()
        for n in range(14):
            with timer.phase(f"phase{n}"):
                pass
        board.log(metrics, step=step, step_key="train/step")
        between = time.perf_counter()
        for sample in samples:
            sink.attempt_start(sample)
            for turn in range(1, 5):
                sink.gen_span(sample, T, T + 1, turn=turn)
            sink.attempt_end(sample)
        ended = time.perf_counter()
        train.append(1e3 * (between - begun))
        rollout.append(1e3 * (ended - between))
        time.sleep(0.05)
    board.finish()
    figures.tell(
        "a training step on a rank (14 phases, 80 metrics), median",
        statistics.median(train),
        "ms",
        STEP_MS,
    )
    figures.tell("a rollout of 512 samples of 4 turns, median", statistics.median(rollout), "ms")


def ingest_and_flush(figures, folder):
    """Records into the collector and onto the disk."""
    collector = DashboardCollector(CollectorConfig(folder, start_ts=T, buffer_records=N_FLUSHED))
    batches = [
        [
            GpuSample(T + n, f"10.0.0.{node}", gpu, 50 + gpu, 70_000 + gpu, 600)
            for node in range(16)
            for gpu in range(8)
        ]
        for n in range(N_FLUSHED // 128)
    ]
    n_records = sum(len(batch) for batch in batches)
    begun = time.perf_counter()
    for batch in batches:
        collector.push_gpu_samples(batch)
    figures.tell("ingest of GPU samples", n_records / (time.perf_counter() - begun), "records/s")
    begun = time.perf_counter()
    report = collector.flush()
    figures.tell(f"flush of {report.n_written} records", time.perf_counter() - begun, "s")


FULL = """
import resource, tempfile
from pathlib import Path
from collector.collector import DashboardCollector
from collector.config import CollectorConfig
from miles_report.schema.streams import EngineSample, GpuSample
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
collector = DashboardCollector(CollectorConfig(Path(tempfile.mkdtemp())))
before = rss()
T = 1770161400.0
for n in range(510_000 // 128):
    collector.push_gpu_samples([GpuSample(T + n, f"10.0.0.{k // 8}", k % 8, 50, 70_000, 600) for k in range(128)])
gpus = rss()
for n in range(510_000 // 128):
    collector.push_engine_samples([EngineSample(T + n, f"http://10.0.0.{k}:15000", "sglang_token_usage", {"dp_rank": "0"}, 0.5) for k in range(128)])
print(gpus - before, rss() - gpus)
"""


def memory(figures):
    """Of full buffers, in a process of its own."""
    out = subprocess.run([sys.executable, "-c", FULL], check=True, capture_output=True, text=True)
    gpus, engines = (float(one) for one in out.stdout.split())
    figures.tell("memory of 500,000 waiting GPU samples", gpus, "MiB")
    figures.tell("memory of 500,000 waiting engine samples", engines, "MiB")


def import_time(figures):
    """Of the package in a fresh interpreter: processor time, best of five, the others measure the machine."""
    code = (
        "import sys, time; t = time.process_time(); import collector; took = time.process_time() - t\n"
        "assert not {'polars', 'torch', 'numpy', 'ray'} & set(sys.modules)\n"
        "print(took)"
    )
    took = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True
            ).stdout
        )
        for _ in range(5)
    ]
    figures.tell("import collector", 1e3 * min(took), "ms", IMPORT_MS)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        live = DashboardCollector(
            CollectorConfig(folder / "live", start_ts=T, flush_interval_s=0.2)
        )
        live.start()
        hooks(figures, "live", live)
        live.shutdown()
        hooks(figures, "sleeping", Sleeping())
        hooks(figures, "dead", Dead())
        step_mix(figures, folder / "step")
        ingest_and_flush(figures, folder / "ingest")
    memory(figures)
    import_time(figures)
    sys.exit(1 if figures.is_over else 0)


if __name__ == "__main__":
    main()
