"""Servers made of groups, and the job's rollout side: who watches when, and how dead engines come back.

Wiring: offload pauses and onload resumes; generate and eval resume; recovery only pauses, so that checks go on with the next onload,
generate or eval; dispose stops.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faulttol.groups import EngineStartError
from faulttol.monitor import RolloutHealthMonitor
from faulttol.startup import Started, start
from miles_report.errors import UsageError
from miles_report.runtime.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faulttol.groups import EngineGroup
    from faulttol.state import Rule
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

START_S = 1800.0
"""An engine may compile for half an hour."""


@dataclass(frozen=True)
class UpdatableEngines:
    """Where weights go.

    Attributes:
        engines: handles of those that are alive, by group and rank.
        has_new_engines: whether some were started since the updater connected last.
    """

    engines: tuple[Any, ...]
    has_new_engines: bool


class RolloutServer:
    """The groups that serve one model."""

    def __init__(
        self,
        name: str,
        groups: Sequence[EngineGroup],
        *,
        is_updatable: bool = True,
        start_timeout_s: float = START_S,
        clock: Clock | None = None,
    ) -> None:
        """Prepares.

        Args:
            name: for errors.
            groups: those with one configuration each, such as prefill and decode.
            is_updatable: whether the trainer sends it weights.
            start_timeout_s: for a start of engines, all stages and all engines together.
            clock: the host's, if null.
        """
        self.name = name
        self.groups = tuple(groups)
        self.is_updatable = is_updatable
        self._start_timeout_s = start_timeout_s
        self._clock = SystemClock() if clock is None else clock
        self._has_new = False

    @property
    def has_new_engines(self) -> bool:
        """Whether engines were started since `engines_are_connected`."""
        return self._has_new

    def engines_are_connected(self) -> None:
        """The updater knows all engines now."""
        self._has_new = False

    def engines(self) -> tuple[Any, ...]:
        """Handles of engines that are alive."""
        return tuple(handle for group in self.groups for handle in group.engines())

    def start_engines(self) -> Started:
        """Starts all slots that are empty, side by side.

        Raises:
            EngineStartError: some did not start; those that did are alive.
        """
        started = self._start([(group, _empty(group)) for group in self.groups], release=False)
        if started.failed:
            group, rank, reason = started.failed[0]
            raise EngineStartError(
                f"{len(started.failed)} engines of {self.name} did not start; engine {rank} of {group}: {reason}"
            )
        return started

    def recover(self) -> Started:
        """Starts engines in slots that are empty and within their budget; with none, changes nothing.

        An engine that does not start is told and its slot stays empty: the next recovery tries again.
        """
        wanted = [(group, ranks) for group in self.groups if (ranks := group.claim_restarts())]
        if not wanted:
            return Started((), (), 0.0)
        by_name = {group.name: group for group, _ in wanted}
        for group, ranks in wanted:
            for rank in ranks:
                group.tell("recovery_started", group.slot(rank).engine)
        started = self._start(wanted, release=True)
        for name, engine in started.engines:
            by_name[name].tell("engine_recovered", engine, latency_s=started.took_s)
        for name, rank, reason in started.failed:
            group = by_name[name]
            group.tell("recovery_failed", group.slot(rank).engine, detail=reason)
        return started

    def stop_engines(self) -> tuple[str, ...]:
        """Stops all engines; what went wrong."""
        return tuple(error for group in self.groups for error in group.stop_engines())

    def _start(
        self, wanted: Sequence[tuple[EngineGroup, tuple[int, ...]]], *, release: bool
    ) -> Started:
        started = start(
            wanted, clock=self._clock, timeout_s=self._start_timeout_s, release_memory=release
        )
        self._has_new = self._has_new or bool(started.engines)
        return started


class RolloutFleet:
    """All servers of a job with one monitor a group; what a rollout manager calls."""

    def __init__(
        self,
        servers: Sequence[RolloutServer],
        *,
        rule: Rule | None = None,
        use_fault_tolerance: bool = True,
        clock: Clock | None = None,
    ) -> None:
        """Prepares.

        Args:
            servers: their groups have different names.
            rule: of every monitor; null: Miles's defaults.
            use_fault_tolerance: without, there are no monitors and nothing is recovered.
            clock: the host's, if null.

        Raises:
            UsageError: two groups have one name.
        """
        names = [group.name for server in servers for group in server.groups]
        if len(set(names)) != len(names):
            raise UsageError(f"Groups need different names, not {', '.join(names)}.")
        self.servers = tuple(servers)
        self._use_fault_tolerance = use_fault_tolerance
        self._recovering = threading.Lock()
        self.monitors = (
            tuple(
                RolloutHealthMonitor(group, rule, clock=clock)
                for server in servers
                for group in server.groups
            )
            if use_fault_tolerance
            else ()
        )

    def start(self) -> None:
        """Starts all engines, then their monitors, paused.

        Raises:
            EngineStartError: some engines did not start.
        """
        for server in self.servers:
            server.start_engines()
        for monitor in self.monitors:
            monitor.start()

    def before_generate(self) -> None:
        """Engines work from here on: they are watched."""
        for monitor in self.monitors:
            monitor.resume()

    before_eval = before_generate
    after_onload = before_generate

    def before_offload(self) -> None:
        """Engines give their memory away: they are not watched."""
        for monitor in self.monitors:
            monitor.pause()

    def recover_updatable_engines(self) -> UpdatableEngines:
        """Pauses monitoring and brings the dead engines of the updatable server back.

        With nothing dead nothing changes, `has_new_engines` included. Monitoring stays paused.

        Returns:
            What `updatable_engines` says then.

        Raises:
            UsageError: more than one server is updatable.
        """
        server = self._updatable()
        self.before_offload()
        with self._recovering:
            if server is not None and self._use_fault_tolerance:
                server.recover()
        return self.updatable_engines()

    def updatable_engines(self) -> UpdatableEngines:
        """Engines of the updatable server; none if there is no such server.

        Raises:
            UsageError: more than one server is updatable.
        """
        server = self._updatable()
        if server is None:
            return UpdatableEngines((), has_new_engines=False)
        return UpdatableEngines(server.engines(), server.has_new_engines)

    def engines_are_connected(self) -> None:
        """The updater knows all engines: `has_new_engines` is false until the next start."""
        server = self._updatable()
        if server is not None:
            server.engines_are_connected()

    def dispose(self) -> None:
        """Stops monitors, then engines."""
        for monitor in self.monitors:
            if not monitor.stop():
                logger.warning("recovery.monitor_did_not_stop")
        for server in self.servers:
            for error in server.stop_engines():
                logger.warning("recovery.stop_failed: %s", error)

    def _updatable(self) -> RolloutServer | None:
        found = [server for server in self.servers if server.is_updatable]
        if len(found) > 1:
            names = ", ".join(server.name for server in found)
            raise UsageError(f"Only one server can take weights, not {names}.")
        return found[0] if found else None


def _empty(group: EngineGroup) -> tuple[int, ...]:
    return tuple(slot.rank for slot in group.slots() if not slot.parts)
