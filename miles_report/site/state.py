"""What the last build left in SITE/.miles-report: not published, without absolute paths, safe to lose.

A state that is missing, damaged or of another version means that everything is built again, never an error.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from miles_report.errors import BuildError
from miles_report.site.catalog import FileEntry
from miles_report.site.records import BodyRecord, StepRecord
from miles_report.site.slices import content_hash
from miles_report.site.writer import STATE_FOLDER, TEMPORARY, DirectoryWriter

FORMAT = 1

Record = TypeVar("Record")


@dataclass(frozen=True)
class Generation:
    """One published site.

    Attributes:
        inputs: fingerprint of everything it was made of; "" if a build of the same input may differ.
        files: every file of the site by path.
        previous: paths of the generation before it that are not in it; they go with the next build.
        keys: what each page was rendered from, by path.
        lifecycles: what the lifecycle slices of each step were made from, and the slices, by name of the step.
        vega: version of vl_convert that made the chart bundle.
        summary: numbers of its closing line.
    """

    inputs: str = ""
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    previous: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    lifecycles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vega: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)


class SiteState:
    """Reads and writes the state folder of a site; the caller holds its lock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / STATE_FOLDER

    def open(self) -> None:
        """Makes the folder ready: what a killed build left half-written goes.

        Raises:
            BuildError: the disk refuses.
        """
        try:
            shutil.rmtree(self.root / TEMPORARY, ignore_errors=True)
            (self.folder / "steps").mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise BuildError(
                f"The output directory cannot be written to: {cause.strerror}."
            ) from cause

    def generation(self) -> Generation:
        """The last published generation; an empty one if there is none."""
        value = self._read("state.json", json.loads)
        if value is None or value.get("format") != FORMAT:
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
                vega=value["vega"],
                summary=dict(value["summary"]),
            )
        return Generation()

    def save(self, generation: Generation, writer: DirectoryWriter) -> None:
        """Remembers a generation as the published one.

        Raises:
            BuildError: the disk refuses.
        """
        value = {
            "format": FORMAT,
            "inputs": generation.inputs,
            "files": {
                path: [entry.bytes, entry.sha256] for path, entry in generation.files.items()
            },
            "previous": list(generation.previous),
            "keys": dict(generation.keys),
            "lifecycles": dict(generation.lifecycles),
            "vega": generation.vega,
            "summary": dict(generation.summary),
        }
        writer.write(f"{STATE_FOLDER}/state.json", json.dumps(value).encode())

    def pending(self) -> tuple[str, ...]:
        """Paths that a killed build was publishing."""
        return tuple(self._read("pending.json", json.loads) or ())

    def announce(self, paths: list[str], writer: DirectoryWriter) -> None:
        """Notes what is about to be published, so that the next build knows it if this one is killed."""
        writer.write(f"{STATE_FOLDER}/pending.json", json.dumps(paths).encode())

    def published(self) -> None:
        """Nothing is pending any more."""
        with contextlib.suppress(OSError):
            (self.folder / "pending.json").unlink()

    def step(self, name: str) -> StepRecord | None:
        """The record of a step ("step-3", "eval-3"); null if there is none."""
        return self._read(f"steps/{name}.json", StepRecord.from_bytes)

    def has_body(self, record: StepRecord) -> bool:
        """Whether the page of a step is there; its content is looked at when it is used."""
        return (self.folder / "steps" / f"{record.name}.page").is_file()

    def body(self, record: StepRecord) -> BodyRecord:
        """The rendered page of a step.

        Raises:
            BuildError: it is lost; its record is dropped, so that the next build makes the step again.
        """
        content = b""
        with contextlib.suppress(OSError):
            content = (self.folder / "steps" / f"{record.name}.page").read_bytes()
        if content_hash(content) != record.body_hash:
            (self.folder / "steps" / f"{record.name}.json").unlink(missing_ok=True)
            raise BuildError(
                f"What the last build remembered of {record.name} is damaged: build again."
            )
        return BodyRecord.from_bytes(content)

    def forget_steps(self, kept: set[str]) -> None:
        """Drops records of steps that are no longer in the dump."""
        for path in (self.folder / "steps").iterdir():
            if path.suffix in (".json", ".page") and path.stem not in kept:
                path.unlink(missing_ok=True)

    def _read(self, name: str, parse: Any) -> Any:
        try:
            return parse((self.folder / name).read_bytes())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def save_step(record: StepRecord, body: BodyRecord, writer: DirectoryWriter) -> None:
    """Remembers a step; its page first, since the record vouches for it.

    Raises:
        BuildError: the disk refuses.
    """
    folder = f"{STATE_FOLDER}/steps"
    writer.write(f"{folder}/{record.name}.page", body.to_bytes())
    writer.write(f"{folder}/{record.name}.json", record.to_bytes())


def has_file(root: Path, entry: FileEntry) -> bool:
    """Whether the file is there with its size; content is what `check` looks at."""
    try:
        return (root / entry.path).stat().st_size == entry.bytes
    except OSError:
        return False
