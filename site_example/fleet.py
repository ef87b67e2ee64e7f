"""The engines of the run under `faulttol`: watched, killed when they are ill, replaced before the next weight update."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import ray

import faulttol
from collector import EnginePart
from faulttol.ray_backend import RayBackend, RaySink
from miles_report.runtime.clock import SystemClock
from site_example.engine import EngineActor

if TYPE_CHECKING:
    from collector import Dashboard

GROUP = "default"
START_S = 180.0
POLL_S = 0.1


class Fleet:
    """All engines; `addresses` are those that answered last, so a request may still meet a dead one."""

    def __init__(self, args: Any, dashboard: Dashboard | None) -> None:
        clock = SystemClock()
        self._args, self._dashboard = args, dashboard
        self._log = faulttol.HealthLog(None if dashboard is None else RaySink(clock), clock=clock)
        backend = RayBackend(
            EngineActor,
            options=lambda _engine, _node: {"num_cpus": 0, "max_concurrency": 4},
            arguments=lambda engine_rank, _node: {"engine_rank": engine_rank},
        )
        self._group = faulttol.EngineGroup(
            GROUP,
            backend,
            n_engines=args.rollout_num_engines,
            ports=faulttol.Ports(),
            log=self._log,
            budget=faulttol.budget_of(args),
        )
        server = faulttol.RolloutServer("actor", [self._group], start_timeout_s=START_S)
        self._fleet = faulttol.RolloutFleet(
            [server], rule=faulttol.rule_of(args), use_fault_tolerance=args.use_fault_tolerance
        )
        self._updater = faulttol.WeightUpdater(
            faulttol.transfer_pool_of(args, log=self._log), _send_weights
        )

    def start(self) -> None:
        """Starts all engines.

        Raises:
            EngineStartError: one did not start.
        """
        self._fleet.start()
        self._tell_topology()

    def addresses(self) -> list[str]:
        """Where to send requests."""
        return [slot.addr for slot in self._group.slots() if slot.parts and slot.addr]

    def update_weights(self, weights: bytes, version: int) -> None:
        """Replaces engines that died, sends a policy to all, and has them watched again."""
        recovered = faulttol.before_weight_update(
            self._args,
            0,
            self._fleet.recover_updatable_engines,
            self._fleet.updatable_engines,
            self._updater.connect,
            self._fleet.engines_are_connected,
        )
        if recovered:
            self._tell_topology()
        self._updater.connect(self._fleet.updatable_engines().engines)
        report = self._updater.update((ray.put(weights), str(version)))
        self._fleet.before_generate()
        if report.failed:
            self._await_verdict()

    def _await_verdict(self) -> None:
        """Gives the monitor the time of one check: steps here are shorter than that, and each update ends the watch."""
        rule = faulttol.rule_of(self._args)
        until = time.monotonic() + rule.interval_s + rule.timeout_s + rule.shutdown_timeout_s
        while all(slot.parts for slot in self._group.slots()) and time.monotonic() < until:
            time.sleep(POLL_S)

    def break_engine(self, rank: int, name: str) -> None:
        """A fault: SIGSTOP hangs the child of an engine, SIGKILL ends it."""
        for slot in self._group.slots():
            if slot.rank == rank and slot.parts:
                ray.get(slot.parts[0].send_signal.remote(name))

    def close(self) -> None:
        """Ends the watch and all engines."""
        if self._dashboard is not None:
            self._dashboard.engines(())
        self._fleet.dispose()
        self._log.close()

    def _tell_topology(self) -> None:
        if self._dashboard is not None:
            self._dashboard.engines(
                EnginePart(slot.rank, slot.node or "", (), slot.addr)
                for slot in self._group.slots()
                if slot.addr and slot.parts
            )


def _send_weights(engine: Any, update: tuple[Any, str]) -> Any:
    weights, version = update
    return engine.update_weights.remote(weights, version).future()
