"""An opened dump: `open_run` lists it, `Run.table` reads what is asked for and nothing more.

Files are read at the sizes they had when the run was opened. A step that cannot be read is a state of that step
and a notice; only asking for its samples raises.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.errors import NotFoundError, SourceError, StillWritingError
from miles_report.facts import RunFacts
from miles_report.notices import STILL_WRITING, Notice
from miles_report.run_timeline import Timeline
from miles_report.run_wide import RUN_WIDE, gather_notices
from miles_report.schema.tables import PER_STEP
from miles_report.sources.files import DumpFiles, list_dump
from miles_report.sources.step_data import read_step
from miles_report.sources.telemetry import Telemetry
from miles_report.sources.tokenizer import TokenTexts, read_tokenizer
from miles_report.step_tables import StepTables
from miles_report.tables.attempts import Attempts, find_attempts
from miles_report.tables.frames import empty_table
from miles_report.tables.parameters import checked, known_table
from miles_report.tables.steps import unreadable_steps_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from miles_report.sources.step_data import StepData

logger = logging.getLogger(__name__)

KEPT_STEPS = 2
"""Steps whose data stay in memory, so that looking at one sample after another does not read the file anew."""

StepKey = tuple[int, bool]
"""(step, evaluation)."""


@dataclass(frozen=True)
class StepOutline:
    """The few facts of a step that run-wide tables need, so that its files need not be read again.

    Attributes:
        state: ok, broken or writing.
        steps: its row of `steps`; no row for an evaluation.
        notable: its rows of `notable`.
        notices: what was absent or broken in it.
    """

    state: str
    steps: pl.DataFrame
    notable: pl.DataFrame
    notices: tuple[Notice, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether reading the same files later gives the same: none of them may still be being written."""
        return self.state != "writing" and all(told.code != STILL_WRITING for told in self.notices)


class Run:
    """One dump, frozen as it was when opened; see `open_run`.

    Args:
        files: its listing.
        clock: wall clock in Unix seconds; decides whether an unreadable file is still being written.
        outlines: steps whose outline is known already, so that they are not read for run-wide tables.
        kept_steps: steps whose data stay in memory; a build, which looks at each once, keeps none.
    """

    def __init__(
        self,
        files: DumpFiles,
        *,
        clock: Callable[[], float] = time.time,
        outlines: Mapping[StepKey, StepOutline] | None = None,
        kept_steps: int = KEPT_STEPS,
    ) -> None:
        self.files = files
        self._kept_steps = kept_steps
        self.telemetry = Telemetry(files)
        self._clock = clock
        self._outlines: dict[StepKey, StepOutline] = dict(outlines or {})
        self._kept: OrderedDict[StepKey, StepData] = OrderedDict()
        self.tokenizer_notices: list[Notice] = []
        self.timeline = Timeline(self.telemetry, lambda: self.attempts)

    @property
    def path(self) -> Path:
        """The dump directory."""
        return self.files.root

    @property
    def steps(self) -> list[int]:
        """Visible train steps, ascending."""
        return sorted(self.files.rollouts)

    @property
    def eval_steps(self) -> list[int]:
        """Steps at which a visible evaluation ran, ascending."""
        return sorted(self.files.eval_rollouts)

    @property
    def args(self) -> Mapping[str, Any]:
        """The recorded subset of the run's arguments; empty without telemetry."""
        return self.telemetry.meta.args

    @property
    def facts(self) -> RunFacts:
        """What pages of steps and samples may know; does not change while the run goes on."""
        meta = self.telemetry.meta
        name = meta.run_name or self.files.root.resolve().name or "run"
        return RunFacts(name, meta.args, meta.start_ts, bool(self.files.tokenizer))

    @cached_property
    def tokenizer(self) -> TokenTexts | None:
        """Texts of token ids; null if the dump has no usable tokenizer."""
        return read_tokenizer(self.files, notices=self.tokenizer_notices)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything that is absent, skipped or broken; reads every step and stream."""
        return gather_notices(self)

    def table(self, name: str, **parameters: Any) -> pl.DataFrame:
        """One table of the contract.

        Args:
            name: see `miles_report.schema.tables.TABLES`.
            **parameters: those the table declares. Omitted step: all visible steps that can be read; the others are
                logged and stand in `notices`.

        Returns:
            Its rows, with the declared columns in order; a run may add columns behind them.

        Raises:
            UsageError: unknown table or parameter, or a value that makes no sense.
            NotFoundError: a step, row or sample that is not there.
            SourceError: a file of a step that was asked for cannot be read or trusted.
            StillWritingError: the same, while the file may still be being written.
        """
        table = known_table(name)
        given = checked(table, parameters)
        if name in PER_STEP:
            return self._per_step(name, **given)
        return RUN_WIDE[name](self, **given)

    def open_step(self, step: int, *, evaluation: bool = False) -> StepTables:
        """All tables of one step; its files are read once.

        Raises:
            NotFoundError: no such step.
            SourceError: its rollout file cannot be read or trusted.
        """
        return StepTables(self._data(step, evaluation=evaluation), self.args, self.tokenizer)

    def outline(self, step: int, *, evaluation: bool) -> StepOutline:
        """The outline of a step; reads it unless it is known."""
        key = (step, evaluation)
        if key not in self._outlines:
            self._outlines[key] = self._read_outline(step, evaluation=evaluation)
        return self._outlines[key]

    def unreadable(self, step: int, error: SourceError, *, evaluation: bool) -> StepOutline:
        """The outline of a step whose rollout file cannot be read."""
        state = "writing" if isinstance(error, StillWritingError) else "broken"
        notice = Notice(
            "step-still-writing" if state == "writing" else "step-broken",
            "info" if state == "writing" else "error",
            error.path + (f", {error.at}" if error.at else ""),
            f"Step {step} is left out: {error.reason}",
            "Build again later." if state == "writing" else "Copy the file again from the run.",
        )
        steps = empty_table("steps") if evaluation else unreadable_steps_row(step, state)
        return StepOutline(state, steps, empty_table("notable"), (notice,))

    def _read_outline(self, step: int, *, evaluation: bool) -> StepOutline:
        try:
            tables = self.open_step(step, evaluation=evaluation)
        except SourceError as error:
            return self.unreadable(step, error, evaluation=evaluation)
        return StepOutline("ok", tables.steps, tables.notable, tables.notices)

    def outlines(self) -> list[StepOutline]:
        """The outlines of all visible steps, evaluations last; reads those not known yet."""
        return [self.outline(step, evaluation=False) for step in self.steps] + [
            self.outline(step, evaluation=True) for step in self.eval_steps
        ]

    def _data(self, step: int, *, evaluation: bool) -> StepData:
        key = (step, evaluation)
        data = self._kept.pop(key, None)
        if data is None:
            what = "evaluation" if evaluation else "step"
            if self.files.rollout(step, evaluation=evaluation) is None:
                raise NotFoundError(f"There is no {what} {step} in {self.files.root}.")
            data = read_step(self.files, step, evaluation=evaluation, now=self._clock())
        self._kept[key] = data
        while len(self._kept) > self._kept_steps:
            self._kept.popitem(last=False)
        return data

    def _per_step(
        self,
        name: str,
        *,
        step: list[int] | None = None,
        evaluation: bool = False,
        **selection: Any,
    ) -> pl.DataFrame:
        frames = [
            tables.select(name, **selection) for tables in self._opened(step, evaluation=evaluation)
        ]
        return pl.concat(frames, how="diagonal_relaxed") if frames else empty_table(name)

    def _opened(self, steps: list[int] | None, *, evaluation: bool) -> Iterator[StepTables]:
        if steps is not None:
            for step in steps:
                yield self.open_step(step, evaluation=evaluation)
            return
        for step in self.eval_steps if evaluation else self.steps:
            try:
                yield self.open_step(step, evaluation=evaluation)
            except SourceError as error:
                logger.warning("left out: %s", error)

    @cached_property
    def attempts(self) -> Attempts:
        """Where attempts of the run began."""
        started = self.telemetry.health.filter(pl.col("event") == "collector_started")["ts"]
        return find_attempts(
            self.telemetry.metrics.values,
            start_ts=self.telemetry.meta.start_ts,
            collector_started=started.to_list(),
            first_ts=self.telemetry.first_ts,
        )


def open_run(
    path: str | Path,
    *,
    clock: Callable[[], float] = time.time,
    outlines: Mapping[StepKey, StepOutline] | None = None,
) -> Run:
    """Opens a dump directory: lists it, and reads nothing large.

    Raises:
        UsageError: there is no dump at that path.
    """
    return Run(list_dump(Path(path), now=clock()), clock=clock, outlines=outlines)
