"""The story of a build: plan, steps, run-wide parts, pages, publish. Everything is gathered before a page is replaced."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miles_report import __version__
from miles_report.run import Run
from miles_report.site.assets import asset_paths
from miles_report.site.generation import Generation
from miles_report.site.html import Shell
from miles_report.site.page_output import PageMaker
from miles_report.site.parts import Parts, write_parts
from miles_report.site.plan import choose_samples, plan_steps
from miles_report.site.publish import Publisher
from miles_report.site.run_output import rail, run_pages, start_text
from miles_report.site.state import StepStore
from miles_report.site.writer import DirectoryWriter
from miles_report.workers import SampleWorkshop, StepWorkshop, default_jobs, perform

if TYPE_CHECKING:
    from pathlib import Path

    from miles_report.build import BuildOptions, Progress
    from miles_report.site.fingerprints import Fingerprints
    from miles_report.site.generation import GenerationStore
    from miles_report.site.records import StepRecord
    from miles_report.sources.files import DumpFiles


@dataclass(frozen=True)
class Job:
    """One build that has something to do.

    Attributes:
        site: directory to write, locked for this build.
        files: listing of the dump, the chosen steps only.
        prints: fingerprints over it.
        inputs: fingerprint of all of it and of the options.
        store: remembers generations of the site.
        last: the generation that is there.
        now: Unix seconds; decides which files may still be being written.
        tell: told how far it is.
    """

    site: Path
    files: DumpFiles
    prints: Fingerprints
    inputs: str
    store: GenerationStore
    last: Generation
    now: float
    tell: Progress


def make_site(job: Job, options: BuildOptions) -> Generation:
    """Makes what changed and publishes it.

    Raises:
        BuildError: the site cannot be written; the old one is intact.
    """
    prints, writer, steps = job.prints, DirectoryWriter(job.site), StepStore(job.site)
    jobs = options.jobs or default_jobs()
    name = prints.facts.run_name
    title = options.title or name

    plan = plan_steps(job.files, prints, steps)
    alone = min(jobs, len(plan.tasks)) <= 1
    workshop = StepWorkshop(job.files, prints.facts, job.site, job.now, alone)
    made: list[StepRecord] = []
    for _, record in perform(plan.tasks, workshop, jobs=jobs):
        made.append(record)
        job.tell("steps", len(made), len(plan.tasks))
    records = sorted([*plan.kept, *made], key=lambda record: (record.evaluation, record.step))

    job.tell("run", 0, 1)
    outlines = {record.key: record.outline for record in records}
    run = Run(job.files, clock=lambda: job.now, outlines=outlines)
    parts = write_parts(run, records, last=job.last, prints=prints, writer=writer)

    publisher = Publisher(job.store, job.last, writer)
    maker = _page_maker(publisher, parts, prints, title)
    maker.add_steps(records, steps)
    samples = choose_samples(records, options.pages, options.max_pages)
    tasks = maker.sample_tasks(samples.rows)
    finished = perform(tasks, SampleWorkshop(prints.facts, job.site), jobs=jobs)
    for done, (task, pages) in enumerate(finished, 1):
        maker.add_samples(task, pages)
        job.tell("samples", done, len(tasks))
    run_wide = run_pages(
        run,
        parts.tables,
        records,
        parts.holdings,
        name=name,
        title=title,
        overview=options.utilization_overview,
    )
    charts = maker.add_run_pages(run_wide, writer)

    job.tell("publish", 0, 1)
    is_final = all(record.outline.is_final for record in records)
    generation = Generation(
        inputs=job.inputs if is_final else "",
        lifecycles={name: life.to_json() for name, life in parts.lifecycles.items()},
        summary={
            "steps_built": len(made),
            "steps_kept": len(plan.kept),
            "samples_left_out": samples.left_out,
            "notices": dict(sorted(Counter(parts.tables["notices"]["severity"].to_list()).items())),
        },
    )
    published = publisher.publish(
        generation, {**parts.files, **{entry.path: entry for entry in charts}}
    )
    steps.forget_all_but({record.name for record in records})
    return published


def _page_maker(publisher: Publisher, parts: Parts, prints: Fingerprints, title: str) -> PageMaker:
    counts = {"rollouts": parts.tables["steps"].height, "notices": parts.tables["notices"].height}
    if parts.tables["incidents"].height:
        counts["faults"] = parts.tables["incidents"].height
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
