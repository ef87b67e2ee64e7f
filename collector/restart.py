"""What a collector that is started again finds on the disk, so that a crash costs nothing but what was in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collector.topology import EXTERNAL
from miles_report.schema.streams import TopologyRecord
from miles_report.streams.wire import WireError, decode

if TYPE_CHECKING:
    from pathlib import Path

    from collector.topology import EngineTopology


def restore_topology(topology: EngineTopology, dashboard: Path, *, since: float) -> None:
    """Goes on from the snapshots of this attempt; lines that cannot be read are passed over.

    Args:
        topology: gets them.
        dashboard: folder of the streams.
        since: start of the attempt, Unix seconds; engines of earlier ones are gone, and their addresses may be used again.
    """
    try:
        lines = (dashboard / "topology.jsonl").read_bytes().split(b"\n")[:-1]
    except OSError:
        return
    last: TopologyRecord | None = None
    ever_told: set[str] = set()
    for line in lines:
        try:
            snapshot = decode(line, TopologyRecord)
        except WireError:
            continue
        if snapshot.ts >= since:
            last = snapshot
            ever_told.update(
                engine.addr for engine in snapshot.engines if engine.worker_type != EXTERNAL
            )
    if last is not None:
        topology.restore(last, ever_told)
