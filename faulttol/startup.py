"""Starting engines of several groups at once: each stage is begun for all of them before any is waited for."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faulttol.backend import call_safely, error_of
from faulttol.groups import PORTS_A_PART
from faulttol.waiting import wait_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from faulttol.groups import EngineGroup
    from faulttol.state import Engine
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

WEIGHTS = "weights"
PORT_SEARCH_S = 10.0
ROUTER_S = 5.0


@dataclass
class Starting:
    """An engine on its way; `error` null: so far so good."""

    group: EngineGroup
    engine: Engine
    parts: tuple[Any, ...]
    nodes: tuple[str, ...] = ()
    addr: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Started:
    """How a start went.

    Attributes:
        engines: groups' names and engines that are alive now.
        failed: groups' names, ranks and reasons; their slots are empty.
        took_s: from the first to the last.
    """

    engines: tuple[tuple[str, Engine], ...]
    failed: tuple[tuple[str, int, str], ...]
    took_s: float


def start(
    wanted: Iterable[tuple[EngineGroup, Iterable[int]]],
    *,
    clock: Clock,
    timeout_s: float,
    release_memory: bool = True,
) -> Started:
    """Starts engines in the given slots; those that are taken are left alone.

    Groups that offload have their new engines release their memory and resume the weights' part of it, so that a weight
    transfer finds room. One deadline holds for everything; an engine that misses it is killed and its slot stays empty.

    Args:
        wanted: groups and ranks.
        clock: for the deadline.
        timeout_s: for all stages together.
        release_memory: whether to do so at all.
    """
    began = clock.monotonic()
    failed: list[tuple[str, int, str]] = []
    run = _Run(clock, began + timeout_s)
    starting = [one for group, ranks in wanted for one in _create(group, ranks, failed)]
    run.stage(starting, lambda one: _each(one, "node_address"), _know_nodes)
    for one in starting:
        if one.error is None:
            run.find_ports(one)
    run.stage([one for one in starting if run.has_ports(one)], run.begin_init, _know_address)
    if release_memory:
        offloading = [one for one in starting if one.group.offloads]
        run.stage(offloading, lambda one: _each(one, "release_memory_occupation"))
        run.stage(offloading, lambda one: _each(one, "resume_memory_occupation", tags=[WEIGHTS]))
    engines = []
    announced = []
    for one in starting:
        node = one.nodes[0] if one.nodes else None
        if one.error is None and not one.group.settle(one.engine, addr=one.addr, node=node):
            one.error = "it was stopped while it started"
        if one.error is None:
            engines.append((one.group.name, one.engine))
            announced.append(one.group.announce(one.addr or ""))
        else:
            one.group.release(one.engine)
            failed.append((one.group.name, one.engine.rank, one.error))
            logger.warning(
                "startup.engine_failed: group %s, engine %d: %s",
                one.group.name,
                one.engine.rank,
                one.error,
            )
    wait_all([one for one in announced if one is not None], ROUTER_S)
    return Started(tuple(engines), tuple(failed), clock.monotonic() - began)


class _Run:
    """The stages of one start before their common deadline."""

    def __init__(self, clock: Clock, deadline: float) -> None:
        self._clock = clock
        self._deadline = deadline
        self._ports: dict[int, tuple[tuple[int, ...], ...]] = {}

    def left_s(self) -> float:
        return max(0.0, self._deadline - self._clock.monotonic())

    def stage(
        self,
        starting: Iterable[Starting],
        begin: Callable[[Starting], list[Future[Any]]],
        know: Callable[[Starting, list[Any]], None] = lambda _, __: None,
    ) -> None:
        """Begins a call on every engine that is well, waits for all, and notes what they said."""
        calls = [(one, begin(one)) for one in starting if one.error is None]
        wait_all([call for _, several in calls for call in several], self.left_s())
        for one, several in calls:
            errors = [error for call in several if (error := error_of(call)) is not None]
            if errors:
                one.error = errors[0]
            else:
                know(one, [call.result() for call in several])

    def find_ports(self, one: Starting) -> None:
        """Engines on a node come one after the other here, since each begins where the one before ended."""
        found = []
        for part, node in zip(one.parts, one.nodes, strict=True):

            def find(first: int, n: int, part: Any = part) -> int:
                call = call_safely(one.group.backend, part, "find_ports", start=first, n=n)
                wait_all([call], min(PORT_SEARCH_S, self.left_s()))
                error = error_of(call)
                if error is not None:
                    raise RuntimeError(error)
                return int(call.result())

            try:
                found.append(one.group.ports.take(node, PORTS_A_PART, find))
            except Exception as cause:  # noqa: BLE001 - foreign code answers; the engine is given up
                one.error = f"no ports: {cause}"
                return
        self._ports[id(one)] = tuple(found)

    def has_ports(self, one: Starting) -> bool:
        return id(one) in self._ports

    def begin_init(self, one: Starting) -> list[Future[Any]]:
        ports = self._ports[id(one)]
        first_node = f"[{one.nodes[0]}]" if ":" in one.nodes[0] else one.nodes[0]
        return [
            call_safely(
                one.group.backend,
                part,
                "init",
                host=node,
                port=port,
                nccl_port=nccl_port,
                dist_init_addr=f"{first_node}:{ports[0][2]}",
            )
            for part, node, (port, nccl_port, _) in zip(one.parts, one.nodes, ports, strict=True)
        ]


def _create(
    group: EngineGroup, ranks: Iterable[int], failed: list[tuple[str, int, str]]
) -> list[Starting]:
    created = []
    for rank in ranks:
        try:
            slot = group.occupy(rank)
        except Exception as cause:  # noqa: BLE001 - foreign code; the others start all the same
            failed.append((group.name, rank, repr(cause)))
            continue
        if slot is not None:
            created.append(Starting(group, slot.engine, slot.parts))
    return created


def _each(one: Starting, method: str, **arguments: Any) -> list[Future[Any]]:
    return [call_safely(one.group.backend, part, method, **arguments) for part in one.parts]


def _know_nodes(one: Starting, answers: list[Any]) -> None:
    one.nodes = tuple(str(answer) for answer in answers)


def _know_address(one: Starting, answers: list[Any]) -> None:
    one.addr = str(answers[0])
