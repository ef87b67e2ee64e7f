"""The same number on two pages must be the same: numbers that pages mark are held against the tables they come from.

A marked element names its number in `data-cell`, "steps.reward_mean@12" (table, column, step) or "eval..." for the evaluation,
and shows it as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.errors import SourceError
from miles_report.pages.format import value as show_value
from miles_report.schema.tables import TABLES
from miles_report.slices.read import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.slices.catalog import Catalog
    from miles_report.slices.read import ReadFile

CELL = re.compile(r"([a-z_]+)\.([A-Za-z0-9_.]+)@(-?\d+)")
"""Table, column, and the value of the table's key."""

KEYS = {"steps": "step", "samples": "row", "groups": "group_index"}
"""Column by which a table's rows are named."""


@dataclass(frozen=True)
class Shown:
    """A number on a page.

    Attributes:
        cell: what it is.
        text: what is read.
    """

    cell: str
    text: str


class FigureCheck:
    """Gathers marked numbers of pages and compares them with the tables of the catalogue each page belongs to.

    Args:
        read: gives the content of a file of the site.
        root: catalogue of the run, for numbers of tables that a step's catalogue does not have; null: it is damaged.
    """

    def __init__(self, read: ReadFile, root: Catalog | None) -> None:
        self._read = read
        self._root = root
        self._found: list[str] = []
        self._tables: dict[tuple[str, str], pl.DataFrame | None] = {}
        self.n_compared = 0

    def add(self, page: str, shown: Iterable[Shown], catalog: Catalog) -> None:
        """Compares the numbers of one page."""
        for number in shown:
            expected = self._expected(number.cell, catalog)
            if expected is None:
                continue
            self.n_compared += 1
            if number.text != expected:
                self._found.append(
                    f"{page} shows {number.text!r} for {number.cell}; its table says {expected!r}."
                )

    def problems(self) -> list[str]:
        """One sentence for each number that is not what its table says."""
        return self._found

    def _expected(self, cell: str, catalog: Catalog) -> str | None:
        """The text that the table gives; null if the catalogue does not have the table."""
        match = CELL.fullmatch(cell)
        if match is None or match[1] not in KEYS:
            return f"a number that no table has ({cell})"
        home = self._home(match[1], catalog)
        frame = None if home is None else self._table(match[1], home)
        if frame is None:
            return None
        rows = frame.filter(pl.col(KEYS[match[1]]) == int(match[3]))
        if rows.height != 1 or match[2] not in rows.columns:
            return f"a number that no table has ({cell})"
        return show_value(rows[match[2]][0], _form(match[1], match[2]))

    def _home(self, table: str, catalog: Catalog) -> Catalog | None:
        """The catalogue that has the table: the page's own, or that of the run if it is of the same generation."""
        if table in catalog.tables:
            return catalog
        steps = () if self._root is None else self._root.steps
        known = {step.catalog.path for step in steps if step.catalog is not None}
        return self._root if catalog.path in known else None

    def _table(self, name: str, catalog: Catalog) -> pl.DataFrame | None:
        key = (catalog.path, name)
        if key not in self._tables:
            known = name in catalog.tables
            try:
                self._tables[key] = read_table(self._read, catalog, name) if known else None
            except (OSError, ValueError, SourceError):
                self._tables[key] = None
        return self._tables[key]


def _form(table: str, column: str) -> Any:
    for declared in TABLES[table].columns:
        if declared.name == column:
            return declared.form
    return "number"
