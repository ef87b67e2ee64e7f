"""The two shapes every table is declared with: `Column` and `Table`.

Types are names, not engine objects, so that this package stays free of polars and pyarrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "i64", "f64", "f32", "bool", "str", "json", "ts", "list[i64]", "list[f64]", "list[str]", "cells"
]
"""`ts` is a float64 of Unix seconds (UTC); `json` is text that holds JSON; `cells` is a list of texts or, where the
table's parameters say so, of numbers."""

Form = Literal["plain", "id", "count", "number", "frac", "logprob", "seconds", "ts", "text"]
"""How a value is shown: see LOOK's number rules; `id` is never grouped, `frac` is a percentage."""

Rounding = Literal["none", "2^-14", "13 bits"]
"""How slices round a float: to multiples of 2^-14, or to 13 bits of mantissa; zero stays zero."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: as in every output.
        kind: type of its values.
        doc: one sentence for the glossary: meaning, weighting and source.
        label: a few words for headers; the name if empty.
        unit: "" if it has none.
        null: what null means; "" if the column is never null.
        form: how pages show a value.
        group: one of `SAMPLE_GROUPS` for the column chooser of the samples table, else "".
        rounding: what its slices lose; exports are never rounded.
    """

    name: str
    kind: Kind
    doc: str
    label: str = ""
    unit: str = ""
    null: str = ""
    form: Form = "plain"
    group: str = ""
    rounding: Rounding = "none"


@dataclass(frozen=True)
class Table:
    """One table of the contract.

    Attributes:
        name: as in `Run.table(name)`.
        row: what one row is.
        columns: in order, key columns first.
        parameters: accepted by `Run.table`, besides none.
        doc: one or two sentences for the glossary.
        open_ended: whether a run may add columns of its own behind the declared ones.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    parameters: tuple[str, ...] = ()
    doc: str = ""
    open_ended: bool = False

    def column(self, name: str) -> Column:
        """The declared column of that name.

        Raises:
            KeyError: the table does not declare it.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)
