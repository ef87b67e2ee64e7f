"""The reading list of the index: a dozen of all notable samples, one of every kind first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.charts.theme import finite_range
from miles_report.pages import format as shown
from miles_report.pages.page import Link
from miles_report.tables.notable import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 12
KEY = ("step", "evaluation", "row")

SAMPLE_COLUMNS = {
    "group_index": pl.Int64,
    "status": pl.String,
    "reward_value": pl.Float64,
    "response_length": pl.Int64,
    "tool_calls": pl.Int64,
    "mean_abs_lp_diff": pl.Float64,
}
"""What the list shows of a sample besides why."""

LOWEST_FIRST = ("shortest", "min", "lowest", "least")
"""Words in a kind that make its smallest value the best."""


@dataclass(frozen=True)
class ReadingRow:
    """One sample worth reading, ready to show.

    Attributes:
        why: in words, leading to the sample.
        step: number, with "eval" before it where it is one.
        group: number of the group.
        sample: its index, else its row.
        status: how generation ended.
        reward: as pages show it.
        length: tokens of the response.
        tools: tool messages in the prompt.
        lp_diff: mean |lp diff|.
        bar: width of the log-scaled bar in percent; None without a value.
        strong: whether the row is here for its log probs.
    """

    why: Link
    step: str
    group: str
    sample: str
    status: str
    reward: str
    length: str
    tools: str
    lp_diff: str
    bar: float | None
    strong: bool


def reading_rows(notable: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """The `notable` rows of one step with the columns of `samples` that the list shows.

    Small, so that a build can keep it and need not open the step again.
    """
    wanted = samples.select(
        *KEY, *(pl.col(name).cast(kind) for name, kind in SAMPLE_COLUMNS.items())
    )
    return notable.join(wanted, on=KEY, how="left", maintain_order="left")


def reading_list(notable: pl.DataFrame, limit: int = ROWS) -> list[ReadingRow]:
    """At most `limit` samples: the best of each kind over the run, then the next best of each.

    Args:
        notable: rows of `notable` of all steps, with the `SAMPLE_COLUMNS` of `reading_rows` if known.
        limit: how many.
    """
    absent = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in SAMPLE_COLUMNS.items()
        if name not in notable.columns
    ]
    chosen = _chosen(notable.with_columns(absent), limit)
    values = [row["mean_abs_lp_diff"] for row in chosen]
    span = finite_range(value for value in values if value is not None and value > 0)
    return [_row(row, span) for row in chosen]


def _chosen(notable: pl.DataFrame, limit: int) -> list[dict[str, Any]]:
    order = _order(notable.get_column("kind").unique(maintain_order=True).to_list())
    queues = [
        iter(_best_first(kind, notable.filter(pl.col("kind") == kind)).to_dicts())
        for kind in sorted(order, key=order.__getitem__)
    ]
    chosen: list[dict[str, Any]] = []
    taken: set[tuple[Any, ...]] = set()
    while queues and len(chosen) < limit:
        queues = [queue for queue in queues if len(chosen) >= limit or _take(queue, chosen, taken)]
    return sorted(chosen, key=lambda row: order[row["kind"]])


def _order(kinds: list[str]) -> dict[str, int]:
    """Place of each kind by the weight of its rule; unknown ones last."""
    known = [kind for kind, _ in RULES if kind in kinds]
    return {
        kind: place for place, kind in enumerate([*known, *(k for k in kinds if k not in known)])
    }


def _take(
    queue: Iterator[dict[str, Any]], chosen: list[dict[str, Any]], taken: set[tuple[Any, ...]]
) -> bool:
    """Moves the next sample that is not listed yet; false if there is none."""
    for row in queue:
        key = tuple(row[name] for name in KEY)
        if key not in taken:
            taken.add(key)
            chosen.append(row)
            return True
    return False


def _best_first(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    lowest = any(word in LOWEST_FIRST for word in kind.split("_"))
    strength = pl.col("value").fill_nan(None)
    strength = strength if lowest else -strength.abs()
    return (
        rows.with_columns(strength.alias("_order"))
        .sort("_order", "step", descending=[False, True], nulls_last=True, maintain_order=True)
        .drop("_order")
    )


def sample_href(step: int, row: int, *, evaluation: bool) -> str:
    """The page of any sample, from the site root."""
    return f"sample.html?step={step}&row={row}" + ("&eval=1" if evaluation else "")


def _row(row: dict[str, Any], span: tuple[float, float] | None) -> ReadingRow:
    index = row["sample_index"]
    return ReadingRow(
        why=Link(row["why"], sample_href(row["step"], row["row"], evaluation=row["evaluation"])),
        step=f"eval {row['step']}" if row["evaluation"] else str(row["step"]),
        group=shown.value(row["group_index"], "id"),
        sample=shown.value(index, "id") if index is not None else f"row {row['row']}",
        status=shown.value(row["status"]),
        reward=shown.number(row["reward_value"]),
        length=shown.count(row["response_length"]),
        tools=shown.count(row["tool_calls"]),
        lp_diff=shown.logprob(row["mean_abs_lp_diff"]),
        bar=_log_width(row["mean_abs_lp_diff"], span),
        strong=bool({"diff", "ratio"} & set(row["kind"].split("_"))),
    )


def _log_width(value: float | None, span: tuple[float, float] | None) -> float | None:
    """Percent of the column that a value fills on a log scale from half the smallest to the largest."""
    if value is None or span is None or not 0 < value <= span[1]:
        return None
    low, high = span[0] / 2, span[1]
    return round(max(2.0, 100 * math.log(value / low) / math.log(high / low)), 1)
