"""The pipeline: a dump becomes a site, and only what changed is made again.

Read `build` first: open, plan, steps, run-wide tables, pages, publish. Everything is gathered before the first page of the old
site is replaced.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from miles_report import __version__
from miles_report.run import Run, open_run
from miles_report.site.assets import asset_paths, vega_version
from miles_report.site.fingerprints import Fingerprints
from miles_report.site.html import Shell
from miles_report.site.lock import build_lock
from miles_report.site.page_output import PageMaker
from miles_report.site.parts import Parts, write_parts
from miles_report.site.places import check_places
from miles_report.site.plan import OwnPages, choose_samples, plan_steps, select_steps
from miles_report.site.publish import Publisher
from miles_report.site.run_output import rail, run_pages, start_text
from miles_report.site.state import Generation, SiteState, has_file
from miles_report.site.writer import DirectoryWriter
from miles_report.sources.meta import DEFAULT_RUN_NAME
from miles_report.workers import SampleWorkshop, StepWorkshop, default_jobs, perform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from miles_report.run import RunFacts
    from miles_report.site.records import StepRecord

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
    """

    steps: tuple[int, ...] | None = None
    pages: OwnPages = "notable"
    max_pages: int | None = None
    jobs: int | None = None
    title: str = ""


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
    begun, options, tell = time.monotonic(), options or BuildOptions(), progress or _silent
    check_places(dump, site)
    now = clock()
    files = select_steps(open_run(dump, clock=lambda: now).files, options.steps)
    with build_lock(site):
        state = SiteState(site)
        state.open()
        last = state.generation()
        run = Run(files, clock=lambda: now)
        prints = Fingerprints(files, _step_facts(run))
        inputs = prints.everything(options.pages, options.max_pages, options.title)
        if last.inputs == inputs and not state.pending() and _is_whole(last, site):
            return _result(last, begun, changed=False)
        writer = DirectoryWriter(site)
        plan = plan_steps(files, prints, state)
        jobs = options.jobs or default_jobs()
        made: list[StepRecord] = []
        for _, record in perform(
            plan.tasks, StepWorkshop(files, prints.facts, site, now), jobs=jobs
        ):
            made.append(record)
            tell("steps", len(made), len(plan.tasks))
        records = sorted([*plan.kept, *made], key=lambda record: (record.evaluation, record.step))
        tell("run", 0, 1)
        run = Run(files, clock=lambda: now, outlines={item.key: item.outline for item in records})
        parts = write_parts(run, records, last=last, prints=prints, writer=writer)
        publisher = Publisher(state, last, writer)
        title = options.title or prints.facts.run_name
        maker = _page_maker(publisher, parts, prints, title)
        maker.add_steps(records, state)
        samples = choose_samples(records, options.pages, options.max_pages)
        tasks = maker.sample_tasks(samples.rows)
        for done, (task, pages) in enumerate(
            perform(tasks, SampleWorkshop(prints.facts, site), jobs=jobs), 1
        ):
            maker.add_samples(task, pages)
            tell("samples", done, len(tasks))
        pages = run_pages(parts.tables, records, name=prints.facts.run_name, title=title)
        charts = maker.add_run_pages(pages, writer)
        tell("publish", 0, 1)
        is_final = all(record.outline.state != "writing" for record in records)
        generation = publisher.publish(
            Generation(
                inputs=inputs if is_final else "",
                lifecycles={name: life.to_json() for name, life in parts.lifecycles.items()},
                vega=vega_version(),
                summary={
                    "steps_built": len(made),
                    "steps_kept": len(plan.kept),
                    "samples_left_out": samples.left_out,
                    "notices": dict(Counter(parts.tables["notices"]["severity"].to_list())),
                },
            ),
            {**parts.files, **{entry.path: entry for entry in charts}},
        )
        return _result(generation, begun, changed=True)


def _page_maker(publisher: Publisher, parts: Parts, prints: Fingerprints, title: str) -> PageMaker:
    tables = parts.tables
    counts = {"rollouts": tables["steps"].height, "notices": tables["notices"].height}
    shell = Shell(
        run_name=title,
        start=start_text(prints.facts.start_ts),
        rail=rail(counts),
        version=__version__,
        assets=asset_paths(parts.assets),
        catalog=parts.root.path,
    )
    step_shell = replace(shell, rail=rail(), catalog="", nav_page=False)
    return PageMaker(publisher, prints.program, shell, step_shell, parts.catalogs)


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Nobody is told."""


def _step_facts(run: Run) -> RunFacts:
    """Facts that do not depend on where the dump lies."""
    return replace(run.facts, run_name=run.telemetry.meta.run_name or DEFAULT_RUN_NAME)


def _is_whole(generation: Generation, site: Path) -> bool:
    return all(has_file(site, entry) for entry in generation.files.values())


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
