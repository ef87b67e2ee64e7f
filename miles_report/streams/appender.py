"""The only thing that writes telemetry: whole lines, appended to their streams.

A reader counts a line once its newline is there, so lines are written in one call each batch, and a write that stops half-way
(a full disk) is cut off again. A writer that was killed leaves a line without an end; the next one ends it before it writes, so
that the rest becomes one bad line instead of spoiling a good one. One writer a file: nothing here locks.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

from miles_report.streams.partition import stream_file
from miles_report.streams.wire import encode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path, PurePosixPath

    from miles_report.schema.streams import Record


class StreamAppender:
    """Appends records below one `dashboard` directory, which is made when the first record comes."""

    def __init__(self, dashboard: Path) -> None:
        self._dashboard = dashboard

    def append(self, stream: str, records: Iterable[Record]) -> int:
        """Appends records of one stream to their files, in the order given, and flushes them to the system.

        Args:
            stream: a name of `STREAMS`.
            records: of that stream's type.

        Returns:
            Bytes written.

        Raises:
            OSError: a file could not be written; records of other files may have been.
            ValueError: a record's timestamp names no partition; nothing was written.
        """
        batches: dict[PurePosixPath, list[bytes]] = defaultdict(list)
        for record in records:
            batches[stream_file(stream, record)].append(encode(record))
        return sum(
            append_lines(self._dashboard / place, b"".join(lines))
            for place, lines in batches.items()
        )


def append_lines(path: Path, lines: bytes) -> int:
    """Appends whole lines to a file, all or none, after ending a line that a killed writer left.

    Args:
        path: made, with its folders, if it does not exist.
        lines: each with its newline.

    Returns:
        Bytes written, the mended line's newline included.

    Raises:
        OSError: the file could not be written; it holds what it held before.
        ValueError: the last line has no newline.
    """
    if not lines:
        return 0
    if not lines.endswith(b"\n"):
        raise ValueError("only whole lines are appended")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" + lines if torn else lines
        try:
            _write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        return len(data)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
