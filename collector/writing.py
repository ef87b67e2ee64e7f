"""Records into buffers, buffers into files: what could not be written waits, and what was lost is counted.

A record is in exactly one place at any moment: waiting, being written, written, or counted as lost.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from collector.buffers import Line, LineBuffer
from collector.losses import Loss, loss_event
from miles_report.schema.streams import STREAMS
from miles_report.streams.appender import StreamAppender
from miles_report.streams.partition import Partitioner, partition_ts
from miles_report.streams.wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from miles_report.schema.streams import Record

BATCH_LINES = 10_000
"""Lines written at once: bounds what is out of its buffer, and the bytes joined for one write."""

LAST = "health"
"""Written after the other streams, because it tells what they lost."""


@dataclass
class FlushReport:
    """How one flush went.

    Attributes:
        n_written: records.
        failures: what the system said, by file relative to `dashboard/`.
        n_waiting: records that are still in memory.
    """

    n_written: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    n_waiting: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether everything was written."""
        return not self.failures


class StreamWriter:
    """Buffers of all streams before one appender. Any thread may push; flushes take turns."""

    def __init__(
        self,
        dashboard: Path,
        *,
        most_records: int,
        most_bytes: int,
        on_torn: Callable[[Path, int], None] | None = None,
    ) -> None:
        """Prepares; nothing is touched.

        Args:
            dashboard: folder of the streams.
            most_records: bound of each stream's buffer.
            most_bytes: bound of each stream's buffer.
            on_torn: is told of half lines that were cut off.
        """
        self._appender = StreamAppender(dashboard, on_torn=on_torn)
        self._partitioner = Partitioner()
        self._buffers = {
            name: LineBuffer(most_records=most_records, most_bytes=most_bytes) for name in STREAMS
        }
        self._losses: dict[tuple[str, str], Loss] = defaultdict(Loss)
        self._losses_lock = threading.Lock()  # pushes and flushes both count
        self._flush_lock = threading.Lock()  # two flushes at once would write out of order
        self.n_lost: dict[str, int] = dict.fromkeys(STREAMS, 0)

    @property
    def n_waiting(self) -> int:
        """Records in memory."""
        return sum(len(buffer) for buffer in self._buffers.values())

    def push(self, stream: str, records: Iterable[Record]) -> int:
        """Takes records of one stream.

        Returns:
            How many could not be taken because they are no records of that stream; they are counted as lost.
        """
        expected = STREAMS[stream].record
        lines, n_refused = [], 0
        for record in records:
            try:
                if type(record) is not expected:
                    raise TypeError(f"not a {expected.__name__}")  # noqa: TRY301 - one way out for all misfits
                lines.append(
                    Line(
                        self._partitioner.place(stream, record),
                        float(partition_ts(record)),
                        encode(record),
                    )
                )
            except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
                n_refused += 1
        self._buffers[stream].push(lines)
        if n_refused:
            self.count_loss(stream, Loss(n_refused), "they were malformed")
        return n_refused

    def count_loss(self, stream: str, loss: Loss, why: str) -> None:
        """Counts records that were lost here or before they came; the next flush tells."""
        with self._losses_lock:
            self._losses[stream, why].join(loss)
            self.n_lost[stream] += loss.n

    def flush(self, *, now: float) -> FlushReport:
        """Writes what waits, and what was lost as `records_dropped` events.

        Args:
            now: Unix seconds, of the events.
        """
        with self._flush_lock:
            report = FlushReport()
            for stream, buffer in self._buffers.items():
                if stream != LAST:
                    self._write(buffer, report)
                self._collect_loss(stream)
            self._tell_losses(report, now)
            report.n_waiting = self.n_waiting
            return report

    def _collect_loss(self, stream: str) -> None:
        loss = self._buffers[stream].take_loss()
        if loss.n:
            self.count_loss(stream, loss, "the disk did not take them and memory is bounded")

    def _tell_losses(self, report: FlushReport, now: float) -> None:
        """Writes the health stream with the losses so far; those that cannot be told stay counted."""
        self._write(self._buffers[LAST], report)
        with self._losses_lock:
            losses = dict(self._losses)
            self._losses.clear()
        if not losses:
            return
        events = [loss_event(stream, loss, why, now=now) for (stream, why), loss in losses.items()]
        try:
            self._appender.append(LAST, events)
        except OSError as cause:
            report.failures[f"{LAST}.jsonl"] = str(cause)
            with self._losses_lock:
                for key, loss in losses.items():
                    loss.join(self._losses[key])
                    self._losses[key] = loss
        else:
            report.n_written += len(events)

    def _write(self, buffer: LineBuffer, report: FlushReport) -> None:
        """Writes one buffer; lines of files that fail go back to it in their order."""
        left = len(buffer)  # what comes meanwhile waits for the next flush
        failed: list[Line] = []
        while left > 0 and (batch := buffer.take(min(BATCH_LINES, left))):
            left -= len(batch)
            for place, lines in _by_place(batch).items():
                if place in report.failures:
                    continue
                try:
                    self._appender.append_lines(place, b"".join([line.data for line in lines]))
                except OSError as cause:
                    report.failures[place] = str(cause)
                else:
                    report.n_written += len(lines)
            failed += [line for line in batch if line.place in report.failures]
        if failed:
            buffer.put_back(failed)


def _by_place(batch: list[Line]) -> Mapping[str, list[Line]]:
    places: dict[str, list[Line]] = defaultdict(list)
    for line in batch:
        places[line.place].append(line)
    return places
