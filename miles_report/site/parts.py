"""Everything of a site but its steps' slices and its pages: assets, lifecycles, run-wide slices, catalogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.site.assets import ENGINE, ROBOTS, ROBOTS_TEXT, write_assets
from miles_report.site.generation import has_file
from miles_report.site.holdings import Holdings, table_sizes
from miles_report.site.lifecycle_output import write_lifecycles
from miles_report.site.run_output import run_facts, run_tables, write_run_tables
from miles_report.slices.catalog import FileEntry, StepEntry, root_catalog, step_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from miles_report.run import Run
    from miles_report.site.fingerprints import Fingerprints
    from miles_report.site.generation import Generation
    from miles_report.site.lifecycle_output import Lifecycles
    from miles_report.site.records import StepRecord
    from miles_report.site.writer import DirectoryWriter
    from miles_report.slices.slice import Slice

StepKey = tuple[int, bool]


@dataclass(frozen=True)
class Parts:
    """What pages refer to.

    Attributes:
        assets: file of each logical name.
        lifecycles: slices by name of the step.
        catalogs: of each step that could be read.
        tables: run-wide tables.
        root: the root catalogue.
        holdings: what all slices hold, by table.
        files: all files of the site that are not pages, by path.
    """

    assets: Mapping[str, FileEntry]
    lifecycles: Mapping[str, Lifecycles]
    catalogs: Mapping[StepKey, FileEntry]
    tables: Mapping[str, pl.DataFrame]
    root: FileEntry
    holdings: Holdings
    files: Mapping[str, FileEntry]


def write_parts(
    run: Run,
    records: list[StepRecord],
    *,
    last: Generation,
    prints: Fingerprints,
    writer: DirectoryWriter,
) -> Parts:
    """Writes all of it.

    Args:
        run: which knows the outlines of its steps.
        records: of all visible steps, evaluations last.
        last: generation whose files are kept where nothing changed.
        prints: of the listing.
        writer: takes the files.

    Raises:
        BuildError: the disk refuses, or the bundles are missing.
    """
    present = {path: entry for path, entry in last.files.items() if has_file(writer.root, entry)}
    assets = write_assets(writer, present=present)
    writer.write(ROBOTS, ROBOTS_TEXT)
    lifecycles = write_lifecycles(run, records, last=last, prints=prints, writer=writer)
    catalogs = _write_catalogs(run, records, lifecycles, prints, writer)
    tables = run_tables(run)
    slices = write_run_tables(run, tables, writer)
    steps = tuple(
        StepEntry(record.step, record.evaluation, record.outline.state, catalogs.get(record.key))
        for record in records
    )
    facts = run_facts(tables, prints.facts.args, prints.facts.run_name)
    root, content = root_catalog(run=facts, tables=slices, steps=steps)
    writer.write(root.path, content)
    entries = [
        *assets.values(),
        FileEntry.of(ROBOTS, ROBOTS_TEXT),
        *(entry for record in records for entry in record.files),
        *_entries(part for life in lifecycles.values() for part in life.slices),
        *_entries(part for parts in slices.values() for part in parts),
        *catalogs.values(),
        root,
    ]
    files = {entry.path: entry for entry in entries}
    holdings = Holdings(
        table_sizes([slices, *_step_slices(records, lifecycles)]), root.path, assets[ENGINE].bytes
    )
    return Parts(assets, lifecycles, catalogs, tables, root, holdings, files)


def _write_catalogs(
    run: Run,
    records: list[StepRecord],
    lifecycles: Mapping[str, Lifecycles],
    prints: Fingerprints,
    writer: DirectoryWriter,
) -> dict[StepKey, FileEntry]:
    facts = {**prints.step_facts, "t0": run.telemetry.first_ts}
    catalogs = {}
    for record in records:
        if not record.tables:
            continue
        tables: dict[str, Any] = dict(record.tables)
        if record.name in lifecycles:
            tables["trajectories"] = lifecycles[record.name].slices
        entry, content = step_catalog(
            record.step, evaluation=record.evaluation, facts=facts, tables=tables
        )
        writer.write(entry.path, content)
        catalogs[record.key] = entry
    return catalogs


def _step_slices(
    records: list[StepRecord], lifecycles: Mapping[str, Lifecycles]
) -> list[dict[str, tuple[Slice, ...]]]:
    """Slices by table of each step, the newest train step last."""
    return [
        {**record.tables, "trajectories": lifecycles[record.name].slices}
        if record.name in lifecycles
        else dict(record.tables)
        for record in sorted(records, key=lambda record: (not record.evaluation, record.step))
    ]


def _entries(slices: Iterable[Slice]) -> list[FileEntry]:
    return [FileEntry(part.path, part.bytes, part.sha256) for part in slices]
