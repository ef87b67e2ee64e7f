"""One step into its part of the site: slices, chart specs, and the body of its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.errors import SourceError
from miles_report.pages.index_reading import reading_rows
from miles_report.pages.rollouts_rows import EVAL_SCHEMA, eval_rows
from miles_report.pages.step import step_page, unavailable_step_page
from miles_report.pages.step_places import step_title
from miles_report.run import StepOutline
from miles_report.site.catalog import FileEntry, step_folder
from miles_report.site.html import figure_file, render_body
from miles_report.site.records import READING_SCHEMA, BodyRecord, StepRecord
from miles_report.site.slices import Slice, content_hash, encode_table
from miles_report.site.state import save_step

if TYPE_CHECKING:
    from miles_report.pages.page import Page
    from miles_report.run import Run, RunFacts
    from miles_report.site.writer import SiteWriter
    from miles_report.step_tables import StepTables


@dataclass(frozen=True)
class StepTask:
    """A step that has to be made.

    Attributes:
        step: its number.
        evaluation: whether it is an evaluation.
        fingerprint: of its input.
        has_counterpart: whether the step has both a train and an eval page.
    """

    step: int
    evaluation: bool
    fingerprint: str
    has_counterpart: bool

    def __str__(self) -> str:
        """The step in words."""
        return step_title(self.step, evaluation=self.evaluation)


def make_step(run: Run, task: StepTask, facts: RunFacts, writer: SiteWriter) -> StepRecord:
    """Reads a step once, writes its slices and remembers its page.

    Args:
        run: the opened dump.
        task: which step.
        facts: what its page may know of the run.
        writer: takes its files.

    Returns:
        Its record; the state of a step that cannot be read is broken or writing, with a notice.

    Raises:
        BuildError: the site cannot be written.
    """
    try:
        made = _readable(run, task, facts, writer)
    except SourceError as error:
        made = _unreadable(run, task, facts, error)
    return _remember(task, made, writer)


@dataclass(frozen=True)
class _Made:
    """A step before it is remembered; the attributes of `StepRecord`, and its page."""

    page: Page
    outline: StepOutline
    reading: pl.DataFrame
    evals: pl.DataFrame
    tables: dict[str, tuple[Slice, ...]]


def _readable(run: Run, task: StepTask, facts: RunFacts, writer: SiteWriter) -> _Made:
    tables = run.open_step(task.step, evaluation=task.evaluation)
    no_evals = pl.DataFrame(schema=dict(EVAL_SCHEMA))
    return _Made(
        page=step_page(tables, facts, has_counterpart=task.has_counterpart),
        outline=StepOutline("ok", tables.steps, tables.notable, tables.notices),
        reading=reading_rows(tables.notable, tables.samples),
        evals=eval_rows(tables.samples) if task.evaluation else no_evals,
        tables=_write_slices(tables, writer),
    )


def _unreadable(run: Run, task: StepTask, facts: RunFacts, error: SourceError) -> _Made:
    outline = run.unreadable(task.step, error, evaluation=task.evaluation)
    return _Made(
        page=unavailable_step_page(
            task.step,
            evaluation=task.evaluation,
            state=outline.state,
            message=str(error),
            run_name=facts.run_name,
        ),
        outline=outline,
        reading=pl.DataFrame(schema=dict(READING_SCHEMA)),
        evals=pl.DataFrame(schema=dict(EVAL_SCHEMA)),
        tables={},
    )


def write_table(
    name: str, frame: pl.DataFrame, folder: str, writer: SiteWriter
) -> tuple[Slice, ...]:
    """Writes a table as slices.

    Args:
        name: of the table.
        frame: its rows.
        folder: from the root of the site.
        writer: takes the files.

    Returns:
        What the catalogue says of them.
    """
    slices = []
    parts = encode_table(name, frame, folder=folder)
    del frame  # the parts free it as soon as they have what they need
    for entry, content in parts:
        writer.write(entry.path, content)
        slices.append(entry)
    return tuple(slices)


def write_charts(page: Page, writer: SiteWriter) -> tuple[FileEntry, ...]:
    """Writes the specs of a page's figures."""
    entries = []
    for figure in page.figures:
        path, text = figure_file(figure)
        content = text.encode()
        writer.write(path, content)
        entries.append(FileEntry.of(path, content))
    return tuple(entries)


def _write_slices(tables: StepTables, writer: SiteWriter) -> dict[str, tuple[Slice, ...]]:
    folder = step_folder(tables.step, evaluation=tables.evaluation)
    slices = {"tokens": write_table("tokens", tables.tokens(text=False), folder, writer)}
    for name in ("token_texts", "samples", "groups", "conversations", "texts"):
        slices[name] = write_table(name, getattr(tables, name), folder, writer)
    return slices


def _remember(task: StepTask, made: _Made, writer: SiteWriter) -> StepRecord:
    body = BodyRecord(made.page, render_body(made.page))
    record = StepRecord(
        step=task.step,
        evaluation=task.evaluation,
        fingerprint=task.fingerprint,
        outline=made.outline,
        reading=made.reading,
        evals=made.evals,
        tables=made.tables,
        charts=write_charts(made.page, writer),
        body_hash=content_hash(body.to_bytes()),
    )
    save_step(record, body, writer)
    return record
