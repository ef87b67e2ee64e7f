"""The glossary: every table and column of the report and every fixed word, from the schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.pages import format as shown
from miles_report.pages.page import Page
from miles_report.schema import vocabulary
from miles_report.schema.tables import PER_STEP, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.schema.columns import Column, Table

KINDS = {
    "i64": "whole number",
    "f64": "number",
    "f32": "number",
    "bool": "yes or no",
    "str": "text",
    "json": "JSON",
    "ts": "time, UTC",
    "list[i64]": "list of whole numbers",
    "list[f64]": "list of numbers",
    "list[str]": "list of texts",
    "cells": "list of texts or numbers",
}
"""Types of columns in words."""

ROUNDING = {
    "none": "",
    "2^-14": "to multiples of 1/16 384".replace(" 384", f"{shown.THIN}384"),
    "13 bits": "to 13 bits of mantissa (about 4 digits)",
}
"""What the data files of the site lose, in words; zero stays zero, exports are never rounded."""

NUMBERS = (
    ("Numbers", "Three significant digits; counts whole.", shown.number(0.58312)),
    ("Shares", "Percent with one decimal; never rounded to none or all.", shown.frac(0.2731)),
    ("Log probs", "Four decimals, natural logarithm.", shown.logprob(-0.21071)),
    ("Durations", "The two largest units.", shown.seconds(3720)),
    ("Time of the run", "Hours, minutes, seconds since its start.", shown.elapsed(3723)),
    ("Times", "UTC everywhere.", shown.utc(1770160445)),
    ("Memory", "GiB with one decimal.", shown.gib(13.25 * 2**30)),
    ("Absent", "An en dash, with its reason on hover; never 0.", shown.DASH),
    ("NaN and infinity", "Said in words, apart from absent.", shown.NOT_FINITE),
)
"""How this report writes numbers: what, rule, example."""


@dataclass(frozen=True)
class Row:
    """One column of a table, in words.

    Attributes:
        anchor: `table.column`, the id of its row.
        name: as in every output.
        label: as pages head it; "" where that is the name.
        doc: what it means.
        kind: type in words, with the unit.
        null: what an absent value means; None if it is never absent.
        rounding: what data files lose; "" for nothing.
    """

    anchor: str
    name: str
    label: str
    doc: str
    kind: str
    null: str | None
    rounding: str


@dataclass(frozen=True)
class Entry:
    """One table of the schema.

    Attributes:
        name: as in every output, and its anchor.
        doc: what it holds.
        row: what one row is.
        rows: its columns.
        open_ended: words on columns of the run's own; "" if it has none.
        note: number of columns and scope, in words.
    """

    name: str
    doc: str
    row: str
    rows: tuple[Row, ...]
    open_ended: str
    note: str


@dataclass(frozen=True)
class Term:
    """A fixed word with its meaning; `swatch` names a colour token, if it has one."""

    anchor: str
    label: str
    doc: str
    swatch: str = ""


@dataclass(frozen=True)
class Words:
    """One vocabulary: heading, note and terms."""

    anchor: str
    title: str
    note: str
    terms: tuple[Term, ...]


def glossary_page() -> Page:
    """The page `glossary.html`; the same for every run."""
    return Page(
        path="glossary.html",
        template="glossary.html",
        title="Glossary",
        subtitle=f"{shown.plural(len(TABLES), 'table')}, every column, and the words used in them",
        section="glossary",
        view="glossary",
        values={
            "entries": tuple(_entry(table) for table in TABLES.values()),
            "vocabularies": _vocabularies(),
            "numbers": NUMBERS,
        },
    )


def _entry(table: Table) -> Entry:
    scope = "one file set a step" if table.name in PER_STEP else "whole run"
    return Entry(
        name=table.name,
        doc=table.doc,
        row=table.row,
        rows=tuple(_row(table.name, column) for column in table.columns),
        open_ended="Behind these, a run may have columns of its own." if table.open_ended else "",
        note=f"{shown.plural(len(table.columns), 'column')}, {scope}",
    )


def _row(table: str, column: Column) -> Row:
    kind = KINDS[column.kind]
    return Row(
        anchor=f"{table}.{column.name}",
        name=column.name,
        label=column.label if column.label != column.name else "",
        doc=column.doc,
        kind=f"{kind}, {column.unit}" if column.unit else kind,
        null=column.null or None,
        rounding=ROUNDING[column.rounding],
    )


def _vocabularies() -> tuple[Words, ...]:
    phases = tuple(
        Term(f"phase.{phase.name}", phase.label, phase.doc, f"--p-{phase.name.replace('_', '-')}")
        for phase in vocabulary.PHASES.values()
    )
    return (
        Words("statuses", "Statuses", "How a sample ended.", _terms("status", vocabulary.STATUSES)),
        Words("roles", "Roles", "Who speaks in a conversation.", _terms("role", vocabulary.ROLES)),
        Words("phase-names", "Phases", "What a GPU was used for.", phases),
        Words(
            "severities",
            "Severities",
            "How grave a notice is.",
            _terms("severity", vocabulary.SEVERITIES),
        ),
    )


def _terms(prefix: str, words: Mapping[str, vocabulary.Word]) -> tuple[Term, ...]:
    return tuple(Term(f"{prefix}.{word.name}", word.label, word.doc) for word in words.values())
