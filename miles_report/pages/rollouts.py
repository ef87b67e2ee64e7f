"""The list of steps: what each learned from, with the way to its samples; evaluations apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miles_report.pages import format as fmt
from miles_report.pages.copy_as import copy_as
from miles_report.pages.page import Link, Page, Stat
from miles_report.pages.rollouts_rows import (
    COLUMNS,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    eval_headers,
    eval_table_rows,
    sparks,
    step_headers,
    step_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

MAX_ROWS = 200
"""Steps that stand in the page itself, the newest; script adds the others."""


def rollouts_page(
    run_name: str, steps: pl.DataFrame, evals: pl.DataFrame, eval_states: Mapping[int, str]
) -> Page:
    """The list of steps.

    Args:
        run_name: of the run.
        steps: the `steps` table, all visible train steps.
        evals: `rollouts_rows.eval_rows` of all evaluations that could be read, one below the other.
        eval_states: state (ok, broken, writing) of every visible evaluation by its step.
    """
    left_out = max(0, steps.height - MAX_ROWS)
    newest = steps.tail(MAX_ROWS)
    return Page(
        path="rollouts/index.html",
        template="rollouts.html",
        title="Rollouts",
        subtitle=_subtitle(steps, eval_states),
        crumbs=(Link(run_name, "index.html"),),
        section="rollouts",
        view="rollouts" if steps.height else "",
        values={
            "copy_steps": copy_as("steps"),
            "copy_evals": copy_as("samples", evaluation=True),
            "numbers": _numbers(steps, evals, eval_states),
            "steps": {
                "total": steps.height,
                "headers": step_headers(),
                "sparks": sparks(steps) if steps.height > 1 else (),
                "rows": step_rows(newest),
                "note": f"the newest {MAX_ROWS}; {fmt.count(left_out)} older ones follow with script"
                if left_out
                else "a row leads to its samples",
            },
            "spark_size": (SPARK_WIDTH, SPARK_HEIGHT),
            "evals": {
                "total": len(eval_states),
                "headers": eval_headers(),
                "rows": eval_table_rows(evals, eval_states),
            },
        },
        data={"steps": _columns(steps)},
    )


def _subtitle(steps: pl.DataFrame, eval_states: Mapping[int, str]) -> str:
    words = [fmt.plural(steps.height, "train step")]
    if eval_states:
        words.append(fmt.plural(len(eval_states), "evaluation"))
    return ", ".join(words)


def _numbers(
    steps: pl.DataFrame, evals: pl.DataFrame, eval_states: Mapping[int, str]
) -> tuple[Stat, ...]:
    """Totals of the run; means are left to the index, which shows them over time."""
    samples = int(steps["n_samples"].sum())
    trained = int(steps["n_trained"].sum())
    states = [*steps["state"].to_list(), *eval_states.values()]
    unreadable = sum(state == "broken" for state in states)
    writing = sum(state == "writing" for state in states)
    found = [
        Stat("Steps", fmt.count(steps.height), _span(steps["step"])),
        Stat("Samples", fmt.count(samples), "in train steps"),
        Stat("Train rows", fmt.count(trained), f"of {fmt.count(samples)}", "Samples with a row of the trainer."),
        Stat("Evaluations", fmt.count(len(eval_states)), f"{fmt.count(int(evals['n'].sum()))} samples" if evals.height else ""),
        Stat("Broken", fmt.count(unreadable), "file" if unreadable == 1 else "files", "Steps whose file cannot be read: see the notices."),
    ]  # fmt: skip
    if writing:
        found.append(Stat("Being written", fmt.count(writing), "file" if writing == 1 else "files", "Steps whose file is not complete yet."))  # fmt: skip
    return tuple(found)


def _span(steps: pl.Series) -> str:
    return f"{steps[0]}{fmt.DASH}{steps[-1]}" if steps.len() > 1 else ""


def _columns(steps: pl.DataFrame) -> dict[str, Any]:
    """The steps for the script, column by column."""
    return {name: steps[name].to_list() for name in ("step", "state", *COLUMNS)}
