"""One step into its part of the site: slices, chart specs, and the body of its page."""

from __future__ import annotations

import logging
from concurrent.futures import Executor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.errors import BuildError, SourceError
from miles_report.pages.index_reading import reading_rows
from miles_report.pages.rollouts_rows import EVAL_SCHEMA, eval_rows
from miles_report.pages.step import step_page, unavailable_step_page
from miles_report.pages.step_places import step_title
from miles_report.run import StepOutline
from miles_report.site.html import figure_file, render_body
from miles_report.site.records import READING_SCHEMA, BodyRecord, StepRecord
from miles_report.site.state import save_step
from miles_report.slices.catalog import FileEntry, step_folder
from miles_report.slices.encoding import encode_table
from miles_report.slices.slice import Slice, content_hash
from miles_report.tables.tokens import tokens_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from miles_report.facts import RunFacts
    from miles_report.pages.page import Page
    from miles_report.run import Run
    from miles_report.site.writer import SiteWriter
    from miles_report.sources.step_data import StepData
    from miles_report.step_tables import StepTables

logger = logging.getLogger(__name__)

SMALL_TABLES = ("token_texts", "samples", "groups", "conversations", "texts")
"""Tables of a step besides `tokens`, which is larger than all of them."""


TOKENS_AT_A_TIME = 160_000
"""Tokens of a step in memory as a table: about 13 MB, two slices of the usual columns."""


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


def make_step(
    run: Run, task: StepTask, facts: RunFacts, writer: SiteWriter, encoder: Executor
) -> StepRecord:
    """Reads a step once, writes its slices and remembers its page.

    Args:
        run: the opened dump.
        task: which step.
        facts: what its page may know of the run.
        writer: takes its files.
        encoder: compresses tokens; a thread does so while the page is made, since both take about as long.

    Returns:
        Its record; the state of a step that cannot be read is broken or writing, with a notice. A step on which this
        program itself fails is broken too, so that it does not cost the others.

    Raises:
        BuildError: the site cannot be written.
    """
    try:
        return _remember(task, _readable(run, task, facts, writer, encoder), writer)
    except SourceError as error:
        trouble = error
    except BuildError:
        raise
    except Exception as error:
        logger.exception("%s failed", task)
        trouble = _own_fault(run, task, error)
    return _remember(task, _unreadable(run, task, facts, trouble), writer)


def _own_fault(run: Run, task: StepTask, error: Exception) -> SourceError:
    stamp = run.files.rollout(task.step, evaluation=task.evaluation)
    return SourceError(
        str(task) if stamp is None else stamp.name,
        "",
        f"miles-report itself failed on it ({type(error).__name__}: {error}); please report this with the file",
    )


@dataclass(frozen=True)
class _Made:
    """A step before it is remembered; the attributes of `StepRecord`, and its page."""

    page: Page
    outline: StepOutline
    reading: pl.DataFrame
    evals: pl.DataFrame
    tables: dict[str, tuple[Slice, ...]]


def _readable(
    run: Run, task: StepTask, facts: RunFacts, writer: SiteWriter, encoder: Executor
) -> _Made:
    tables = run.open_step(task.step, evaluation=task.evaluation)
    folder = step_folder(tables.step, evaluation=tables.evaluation)
    tokens = encoder.submit(_write_tokens, tables, folder, writer)
    try:
        page = step_page(tables, facts, has_counterpart=task.has_counterpart)
        slices = {
            name: write_table(name, getattr(tables, name), folder, writer) for name in SMALL_TABLES
        }
    finally:
        wait([tokens])
    no_evals = pl.DataFrame(schema=dict(EVAL_SCHEMA))
    return _Made(
        page=page,
        outline=StepOutline("ok", tables.steps, tables.notable, tables.notices),
        reading=reading_rows(tables.notable, tables.samples),
        evals=eval_rows(tables.samples) if task.evaluation else no_evals,
        tables={"tokens": tokens.result(), **slices},
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

    Raises:
        BuildError: the disk refuses.
    """
    return _write_frames(name, [frame], folder, writer)


def write_charts(page: Page, writer: SiteWriter) -> tuple[FileEntry, ...]:
    """Writes the specs of a page's figures."""
    entries = []
    for figure in page.figures:
        path, text = figure_file(figure)
        content = text.encode()
        writer.write(path, content)
        entries.append(FileEntry.of(path, content))
    return tuple(entries)


def _write_tokens(tables: StepTables, folder: str, writer: SiteWriter) -> tuple[Slice, ...]:
    return _write_frames("tokens", _token_frames(tables.data), folder, writer)


def _token_frames(data: StepData) -> Iterator[pl.DataFrame]:
    """The tokens table in pieces of whole samples, so that a large step does not take much memory."""
    ends = data.rollout.token_offsets[1:]
    first, n_samples = 0, data.rollout.n_samples
    while True:
        start = int(data.rollout.token_offsets[first])
        last = int(np.searchsorted(ends, start + TOKENS_AT_A_TIME, "right"))
        last = min(max(last, first + 1), n_samples)
        yield tokens_table(data, None, rows=range(first, last), ratio=False)
        first = last
        if first >= n_samples:
            return


def _write_frames(
    name: str, frames: Iterable[pl.DataFrame], folder: str, writer: SiteWriter
) -> tuple[Slice, ...]:
    slices = []
    for entry, content in encode_table(name, frames, folder=folder):
        writer.write(entry.path, content)
        slices.append(entry)
    return tuple(slices)


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
