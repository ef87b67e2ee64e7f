"""The page of notices: what is absent, skipped or broken in the input, gravest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.pages import format as shown
from miles_report.pages.copy_as import copy_as
from miles_report.pages.page import Page
from miles_report.schema.vocabulary import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.notices import Notice

SHOWN_OF_A_KIND = 6
"""More of one kind are folded, so that a torn stream doesn't bury the rest."""

CLASSES = {"error": "critical", "warning": "warning", "info": "info"}
"""Severity of a notice to the class of its status word."""


@dataclass(frozen=True)
class Kind:
    """Notices of one code and remedy.

    Attributes:
        code: stable name of the kind of trouble.
        remedy: what to do about it; the same for all of them.
        open: those that are listed.
        folded: the others.
        more: words for the fold.
    """

    code: str
    remedy: str
    open: tuple[Notice, ...]
    folded: tuple[Notice, ...]
    more: str


@dataclass(frozen=True)
class Severity:
    """All notices of one severity.

    Attributes:
        name: anchor of the section.
        style: class of its status word.
        label: heading.
        doc: what the severity means.
        amount: how many, in words.
        kinds: in order of code.
    """

    name: str
    style: str
    label: str
    doc: str
    amount: str
    kinds: tuple[Kind, ...]


def notices_page(notices: Sequence[Notice]) -> Page:
    """The page `notices.html`; with a designed empty state where there are none."""
    severities = tuple(
        _severity(name, [notice for notice in notices if notice.severity == name])
        for name in SEVERITIES
        if any(notice.severity == name for notice in notices)
    )
    return Page(
        path="notices.html",
        template="notices.html",
        title="Notices",
        subtitle=notices_summary(notices),
        section="notices",
        values={"severities": severities, "copy_notices": copy_as("notices")},
    )


def notices_summary(notices: Sequence[Notice]) -> str:
    """How many of which severity: `1 error, 2 warnings, 3 infos`; `none` without any."""
    words = {"error": "error", "warning": "warning", "info": "info"}
    amounts = {name: sum(notice.severity == name for notice in notices) for name in words}
    parts = [shown.plural(amounts[name], word) for name, word in words.items() if amounts[name]]
    return ", ".join(parts) or "none"


def _severity(name: str, notices: Sequence[Notice]) -> Severity:
    word = SEVERITIES[name]
    kinds: dict[tuple[str, str], list[Notice]] = {}
    for notice in sorted(notices):
        kinds.setdefault((notice.code, notice.remedy), []).append(notice)
    return Severity(
        name=name,
        style=CLASSES[name],
        label=word.label,
        doc=word.doc,
        amount=shown.plural(len(notices), "notice"),
        kinds=tuple(_kind(code, remedy, found) for (code, remedy), found in kinds.items()),
    )


def _kind(code: str, remedy: str, notices: Sequence[Notice]) -> Kind:
    folded = tuple(notices[SHOWN_OF_A_KIND:])
    return Kind(
        code=code,
        remedy=remedy,
        open=tuple(notices[:SHOWN_OF_A_KIND]),
        folded=folded,
        more=f"{shown.count(len(folded))} more of this kind",
    )
