"""Where the files of a site go: one small protocol, a directory for real, a dict for tests.

Every file appears whole under its name: it is written beside and renamed. Files are not flushed to the disk one by one: a
machine that loses power may leave an empty file under a name, which the next build sees by its size and writes again.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from miles_report.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Sequence

STATE_FOLDER = ".miles-report"
"""Marks a directory as ours; holds what the next build wants to know, and is not published."""

TEMPORARY = f"{STATE_FOLDER}/unfinished"


class SiteWriter(Protocol):
    """Takes the files of one build."""

    def write(self, path: str, content: bytes) -> None:
        """Writes a file; the same content again is no mistake.

        Args:
            path: from the root of the site, with forward slashes.
            content: all of it.

        Raises:
            BuildError: the path was written with other content in this build, or the disk refuses.
        """


class MemoryWriter:
    """Keeps the files in `files`, by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def write(self, path: str, content: bytes) -> None:
        """As `SiteWriter.write`."""
        if self.files.setdefault(path, content) != content:
            raise _conflict(path)


class DirectoryWriter:
    """Writes below a directory; can be sent to another process.

    `write` puts a file in place at once. `prepare` writes it aside, so that a full disk shows before the first page of the old
    site is replaced; `commit` then renames what was prepared.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: dict[str, tuple[int, int]] = {}
        self._prepared: dict[str, str] = {}

    def write(self, path: str, content: bytes) -> None:
        """As `SiteWriter.write`."""
        if not self._claims(path, content):
            return
        try:
            _place(self._put_aside(content), self.root / path)
        except OSError as cause:
            raise _refused(path, cause) from cause

    def prepare(self, path: str, content: bytes) -> None:
        """Writes a file that `commit` puts in place.

        Raises:
            BuildError: as `write`.
        """
        if not self._claims(path, content):
            return
        try:
            self._prepared[path] = self._put_aside(content)
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise _refused(path, cause) from cause

    def commit(self, paths: Sequence[str]) -> None:
        """Puts prepared files in place, in this order.

        Raises:
            BuildError: the disk refuses; files before it are in place.
        """
        for path in paths:
            try:
                _place(self._prepared.pop(path), self.root / path)
            except OSError as cause:
                raise _refused(path, cause) from cause

    def _claims(self, path: str, content: bytes) -> bool:
        """Whether the file is still to be written."""
        digest = (len(content), zlib.crc32(content))
        known = self._written.get(path)
        if known not in (None, digest):
            raise _conflict(path)
        self._written[path] = digest
        return known is None

    def _put_aside(self, content: bytes) -> str:
        """A whole file beside the site; its name."""
        folder = self.root / TEMPORARY
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).chmod(0o644)
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        return name


def _conflict(path: str) -> BuildError:
    return BuildError(f"{path} was written twice with different content in one build.")


def _place(prepared: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    Path(prepared).replace(target)


def _refused(path: str, cause: OSError) -> BuildError:
    return BuildError(
        f"{path} could not be written: {cause.strerror or cause}. The site is as it was before."
    )
