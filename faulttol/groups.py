"""A group of equal engines: slots that are stopped, starting or alive, and what may be done to each.

A slot's life goes up with every start, so that what was decided about one engine is never done to its successor. The lock guards
the slots only; nobody is called while it is held.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from faulttol.backend import call_safely, error_of
from faulttol.budget import RestartBudget, Verdict
from faulttol.state import Engine
from faulttol.threads import in_thread
from faulttol.waiting import wait_all
from miles_report.errors import MilesReportError
from miles_report.runtime.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from faulttol.backend import EngineBackend
    from faulttol.events import HealthLog
    from faulttol.ports import Ports
    from faulttol.router import Router
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

PORTS_A_PART = 3
"""Server, NCCL and distributed initialisation."""


class SlotState(StrEnum):
    """Whether somebody lives there."""

    STOPPED = "stopped"
    STARTING = "starting"
    ALIVE = "alive"


@dataclass(frozen=True)
class Slot:
    """Where one engine lives.

    Attributes:
        life: which of the engines that lived here; 0: none ever did.
        parts: handles, one a node; none while stopped.
        addr: of the engine's server, once it is alive.
        node: address of its first node.
        restarts: monotonic seconds of its starts but the first.
    """

    rank: int
    state: SlotState = SlotState.STOPPED
    life: int = 0
    parts: tuple[Any, ...] = ()
    addr: str | None = None
    node: str | None = None
    restarts: tuple[float, ...] = ()

    @property
    def engine(self) -> Engine:
        """Who lives there."""
        return Engine(self.rank, self.life)


class EngineStartError(MilesReportError):
    """Engines that were needed did not start."""


class EngineGroup:
    """Engines with one configuration, watched by one monitor."""

    def __init__(
        self,
        name: str,
        backend: EngineBackend,
        *,
        n_engines: int,
        ports: Ports,
        log: HealthLog,
        nodes_per_engine: int = 1,
        first_rank: int = 0,
        offloads: bool = False,
        budget: RestartBudget | None = None,
        router: Router | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepares empty slots.

        Args:
            name: in events.
            backend: creates, calls and kills engines.
            n_engines: slots.
            ports: shared by all groups of the job.
            log: is told.
            nodes_per_engine: parts of an engine; they live and die together.
            first_rank: of the first slot, so that ranks are unique in the job.
            offloads: whether engines give their memory to the trainer; then new ones release it, and resume the weights.
            budget: of restarts; null: no limit.
            router: is told which engines are there; null: engines do that themselves, or nobody.
            clock: the host's, if null.
        """
        self.name = name
        self.backend = backend
        self.ports = ports
        self.offloads = offloads
        self._log = log
        self._router = router
        self._nodes_per_engine = nodes_per_engine
        self._budget = RestartBudget() if budget is None else budget
        self._clock = SystemClock() if clock is None else clock
        self._lock = threading.Lock()
        self._slots = {rank: Slot(rank) for rank in range(first_rank, first_rank + n_engines)}
        self._told_exhausted: set[int] = set()

    def slots(self) -> tuple[Slot, ...]:
        """All slots, as they are now."""
        with self._lock:
            return tuple(self._slots.values())

    def slot(self, rank: int) -> Slot:
        """One slot, as it is now."""
        with self._lock:
            return self._slots[rank]

    def alive(self) -> tuple[Engine, ...]:
        """Engines that can be asked."""
        return tuple(slot.engine for slot in self.slots() if slot.state is SlotState.ALIVE)

    def engines(self) -> tuple[Any, ...]:
        """Handles of the first part of each engine that is alive, by rank."""
        return tuple(slot.parts[0] for slot in self.slots() if slot.state is SlotState.ALIVE)

    def ask(self, engine: Engine, method: str, **arguments: Any) -> Future[Any] | None:
        """Calls a method of an engine's first part; null if it does not live any more."""
        slot = self.slot(engine.rank)
        if slot.engine != engine or slot.state is not SlotState.ALIVE:
            return None
        return call_safely(self.backend, slot.parts[0], method, **arguments)

    def tell(
        self,
        event: str,
        engine: Engine | None = None,
        *,
        latency_s: float | None = None,
        detail: str | None = None,
    ) -> None:
        """Records an event of the group, or of one of its engines."""
        slot = None if engine is None else self.slot(engine.rank)
        self._log.tell(
            event,
            group=self.name,
            engine_rank=None if slot is None else slot.rank,
            addr=None if slot is None else slot.addr,
            node=None if slot is None else slot.node,
            latency_s=latency_s,
            detail=detail,
        )

    def claim_restarts(self) -> tuple[int, ...]:
        """Ranks of empty slots that may be started again now; tells of those whose budget is used up, once."""
        allowed = []
        now = self._clock.monotonic()
        for slot in self.slots():
            if slot.state is not SlotState.STOPPED:
                continue
            verdict = self._budget.verdict(slot.restarts, now)
            if verdict is Verdict.ALLOWED:
                allowed.append(slot.rank)
            elif verdict is Verdict.EXHAUSTED and slot.rank not in self._told_exhausted:
                self._told_exhausted.add(slot.rank)
                self.tell(
                    "restart_budget_exhausted",
                    slot.engine,
                    detail=f"{len(slot.restarts)} restarts",
                )
        return tuple(allowed)

    def occupy(self, rank: int) -> Slot | None:
        """Creates the parts of a stopped slot's next engine; null if the slot is taken.

        Raises:
            Exception: what the backend raises; the slot is stopped then.
        """
        with self._lock:
            slot = self._slots[rank]
            if slot.state is not SlotState.STOPPED:
                return None
            restarts = slot.restarts + ((self._clock.monotonic(),) if slot.life else ())
            slot = Slot(rank, SlotState.STARTING, slot.life + 1, restarts=restarts)
            self._slots[rank] = slot
        parts: list[Any] = []
        try:
            for node_rank in range(self._nodes_per_engine):
                parts.append(  # noqa: PERF401 - those before a failure have to be known
                    self.backend.create(group=self.name, engine_rank=rank, node_rank=node_rank)
                )
        except Exception:
            for part in parts:
                self.backend.kill(part)
            self._set(slot.engine, state=SlotState.STOPPED)
            raise
        self._set(slot.engine, parts=tuple(parts))
        return self.slot(rank)

    def settle(self, engine: Engine, *, addr: str | None, node: str | None) -> bool:
        """Makes a starting engine alive; False if it was stopped meanwhile."""
        return self._set(engine, state=SlotState.ALIVE, addr=addr, node=node)

    def announce(self, addr: str) -> Future[Any] | None:
        """Tells the router of an engine that is alive; null if there is no router."""
        return None if self._router is None else self._tell_router(self._router.add, addr)

    def release(self, engine: Engine) -> str | None:
        """Kills an engine's parts and empties its slot; does nothing if another lives there.

        Returns:
            What the backend raised, if it did; the slot is empty all the same.
        """
        with self._lock:
            slot = self._slots[engine.rank]
            if slot.engine != engine or slot.state is SlotState.STOPPED:
                return None
        error = None
        for part in slot.parts:
            try:
                self.backend.kill(part)
            except Exception as cause:  # noqa: BLE001 - foreign code; the slot has to become empty
                error = repr(cause)
        self._set(engine, state=SlotState.STOPPED, parts=())
        if self._router is not None and slot.addr is not None:
            self._tell_router(self._router.remove, slot.addr)
        return error

    def shut_down(self, engine: Engine) -> list[Future[Any]]:
        """Asks all parts of an engine to shut down; their answers."""
        slot = self.slot(engine.rank)
        if slot.engine != engine:
            return []
        return [call_safely(self.backend, part, "shutdown") for part in slot.parts]

    def stop_engines(
        self, ranks: Iterable[int] | None = None, *, timeout_s: float = 10.0
    ) -> tuple[str, ...]:
        """Shuts engines down side by side, kills what is left of them and empties their slots.

        Args:
            ranks: null: all.
            timeout_s: for all shutdowns together.

        Returns:
            What went wrong; the slots are empty all the same.
        """
        wanted = None if ranks is None else set(ranks)
        engines = [
            slot.engine
            for slot in self.slots()
            if slot.state is not SlotState.STOPPED and (wanted is None or slot.rank in wanted)
        ]
        answers = {engine: self.shut_down(engine) for engine in engines}
        wait_all([one for several in answers.values() for one in several], timeout_s)
        errors: list[str] = []
        for engine, several in answers.items():
            errors += [
                f"engine {engine.rank}: {error}" for one in several if (error := error_of(one))
            ]
            killing = self.release(engine)
            if killing is not None:
                errors.append(f"engine {engine.rank}: {killing}")
        return tuple(errors)

    def _tell_router(self, tell: Callable[[str], object], addr: str) -> Future[Any]:
        def told() -> object:
            try:
                return tell(addr)
            except Exception as cause:
                logger.warning("groups.router_not_told: %s: %s", addr, cause)
                raise

        return in_thread(told, name="faulttol-router")

    def _set(self, engine: Engine, **changes: Any) -> bool:
        with self._lock:
            slot = self._slots[engine.rank]
            if slot.engine != engine:
                return False
            if changes.get("state") is SlotState.ALIVE and slot.state is not SlotState.STARTING:
                return False
            self._slots[engine.rank] = replace(slot, **changes)
            return True
