"""Samples into own pages, from the slices of their step: such a page shows what its slices say, digit for digit."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.pages.sample import sample_page
from miles_report.pages.sample_payload import payload
from miles_report.pages.step_places import step_title
from miles_report.site.html import render_body, render_page
from miles_report.slices.read import ReadFile, open_catalog, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from miles_report.facts import RunFacts
    from miles_report.site.html import Shell


@dataclass(frozen=True)
class SampleTask:
    """Samples of one step that get a page each.

    Attributes:
        step: its number.
        evaluation: whether it is an evaluation.
        rows: positions in the rollout file.
        shell: of their pages, with the catalogue of the step.
    """

    step: int
    evaluation: bool
    rows: tuple[int, ...]
    shell: Shell

    def __str__(self) -> str:
        """The samples in words."""
        title = step_title(self.step, evaluation=self.evaluation)
        return f"{title}, rows {', '.join(map(str, self.rows))}"


@dataclass(frozen=True)
class SampleTables:
    """What the page of one sample is made from, as the slices of its step say.

    Attributes:
        step: its number.
        samples: of the whole step.
        groups: of the whole step.
        tokens: of the sample, without text and ratio.
        token_texts: of the whole step.
        conversations: of the sample.
        texts: of the sample.
    """

    step: int
    samples: pl.DataFrame
    groups: pl.DataFrame
    tokens: pl.DataFrame
    token_texts: pl.DataFrame
    conversations: pl.DataFrame
    texts: pl.DataFrame


def make_samples(task: SampleTask, facts: RunFacts, read: ReadFile) -> Iterator[tuple[str, bytes]]:
    """The own pages of some samples of a step.

    Args:
        task: which samples.
        facts: what the pages may know of the run.
        read: gives the content of a file of the site.

    Yields:
        Path and content of each page.
    """
    catalog = open_catalog(read, task.shell.catalog)
    samples, groups, token_texts = (
        read_table(read, catalog, name) for name in ("samples", "groups", "token_texts")
    )
    has_spans = "trajectories" in catalog.tables
    spans = read_table(read, catalog, "trajectories") if has_spans else None
    read_tokens = cached_reader(read)
    for row in task.rows:
        narrow = {
            name: read_table(read_tokens, catalog, name, row=row, text=False)
            for name in ("tokens", "conversations", "texts")
        }
        tables = SampleTables(
            step=task.step, samples=samples, groups=groups, token_texts=token_texts, **narrow
        )
        page = sample_page(payload(tables, row, facts, trajectories=spans))
        yield page.path, render_page(page, render_body(page), task.shell).encode()


def cached_reader(read: ReadFile, kept: int = 4) -> ReadFile:
    """The same, keeping the last few files: neighbouring samples share slices."""
    return functools.lru_cache(maxsize=kept)(read)
