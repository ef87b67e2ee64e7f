"""The collector: takes records by plain method calls and brings them to the disk.

It knows nothing of Ray. No push ever raises or waits for the disk: records go into bounded memory, and one thread writes them.
What cannot be written is kept, told in the log at every attempt, and counted when memory runs out.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from collector.documents import previous_start_ts, read_document, write_catalog, write_meta
from collector.lanes import LaneCatalog
from collector.latest import LatestValues
from collector.restart import restore_topology
from collector.topology import EngineTopology
from collector.writing import StreamWriter
from miles_report.runtime.clock import SystemClock
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import ThrottledWarnings
from miles_report.schema.streams import LANE_CATALOG_FILE, META_FILE, NEW_SUFFIX, HealthEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from collector.config import CollectorConfig
    from collector.scraping import Scraping
    from collector.writing import FlushReport
    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import (
        DataBufferRecord,
        EngineRecord,
        EngineSample,
        GpuProcess,
        GpuSample,
        MetricsRecord,
        PhaseRecord,
        Record,
        TopologyRecord,
        TrajectoryEvent,
    )

V = TypeVar("V")

logger = logging.getLogger(__name__)

WARN_EVERY_S = 300.0
STOP_S = 10.0
"""How long the end waits for a write or a scrape that is under way."""

RESTARTED = "all streams: the collector was restarted, what it had not written yet was lost"


@dataclass(frozen=True)
class CollectorStatus:
    """What a collector says of itself.

    Attributes:
        life: differs after each start of the process.
        n_waiting: records in memory.
        n_lost: records that were dropped, by stream.
        n_failed_flushes: so far.
    """

    life: str
    n_waiting: int
    n_lost: Mapping[str, int]
    n_failed_flushes: int


class DashboardCollector:
    """One a run. `start` before anything is written, `shutdown` at the end; pushes are taken in between and before."""

    def __init__(
        self,
        config: CollectorConfig,
        *,
        clock: Clock | None = None,
        forward: Callable[[Mapping[str, float]], None] | None = None,
        after_flush: Callable[[], None] | None = None,
    ) -> None:
        """Prepares; nothing is touched.

        Args:
            config: where, how often and what.
            clock: the host's, if null.
            forward: gets a snapshot of the newest values at every flush, if the configuration wants that.
            after_flush: is called after every flush; what it raises is logged.
        """
        self.config = config
        self._clock = SystemClock() if clock is None else clock
        self._forward = forward if config.forward_prometheus else None
        self._after_flush = after_flush
        self._life = os.urandom(8).hex()
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=self._clock)
        self._writer = StreamWriter(
            config.dashboard,
            most_records=config.buffer_records,
            most_bytes=config.buffer_bytes,
            on_torn=_tell_torn,
        )
        self._facts = (
            threading.Lock()
        )  # lanes, topology and router are set by pushes and read by threads
        self._lanes = LaneCatalog()
        self._topology = EngineTopology()
        self._router = config.router
        self._latest = LatestValues()
        self._meta_is_written = False
        self._n_failed_flushes = 0
        self._has_started = False
        self._is_closed = False
        self._flusher = Periodic(
            self._flush_and_log,
            every_s=config.flush_interval_s,
            clock=self._clock,
            name="collector flush",
        )
        self._scraping: Scraping | None = None

    def start(self) -> None:
        """Goes on from what an earlier collector left, writes meta.json, and begins to flush and to scrape.

        Raises:
            RuntimeError: it was started before.
        """
        if self._has_started:
            raise RuntimeError("the collector was started before")
        self._has_started = True
        dashboard = self.config.dashboard
        resumes = previous_start_ts(dashboard) == self.config.start_ts
        with self._facts:
            self._lanes.restore(read_document(dashboard / LANE_CATALOG_FILE))
            if resumes:
                restore_topology(self._topology, dashboard, since=self.config.start_ts)
        now = self._clock.wall()
        event = (
            HealthEvent(now, "records_dropped", detail=RESTARTED)
            if resumes
            else HealthEvent(self.config.start_ts or now, "collector_started")
        )
        self._writer.push("health", [event])
        for name in (META_FILE, LANE_CATALOG_FILE):
            _remove(dashboard / (name + NEW_SUFFIX))
        self._flush_and_log()
        self._flusher.start()
        self._scraping = _scraping(self, self._clock)
        self._scraping.start()

    def push_metrics(self, records: Iterable[MetricsRecord]) -> None:
        """Values that the trainer logged."""
        self._push("metrics", records)

    def push_phases(self, records: Iterable[PhaseRecord]) -> None:
        """Intervals of work of processes; open ones have `t1` = -1."""
        taken = list(records)
        with self._facts:
            for phase in taken:
                self._see(self._lanes.see_phase, phase)
        self._push("phases", taken)

    def push_trajectories(self, records: Iterable[TrajectoryEvent]) -> None:
        """Events in the life of samples."""
        self._push("trajectories", records)

    def push_gpu_samples(self, records: Iterable[GpuSample]) -> None:
        """Readings of GPUs."""
        taken = list(records)
        with self._facts:
            for sample in taken:
                self._see(self._lanes.see_gpu, sample)
        if self._forward is not None:
            self._see(self._latest.see_gpus, taken)
        self._push("gpu_util", taken)

    def push_gpu_processes(self, records: Iterable[GpuProcess]) -> None:
        """Processes that hold memory of GPUs."""
        self._push("gpu_processes", records)

    def push_data_buffer(self, records: Iterable[DataBufferRecord]) -> None:
        """Reports of the data buffer's length."""
        taken = list(records)
        if self._forward is not None:
            self._see(self._latest.see_data_buffer, taken)
        self._push("data_buffer", taken)

    def push_health(self, records: Iterable[HealthEvent]) -> None:
        """Health events, of a monitor or of producers that lost records."""
        self._push("health", records)

    def push_engine_samples(self, records: Iterable[EngineSample]) -> None:
        """Values of engines; the scraper calls this."""
        taken = list(records)
        if self._forward is not None:
            self._see(self._latest.see_engines, taken)
        self._push("engine_series", taken)

    def update_topology(self, engines: Iterable[EngineRecord]) -> None:
        """All engines that the trainer has now; written only if that is a change."""
        try:
            with self._facts:
                snapshot = self._topology.tell(engines, now=self._clock.wall())
        except (TypeError, ValueError, AttributeError) as cause:
            self._warnings.warn("collector.malformed_topology", error=str(cause))
            return
        self._take_snapshot(snapshot)

    def learn_engines(self, addrs: Iterable[str]) -> None:
        """Engines that answered through the router; those that the trainer never told of are external."""
        with self._facts:
            snapshot = self._topology.learn(addrs, now=self._clock.wall())
        self._take_snapshot(snapshot)

    def set_router(self, router: str) -> None:
        """Where the router is; "" if there is none."""
        with self._facts:
            self._router = router

    @property
    def router(self) -> str:
        """Where the router is; "" while unknown."""
        return self._router

    @property
    def engines(self) -> tuple[EngineRecord, ...]:
        """The engines now."""
        with self._facts:
            return self._topology.engines

    def flush(self) -> FlushReport:
        """Writes what waits.

        Returns:
            How it went; failures have been logged.
        """
        report = self._writer.flush(now=self._clock.wall())
        self._write_documents(report)
        if report.failures:
            self._n_failed_flushes += 1
            logger.error(
                "collector.flush_failed: %d records wait in memory; %s",
                report.n_waiting,
                "; ".join(f"{place}: {why}" for place, why in report.failures.items()),
                extra={"failures": report.failures, "n_waiting": report.n_waiting},
            )
        if self._forward is not None:
            self._see(self._forward, self._latest.snapshot())
        if self._after_flush is not None:
            try:
                self._after_flush()
            except Exception as cause:  # noqa: BLE001 - a barrier: whatever else is done at a flush, the next one comes
                self._warnings.warn("collector.after_flush_failed", error=repr(cause))
        return report

    def ping(self) -> CollectorStatus:
        """That it is alive, and how it does."""
        return CollectorStatus(
            self._life, self._writer.n_waiting, dict(self._writer.n_lost), self._n_failed_flushes
        )

    def shutdown(self) -> bool:
        """Ends its threads, writes what is left and then `collector_stopped`; may be called twice.

        Returns:
            Whether everything is on the disk.
        """
        if self._is_closed:
            return True
        if self._scraping is not None:
            self._scraping.stop(STOP_S)
        self._is_closed = True
        if not self._flusher.stop(STOP_S):
            logger.error("collector.flush_hangs: the disk did not answer in %g s", STOP_S)
            return False
        self.flush()
        self._writer.push("health", [HealthEvent(self._clock.wall(), "collector_stopped")])
        report = self.flush()
        if report.n_waiting:
            logger.error("collector.records_lost: %d could not be written", report.n_waiting)
        return report.is_clean

    def _push(self, stream: str, records: Iterable[Record]) -> None:
        if self._is_closed:
            return
        n_refused = self._writer.push(stream, records)
        if n_refused:
            self._warnings.warn("collector.malformed_records", stream=stream, n=n_refused)

    def _take_snapshot(self, snapshot: TopologyRecord | None) -> None:
        if snapshot is not None:
            with self._facts:
                self._see(self._lanes.see_engines, snapshot.engines)
            self._push("topology", [snapshot])

    def _see(self, see: Callable[[V], None], value: V) -> None:
        """A side effect of a push that must not fail it: the record itself is checked where it is encoded."""
        try:
            see(value)
        except Exception as cause:  # noqa: BLE001 - the barrier of a collector hook
            self._warnings.warn("collector.hook_failed", error=repr(cause))

    def _flush_and_log(self) -> None:
        self.flush()

    def _write_documents(self, report: FlushReport) -> None:
        """meta.json until it is there, the lane catalogue when it changed."""
        try:
            if not self._meta_is_written:
                write_meta(self.config)
                self._meta_is_written = True
        except OSError as cause:
            report.failures[META_FILE] = str(cause)
        with self._facts:
            lanes = self._lanes.document() if self._lanes.is_changed else None
            self._lanes.is_changed = False
        if lanes is None:
            return
        try:
            write_catalog(self.config.dashboard, lanes)
        except OSError as cause:
            report.failures[LANE_CATALOG_FILE] = str(cause)
            with self._facts:
                self._lanes.is_changed = True


def _scraping(collector: DashboardCollector, clock: Clock) -> Scraping:
    from collector.scraping import Scraping  # noqa: PLC0415 - HTTP is loaded where engines are scraped

    return Scraping(collector, collector.config, clock)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as cause:
        logger.warning("collector.leftover: %s could not be removed: %s", path.name, cause)


def _tell_torn(path: Path, n_bytes: int) -> None:
    logger.warning(
        "collector.torn_tail: %d bytes of a half-written line were cut off %s", n_bytes, path.name
    )
