"""All tables of one step, made from its data when they are first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.tables.conversations import conversations_table
from miles_report.tables.frames import empty_table
from miles_report.tables.groups import groups_table
from miles_report.tables.notable import notable_table
from miles_report.tables.samples import samples_table
from miles_report.tables.selection import check_row, rows_of_sample, single_row
from miles_report.tables.steps import steps_row
from miles_report.tables.texts import texts_table
from miles_report.tables.tokens import token_texts_table, tokens_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.notices import Notice
    from miles_report.sources.step_data import StepData
    from miles_report.sources.tokenizer import TokenTexts


class StepTables:
    """The tables of one (step, evaluation).

    Args:
        data: the step, read and joined.
        args: the run's recorded arguments; they name the reward key of dict rewards.
        tokenizer: texts of token ids; null without one.
    """

    def __init__(
        self, data: StepData, args: Mapping[str, Any], tokenizer: TokenTexts | None
    ) -> None:
        self.data = data
        self.step = data.step
        self.evaluation = data.evaluation
        self._args = args
        self._tokenizer = tokenizer

    @cached_property
    def samples(self) -> pl.DataFrame:
        """One row a sample, in file order."""
        return samples_table(self.data, self._args)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row a group."""
        return groups_table(self.samples)

    @cached_property
    def conversations(self) -> pl.DataFrame:
        """One row a sample with a recorded conversation."""
        return conversations_table(self.data, self.samples)

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Prompt and response of every sample."""
        return texts_table(self.data)

    @cached_property
    def steps(self) -> pl.DataFrame:
        """The row of `steps`; no row for an evaluation."""
        if self.evaluation:
            return empty_table("steps")
        return steps_row(self.samples, self.groups, self.step)

    @cached_property
    def notable(self) -> pl.DataFrame:
        """Samples worth reading."""
        return notable_table(self.samples, self.groups, self.texts)

    @cached_property
    def token_texts(self) -> pl.DataFrame:
        """token_id and token_text of every id that occurs; no row without a tokenizer."""
        return token_texts_table(self.data, self._tokenizer)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was absent or broken in the step's files."""
        return self.data.notices

    def tokens(
        self,
        *,
        row: int | None = None,
        start: int | None = None,
        end: int | None = None,
        text: bool = True,
    ) -> pl.DataFrame:
        """Tokens of one sample, or of all; token_text is null with text=False.

        Raises:
            UsageError: the positions selected are none.
        """
        tokenizer = self._tokenizer if text else None
        return tokens_table(self.data, tokenizer, row=row, start=start, end=end)

    def select(
        self,
        name: str,
        *,
        row: int | None = None,
        sample: int | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> pl.DataFrame:
        """A per-step table, of one sample if row or sample names it.

        Raises:
            NotFoundError: the step has no such row or sample.
            UsageError: several rows share the sample index and the table takes only one sample.
        """
        if name == "tokens":
            return self.tokens(row=self._single_row(row, sample), start=start, end=end)
        frame: pl.DataFrame = getattr(self, name)
        if row is None and sample is None:
            return frame
        return frame.filter(pl.col("row").is_in(self._rows(row=row, sample=sample)))

    def sample_indices(self, *, row: int | None = None, sample: int | None = None) -> list[int]:
        """Sample indices of the step, or of the sample that row or sample names; null ones left out.

        Raises:
            NotFoundError: the step has no such row or sample.
        """
        rows = self._rows(row=row, sample=sample)
        chosen = self.samples.filter(pl.col("row").is_in(rows))["sample_index"]
        return chosen.drop_nulls().unique().sort().to_list()

    def _rows(self, *, row: int | None, sample: int | None) -> list[int]:
        rows = self.samples["row"]
        if row is not None:
            check_row(row, rows.len(), self.step)
            return [row]
        if sample is not None:
            return rows_of_sample(self.samples, sample, self.step)
        return list(rows)

    def _single_row(self, row: int | None, sample: int | None) -> int | None:
        if row is None and sample is None:
            return None
        return single_row(self._rows(row=row, sample=sample), sample, self.step)
