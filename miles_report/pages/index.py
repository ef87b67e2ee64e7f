"""The first page: what the run is, what is wrong, how it goes, which samples to read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.pages import format as shown
from miles_report.pages.compute import phase_legend
from miles_report.pages.compute_figures import step_bars, steps_figure
from miles_report.pages.copy_as import copy_as
from miles_report.pages.index_findings import index_findings
from miles_report.pages.index_reading import reading_list
from miles_report.pages.index_tiles import index_tiles
from miles_report.pages.page import Link, Page

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTICES_SHOWN = 3
"""Messages in the closing line; the others are behind its link."""

CALM = "Every file could be read; few groups without a gradient, few truncated samples."
"""What was looked at when nothing was found."""


@dataclass(frozen=True)
class Setting:
    """One recorded argument: name and value as JSON, text as it is."""

    name: str
    value: str


def index_page(
    tables: Mapping[str, pl.DataFrame],
    *,
    title: str,
    reading: pl.DataFrame | None = None,
    evals: pl.DataFrame | None = None,
) -> Page:
    """The value of index.html.

    Args:
        tables: run, steps, metrics, bubbles, data_buffer, notable, notices, advisories, lanes, topology, step_phases, as
            `Run.table` gives them; step_times, see `run_timeline`.
        title: name of the run or of the report.
        reading: `tables["notable"]` with what `index_reading.reading_rows` adds for each step; without
            it the list shows why, step and sample only.
        evals: `rollouts_rows.eval_rows` of all evaluations, for runs that log no eval metric.
    """
    run = tables["run"].row(0, named=True)
    args = _args(run["args"])
    tiles, missing = index_tiles(tables, evals)
    steps = tables["steps"]
    where = steps_figure(tables["step_phases"], "index steps")
    rows = reading_list(tables["notable"] if reading is None else reading)
    n_samples = int(steps.get_column("n_samples").sum() or 0)
    values = {
        "state": _state(run),
        "until": shown.utc(run["t1"]) if run["t1"] is not None else "",
        "facts": _facts(run, args, tables),
        "wandb": run["wandb_url"] if _is_link(run["wandb_url"]) else "",
        "findings": index_findings(tables),
        "where": where,
        "legend": phase_legend(tables["step_phases"]["phase"]) if where else [],
        "tiles": tiles,
        "tiles_note": _tiles_note(steps),
        "missing": missing,
        "link_metrics": Link(_all_metrics(tables["metrics"]), "metrics.html"),
        "link_compute": Link("Compute", "compute.html"),
        "copy_tiles": copy_as("steps"),
        "copy_reading": copy_as("notable"),
        "reading": rows,
        "has_lp_diff": any(row.bar is not None for row in rows),
        "calm": CALM if run["n_steps"] else "Every file could be read.",
        "reading_note": f"{len(rows)} of {shown.plural(n_samples, 'sample')}" if n_samples else "",
        "link_samples": Link("All samples", "rollouts/index.html"),
        "settings": [Setting(name, _setting(args[name])) for name in sorted(args)],
        "settings_note": f"{shown.plural(len(args), 'argument')} as recorded in meta.json",
        **_notices(tables["notices"]),
        "empty": _why_empty(run),
    }
    return Page(
        path="index.html",
        template="index.html",
        title=title,
        section="overview",
        view="index",
        own_head=True,
        values=values,
        data={
            "t1": run["t1"],
            "state": run["state"],
            "bars": step_bars(tables["step_phases"], run["t0"]),
        },
        figures=(*(tile.figure for tile in tiles), *((where,) if where else ())),
    )


def _args(text: str | None) -> dict[str, Any]:
    args = json.loads(text) if text else {}
    return args if isinstance(args, dict) else {}


def _state(run: Mapping[str, Any]) -> tuple[str, str]:
    """Severity and word; without telemetry nothing can be said."""
    if run["t1"] is None:
        return "info", "No telemetry"
    return ("good", "Finished") if run["state"] == "finished" else ("warning", "No end recorded")


def _facts(
    run: Mapping[str, Any], args: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> list[Link]:
    """What the run is, as the words of one line; empty href where there is nothing to follow."""
    facts = []
    start = min((ts for ts in (run["start_ts"], run["t0"]) if ts is not None), default=None)
    if start is not None and run["t1"] is not None and run["t1"] > start:
        facts.append(Link(shown.seconds(run["t1"] - start), ""))
    facts.append(Link(shown.plural(run["n_steps"], "step"), "rollouts/index.html"))
    if run["n_eval_steps"]:
        facts.append(Link(shown.plural(run["n_eval_steps"], "eval"), "rollouts/index.html"))
    lanes, engines = tables["lanes"].height, _n_engines(tables["topology"])
    gpus = _gpus(args) or (shown.plural(lanes, "GPU") if lanes else "")
    known = (gpus, shown.plural(engines, "engine") if engines else "")
    facts.extend(Link(words, "compute.html") for words in known if words)
    facts.extend(Link(words, "") for words in _method(args) if words)
    return facts


def _n_engines(topology: pl.DataFrame) -> int:
    """Engines by rank, which a replacement keeps; external ones, which have none, by address."""
    rank = pl.col("engine_rank").fill_null(-1)
    ranked, others = topology.filter(rank >= 0), topology.filter(rank < 0)
    return ranked["engine_rank"].n_unique() + others["addr"].n_unique()


def _gpus(args: Mapping[str, Any]) -> str:
    nodes, a_node = _whole(args, "actor_num_nodes"), _whole(args, "actor_num_gpus_per_node")
    if not nodes or not a_node:
        return ""
    train, rollout = nodes * a_node, _whole(args, "rollout_num_gpus")
    if args.get("colocate"):
        return f"{shown.plural(train, 'GPU')}, colocated"
    if not rollout:
        return f"{shown.count(train)} train GPUs"
    return f"{shown.count(train + rollout)} GPUs, {shown.count(train)} train + {shown.count(rollout)} rollout"


def _method(args: Mapping[str, Any]) -> tuple[str, str, str]:
    checkpoint = args.get("hf_checkpoint")
    model = checkpoint.rstrip("/").rpartition("/")[2] if isinstance(checkpoint, str) else ""
    estimator = args.get("advantage_estimator")
    groups, samples = _whole(args, "rollout_batch_size"), _whole(args, "n_samples_per_prompt")
    batch = (
        f"{shown.plural(groups, 'group')} × {shown.plural(samples, 'sample')}"
        if groups and samples
        else ""
    )
    return model, estimator.upper() if isinstance(estimator, str) else "", batch


def _whole(args: Mapping[str, Any], name: str) -> int | None:
    value = args.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _is_link(url: str | None) -> bool:
    return bool(url) and str(url).startswith(("https://", "http://"))


def _tiles_note(steps: pl.DataFrame) -> str:
    numbers = steps.get_column("step").to_list()
    if not numbers:
        return "Value at the last record, change since the first, range beneath."
    if len(numbers) == 1:
        return f"Step {numbers[0]}."
    return f"Steps {min(numbers)}–{max(numbers)}. Value at the last step, change since step {min(numbers)}, range beneath."


def _setting(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _notices(notices: pl.DataFrame) -> dict[str, Any]:
    """How many there are of each severity, and the first messages."""
    counts = dict(notices.get_column("severity").value_counts().iter_rows())
    words = [
        shown.plural(counts[severity], severity)
        for severity in ("error", "warning", "info")
        if counts.get(severity)
    ]
    messages = notices.get_column("message").unique(maintain_order=True).to_list()
    first = " ".join(message.partition(":")[0].rstrip(".") + "." for message in messages[:2])
    return {
        "notices_note": f"{shown.count(notices.height)}: {', '.join(words)}. {first}"
        if words
        else "none",
        "notices": messages[:NOTICES_SHOWN],
        "link_notices": Link("All notices", "notices.html"),
    }


def _all_metrics(metrics: pl.DataFrame) -> str:
    n = metrics.select("step_key", "key").n_unique()
    return f"All {shown.count(n)} metrics" if n > 1 else "Metrics"


def _why_empty(run: Mapping[str, Any]) -> str:
    """Why there is no step to read, or "" if there is one."""
    if run["n_steps"]:
        return ""
    if run["t1"] is None:
        return "Nothing was recorded yet: the dump has no rollout file and no telemetry."
    return (
        "No rollout was dumped, so there are no samples to read; what follows comes from telemetry."
    )
