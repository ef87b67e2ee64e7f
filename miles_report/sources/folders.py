"""One folder of a dump into stamps of its regular files, refusing whatever would lead out of the dump.

A dump may come from anyone: a link to a file outside would publish it with the report, and a pipe would block the
reader for ever. Both are reported and not listed. Names are bytes to the system; `printable` is how they are told.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from miles_report.notices import Severity

MAX_MISFITS_TOLD = 8
"""Misfits of one folder with a notice each; a thousand of them must not bury the other notices."""

MAX_NAME = 200
"""Characters of a name that a notice shows."""


def printable(name: str) -> str:
    """A file name as readable text: control characters and bytes that are no text as escapes, long ones cut."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"


@dataclass(frozen=True)
class Misfit:
    """A kind of entry that is left out.

    Attributes:
        code: of its notices.
        severity: of its notices.
        verdict: a phrase that follows the entry's name.
    """

    code: str
    severity: Severity
    verdict: str


STRAY_FILE = Misfit("stray-file", "warning", "is left out: such a name means nothing here.")
STRAY_FOLDER = Misfit("stray-folder", "warning", "is left out: it is a folder, not a file.")
MISPLACED_FILE = Misfit("stray-file", "warning", "is left out: it is a file, not a folder.")
UNKNOWN = Misfit("unknown-entry", "info", "is not known to this version and is left out.")


@dataclass(frozen=True)
class FileStamp:
    """A regular file at the moment of listing.

    Attributes:
        path: where it is.
        name: posix path relative to the dump, printable.
        size: bytes; readers read no further.
        mtime_ns: last change, Unix nanoseconds.
    """

    path: Path
    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Folder:
    """What a folder holds, both sorted by name.

    Attributes:
        name: posix path relative to the dump; "" for the dump.
        files: its regular files.
        folders: names of its folders.
    """

    name: str
    files: tuple[FileStamp, ...] = ()
    folders: tuple[str, ...] = ()

    def file(self, name: str) -> FileStamp | None:
        """The file of that name; null if there is none."""
        return next((stamp for stamp in self.files if stamp.path.name == name), None)


class FolderReader:
    """Lists folders of one dump and gathers notices about what it left out."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._notices: list[Notice] = []

    def read(self, name: str) -> Folder:
        """Lists the folder `name` (relative, "" for the dump itself).

        Raises:
            OSError: the dump itself cannot be listed; for folders in it that is a notice.
        """
        path = self._root / name
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError as cause:
            if not name:
                raise
            self.notice(
                "unreadable-folder",
                "error",
                name,
                f"The folder cannot be listed ({cause.strerror}), so nothing in it is shown.",
                "Give the reader permission to it.",
            )
            return Folder(name)
        files, folders = [], []
        for entry in entries:
            place = printable(f"{name}/{entry.name}" if name else entry.name)
            status = self._status(entry, place)
            if status is None:
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(entry.name)
            elif stat.S_ISREG(status.st_mode):
                files.append(
                    FileStamp(path / entry.name, place, status.st_size, status.st_mtime_ns)
                )
            else:
                self.notice(
                    "not-a-file",
                    "warning",
                    place,
                    "It is a device, pipe or socket and is not read.",
                    "Remove it from the dump.",
                )
        return Folder(name, tuple(files), tuple(folders))

    def _status(self, entry: os.DirEntry[str], place: str) -> os.stat_result | None:
        """Where the entry leads; null, with a notice, if that is nowhere or out of the dump."""
        try:
            status = entry.stat()
            linked = entry.is_symlink()
        except OSError as cause:
            self.notice(
                "unreadable-file",
                "warning",
                place,
                f"It cannot be examined ({cause.strerror}) and is left out.",
                "Restore the file, or remove what is left of it.",
            )
            return None
        if linked and not self._is_inside(os.path.realpath(entry.path)):
            self.notice(
                "link-out-of-dump",
                "warning",
                place,
                "It is a link to a place outside the dump and is not followed.",
                "Copy the file into the dump if it belongs to the run.",
            )
            return None
        return status

    def _is_inside(self, real: str) -> bool:
        root = os.path.realpath(self._root)
        return os.path.commonpath((root, real)) == root

    def report(self, names: Sequence[str], kind: Misfit, remedy: str) -> None:
        """Tells of entries of one folder that are left out."""
        for name in names[:MAX_MISFITS_TOLD]:
            shown = printable(name)
            base = shown.rsplit("/", 1)[-1]
            self.notice(kind.code, kind.severity, shown, f"{base} {kind.verdict}", remedy)
        rest = len(names) - MAX_MISFITS_TOLD
        if rest > 0:
            folder = printable(names[0].rpartition("/")[0])
            message = f"The same holds for {rest} more here: each {kind.verdict}"
            self.notice(kind.code, kind.severity, folder, message, remedy)

    def notice(self, code: str, severity: Severity, source: str, message: str, remedy: str) -> None:
        """Adds a notice."""
        self._notices.append(Notice(code, severity, source, message, remedy))

    def notices(self) -> tuple[Notice, ...]:
        """All notices so far, sorted."""
        return tuple(sorted(self._notices))
