"""Which columns of the samples table a step page shows, and how one cell of them looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.pages import format as fmt
from miles_report.pages.page import mark
from miles_report.pages.step_places import sample_href
from miles_report.schema.columns import Column
from miles_report.schema.sample_columns import REWARD
from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

MAX_DEFAULTS = 13
DEFAULTS = (
    "row",
    "sample_index",
    "group_index",
    "eval_set",
    "status",
    "reward_value",
    "adv_mean",
    "response_length",
    "tool_calls",
    "non_generation_time",
    "weight_version",
    "staleness",
    "mean_abs_lp_diff",
    "max_abs_lp_diff",
    "mean_entropy",
    "mean_imp_ratio",
    "turns",
    "truncated",
    "label",
)
"""Shown first where the step has them, in this order, at most `MAX_DEFAULTS`."""

BARS = ("adv_mean", "mean_abs_lp_diff")
"""Columns whose numbers carry a bar in the table without script."""

REWARD_PREFIX = "reward."


SIGNED = ("adv_mean", "return_mean")
REWORDED = (*SIGNED, "weight_version")
"""Columns whose cells say more than the table's value."""

MARKED = frozenset(column.name for column in TABLES["samples"].columns) - set(REWORDED)
"""Columns whose cells are marked; names of a run's own columns may be anything and are not."""


@dataclass(frozen=True)
class Bar:
    """A bar on the left of a number.

    Attributes:
        left: where it begins, percent of its track.
        width: percent of its track.
        side: "negative" or "positive" where the track has a zero line in its middle; else "".
    """

    left: float
    width: float
    side: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell of a table, ready to show.

    Attributes:
        text: shown; None for null.
        numeric: whether it stands at the right.
        title: on hover; for null its reason.
        href: where it leads, from the site root; "" if nowhere.
        bar: drawn beside it.
        status: class of the status that it states: info, warning, ...; "" for none.
        mark: what number it is, see `page.mark`; "" if no table holds it.
    """

    text: str | None
    numeric: bool = False
    title: str = ""
    href: str = ""
    bar: Bar | None = None
    status: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Header:
    """Head of one column: label with unit, and its explanation on hover."""

    label: str
    title: str
    numeric: bool


def column_of(name: str) -> Column:
    """The declaration of a column of the samples table; components of a reward dict have one each."""
    for column in TABLES["samples"].columns:
        if column.name == name:
            return column
    key = name.removeprefix(REWARD_PREFIX)
    return Column(
        name,
        "f64",
        f"Component {key} of the reward.",
        label=name,
        null="not a component of this sample's reward",
        form="number",
        group=REWARD,
    )


def recorded(samples: pl.DataFrame) -> list[str]:
    """Names of the columns that hold at least one value, in order."""
    return [name for name in samples.columns if samples[name].null_count() < samples.height]


def default_columns(samples: pl.DataFrame) -> list[str]:
    """The columns shown first: those of `DEFAULTS` that the step has."""
    has = set(recorded(samples)) | {"row"}
    return [name for name in DEFAULTS if name in has][:MAX_DEFAULTS]


def default_sort(samples: pl.DataFrame) -> str:
    """The column that the table is sorted by at first, largest first; "" for file order."""
    return "mean_abs_lp_diff" if "mean_abs_lp_diff" in recorded(samples) else ""


def header(column: Column) -> Header:
    """The head of a column."""
    label = column.label or column.name
    title = f"{column.name}: {column.doc}"
    return Header(f"{label}, {column.unit}" if column.unit else label, title, is_numeric(column))


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers, which stand at the right."""
    return column.kind in {"i64", "f64", "f32", "ts"}


def version_text(version: str | None, oldest: int | None) -> str | None:
    """Weight versions of a sample: `v12`, or `v11-v12` where an older one took part."""
    if version is None:
        return None
    last = f"v{version}" if version.isdigit() else version
    return last if oldest is None or version == str(oldest) else f"v{oldest}{fmt.DASH}{last}"


def sample_cells(
    row: Mapping[str, Any], columns: Sequence[Column], largest: Mapping[str, float]
) -> list[Cell]:
    """The cells of one sample.

    Args:
        row: the sample by column name.
        columns: to show, in order.
        largest: largest absolute finite value of each column that carries bars.
    """
    href = sample_href(row["step"], row["row"], evaluation=row["evaluation"])
    cells = []
    for column in columns:
        value = row[column.name]
        if column.name == "weight_version":
            value = version_text(value, row["weight_version_min"])
        text = None if value is None else shown(column, value)
        cells.append(
            Cell(
                text=text,
                numeric=is_numeric(column),
                title=(column.null or "not recorded") if value is None else "",
                href=href if _leads(column.name, row) else "",
                bar=_bar(value, largest.get(column.name), diverging=column.name == "adv_mean"),
                mark=mark("samples", column.name, row["row"]) if column.name in MARKED else "",
            )
        )
    return cells


def shown(column: Column, value: Any) -> str:
    """A value as its column shows it; signs of advantages are always written."""
    if column.name in SIGNED and isinstance(value, float):
        return fmt.signed(value)
    return fmt.value(value, column.form)


def largest_values(samples: pl.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """Largest absolute finite value of each column that has one above 0."""
    found = {}
    for name in names:
        finite = samples[name].drop_nulls()
        finite = finite.filter(finite.is_finite()).abs()
        top = finite.max()
        if isinstance(top, float) and top > 0:
            found[name] = top
    return found


def _leads(name: str, row: Mapping[str, Any]) -> bool:
    return name == "sample_index" or (name == "row" and row["sample_index"] is None)


def _bar(value: Any, largest: float | None, *, diverging: bool) -> Bar | None:
    if largest is None:
        return None
    share = value / largest if isinstance(value, float) and math.isfinite(value) else 0.0
    if not diverging:
        return Bar(0, round(100 * abs(share), 1))
    width = round(50 * abs(share), 1)
    return Bar(50 - width, width, "negative") if share < 0 else Bar(50, width, "positive")
