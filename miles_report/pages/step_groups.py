"""Groups of a step as rows of a table: what each learned from, zero-std ones named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miles_report.pages import format as fmt
from miles_report.pages.page import mark
from miles_report.pages.step_columns import Cell, Header, header, is_numeric
from miles_report.pages.step_places import sample_href
from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

COLUMNS = (
    "n",
    "reward_mean",
    "reward_std",
    "response_length_mean",
    "truncated_frac",
    "adv_mean",
    "adv_std",
)
MAX_SIBLINGS = 8
"""Rewards written out a group; larger groups say how many more there are."""


def group_headers() -> tuple[Header, ...]:
    """Heads of the columns of `group_rows`."""
    declared = [TABLES["groups"].column(name) for name in COLUMNS]
    return (
        Header("Group", "group_index: samples of one prompt share it.", numeric=True),
        Header("Signal", "zero_std: whether all rewards are equal, so that the group gives no gradient.", numeric=False),
        Header("Rewards of its samples", "reward_value of each sample in file order; each leads to the sample.", numeric=False),
        *(header(column) for column in declared),
    )  # fmt: skip


def group_rows(
    groups: pl.DataFrame, samples: pl.DataFrame, limit: int
) -> tuple[tuple[Cell | tuple[Cell, ...], ...], ...]:
    """The first groups; a cell that is a tuple holds several links in a line."""
    first = groups.head(limit)
    members = _members(samples)
    return tuple(
        _row(row, members.get(row["group_index"], [])) for row in first.iter_rows(named=True)
    )


def _members(samples: pl.DataFrame) -> Mapping[int | None, list[dict[str, Any]]]:
    needed = samples.select("step", "evaluation", "row", "group_index", "reward_value")
    found: dict[int | None, list[dict[str, Any]]] = {}
    for row in needed.iter_rows(named=True):
        found.setdefault(row["group_index"], []).append(row)
    return found


def _row(
    row: Mapping[str, Any], members: list[dict[str, Any]]
) -> tuple[Cell | tuple[Cell, ...], ...]:
    index = row["group_index"]
    head = Cell(
        str(index) if index is not None else None,
        numeric=True,
        title="" if index is not None else "these samples belong to no group",
    )
    cells = [_cell(name, row[name], index) for name in COLUMNS]
    return head, _signal(row), _rewards(members), *cells


def _signal(row: Mapping[str, Any]) -> Cell:
    if row["zero_std"]:
        return Cell("zero std", title="All rewards are equal: no gradient.", status="info")
    if row["reward_mean"] is None:
        return Cell(None, title="no sample has a reward")
    return Cell("varied")


def _rewards(members: list[dict[str, Any]]) -> tuple[Cell, ...]:
    shown = [
        Cell(
            fmt.number(one["reward_value"]),
            href=sample_href(one["step"], one["row"], evaluation=one["evaluation"]),
            title=f"row {one['row']}",
        )
        for one in members[:MAX_SIBLINGS]
    ]
    more = len(members) - len(shown)
    return (*shown, Cell(f"and {fmt.count(more)} more")) if more > 0 else tuple(shown)


def _cell(name: str, value: Any, group_index: int | None) -> Cell:
    column = TABLES["groups"].column(name)
    return Cell(
        None if value is None else fmt.value(value, column.form),
        numeric=is_numeric(column),
        title=(column.null or "not recorded") if value is None else "",
        mark="" if group_index is None else mark("groups", name, group_index),
    )
