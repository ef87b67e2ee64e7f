"""Lines of one stream that wait for the disk: bounded, the oldest dropped first, every drop counted.

Records are encoded when they come, so that one that cannot be written is refused alone, and so that the bound is one of
bytes as well as of records.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from collector.losses import Loss

if TYPE_CHECKING:
    from collections.abc import Iterable


class Line(NamedTuple):
    """One encoded record: its file relative to `dashboard/`, its timestamp, its bytes with the newline."""

    place: str
    ts: float
    data: bytes


class LineBuffer:
    """A queue of lines; any thread may push while one takes."""

    def __init__(self, *, most_records: int, most_bytes: int) -> None:
        """Starts empty.

        Args:
            most_records: beyond so many the oldest are dropped.
            most_bytes: beyond so many bytes of lines, too; a single larger line is dropped itself.
        """
        self._most_records = most_records
        self._most_bytes = most_bytes
        self._lock = threading.Lock()  # lines, bytes and losses belong together
        self._lines: deque[Line] = deque()
        self._n_bytes = 0
        self._loss = Loss()

    def __len__(self) -> int:
        return len(self._lines)

    def push(self, lines: Iterable[Line]) -> None:
        """Adds lines at the end."""
        with self._lock:
            for line in lines:
                self._lines.append(line)
                self._n_bytes += len(line.data)
            self._trim()

    def take(self, n: int) -> list[Line]:
        """Removes and returns at most n of the oldest lines."""
        with self._lock:
            taken = [self._lines.popleft() for _ in range(min(n, len(self._lines)))]
            self._n_bytes -= sum(len(line.data) for line in taken)
        return taken

    def put_back(self, lines: list[Line]) -> None:
        """Puts lines that were taken back in front, in their order."""
        with self._lock:
            self._lines.extendleft(reversed(lines))
            self._n_bytes += sum(len(line.data) for line in lines)
            self._trim()

    def take_loss(self) -> Loss:
        """What was dropped since the last call."""
        with self._lock:
            loss, self._loss = self._loss, Loss()
        return loss

    def _trim(self) -> None:
        while len(self._lines) > self._most_records or self._n_bytes > self._most_bytes:
            dropped = self._lines.popleft()
            self._n_bytes -= len(dropped.data)
            self._loss.add(dropped.ts)
