"""The run as a whole into its part of the site: run-wide slices, catalogues, and the pages that show the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.notices import Notice
from miles_report.pages import format as shown
from miles_report.pages.compute import BUCKETS, compute_page, pick_criteria
from miles_report.pages.compute_figures import is_fleet
from miles_report.pages.faults import faults_page
from miles_report.pages.glossary import glossary_page
from miles_report.pages.index import index_page
from miles_report.pages.metrics import metrics_page
from miles_report.pages.notices import notices_page
from miles_report.pages.query import query_page
from miles_report.pages.rollouts import rollouts_page
from miles_report.pages.rollouts_rows import EVAL_SCHEMA
from miles_report.pages.sample import dynamic_page
from miles_report.run_timeline import process_phases, step_times
from miles_report.site.html import RailEntry
from miles_report.site.records import READING_SCHEMA
from miles_report.site.step_output import write_table
from miles_report.site.telemetry_output import write_telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.pages.compute_figures import Overview
    from miles_report.pages.page import Page
    from miles_report.run import Run
    from miles_report.site.holdings import Holdings
    from miles_report.site.records import StepRecord
    from miles_report.site.writer import SiteWriter
    from miles_report.slices.slice import Slice

TIMELINE_TABLES = (
    "lanes",
    "topology",
    "phases",
    "step_phases",
    "gpu_processes",
    "engine_metrics",
    "advisories",
    "health",
    "incidents",
)
"""Tables of the live telemetry that a site holds."""

RUN_TABLES = (
    "run",
    "steps",
    "metrics",
    "bubbles",
    "data_buffer",
    "mfu",
    "notable",
    "notices",
    *TIMELINE_TABLES,
)
"""Tables of the root catalogue."""

GENERATED = ("sglang_generation_tokens_per_s", "sglang_gen_throughput")
"""Metrics that tell how much is generated, the one that follows from counters first."""

PICKS = 3
"""Lanes shown of each pick."""

SECTIONS = (
    ("overview", "Overview", "index.html"),
    ("metrics", "Metrics", "metrics.html"),
    ("rollouts", "Rollouts", "rollouts/index.html"),
    ("compute", "Compute", "compute.html"),
    ("faults", "Faults", "faults.html"),
    ("query", "Query", "query.html"),
    ("notices", "Notices", "notices.html"),
    ("glossary", "Glossary", "glossary.html"),
)


def run_tables(run: Run) -> dict[str, pl.DataFrame]:
    """The run-wide tables that fit in memory; the outlines of its steps are known."""
    return {name: run.table(name) for name in RUN_TABLES}


def compute_overview(
    run: Run, tables: Mapping[str, pl.DataFrame], *, overview: Overview = "auto"
) -> Page:
    """The Compute page; reads the GPU samples and phases of the run.

    Args:
        run: the opened dump.
        tables: run-wide tables, and step_times.
        overview: when shares of all lanes are drawn instead of a row a lane.
    """
    wide = {
        **tables,
        "fleet": run.table("fleet", buckets=BUCKETS),
        "process_phases": process_phases(run),
    }
    if not is_fleet(tables["lanes"].height, overview):
        wide["carpet"] = run.table("carpet", metric="phase", buckets=BUCKETS)
    criteria = pick_criteria(tables["step_phases"])
    picks = {words: run.table("outliers", by=by, top=PICKS) for by, words in criteria.items()}
    return compute_page(wide, picks, overview=overview)


def write_run_tables(
    run: Run, tables: Mapping[str, pl.DataFrame], writer: SiteWriter
) -> dict[str, tuple[Slice, ...]]:
    """Writes run-wide tables as slices, also those that are too large to be held."""
    cut = write_telemetry(run, tables, writer)
    whole = {
        name: write_table(name, frame, "data", writer)
        for name, frame in tables.items()
        if name not in cut
    }
    return whole | cut


def run_facts(
    tables: Mapping[str, pl.DataFrame], args: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """What the root catalogue says of the run.

    Args:
        tables: run-wide tables.
        args: recorded arguments.
        name: of the run.
    """
    row = tables["run"].row(0, named=True)
    return {
        "run_name": name,
        "args": args,
        **{key: row[key] for key in ("start_ts", "t0", "t1", "state", "has_tokenizer")},
    }


def run_pages(
    run: Run,
    tables: Mapping[str, pl.DataFrame],
    records: Sequence[StepRecord],
    holdings: Holdings,
    *,
    name: str,
    title: str,
    overview: Overview = "auto",
) -> list[Page]:
    """The pages about the whole run, the index last.

    Args:
        run: the opened dump.
        tables: run-wide tables.
        records: of all visible steps, evaluations last.
        holdings: what the site has of each table.
        name: of the run.
        title: of the report.
        overview: of the Compute page, see `compute_overview`.
    """
    reading = pl.concat(
        [record.reading for record in records] or [pl.DataFrame(schema=dict(READING_SCHEMA))]
    )
    evals = [record for record in records if record.evaluation]
    timed = {**tables, "step_times": step_times(run)}
    notices = [Notice(**row) for row in tables["notices"].to_dicts()]
    return [
        dynamic_page(),
        glossary_page(),
        notices_page(notices),
        metrics_page(
            tables["metrics"], tables["data_buffer"], tables["engine_metrics"], _span(tables["run"])
        ),
        rollouts_page(
            name,
            tables["steps"],
            _evals(evals),
            {record.step: record.outline.state for record in evals},
        ),
        compute_overview(run, timed, overview=overview),
        faults_page(timed, _generated(run, tables)),
        query_page(
            holdings.sizes,
            steps=[record.step for record in records if record.tables and not record.evaluation],
            catalog=holdings.catalog,
            engine_bytes=holdings.engine_bytes,
        ),
        index_page(timed, title=title, reading=reading, evals=_evals(evals)),
    ]


def rail(counts: Mapping[str, int] | None = None) -> tuple[RailEntry, ...]:
    """The entries of the rail.

    Args:
        counts: by section; null where pages must not change while the run goes on.
    """
    known = counts or {}
    return tuple(
        RailEntry(section, label, href, known.get(section)) for section, label, href in SECTIONS
    )


def start_text(start_ts: float | None) -> str:
    """When the run began, ready to show; "" if unknown."""
    return "" if start_ts is None else shown.utc(start_ts)


def _generated(run: Run, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame | None:
    """Tokens a second of every engine, by the first metric that tells; read only where an engine failed."""
    if tables["incidents"].is_empty():
        return None
    known = tables["engine_metrics"]["metric"].to_list()
    metric = next((name for name in GENERATED if name in known), None)
    return None if metric is None else run.table("engine_series", metric=metric)


def _span(run: pl.DataFrame) -> tuple[float, float] | None:
    """First and last record of the run; null without any."""
    t0, t1 = run["t0"][0], run["t1"][0]
    return None if t0 is None or t1 is None else (t0, t1)


def _evals(records: Sequence[StepRecord]) -> pl.DataFrame:
    frames = [record.evals for record in records]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict(EVAL_SCHEMA))
