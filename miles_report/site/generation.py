"""What the last build published, as SITE/.miles-report remembers it: not published, without absolute paths, safe to lose.

A state that is missing, damaged or of another version means that everything is built again, never an error.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from miles_report.site.writer import STATE_FOLDER, TEMPORARY
from miles_report.slices.catalog import FileEntry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from miles_report.site.writer import DirectoryWriter, SiteWriter

FORMAT = 2
STATE_FILE = f"{STATE_FOLDER}/state.json"


@dataclass(frozen=True)
class Generation:
    """One published site.

    Attributes:
        inputs: fingerprint of everything it was made of; "" if a build of the same input may differ.
        files: every file of the site by path.
        previous: paths of the generation before it that are not in it; they go with the next build.
        keys: what each page was rendered from, by path.
        lifecycles: what the lifecycle slices of each step were made from, and the slices, by name of the step.
        summary: numbers of its closing line.
    """

    inputs: str = ""
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    previous: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    lifecycles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)

    def is_whole(self, root: Path) -> bool:
        """Whether all its files are there with their sizes."""
        return all(has_file(root, entry) for entry in self.files.values())


class GenerationStore:
    """Reads and writes the generation of a site; the caller holds its lock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root / STATE_FOLDER

    def open(self) -> Generation:
        """The last published generation, an empty one if there is none; clears what a killed build left half-written."""
        shutil.rmtree(self.root / TEMPORARY, ignore_errors=True)
        value = self._read("state.json")
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            return Generation()
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            return Generation(
                inputs=value["inputs"],
                files={
                    path: FileEntry(path, size, sha) for path, (size, sha) in value["files"].items()
                },
                previous=tuple(value["previous"]),
                keys=dict(value["keys"]),
                lifecycles=dict(value["lifecycles"]),
                summary=dict(value["summary"]),
            )
        return Generation()

    def prepare(self, generation: Generation, writer: DirectoryWriter) -> None:
        """Writes down a generation that is about to be published; `settle` makes it the published one.

        Raises:
            BuildError: the disk refuses.
        """
        files = {path: [entry.bytes, entry.sha256] for path, entry in generation.files.items()}
        value = {**vars(generation), "format": FORMAT, "files": files}
        writer.prepare(STATE_FILE, json.dumps(value).encode())

    def settle(self, writer: DirectoryWriter) -> None:
        """Remembers the prepared generation as the published one.

        Raises:
            BuildError: the disk refuses.
        """
        writer.commit([STATE_FILE])
        with contextlib.suppress(OSError):
            (self._folder / "pending.json").unlink()

    @property
    def pending(self) -> tuple[str, ...]:
        """Paths that a killed build was publishing."""
        value = self._read("pending.json")
        return tuple(str(path) for path in value) if isinstance(value, list) else ()

    def announce(self, paths: list[str], writer: SiteWriter) -> None:
        """Notes what is about to be published, so that the next build knows it if this one is killed.

        Raises:
            BuildError: the disk refuses.
        """
        writer.write(f"{STATE_FOLDER}/pending.json", json.dumps(paths).encode())

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self._folder / name).read_bytes())
        except (OSError, ValueError):
            return None


def has_file(root: Path, entry: FileEntry) -> bool:
    """Whether the file is there with its size; content is what `check` looks at."""
    try:
        return (root / entry.path).stat().st_size == entry.bytes
    except OSError:
        return False
