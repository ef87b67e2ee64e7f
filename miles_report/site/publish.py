"""Puts a generation in place: whatever happens, every page that is there belongs with its data.

Files named by their content are there already. Pages are prepared first, so that a full disk changes nothing, then renamed one
by one: new ones, replaced ones, the index last. What the generation before still needs stays until the next build.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from miles_report.site.generation import Generation, GenerationStore, has_file
from miles_report.site.sweep import sweep
from miles_report.slices.catalog import FileEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.site.writer import DirectoryWriter

INDEX = "index.html"


class Publisher:
    """Gathers the pages of a build and publishes them.

    Args:
        store: of the site; locked by the caller.
        last: the generation that is there.
        writer: of the site.
    """

    def __init__(self, store: GenerationStore, last: Generation, writer: DirectoryWriter) -> None:
        self._store = store
        self._last = last
        self._writer = writer
        self._pages: dict[str, tuple[FileEntry, str]] = {}
        self._changed: list[str] = []

    def keep(self, path: str, key: str) -> bool:
        """Takes over a page of the last generation that was rendered from the same; whether it is there."""
        entry = self._last.files.get(path)
        if (
            entry is None
            or self._last.keys.get(path) != key
            or not has_file(self._store.root, entry)
        ):
            return False
        self._pages[path] = (entry, key)
        return True

    def add(self, path: str, key: str, content: bytes) -> None:
        """Prepares a page; one whose content is in place already is left alone.

        Raises:
            BuildError: the disk refuses.
        """
        entry = FileEntry.of(path, content)
        self._pages[path] = (entry, key)
        if self._last.files.get(path) != entry or not has_file(self._store.root, entry):
            self._writer.prepare(path, content)
            self._changed.append(path)

    @property
    def entries(self) -> tuple[FileEntry, ...]:
        """All pages."""
        return tuple(entry for entry, _ in self._pages.values())

    def publish(self, generation: Generation, files: Mapping[str, FileEntry]) -> Generation:
        """Puts all pages in place and removes what only older generations needed.

        Args:
            generation: without files, keys and previous.
            files: all other files of the site.

        Returns:
            The generation that is now there.

        Raises:
            BuildError: the disk refuses.
        """
        pages = {path: entry for path, (entry, _) in self._pages.items()}
        every = {**files, **pages}
        older = {*self._last.files, *self._store.pending}
        whole = replace(
            generation,
            files=every,
            keys={path: key for path, (_, key) in self._pages.items()},
            previous=tuple(sorted(older - every.keys())),
        )
        self._store.announce(sorted({*every, *older}), self._writer)
        self._store.prepare(whole, self._writer)  # all is on the disk before the first page changes
        self._writer.commit(sorted(self._changed, key=self._order))
        self._store.settle(self._writer)
        sweep(self._store.root, listed=self._last.previous, kept={*every, *older})
        return whole

    def _order(self, path: str) -> tuple[bool, bool, bool, str]:
        """New pages before those that link to them, run-wide ones behind, the index last."""
        return path == INDEX, path in self._last.files, "/" not in path, path
