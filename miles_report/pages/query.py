"""The page that answers questions: SQL over every table, search over every sample, and the way to both without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from miles_report.pages import format as shown
from miles_report.pages.page import Page
from miles_report.pages.query_examples import Example, examples
from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.schema.columns import Column, Table

PLACE = "https://example.org/report/"
"""Stands for the address of the site where it cannot be known; script puts the real one there."""

ASK_BYTES = 50 << 20
"""A query or a search that reads more than this asks first."""

KINDS = {
    "i64": "int",
    "f64": "float",
    "f32": "float",
    "bool": "bool",
    "str": "text",
    "json": "JSON text",
    "ts": "seconds",
}
"""Types of columns in short."""

FIRST = ("tokens", "samples", "groups", "steps", "texts", "conversations", "metrics")
"""Tables that stand first; the others follow in the order of the schema."""

_OWN = "A column of this run's own."
_ID_TEXTS = "Text of each token id; tokens has it as token_text."


@dataclass(frozen=True)
class TableSize:
    """What a site has of one table.

    Attributes:
        rows: of all its slices.
        bytes: of all its slices.
        columns: names in the slices.
        path: of the newest slice, from the site root; "" without any.
    """

    rows: int = 0
    bytes: int = 0
    columns: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True)
class Field:
    """One column as the list of tables shows it; `anchor` is its place in the glossary, "" for none."""

    name: str
    kind: str
    doc: str
    anchor: str = ""


@dataclass(frozen=True)
class Entry:
    """One table of the list; `rows` is ready to show, `why` says why there are none."""

    name: str
    doc: str
    rows: str
    why: str
    open: bool
    fields: tuple[Field, ...] = field(default=())


@dataclass(frozen=True)
class Snippet:
    """How another tool reads the tables: its name and what to type."""

    tool: str
    code: str


def query_page(
    sizes: Mapping[str, TableSize],
    *,
    steps: Sequence[int],
    catalog: str,
    engine_bytes: int,
) -> Page:
    """The page `query.html`.

    Args:
        sizes: what the site has of each table, by name.
        steps: train steps that could be read, ascending.
        catalog: path of the root catalogue, from the site root.
        engine_bytes: of the SQL engine as it goes over the wire.
    """
    newest = steps[-1] if steps else None
    found = examples([name for name, size in sizes.items() if size.rows], newest)
    total = sum(size.bytes for size in sizes.values())
    return Page(
        path="query.html",
        template="query.html",
        title="Query",
        subtitle="SQL and search over every table of the report, in this browser",
        section="query",
        view="query",
        bundle="query",
        values={
            "entries": tuple(_entry(name, sizes) for name in _order(sizes)),
            "examples": tuple((one, f"query.html?sql={quote(one.sql)}") for one in found),
            "snippets": _snippets(sizes, catalog),
            "engine": shown.size(engine_bytes),
            "total": shown.size(total),
        },
        data={
            "examples": [{"question": one.question, "sql": one.sql} for one in found or (_EMPTY,)],
            "engine_bytes": engine_bytes,
            "bytes": total,
            "ask_bytes": ASK_BYTES,
            "tables": _order(sizes),
            "place": PLACE,
            "sample_columns": _own_columns(sizes),
        },
    )


_EMPTY = Example("What is this run?", "SELECT * FROM run")


def _order(sizes: Mapping[str, TableSize]) -> list[str]:
    held = [name for name in TABLES if name in sizes]
    return list(dict.fromkeys([*FIRST, *held, *sizes]))


def _entry(name: str, sizes: Mapping[str, TableSize]) -> Entry:
    table = TABLES.get(name)
    size = sizes.get(name, TableSize())
    return Entry(
        name=name,
        doc=table.doc if table else _ID_TEXTS if name == "token_texts" else "",
        rows=rows_text(size.rows),
        why="" if size.rows else "Nothing of it was recorded.",
        open=name == FIRST[0],
        fields=_fields(name, table, size),
    )


def _fields(name: str, table: Table | None, size: TableSize) -> tuple[Field, ...]:
    declared = table.columns if table else ()
    known = {column.name for column in declared}
    own = [column for column in size.columns if column not in known]
    return (
        *(_field(name, column) for column in declared),
        *(Field(column, "", "" if table is None else _OWN) for column in own),
    )


def _field(table: str, column: Column) -> Field:
    inner = column.kind.removeprefix("list[").removesuffix("]")
    kind = KINDS[inner] + ("[]" if inner != column.kind else "")
    doc = f"{column.doc} Absent: {column.null}." if column.null else column.doc
    return Field(column.name, kind, doc, f"glossary.html#{table}.{column.name}")


def _own_columns(sizes: Mapping[str, TableSize]) -> list[str]:
    """Columns of samples that the schema does not declare, such as components of the reward."""
    known = {column.name for column in TABLES["samples"].columns}
    return [name for name in sizes.get("samples", TableSize()).columns if name not in known]


def rows_text(rows: int) -> str:
    """A number of rows, short: `10 240`, `6.9 M`."""
    million = 1_000_000
    return shown.count(rows) if rows < million else f"{rows / million:.3g}{shown.THIN}M"


def _snippets(sizes: Mapping[str, TableSize], catalog: str) -> tuple[Snippet, ...]:
    """One-liners over the slices, and how to have all slices of a table."""
    name = next(
        (one for one in ("samples", "steps", "run") if sizes.get(one, TableSize()).path), ""
    )
    path = PLACE + sizes[name].path if name else f"{PLACE}data/….parquet"
    return (
        Snippet("miles-report", f'import miles_report\nsite = miles_report.open_site("{PLACE}")\nsite.table("tokens", step=0)'),
        Snippet("DuckDB", f"SELECT * FROM read_parquet('{path}')"),  # noqa: S608  # shown, never run
        Snippet("polars", f'import polars as pl\npl.read_parquet("{path}")'),
        Snippet("pandas", f'import pandas as pd\npd.read_parquet("{path}")'),
        Snippet("All files of a table", _ALL_FILES.replace("SITE", PLACE).replace("CATALOG", catalog)),
    )  # fmt: skip


_ALL_FILES = """
import json, urllib.request
import polars as pl

site = "SITE"

def read(path):
    return json.load(urllib.request.urlopen(site + path))

steps = [read(step["catalog"]["path"]) for step in read("CATALOG")["steps"] if step["catalog"]]
parts = [part["path"] for step in steps for part in step["tables"]["samples"]]
samples = pl.concat([pl.read_parquet(site + part) for part in parts], how="diagonal_relaxed")
""".strip()
