"""Steps and evaluations as rows of the Rollouts page, and the small line over each column."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.pages import format as fmt
from miles_report.pages.page import mark
from miles_report.pages.step_columns import Bar, Cell, Header, header, is_numeric
from miles_report.pages.step_places import STATES, step_path
from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = (
    "n_samples",
    "n_trained",
    "reward_mean",
    "reward_std",
    "response_length_mean",
    "truncated_frac",
    "zero_std_group_frac",
    "mixed_version_frac",
    "staleness_mean",
    "mean_entropy",
    "mean_abs_lp_diff",
)
BARS = ("reward_mean", "mean_abs_lp_diff")
EVAL_COLUMNS = ("n", "reward_mean", "reward_std", "response_length_mean", "truncated_frac")
EVAL_SCHEMA: Mapping[str, Any] = {
    "step": pl.Int64,
    "eval_set": pl.Int64,
    "n": pl.Int64,
    "reward_mean": pl.Float64,
    "reward_std": pl.Float64,
    "response_length_mean": pl.Float64,
    "truncated_frac": pl.Float64,
}
"""Columns of `eval_rows`: what the list needs of an evaluation, so that it is not read again."""

SPARK_WIDTH = 72
SPARK_HEIGHT = 20


@dataclass(frozen=True)
class Spark:
    """A column over the steps as a small line.

    Attributes:
        path: of an SVG, in a box of `SPARK_WIDTH` by `SPARK_HEIGHT`; "" without two finite values.
        x: where its last value is.
        y: where its last value is.
        title: its range in words.
    """

    path: str
    x: float = 0
    y: float = 0
    title: str = ""


def eval_rows(samples: pl.DataFrame) -> pl.DataFrame:
    """One evaluation as rows, one an evaluation set.

    Args:
        samples: of one evaluation.

    Returns:
        `EVAL_SCHEMA`: unweighted means over the samples of a set, of `reward_value` for the reward; null values are
        left out, an empty evaluation has no row.
    """
    reward = pl.col("reward_value")
    rows = (
        samples.group_by("step", "eval_set")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            reward.drop_nulls().mean().alias("reward_mean"),
            reward.drop_nulls().std().alias("reward_std"),
            pl.col("response_length").mean().alias("response_length_mean"),
            pl.col("truncated").cast(pl.Float64).mean().alias("truncated_frac"),
        )
        .sort("step", "eval_set", nulls_last=True)
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in EVAL_SCHEMA.items())


def step_headers() -> tuple[Header, ...]:
    """Heads of the columns of `step_rows`."""
    declared = [TABLES["steps"].column(name) for name in COLUMNS]
    return (Header("Step", "step: the number in the dump's file name.", numeric=True), *map(header, declared))  # fmt: skip


def step_rows(steps: pl.DataFrame) -> tuple[tuple[Cell, ...], ...]:
    """The rows of `steps`; one that cannot be read says so in its first cells."""
    largest = {name: _largest(steps[name]) for name in BARS}
    return tuple(_step_row(row, largest) for row in steps.iter_rows(named=True))


def sparks(steps: pl.DataFrame) -> tuple[Spark, ...]:
    """The line over each column of `step_rows`, the first (the step itself) without one."""
    return (Spark(""), *(_spark(steps, name) for name in COLUMNS))


def eval_headers() -> tuple[Header, ...]:
    """Heads of the columns of `eval_table_rows`."""
    return (
        Header("Step", "The train step at which the evaluation ran.", numeric=True),
        Header("Set", "eval_set: counted up where the sample index restarts.", numeric=True),
        Header("Samples", "Samples of the set.", numeric=True),
        Header("Reward", "Mean reward_value over the samples of the set.", numeric=True),
        Header("Reward sd", "Sample standard deviation of reward_value.", numeric=True),
        Header("Length, tokens", "Mean response length.", numeric=True),
        Header("Truncated", "Share of samples that hit the length limit.", numeric=True),
    )


def eval_table_rows(evals: pl.DataFrame, states: Mapping[int, str]) -> tuple[tuple[Cell, ...], ...]:
    """One row an evaluation set, and one for each evaluation without samples.

    Args:
        evals: `eval_rows` of all evaluations.
        states: state of each evaluation by its step.
    """
    found: dict[int, list[dict[str, Any]]] = {step: [] for step in sorted(states)}
    for row in evals.iter_rows(named=True):
        found.setdefault(row["step"], []).append(row)
    largest = _largest(evals["reward_mean"])
    rows: list[tuple[Cell, ...]] = []
    for step, sets in found.items():
        state = states.get(step, "ok")
        if sets:
            rows.extend(_eval_row(row, largest) for row in sets)
        else:
            rows.append(_bare_row(step, state, evaluation=True, width=len(EVAL_COLUMNS) + 1))
    return tuple(rows)


def _step_row(row: Mapping[str, Any], largest: Mapping[str, float]) -> tuple[Cell, ...]:
    step = row["step"]
    if row["state"] != "ok":
        return _bare_row(step, row["state"], evaluation=False, width=len(COLUMNS))
    cells = [
        replace(_cell("steps", name, row[name], largest.get(name)), mark=mark("steps", name, step))
        for name in COLUMNS
    ]
    return _link(step, evaluation=False), *cells


def _eval_row(row: Mapping[str, Any], largest: float) -> tuple[Cell, ...]:
    number = row["eval_set"]
    href = f"{step_path(row['step'], evaluation=True)}?q=eval_set+%3D+{number}"
    head = (
        Cell(None, numeric=True, title="not told apart")
        if number is None
        else Cell(str(number), numeric=True, href=href, title="Only the samples of this set")
    )
    cells = [
        Cell(fmt.count(row["n"]), numeric=True),
        *(
            _cell("steps", name, row[name], largest if name == "reward_mean" else None)
            for name in EVAL_COLUMNS[1:]
        ),
    ]
    return _link(row["step"], evaluation=True), head, *cells


def _bare_row(step: int, state: str, *, evaluation: bool, width: int) -> tuple[Cell, ...]:
    severity = {"broken": "critical", "writing": "info"}.get(state, "info")
    word = {"broken": "broken", "writing": "being written"}.get(state, "no samples")
    title = STATES[state][0] if state in STATES else "The evaluation holds no sample."
    told = Cell(word, title=title, status=severity)
    rest = [Cell(None, numeric=True, title=title) for _ in range(width - 1)]
    return _link(step, evaluation=evaluation), told, *rest


def _link(step: int, *, evaluation: bool) -> Cell:
    return Cell(str(step), numeric=True, href=step_path(step, evaluation=evaluation))


def _cell(table: str, name: str, value: Any, largest: float | None = None) -> Cell:
    column = TABLES[table].column(name)
    bar = None
    if largest and value is not None:
        share = abs(value) / largest if math.isfinite(value) else 0.0
        bar = Bar(0, round(100 * share, 1))
    return Cell(
        None if value is None else fmt.value(value, column.form),
        numeric=is_numeric(column),
        title=(column.null or "not recorded") if value is None else "",
        bar=bar,
    )


def _largest(values: pl.Series) -> float:
    finite = values.drop_nulls()
    top = finite.filter(finite.is_finite()).abs().max()
    return float(top) if isinstance(top, (int, float)) else 0.0


def _spark(steps: pl.DataFrame, name: str) -> Spark:
    xs = steps["step"].to_list()
    points = [
        (x, float(y))
        for x, y in zip(xs, steps[name].to_list(), strict=True)
        if y is not None and math.isfinite(y)
    ]
    if len(points) < 2:
        return Spark("")
    column = TABLES["steps"].column(name)
    low, high = min(y for _, y in points), max(y for _, y in points)
    placed = _placed(points, (low, high))
    path = "M" + "L".join(f"{x:g},{y:g}" for x, y in placed)

    def show(value: float | None) -> str:
        return fmt.value(value, column.form)

    title = f"{column.label} over the steps: {fmt.span(low, high, show)}"
    return Spark(path, *placed[-1], title=title)


def _placed(
    points: Sequence[tuple[int, float]], span: tuple[float, float]
) -> list[tuple[float, float]]:
    """Pixels of points, 2 away from the edges so that lines and dots are whole."""
    low, high = span
    first, last = points[0][0], points[-1][0]
    width, height = SPARK_WIDTH - 4, SPARK_HEIGHT - 4
    return [
        (
            round(2 + width * (x - first) / max(1, last - first), 1),
            round(2 + height * (1 - (y - low) / (high - low) if high > low else 0.5), 1),
        )
        for x, y in points
    ]
