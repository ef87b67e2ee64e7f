"""Rendered bodies into whole pages, unless the page that is in place was made from the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miles_report.pages.page import Link
from miles_report.pages.sample import own_path
from miles_report.pages.step_places import step_path, step_title
from miles_report.site.fingerprints import fingerprint
from miles_report.site.html import Shell, render_body, render_page
from miles_report.site.plan import ROWS_A_TASK
from miles_report.site.sample_output import SampleTask
from miles_report.site.step_output import write_charts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.pages.page import Page
    from miles_report.site.publish import Publisher
    from miles_report.site.records import StepRecord
    from miles_report.site.state import StepStore
    from miles_report.site.writer import SiteWriter
    from miles_report.slices.catalog import FileEntry

StepKey = tuple[int, bool]


@dataclass(frozen=True)
class PageMaker:
    """Hands pages to the publisher.

    Attributes:
        publisher: takes them.
        program: fingerprint of this program.
        shell: around pages about the whole run.
        step_shell: around pages of steps and samples; without their catalogue, and without anything that changes while the
            run goes on.
        catalogs: catalogue of each step that could be read.
    """

    publisher: Publisher
    program: str
    shell: Shell
    step_shell: Shell
    catalogs: Mapping[StepKey, FileEntry]

    def add_steps(self, records: Sequence[StepRecord], state: StepStore) -> None:
        """The pages of all steps, each with its neighbours of the same kind.

        Raises:
            BuildError: the disk refuses.
        """
        for evaluation in (False, True):
            of_kind = [record for record in records if record.evaluation == evaluation]
            for place, record in enumerate(of_kind):
                before = _link(of_kind[place - 1]) if place else None
                after = _link(of_kind[place + 1]) if place + 1 < len(of_kind) else None
                self._add_step(record, state, before, after)

    def _add_step(
        self, record: StepRecord, state: StepStore, before: Link | None, after: Link | None
    ) -> None:
        path = step_path(record.step, evaluation=record.evaluation)
        shell = self._shell_of(record.key)
        key = fingerprint(record.body_hash, vars(shell), before, after, self.program)
        if self.publisher.keep(path, key):
            return
        kept = state.body(record)
        page = replace(kept.page, previous=before, next=after)
        self.publisher.add(path, key, render_page(page, kept.body, shell).encode())

    def add_run_pages(self, pages: Sequence[Page], writer: SiteWriter) -> list[FileEntry]:
        """The pages about the whole run.

        Returns:
            Specs of their figures, now written.

        Raises:
            BuildError: the disk refuses.
        """
        charts: list[FileEntry] = []
        for page in pages:
            charts += write_charts(page, writer)
            content = render_page(page, render_body(page), self.shell).encode()
            self.publisher.add(page.path, "", content)
        return charts

    def sample_tasks(self, rows: Mapping[StepKey, Sequence[int]]) -> list[SampleTask]:
        """Own pages that have to be made; those in place that are as they should be are kept."""
        tasks = []
        for key, wanted in rows.items():
            shell = self._shell_of(key)
            print_ = self._sample_key(shell)
            missing = [
                row
                for row in wanted
                if not self.publisher.keep(own_path(key[0], row, evaluation=key[1]), print_)
            ]
            tasks += [
                SampleTask(*key, tuple(missing[start : start + ROWS_A_TASK]), shell)
                for start in range(0, len(missing), ROWS_A_TASK)
            ]
        return tasks

    def add_samples(self, task: SampleTask, pages: Sequence[tuple[str, bytes]]) -> None:
        """Own pages that were made.

        Raises:
            BuildError: the disk refuses.
        """
        for path, content in pages:
            self.publisher.add(path, self._sample_key(task.shell), content)

    def _sample_key(self, shell: Shell) -> str:
        return fingerprint(vars(shell), self.program)

    def _shell_of(self, key: StepKey) -> Shell:
        catalog = self.catalogs.get(key)
        return replace(self.step_shell, catalog=catalog.path if catalog else "")


def _link(record: StepRecord) -> Link:
    title = step_title(record.step, evaluation=record.evaluation)
    return Link(title, step_path(record.step, evaluation=record.evaluation))
