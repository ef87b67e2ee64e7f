"""The value that every page is: what its template and its script need, nothing rendered yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.charts.render import Figure


@dataclass(frozen=True)
class Link:
    """Words that lead somewhere.

    Attributes:
        text: shown.
        href: from the site root ("rollouts/step-3.html?x=1"); made relative where it is rendered.
    """

    text: str
    href: str


@dataclass(frozen=True)
class Stat:
    """One number of a strip of numbers.

    Attributes:
        label: what it is.
        value: ready to show; None if it is absent.
        detail: small words behind it: what makes it readable.
        title: more on hover; for an absent value its reason.
        mark: what number it is, see `mark`; "" if no table holds it.
    """

    label: str
    value: str | None
    detail: str = ""
    title: str = ""
    mark: str = ""


def mark(table: str, column: str, key: int) -> str:
    """Names a number of a table, so that `check` can hold what a page shows against what the table says.

    Args:
        table: steps, samples or groups.
        column: of it.
        key: step, row or group_index of the table's row.
    """
    return f"{table}.{column}@{key}"


@dataclass(frozen=True)
class Choice:
    """One of a few pages to switch between, at the right of the title (train or eval).

    Attributes:
        text: shown.
        href: from the site root; "" where it cannot be chosen.
        chosen: whether this page is it.
        reason: why it cannot be chosen.
    """

    text: str
    href: str = ""
    chosen: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Page:
    """One page of the site.

    Attributes:
        path: from the site root ("rollouts/step-12.html").
        template: of its body, in `templates/pages`.
        title: heading and, with the run's name, the title of the window.
        subtitle: muted words beside the heading.
        crumbs: the way down to this page, without itself.
        previous: neighbour before; not part of the body, so that a new neighbour needs no new body.
        next: neighbour after.
        actions: links at the right of the heading.
        choices: switch at the right of the heading.
        section: its entry in the rail: overview, metrics, rollouts, compute, faults, query, notices or glossary.
        view: name of its script view; "" if it has none.
        bundle: "report", "sample" for pages that read zstd slices, or "query".
        own_head: the template draws the heading itself.
        values: for the template: ready strings, lists and figures.
        data: for the script, as JSON; what is not finite becomes a string.
        figures: every figure in `values`, so that the build can write their specs.
    """

    path: str
    template: str
    title: str
    subtitle: str = ""
    crumbs: tuple[Link, ...] = ()
    previous: Link | None = None
    next: Link | None = None
    actions: tuple[Link, ...] = ()
    choices: tuple[Choice, ...] = ()
    section: str = ""
    view: str = ""
    bundle: str = "report"
    own_head: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
