"""What a build has to make anew, and what it keeps from the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.site.generation import has_file
from miles_report.site.step_output import StepTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.site.fingerprints import Fingerprints
    from miles_report.site.records import StepRecord
    from miles_report.site.selection import OwnPages
    from miles_report.site.state import StepStore
    from miles_report.sources.files import DumpFiles

NOTABLE_PAGES = 200
"""Own pages of notable samples, if nobody says how many: each holds all its tokens."""

ROWS_A_TASK = 16
"""Own pages made at a time, so that little of them is in memory."""

StepKey = tuple[int, bool]


@dataclass(frozen=True)
class StepPlan:
    """Steps to keep and to make.

    Attributes:
        kept: records of steps whose input and output are as they were.
        tasks: the others.
    """

    kept: tuple[StepRecord, ...]
    tasks: tuple[StepTask, ...]


def plan_steps(files: DumpFiles, prints: Fingerprints, state: StepStore) -> StepPlan:
    """Compares each step with what the last build remembers of it."""
    kept, tasks = [], []
    keys = [(step, False) for step in files.rollouts] + [
        (step, True) for step in files.eval_rollouts
    ]
    for step, evaluation in keys:
        both = step in files.rollouts and step in files.eval_rollouts
        print_ = prints.step(step, evaluation=evaluation, has_counterpart=both)
        record = state.record(f"eval-{step}" if evaluation else f"step-{step}")
        if record is not None and record.fingerprint == print_ and _is_whole(record, state):
            kept.append(record)
        else:
            tasks.append(StepTask(step, evaluation, print_, both))
    return StepPlan(tuple(kept), tuple(tasks))


def _is_whole(record: StepRecord, state: StepStore) -> bool:
    """Whether all its files are there; what was still being written is always looked at again."""
    if not record.outline.is_final or not state.has_body(record):
        return False
    return all(has_file(state.root, entry) for entry in record.files)


@dataclass(frozen=True)
class SampleChoice:
    """Samples that get own pages.

    Attributes:
        rows: by step, ascending.
        left_out: how many more there would be without the limit.
    """

    rows: dict[StepKey, tuple[int, ...]]
    left_out: int


def choose_samples(
    records: Sequence[StepRecord], pages: OwnPages, max_pages: int | None
) -> SampleChoice:
    """Which samples get own pages: those of the newest steps first, so that a growing run keeps them current.

    Args:
        records: of all visible steps.
        pages: notable ones, all, or none.
        max_pages: at most so many; null: all, but at most `NOTABLE_PAGES` notable ones.
    """
    if max_pages is None and pages == "notable":
        max_pages = NOTABLE_PAGES
    newest = sorted(records, key=lambda record: (-record.step, record.evaluation))
    wanted = [(record.key, row) for record in newest for row in _rows(record, pages)]
    chosen = wanted if max_pages is None else wanted[:max_pages]
    rows: dict[StepKey, tuple[int, ...]] = {}
    for key, row in chosen:
        rows[key] = (*rows.get(key, ()), row)
    return SampleChoice(rows, len(wanted) - len(chosen))


def _rows(record: StepRecord, pages: OwnPages) -> list[int]:
    if pages == "none" or not record.tables:
        return []
    if pages == "all":
        return list(range(sum(part.rows for part in record.tables["samples"])))
    return record.outline.notable.get_column("row").unique().sort().to_list()
