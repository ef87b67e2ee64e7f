"""Which engines there are: what the trainer tells, plus external engines that only the scraper sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miles_report.schema.streams import EngineRecord, TopologyRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

EXTERNAL = "external"
NO_RANK = -1


@dataclass(frozen=True)
class EnginePart:
    """What one process of an engine says of itself; an engine over several nodes has a process on each.

    Attributes:
        engine_rank: the same for all parts of an engine.
        node: address of the node.
        gpus: ids of its GPUs on the node.
        addr: where the engine serves; "" for the parts that don't.
        worker_type: regular, prefill, decode.
        node_rank: order of the parts, 0 serves.
        gpu_uuids: beside `gpus`; empty if unknown.
        group: tells engines of several models apart whose ranks both start at 0.
    """

    engine_rank: int
    node: str
    gpus: tuple[int, ...]
    addr: str = ""
    worker_type: str = "regular"
    node_rank: int = 0
    gpu_uuids: tuple[str | None, ...] = ()
    group: str = ""


def merge_parts(parts: Iterable[EnginePart]) -> tuple[EngineRecord, ...]:
    """Engines from their parts, in order of group and rank; an engine over several nodes is one.

    An engine of which no part has an address yet is left out: nothing could be said of it.
    """
    engines: dict[tuple[str, int], list[EnginePart]] = {}
    for part in parts:
        engines.setdefault((part.group, part.engine_rank), []).append(part)
    merged = []
    for _, members in sorted(engines.items()):
        members.sort(key=lambda part: part.node_rank)
        head = next((part for part in members if part.addr), None)
        if head is not None:
            merged.append(
                EngineRecord(
                    head.addr,
                    head.worker_type,
                    head.engine_rank,
                    tuple((part.node, gpu) for part in members for gpu in part.gpus),
                    tuple(uuid for part in members for uuid in _uuids(part)),
                )
            )
    return tuple(merged)


def external_engine(addr: str) -> EngineRecord:
    """An engine that the run uses and did not start."""
    return EngineRecord(addr, EXTERNAL, NO_RANK, (), ())


class EngineTopology:
    """The engines now. Every change gives a snapshot; what is told again gives none."""

    def __init__(self) -> None:
        self._told: tuple[EngineRecord, ...] = ()
        self._external: dict[str, EngineRecord] = {}
        self._ever_told: set[str] = set()
        self._written: tuple[EngineRecord, ...] | None = None

    @property
    def engines(self) -> tuple[EngineRecord, ...]:
        """The engines, those that were learnt last."""
        told = {engine.addr for engine in self._told}
        return self._told + tuple(
            engine for addr, engine in self._external.items() if addr not in told
        )

    def restore(self, last: TopologyRecord, ever_told: Iterable[str]) -> None:
        """Goes on from the last snapshot of an earlier collector.

        Args:
            last: the snapshot.
            ever_told: addresses of all engines that were told of before it.
        """
        self._told = tuple(engine for engine in last.engines if engine.worker_type != EXTERNAL)
        self._external = {
            engine.addr: engine for engine in last.engines if engine.worker_type == EXTERNAL
        }
        self._ever_told.update(ever_told, (engine.addr for engine in self._told))
        self._written = last.engines

    def tell(self, engines: Iterable[EngineRecord], *, now: float) -> TopologyRecord | None:
        """Takes what the trainer says: all its engines now.

        Returns:
            The snapshot, if it differs from the last.
        """
        self._told = tuple(_plain(engine) for engine in engines)
        self._ever_told.update(engine.addr for engine in self._told)
        for addr in self._ever_told:
            self._external.pop(addr, None)
        return self._changed(now)

    def learn(self, addrs: Iterable[str], *, now: float) -> TopologyRecord | None:
        """Takes addresses that answered a scrape.

        An engine that the trainer told of once is never learnt: it was taken away, and a late answer must not bring it
        back to life.

        Returns:
            The snapshot, if an external engine is new.
        """
        for addr in addrs:
            if addr not in self._ever_told and addr not in self._external:
                self._external[addr] = external_engine(addr)
        return self._changed(now)

    def _changed(self, now: float) -> TopologyRecord | None:
        engines = self.engines
        if engines == (self._written or ()):
            return None
        self._written = engines
        return TopologyRecord(now, engines)


def _plain(engine: EngineRecord) -> EngineRecord:
    """With tuples where another language or a JSON file has lists."""
    return replace(
        engine,
        gpus=tuple((str(node), int(gpu)) for node, gpu in engine.gpus),
        gpu_uuids=tuple(engine.gpu_uuids),
    )


def _uuids(part: EnginePart) -> tuple[str | None, ...]:
    """One a GPU, null where unknown."""
    known = part.gpu_uuids[: len(part.gpus)]
    return known + (None,) * (len(part.gpus) - len(known))
