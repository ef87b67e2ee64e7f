"""Builds a site, or brings it up to date: decides whether there is anything to do, and lets one build at a time do it.

What there is to do is told by `pipeline`. When nothing changed it is not even imported: no dump file is opened, no chart
library loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from miles_report.run import Run, open_run
from miles_report.site.fingerprints import Fingerprints
from miles_report.site.generation import Generation, GenerationStore
from miles_report.site.lock import build_lock
from miles_report.site.places import check_places
from miles_report.site.selection import OwnPages, select_steps
from miles_report.sources.meta import DEFAULT_RUN_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from miles_report.facts import RunFacts
    from miles_report.pages.compute_figures import Overview

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as the build goes on."""


@dataclass(frozen=True)
class BuildOptions:
    """How a dump is built.

    Attributes:
        steps: only these; null: all.
        pages: which samples get a page of their own.
        max_pages: at most so many of them; null: no limit for all, a sane one for notable ones.
        jobs: worker processes; null: as many as there are processors, at most 8.
        title: of the report; "" for the name of the run.
        utilization_overview: when the Compute page draws shares of all lanes instead of a row a lane: above 64, or always.
    """

    steps: tuple[int, ...] | None = None
    pages: OwnPages = "notable"
    max_pages: int | None = None
    jobs: int | None = None
    title: str = ""
    utilization_overview: Overview = "auto"


@dataclass(frozen=True)
class BuildResult:
    """What a build came to.

    Attributes:
        changed: whether anything was made.
        pages: of the site.
        files: of the site, pages included.
        bytes: of all of them.
        seconds: that the build took.
        steps_built: whose files were read.
        steps_kept: from the build before.
        samples_left_out: that got no page of their own because of max_pages.
        notices: how many of each severity.
    """

    changed: bool
    pages: int
    files: int
    bytes: int
    seconds: float
    steps_built: int
    steps_kept: int
    samples_left_out: int
    notices: Mapping[str, int] = field(default_factory=dict)


def build(
    dump: Path,
    site: Path,
    options: BuildOptions | None = None,
    *,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
) -> BuildResult:
    """Builds the site of a dump, or brings it up to date.

    Args:
        dump: directory that Miles wrote; only read.
        site: directory to write; new, empty, or a site of ours.
        options: how.
        progress: told how far it is.
        clock: wall clock; decides which files may still be being written, and is in no published file.

    Raises:
        UsageError: no dump, or an output directory that must not be written to.
        NotFoundError: none of the chosen steps is there.
        BuildError: the site cannot be written, or is being written by another build; the old one is intact.
    """
    begun, options = time.monotonic(), options or BuildOptions()
    check_places(dump, site)
    now = clock()
    files = select_steps(open_run(dump, clock=lambda: now).files, options.steps)
    with build_lock(site):
        store = GenerationStore(site)
        last = store.open()
        prints = Fingerprints(files, _step_facts(Run(files)))
        inputs = prints.everything(
            options.pages, options.max_pages, options.title, options.utilization_overview
        )
        if last.inputs == inputs and not store.pending and last.is_whole(site):
            return _result(last, begun, changed=False)
        from miles_report.pipeline import Job, make_site  # noqa: PLC0415 - see above

        job = Job(site, files, prints, inputs, store, last, now, progress or _silent)
        return _result(make_site(job, options), begun, changed=True)


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Nobody is told."""


def _step_facts(run: Run) -> RunFacts:
    """Facts that do not depend on where the dump lies."""
    return replace(run.facts, run_name=run.telemetry.meta.run_name or DEFAULT_RUN_NAME)


def _result(generation: Generation, begun: float, *, changed: bool) -> BuildResult:
    summary = dict(generation.summary)
    if not changed:
        steps = summary["steps_built"] + summary["steps_kept"]
        summary |= {"steps_built": 0, "steps_kept": steps}
    return BuildResult(
        changed=changed,
        pages=sum(path.endswith(".html") for path in generation.files),
        files=len(generation.files),
        bytes=sum(entry.bytes for entry in generation.files.values()),
        seconds=time.monotonic() - begun,
        **summary,
    )
