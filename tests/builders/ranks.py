"""Processes of a training job, for tests on a Ray cluster."""

from __future__ import annotations

import time
from types import SimpleNamespace

import collector


class Rank:
    """A training process: timers, a trajectory sink, metrics; tells how long its hooks took."""

    def __init__(self, rank):
        self._rank = rank
        self._board = collector.init_dashboard(
            SimpleNamespace(use_miles_dashboard=True), primary=False
        )
        self._timer = collector.PhaseTimer()
        self._timer.event_sinks.append(self._board.phase_sink(rank=rank))
        self._trajectories = self._board.trajectory_sink()
        self._n = 0

    def work(self, seconds):
        slowest, until = 0.0, time.monotonic() + seconds
        while time.monotonic() < until:
            sample = SimpleNamespace(
                index=self._rank * 1_000_000 + self._n, group_index=0, status="completed"
            )
            begun = time.perf_counter()
            with self._timer.phase(f"step{self._n}"):
                self._trajectories.attempt_start(sample)
                self._trajectories.attempt_end(sample)
                collector.dashboard_log(
                    {"n": self._n, f"rank{self._rank}/step": self._n},
                    step_key=f"rank{self._rank}/step",
                )
            slowest = max(slowest, time.perf_counter() - begun)
            self._n += 1
            time.sleep(0.01)
        return self._n, slowest

    def finish(self):
        board = collector.current_dashboard()
        collector.finish_dashboard()
        return board is not None


class Prometheus:
    """The actor that a trainer's own Prometheus exporter has."""

    def __init__(self):
        self._seen = {}

    def update(self, metrics):
        self._seen |= metrics

    def get(self):
        return self._seen
