"""The telemetry of one dump: each stream read at most once, when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from miles_report.sources.meta import read_lane_catalog, read_meta
from miles_report.sources.metrics_stream import read_metrics
from miles_report.sources.stream_files import frame_bounds, join_bounds, read_stream
from miles_report.sources.stream_store import StreamStore
from miles_report.sources.survey import survey_streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from miles_report.notices import Notice
    from miles_report.sources.files import DumpFiles
    from miles_report.sources.meta import CatalogLane, RunMeta
    from miles_report.sources.metrics_stream import LoggedMetrics
    from miles_report.sources.stream_files import TimeBounds
    from miles_report.sources.survey import Survey


class Telemetry:
    """What the streams of a dump say about the run; all empty or null without any.

    Args:
        files: listing of the dump; files are read at the sizes in it.
    """

    def __init__(self, files: DumpFiles) -> None:
        self._files = files
        self._notices: list[Notice] = []
        self.store = StreamStore(files.streams, notices=self._notices)

    @cached_property
    def meta(self) -> RunMeta:
        """What meta.json tells."""
        return read_meta(self._files.meta, notices=self._notices)

    @cached_property
    def metrics(self) -> LoggedMetrics:
        """All logged values, in file order."""
        return read_metrics(self._files.streams.get("metrics", ()), notices=self._notices)

    @cached_property
    def events(self) -> pl.DataFrame:
        """Lifecycle events of samples (the trajectories stream), in file order."""
        return self._whole("trajectories")

    @cached_property
    def health(self) -> pl.DataFrame:
        """Health events, in file order."""
        return self._whole("health")

    @cached_property
    def data_buffer(self) -> pl.DataFrame:
        """Reports of the data buffer's length, in file order."""
        return self._whole("data_buffer")

    @cached_property
    def topology(self) -> pl.DataFrame:
        """Snapshots of the engines, in file order."""
        return self._whole("topology")

    @cached_property
    def lane_catalog(self) -> tuple[CatalogLane, ...]:
        """What the collector knew of each GPU, in file order; empty without a catalogue."""
        return read_lane_catalog(self._files.lane_catalog, notices=self._notices)

    @cached_property
    def survey(self) -> Survey:
        """What the large streams hold; reads each of them once, in bounded memory."""
        return survey_streams(self.store)

    @cached_property
    def bounds(self) -> Mapping[str, TimeBounds]:
        """Extremes of each stream that has a record; reads every line of every stream, in bounded memory."""
        found = {
            "metrics": self.metrics.bounds,
            "topology": frame_bounds(self.topology, "topology"),
            "trajectories": frame_bounds(self.events, "trajectories"),
            "health": frame_bounds(self.health, "health"),
            "data_buffer": frame_bounds(self.data_buffer, "data_buffer"),
        }
        found.update(self.survey.bounds)
        return {stream: bounds for stream, bounds in found.items() if bounds is not None}

    @property
    def first_ts(self) -> float | None:
        """Earliest record of all streams; null without a record."""
        return None if self._overall is None else self._overall.first_ts

    @property
    def last_ts(self) -> float | None:
        """Latest record of all streams; null without a record."""
        return None if self._overall is None else self._overall.last_ts

    def notices(self) -> tuple[Notice, ...]:
        """What could not be read, sorted; reads every stream first."""
        _ = self.meta, self.lane_catalog, self.bounds
        return tuple(sorted(self._notices))

    @cached_property
    def _overall(self) -> TimeBounds | None:
        overall = None
        for bounds in self.bounds.values():
            overall = join_bounds(overall, bounds)
        return overall

    def _whole(self, stream: str) -> pl.DataFrame:
        return read_stream(self._files.streams.get(stream, ()), stream, notices=self._notices)
