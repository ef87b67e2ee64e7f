"""Fault tolerance: how soon one hung engine of 64 is found, one by one and side by side, and what an idle monitor costs."""

from __future__ import annotations

import argparse
import sys
import threading
import time

from builders.fake_engines import HANGS, FakeBackend, Sink

import faulttol
from miles_report.runtime.clock import SystemClock

N = 64
TIMEOUT_S = 0.5
HUNG = 63  # the last: what comes before it costs a one by one monitor its time
N_SLOW = 8  # slow but well: each answers after half the timeout
IDLE_S = 3.0
DETECTION_BUDGET_S = 2 * TIMEOUT_S
IDLE_CPU_BUDGET_PCT = 1.0


class SlowBackend(FakeBackend):
    """Some engines answer late, but in time."""

    def call(self, handle, method, **arguments):
        future = super().call(handle, method, **arguments)
        if method == "health_generate" and handle.engine_rank < N_SLOW:
            return faulttol.in_thread(lambda: time.sleep(TIMEOUT_S / 2))
        return future


def group_of(backend, log):
    group = faulttol.EngineGroup("bench", backend, n_engines=N, ports=faulttol.Ports(), log=log)
    faulttol.RolloutServer("bench", [group]).start_engines()
    return group


def one_by_one(group):
    """How long a monitor that asks one engine after the other takes to find the hung one."""
    began = time.monotonic()
    for engine in group.alive():
        call = group.ask(engine, "health_generate", timeout=TIMEOUT_S)
        try:
            call.result(timeout=TIMEOUT_S)
        except TimeoutError:
            return time.monotonic() - began
    raise AssertionError("nothing was found")


def side_by_side(group):
    monitor = faulttol.RolloutHealthMonitor(
        group, faulttol.Rule(interval_s=0.1, timeout_s=TIMEOUT_S, shutdown_timeout_s=0.1)
    )
    monitor.start()
    began = time.monotonic()
    monitor.resume()
    while len(group.alive()) == N:
        time.sleep(0.005)
    took_s = time.monotonic() - began
    monitor.stop()
    return took_s


def idle(group):
    """Threads, and CPU in percent of a core, of a monitor that rests."""
    before = threading.active_count()
    monitor = faulttol.RolloutHealthMonitor(group, faulttol.Rule(interval_s=30.0))
    monitor.start()
    monitor.resume()
    time.sleep(0.5)
    threads = threading.active_count() - before
    cpu, began = time.process_time(), time.monotonic()
    time.sleep(IDLE_S)
    pct = 100 * (time.process_time() - cpu) / (time.monotonic() - began)
    monitor.stop()
    return threads, pct


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    log = faulttol.HealthLog(Sink(), clock=SystemClock())
    backend = SlowBackend()
    group = group_of(backend, log)
    threads, pct = idle(group)
    backend.of(HUNG).answers["health_generate"] = HANGS
    serial_s = one_by_one(group)
    parallel_s = side_by_side(group)
    log.close()
    print(f"one hung of {N}, timeout {TIMEOUT_S} s, {N_SLOW} slow ones before it:")
    print(f"  one by one     found after {serial_s:6.2f} s")
    print(f"  side by side   killed after {parallel_s:5.2f} s (budget {DETECTION_BUDGET_S} s)")
    print(f"  all {N} hung, one by one: {N * TIMEOUT_S:.0f} s; at the default timeout 32 minutes")
    print(f"idle monitor: {threads} thread, {pct:.2f} % of a core (budget {IDLE_CPU_BUDGET_PCT} %)")
    is_over = parallel_s > DETECTION_BUDGET_S or pct > IDLE_CPU_BUDGET_PCT or threads != 1
    sys.exit(1 if is_over else 0)


if __name__ == "__main__":
    main()
