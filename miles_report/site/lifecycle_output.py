"""Lifecycle slices of steps: apart from the rest of a step, since they come from streams that go on growing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.run_wide import lifecycles
from miles_report.site.generation import has_file
from miles_report.site.step_output import write_table
from miles_report.slices.catalog import FileEntry, step_folder
from miles_report.slices.read import read_slices
from miles_report.slices.slice import Slice
from miles_report.tables.frames import empty_table
from miles_report.tables.trajectories import step_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.run import Run
    from miles_report.site.fingerprints import Fingerprints
    from miles_report.site.generation import Generation
    from miles_report.site.records import StepRecord
    from miles_report.site.writer import DirectoryWriter


@dataclass(frozen=True)
class Lifecycles:
    """The lifecycle slices of one step.

    Attributes:
        fingerprint: of what they were made from.
        slices: of table `trajectories`.
    """

    fingerprint: str
    slices: tuple[Slice, ...]

    def to_json(self) -> dict[str, Any]:
        """For the state folder."""
        return {"fingerprint": self.fingerprint, "slices": [part.to_json() for part in self.slices]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Lifecycles:
        """Back from the state folder."""
        return cls(value["fingerprint"], tuple(Slice.from_json(part) for part in value["slices"]))


def write_lifecycles(
    run: Run,
    records: list[StepRecord],
    *,
    last: Generation,
    prints: Fingerprints,
    writer: DirectoryWriter,
) -> dict[str, Lifecycles]:
    """Writes what changed; evaluations have none, since their indices are those of other samples.

    Args:
        run: with telemetry.
        records: of all visible steps.
        last: generation whose slices are kept where nothing changed.
        prints: of the listing.
        writer: takes the files.

    Returns:
        By name of the step.

    Raises:
        BuildError: the disk refuses.
    """
    recorded = bool(run.files.streams.get("trajectories"))
    bubbles = run.table("bubbles") if recorded else None
    made = {}
    for record in records:
        if record.evaluation or not record.tables:
            continue
        window = (
            None if bubbles is None else step_window(record.step, bubbles, run.telemetry.last_ts)
        )
        samples = record.tables["samples"]
        print_ = prints.lifecycles(window, "".join(part.sha256 for part in samples))
        known = last.lifecycles.get(record.name)
        if known and known["fingerprint"] == print_:
            kept = Lifecycles.from_json(known)
            if all(has_file(writer.root, _entry(part)) for part in kept.slices):
                made[record.name] = kept
                continue
        frame = empty_table("trajectories")
        if window is not None:
            indices = read_slices(lambda path: (writer.root / path).read_bytes(), samples)[
                "sample_index"
            ]
            frame = lifecycles(run, record.step, indices.drop_nulls().unique().sort().to_list())
        folder = step_folder(record.step, evaluation=False)
        made[record.name] = Lifecycles(print_, write_table("trajectories", frame, folder, writer))
    return made


def _entry(part: Slice) -> FileEntry:
    return FileEntry(part.path, part.bytes, part.sha256)
