"""The page of one step: its samples, groups, lifecycles and distributions, train or evaluation.

Everything on it comes from that step alone, so that a growing run never changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miles_report.pages import format as fmt
from miles_report.pages.copy_as import copy_as
from miles_report.pages.page import Choice, Link, Page
from miles_report.pages.rollouts_rows import eval_headers, eval_rows, eval_table_rows
from miles_report.pages.step_columns import (
    BARS,
    column_of,
    default_columns,
    default_sort,
    header,
    largest_values,
    recorded,
    sample_cells,
)
from miles_report.pages.step_figures import default_axes, distribution_figure, scatter_figure
from miles_report.pages.step_groups import group_headers, group_rows
from miles_report.pages.step_places import STATES, step_path, step_title
from miles_report.pages.step_strip import eval_strip, train_strip

if TYPE_CHECKING:
    import polars as pl

    from miles_report.facts import RunFacts
    from miles_report.step_tables import StepTables

MAX_ROWS = 50
"""Rows of a long table that stand in the page itself; script adds the rest."""


def step_page(tables: StepTables, facts: RunFacts, *, has_counterpart: bool = False) -> Page:
    """The page of a step.

    Args:
        tables: of that step.
        facts: what it may say of the run.
        has_counterpart: whether the same step has a page of the other kind, so that the switch
            between train and eval leads somewhere.
    """
    samples, groups = tables.samples, tables.groups
    axes = default_axes(samples)
    figures = {
        "scatter": scatter_figure(samples, axes),
        "distributions": distribution_figure(samples),
    }
    sort = default_sort(samples)
    return Page(
        path=step_path(tables.step, evaluation=tables.evaluation),
        template="step.html",
        title=step_title(tables.step, evaluation=tables.evaluation),
        subtitle=_coverage(tables),
        crumbs=(Link(facts.run_name, "index.html"), Link("Rollouts", "rollouts/index.html")),
        choices=_choices(tables.step, evaluation=tables.evaluation, both=has_counterpart),
        section="rollouts",
        view="step" if samples.height else "",
        bundle="sample",
        values={
            "numbers": eval_strip(samples, groups)
            if tables.evaluation
            else train_strip(samples, groups, tables.steps.row(0, named=True)),
            "sets": _sets_values(samples) if tables.evaluation else None,
            "samples": _samples_values(samples, sort),
            "groups": _groups_values(tables),
            "copies": {
                "samples": copy_as("samples", step=tables.step, evaluation=tables.evaluation),
                "groups": copy_as("groups", step=tables.step, evaluation=tables.evaluation),
                "trajectories": copy_as("trajectories", step=tables.step),
            },
            "lifecycle_hint": "" if facts.start_ts is not None else _lifecycle_hint(facts),
            **figures,
        },
        data={
            "step": tables.step,
            "evaluation": tables.evaluation,
            "columns": default_columns(samples),
            "recorded": recorded(samples),
            "sort": sort,
            "axes": {"x": axes.x, "y": axes.y, "colour": axes.colour},
            "lifecycles": _lifecycle_hint(facts),
        },
        figures=tuple(figure for figure in figures.values() if figure),
    )


def unavailable_step_page(
    step: int, *, evaluation: bool, state: str, message: str, run_name: str
) -> Page:
    """The page of a step that is broken or being written.

    Args:
        step: its number.
        evaluation: whether it is an evaluation.
        state: "broken" or "writing".
        message: which file, and why it cannot be read.
        run_name: of the run.
    """
    title, remedy = STATES[state]
    return Page(
        path=step_path(step, evaluation=evaluation),
        template="step_unavailable.html",
        title=step_title(step, evaluation=evaluation),
        subtitle=state,
        crumbs=(Link(run_name, "index.html"), Link("Rollouts", "rollouts/index.html")),
        section="rollouts",
        values={
            "heading": title,
            "message": message,
            "remedy": remedy,
            "notices": Link("All notices of this report", "notices.html"),
        },
    )


def _coverage(tables: StepTables) -> str:
    if tables.evaluation:
        return "evaluation, not trained on"
    row = tables.steps.row(0, named=True)
    n, trained = row["n_samples"], row["n_trained"]
    if not n:
        return ""
    if not trained:
        return "no train rows were dumped"
    return f"train rows {fmt.count(trained)} of {fmt.count(n)}"


def _choices(step: int, *, evaluation: bool, both: bool) -> tuple[Choice, ...]:
    def choice(text: str, *, is_eval: bool, reason: str) -> Choice:
        if evaluation == is_eval:
            return Choice(text, step_path(step, evaluation=is_eval), chosen=True)
        return (
            Choice(text, step_path(step, evaluation=is_eval))
            if both
            else Choice(text, reason=reason)
        )

    return (
        choice("Train", is_eval=False, reason="No rollout of this step was dumped."),
        choice("Eval", is_eval=True, reason="No evaluation was dumped at this step."),
    )


def _samples_values(samples: pl.DataFrame, sort: str) -> dict[str, Any]:
    columns = [column_of(name) for name in default_columns(samples)]
    ordered = (
        samples.sort(sort, "row", descending=[True, False], nulls_last=True) if sort else samples
    )
    largest = largest_values(samples, [column.name for column in columns if column.name in BARS])
    first = ordered.head(MAX_ROWS)
    label = column_of(sort).label if sort else ""
    shown = "all" if samples.height <= MAX_ROWS else f"the first {MAX_ROWS}"
    return {
        "total": samples.height,
        "count": fmt.plural(samples.height, "sample"),
        "headers": [header(column) for column in columns],
        "sorted": [column.name == sort for column in columns],
        "rows": [sample_cells(row, columns, largest) for row in first.iter_rows(named=True)],
        "note": f"{shown} by {label}, largest first" if sort else f"{shown} in file order",
    }


def _groups_values(tables: StepTables) -> dict[str, Any]:
    groups = tables.groups
    zero = int(groups["zero_std"].sum())
    shown = "" if groups.height <= MAX_ROWS else f"the first {MAX_ROWS}; "
    return {
        "total": groups.height,
        "count": fmt.plural(groups.height, "group"),
        "note": f"{shown}{fmt.count(zero)} with one reward for all samples: they give no gradient",
        "headers": group_headers(),
        "rows": group_rows(groups, tables.samples, MAX_ROWS),
    }


def _sets_values(samples: pl.DataFrame) -> dict[str, Any] | None:
    """The evaluation sets apart, each with its own means; None where there is only one."""
    sets = eval_rows(samples)
    if sets.height < 2:
        return None
    return {"headers": eval_headers()[1:], "rows": [row[1:] for row in eval_table_rows(sets, {})]}


def _lifecycle_hint(facts: RunFacts) -> str:
    if facts.start_ts is not None:
        return "The collector ran, but recorded no request of this step."
    return "Requests are recorded by the collector: start the run with --use-miles-dashboard."
