"""Which ranks and engines each GPU served, gathered from what passes through the collector.

Only what has been seen goes in; an entry never loses anything, because Miles's reader takes the catalogue instead of a scan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from miles_report.schema.streams import EngineRecord, GpuProcess, GpuSample, PhaseRecord

TRAIN = "train"
ROLLOUT = "rollout"

LANE_KEY = re.compile(r".+:[0-9]{1,9}", re.DOTALL)


@dataclass
class Lane:
    """What is known of one GPU."""

    ranks: set[int] = field(default_factory=set)
    engine_addrs: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)


class LaneCatalog:
    """The lanes of a run; `is_changed` until they are written."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._seen: set[object] = set()
        self.is_changed = False

    def restore(self, document: Mapping[str, Any]) -> None:
        """Takes over what lane_catalog.json of an earlier collector holds; entries that make no sense are left out."""
        lanes = document.get("lanes")
        for key, entry in lanes.items() if isinstance(lanes, dict) else ():
            if LANE_KEY.fullmatch(key) is None or not isinstance(entry, dict):
                continue
            self._lanes[key] = Lane(
                {rank for rank in _items(entry, "ranks") if type(rank) is int},
                {addr for addr in _items(entry, "engine_addrs") if isinstance(addr, str)},
                {role for role in _items(entry, "roles") if isinstance(role, str)},
            )

    def see_phase(self, phase: PhaseRecord) -> None:
        """The GPUs of a process and its rank; a rank that is not known yet is none."""
        mark = (phase.node, tuple(phase.gpus), phase.rank, phase.role)
        if mark in self._seen:
            return
        self._seen.add(mark)
        for gpu in phase.gpus:
            lane = self._lane(phase.node, gpu)
            self.is_changed |= phase.role not in lane.roles
            lane.roles.add(phase.role)
            if phase.rank >= 0:
                self.is_changed |= phase.rank not in lane.ranks
                lane.ranks.add(phase.rank)

    def see_engines(self, engines: Iterable[EngineRecord]) -> None:
        """The GPUs of engines."""
        for engine in engines:
            for node, gpu in engine.gpus:
                lane = self._lane(node, gpu)
                self.is_changed |= engine.addr not in lane.engine_addrs or ROLLOUT not in lane.roles
                lane.engine_addrs.add(engine.addr)
                lane.roles.add(ROLLOUT)

    def see_gpu(self, reading: GpuSample | GpuProcess) -> None:
        """A GPU that exists."""
        self._lane(reading.node, reading.gpu)

    def document(self) -> dict[str, dict[str, Any]]:
        """The lanes as lane_catalog.json has them, in order of node and GPU."""

        def order(key: str) -> tuple[str, int]:
            node, _, gpu = key.rpartition(":")
            return node, int(gpu)

        return {
            key: {
                "ranks": sorted(lane.ranks),
                "engine_addrs": sorted(lane.engine_addrs),
                "roles": sorted(lane.roles),
            }
            for key, lane in sorted(self._lanes.items(), key=lambda item: order(item[0]))
        }

    def _lane(self, node: str, gpu: int) -> Lane:
        key = f"{node}:{gpu}"
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane()
            self.is_changed = True
        return lane


def _items(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name)
    return value if isinstance(value, list) else []
