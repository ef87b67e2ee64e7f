"""A step becomes a record whatever happens, unless the site cannot be written."""

from __future__ import annotations

import pytest
from builders.sites import small_run

from miles_report.errors import BuildError
from miles_report.facts import RunFacts
from miles_report.run import Run
from miles_report.site.step_output import StepTask, make_step
from miles_report.site.writer import MemoryWriter
from miles_report.sources.files import list_dump
from miles_report.workers import AtOnce

TASK = StepTask(0, evaluation=False, fingerprint="f", has_counterpart=False)


class FailingRun(Run):
    """Fails as only a mistake of ours can."""

    def open_step(self, step, *, evaluation=False):
        raise ZeroDivisionError("of our own")


class FullWriter(MemoryWriter):
    def write(self, path, content):
        raise BuildError(f"{path} could not be written: No space left on device.")


def made(run_of, root, writer):
    run = run_of(list_dump(small_run(root, steps=1), now=2e9), clock=lambda: 2e9)
    return make_step(run, TASK, RunFacts("r"), writer, AtOnce())


def test_a_step_on_which_we_fail_is_broken_and_says_so(tmp_path, caplog):
    writer = MemoryWriter()
    record = made(FailingRun, tmp_path, writer)
    assert record.outline.state == "broken"
    (notice,) = record.outline.notices
    assert (notice.severity, notice.source) == ("error", "rollout_data/0.pt")
    assert "miles-report itself failed on it (ZeroDivisionError: of our own)" in notice.message
    assert "Traceback" in caplog.text
    assert record.tables == {}
    assert sorted(writer.files) == [
        ".miles-report/steps/step-0.json",
        ".miles-report/steps/step-0.page",
    ]


def test_a_site_that_cannot_be_written_is_no_fault_of_the_step(tmp_path):
    with pytest.raises(BuildError, match="No space left"):
        made(Run, tmp_path, FullWriter())
