"""Reads back what `builders.dumps` wrote, as the product does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from miles_report.sources.files import list_dump
from miles_report.sources.step_data import read_step
from miles_report.step_tables import StepTables

if TYPE_CHECKING:
    from pathlib import Path

    from miles_report.sources.step_data import StepData


def step_of(root: Path, step: int = 0, *, evaluation: bool = False) -> StepData:
    """The step, read now."""
    now = time.time()
    return read_step(list_dump(root, now=now), step, evaluation=evaluation, now=now)


def tables_of(root: Path, step: int = 0, *, evaluation: bool = False, **args: Any) -> StepTables:
    """Tables of the step, read now; `args` are the run's recorded arguments."""
    return StepTables(step_of(root, step, evaluation=evaluation), args, None)


def codes(data: Any) -> list[str]:
    """Codes of the notices, sorted."""
    return sorted(notice.code for notice in data.notices)
