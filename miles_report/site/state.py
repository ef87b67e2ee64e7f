"""What the last build remembered of each step, in SITE/.miles-report/steps."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from miles_report.errors import BuildError
from miles_report.site.records import BodyRecord, StepRecord
from miles_report.site.writer import STATE_FOLDER
from miles_report.slices.slice import content_hash

if TYPE_CHECKING:
    from pathlib import Path

    from miles_report.site.writer import SiteWriter

STEPS = f"{STATE_FOLDER}/steps"


class StepStore:
    """Reads the records of steps; a lost or damaged one means that its step is made again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root / STEPS

    def record(self, name: str) -> StepRecord | None:
        """The record of a step ("step-3", "eval-3"); null if there is none."""
        try:
            return StepRecord.from_bytes((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def has_body(self, record: StepRecord) -> bool:
        """Whether the page of a step is there; its content is looked at when it is used."""
        return (self._folder / f"{record.name}.page").is_file()

    def body(self, record: StepRecord) -> BodyRecord:
        """The rendered page of a step.

        Raises:
            BuildError: it is lost; its record is dropped, so that the next build makes the step again.
        """
        content = b""
        with contextlib.suppress(OSError):
            content = (self._folder / f"{record.name}.page").read_bytes()
        if content_hash(content) != record.body_hash:
            (self._folder / f"{record.name}.json").unlink(missing_ok=True)
            raise BuildError(
                f"What the last build remembered of {record.name} is damaged: build again."
            )
        return BodyRecord.from_bytes(content)

    def forget_all_but(self, names: set[str]) -> None:
        """Drops records of steps that are no longer in the dump."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.suffix in {".json", ".page"} and path.stem not in names:
                path.unlink(missing_ok=True)


def save_step(record: StepRecord, body: BodyRecord, writer: SiteWriter) -> None:
    """Remembers a step; its page first, since the record vouches for it.

    Raises:
        BuildError: the disk refuses.
    """
    writer.write(f"{STEPS}/{record.name}.page", body.to_bytes())
    writer.write(f"{STEPS}/{record.name}.json", record.to_bytes())
