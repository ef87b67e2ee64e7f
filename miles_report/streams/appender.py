"""The only thing that writes telemetry: whole lines, appended to their streams.

A reader counts a line once its newline is there, so lines are written in one call each batch, and a write that stops half-way
(a full disk) is cut off again. A writer that was killed may leave the beginning of a line; the next one cuts it off before it
writes: a half line that got a newline would be a broken line, and Miles's own reader refuses a whole file for one of those.
One writer a file: nothing here locks.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from typing import TYPE_CHECKING

from miles_report.streams.partition import stream_file
from miles_report.streams.wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path, PurePosixPath

    from miles_report.schema.streams import Record

BLOCK_BYTES = 1 << 16
"""How much is read at once in search of the last newline."""


class StreamAppender:
    """Appends records below one `dashboard` directory, which is made when the first record comes.

    A failed append leaves the file as it was. Where even that fails (the disk went away), the size it had is remembered and
    the next append to it cuts the rest off first, so that records that are tried again are never there twice.
    """

    def __init__(
        self, dashboard: Path, *, on_torn: Callable[[Path, int], None] | None = None
    ) -> None:
        """Prepares; nothing is touched.

        Args:
            dashboard: folder of the streams.
            on_torn: is told the file and the bytes of a half line that was cut off.
        """
        self._dashboard = dashboard
        self._on_torn = on_torn
        self._sound_sizes: dict[Path, int] = {}

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
        return sum(self.append_lines(place, b"".join(lines)) for place, lines in batches.items())

    def append_lines(self, place: str | PurePosixPath, lines: bytes) -> int:
        """Appends whole lines to one file of `dashboard/`, all or none.

        Args:
            place: the file, relative to `dashboard/`, as `stream_file` names it.
            lines: each with its newline.

        Returns:
            Bytes written.

        Raises:
            OSError: the file could not be written; none of the lines counts.
            ValueError: the last line has no newline.
        """
        path = self._dashboard / place
        if path in self._sound_sizes:
            _cut(path, self._sound_sizes[path])
            del self._sound_sizes[path]
        try:
            return append_lines(path, lines, on_torn=self._on_torn)
        except UnsoundFileError as cause:
            self._sound_sizes[path] = cause.sound_size
            raise


class UnsoundFileError(OSError):
    """A write failed half-way and what it left could not be cut off.

    Attributes:
        sound_size: bytes up to which the file is as it was.
    """

    def __init__(self, cause: OSError, sound_size: int) -> None:
        super().__init__(cause.errno, cause.strerror, cause.filename)
        self.sound_size = sound_size


def append_lines(
    path: Path, lines: bytes, *, on_torn: Callable[[Path, int], None] | None = None
) -> int:
    """Appends whole lines to a file, all or none, after cutting off the half line that a killed writer left.

    Args:
        path: made, with its folders, if it does not exist.
        lines: each with its newline.
        on_torn: is told the file and the bytes cut off.

    Returns:
        Bytes written.

    Raises:
        UnsoundFileError: the file could not be written, nor what was written be cut off.
        OSError: the file could not be written; it holds the lines it held before.
        ValueError: the last line has no newline.
    """
    if not lines:
        return 0
    if not lines.endswith(b"\n"):
        raise ValueError("only whole lines are appended")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = _mend(descriptor, path, on_torn)
    except OSError:
        os.close(descriptor)
        raise
    try:
        try:
            _write_all(descriptor, lines)
        finally:
            os.close(descriptor)  # a network file system may tell only here that the disk is full
    except OSError as cause:
        try:
            _cut(path, size)
        except OSError:
            raise UnsoundFileError(cause, size) from cause
        raise
    return len(lines)


def _mend(descriptor: int, path: Path, on_torn: Callable[[Path, int], None] | None) -> int:
    """Cuts off what follows the last newline; returns the size then."""
    size = os.fstat(descriptor).st_size
    sound = _sound_size(descriptor, size)
    if sound < size:
        os.ftruncate(descriptor, sound)
        if on_torn is not None:
            on_torn(path, size - sound)
    return sound


def _sound_size(descriptor: int, size: int) -> int:
    """Bytes up to and with the last newline."""
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    end = size
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _cut(path: Path, size: int) -> None:
    """Cuts a file to its sound size; one that held nothing goes, because a file is there once it had a record."""
    with contextlib.suppress(FileNotFoundError):
        if size == 0:
            path.unlink()
        elif path.stat().st_size > size:
            os.truncate(path, size)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
