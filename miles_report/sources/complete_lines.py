"""A JSONL file into blocks of whole lines, in bounded memory, no further than the size it was listed with.

Only a line that ends in a newline counts: what follows the last one is still being written. The reader never fails
on a file's content; what it leaves out is gathered in `LineFile.notices`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from miles_report.notices import Severity
    from miles_report.sources.folders import FileStamp

BLOCK_BYTES = 32 << 20
"""Enough for the parser to run at full speed, little enough for a worker's memory."""

MAX_LINE_BYTES = 64 << 20
"""A longer line is not telemetry; it must not decide how much memory a report takes."""

MAX_LINES_TOLD = 5


class LineNumbers:
    """Line numbers of a file, counted when somebody asks: nearly nobody does, and counting costs a tenth of parsing.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._line = 1

    def at(self, offset: int) -> int:
        """1-based number of the line that begins behind so many bytes.

        Raises:
            OSError: the file cannot be read any more.
        """
        if offset < self._offset:
            self._offset, self._line = 0, 1
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while self._offset < offset:
                piece = file.read(min(BLOCK_BYTES, offset - self._offset))
                if not piece:
                    break
                self._offset += len(piece)
                self._line += piece.count(b"\n")
        return self._line


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, each with its newline.

    Attributes:
        data: the lines.
        offset: bytes of the file before them.
        numbers: of the file's lines.
    """

    data: bytes
    offset: int
    numbers: LineNumbers

    @property
    def first_line(self) -> int:
        """1-based number of the first line."""
        return self.numbers.at(self.offset)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(line number, line without newline) of each line that is not blank."""
        for offset, line in enumerate(self.data.split(b"\n")):
            if line and not line.isspace():
                yield self.first_line + offset, line


class LineFile:
    """Reads one file once and gathers what could not be read."""

    def __init__(
        self,
        stamp: FileStamp,
        *,
        block_bytes: int = BLOCK_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._stamp = stamp
        self._block_bytes = block_bytes
        self._max_line_bytes = max_line_bytes
        self._bad_lines: list[tuple[int, str]] = []
        self._trouble: list[Notice] = []

    def blocks(self) -> Iterator[Block]:
        """All whole lines, in order; a file that cannot be read gives none, and a notice."""
        try:
            yield from self._read()
        except OSError as cause:
            self._tell(
                "unreadable-file",
                "error",
                f"The file cannot be read ({cause.strerror}); what it held is missing from the report.",
                "Give the reader permission to it, or restore it.",
            )

    def _read(self) -> Iterator[Block]:
        numbers = LineNumbers(self._stamp.path)
        offset = 0
        held: list[bytes] = []
        n_held = n_left_out = 0
        remaining = self._stamp.size
        with self._stamp.path.open("rb") as file:
            while remaining:
                piece = file.read(min(self._block_bytes, remaining))
                if not piece:
                    self._tell(
                        "file-shrunk",
                        "warning",
                        f"The file is {remaining} bytes shorter than when the report was begun.",
                        "Build again once nothing rewrites it.",
                    )
                    break
                remaining -= len(piece)
                end = piece.rfind(b"\n") + 1
                if n_left_out:
                    start = piece.find(b"\n") + 1
                    if not start:
                        n_left_out += len(piece)
                        continue
                    number = numbers.at(offset)
                    self.bad_line(number, f"is longer than {self._max_line_bytes} bytes")
                    offset += n_left_out + start
                    n_left_out = 0
                else:
                    start = 0
                if end > start:
                    lines = piece if end - start == len(piece) else piece[start:end]
                    data = b"".join((*held, lines)) if n_held else lines
                    held, n_held = [], 0
                    yield Block(data, offset, numbers)
                    offset += len(data)
                tail = max(start, end)
                if tail < len(piece):
                    held.append(piece[tail:])
                    n_held += len(held[-1])
                if n_held > self._max_line_bytes:
                    n_left_out, held, n_held = n_held, [], 0
        if n_held or n_left_out:
            self._tell(
                "torn-tail",
                "info",
                f"The last {n_held + n_left_out} bytes are a line without an end: it is still being "
                "written, or its writer was killed. They are left out.",
                "Build again later if the run is alive.",
            )

    def bad_line(self, line: int, reason: str) -> None:
        """Notes a complete line that does not count: "line 7 <reason>"."""
        self._bad_lines.append((line, reason))

    def notices(self) -> list[Notice]:
        """What was left out; complete once `blocks` is exhausted."""
        if not self._bad_lines:
            return list(self._trouble)
        first, reason = self._bad_lines[0]
        numbers = [str(line) for line, _ in self._bad_lines[:MAX_LINES_TOLD]]
        n_more = len(self._bad_lines) - len(numbers)
        if len(numbers) == 1:
            message = f"Line {first} {reason}; it is left out, its neighbours count."
        else:
            told = ", ".join(numbers) + (f" and {n_more} more" if n_more else "")
            message = (
                f"{len(self._bad_lines)} lines are left out ({told}); their neighbours count. "
                f"Line {first} {reason}."
            )
        bad = Notice(
            "bad-line",
            "warning",
            f"{self._stamp.name}:{first}",
            message,
            "Look at the line: two writers, a full disk or a crash may have damaged it.",
        )
        return [bad, *self._trouble]

    def _tell(self, code: str, severity: Severity, message: str, remedy: str) -> None:
        self._trouble.append(Notice(code, severity, self._stamp.name, message, remedy))
