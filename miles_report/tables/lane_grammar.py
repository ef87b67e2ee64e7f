"""The words with which lanes are chosen: "g:0-7,node:10.0.0.1,role:train" into a filter over the `lanes` table.

A selector that is well formed and matches nothing selects nothing; one that is not names itself in the error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from miles_report.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

ROLES = ("train", "rollout")
NUMBERS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
NUMBER = re.compile(r"[0-9]{1,9}")
FORMS = "g:5, g:0-31, rank:5, rank:0-7, node:<ip>, gpu:<node>:<i>, engine:<text>, role:train, role:rollout, every:8, all"


@dataclass(frozen=True)
class Selector:
    """One word of a selection.

    Attributes:
        kind: what it looks at.
        text: node, part of an engine's address, or role.
        first: first index, rank or GPU, or the step of every.
        last: last of them, inclusive.
    """

    kind: Literal["all", "g", "rank", "node", "gpu", "engine", "role", "every"]
    text: str = ""
    first: int = 0
    last: int = 0

    def expression(self) -> pl.Expr:
        """A filter over the `lanes` table."""
        item = pl.element()
        if self.kind == "all":
            return pl.lit(value=True)
        if self.kind == "g":
            return pl.col("index").is_between(self.first, self.last)
        if self.kind == "rank":
            return pl.col("ranks").list.eval(item.is_between(self.first, self.last)).list.any()
        if self.kind == "node":
            return pl.col("node") == self.text
        if self.kind == "gpu":
            return (pl.col("node") == self.text) & (pl.col("gpu") == self.first)
        if self.kind == "engine":
            found = item.str.contains(self.text, literal=True)
            return pl.col("engine_addrs").list.eval(found).list.any()
        if self.kind == "role":
            return pl.col("roles").list.contains(self.text)
        return pl.col("index") % self.first == 0


def parse_lanes(expression: str) -> tuple[Selector, ...]:
    """The selectors of a text, in order; an empty text means all lanes.

    Raises:
        UsageError: a token is none of the forms; it is named.
    """
    tokens = [token.strip() for token in expression.split(",")]
    selectors = tuple(_selector(token) for token in tokens if token)
    return selectors or (Selector("all"),)


def select_lanes(lanes: pl.DataFrame, selectors: Iterable[Selector] | None) -> pl.DataFrame:
    """The lanes that any of the selectors matches, in their order; all with null.

    Args:
        lanes: rows of the `lanes` table.
        selectors: see `parse_lanes`.
    """
    if selectors is None:
        return lanes
    return lanes.filter(pl.any_horizontal(*(one.expression() for one in selectors)))


def _selector(token: str) -> Selector:
    kind, colon, text = token.partition(":")
    if token == "all":  # noqa: S105 - a word of the grammar
        return Selector("all")
    if not colon or kind not in {"g", "rank", "node", "gpu", "engine", "role", "every"}:
        raise _wrong(token, f"is no lane selector; there are {FORMS}")
    if not text:
        raise _wrong(token, f"needs something behind {kind}:")
    if kind in {"g", "rank"}:
        return _range(token, "g" if kind == "g" else "rank", text)
    if kind == "gpu":
        node, _, gpu = text.rpartition(":")  # the last colon: nodes may be IPv6 addresses
        if not node or NUMBER.fullmatch(gpu) is None:
            raise _wrong(token, "must be written gpu:<node>:<number>")
        return Selector("gpu", node, int(gpu), int(gpu))
    if kind == "every":
        if NUMBER.fullmatch(text) is None or int(text) < 1:
            raise _wrong(token, "needs a whole number from 1 on")
        return Selector("every", first=int(text))
    if kind == "role":
        if text not in ROLES:
            raise _wrong(token, f"names no role; there are {' and '.join(ROLES)}")
        return Selector("role", text)
    return Selector("node" if kind == "node" else "engine", text)


def _range(token: str, kind: Literal["g", "rank"], text: str) -> Selector:
    match = NUMBERS.fullmatch(text)
    if match is None:
        raise _wrong(token, f"needs a number or a range, as in {kind}:5 or {kind}:0-7")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise _wrong(token, "ends before it begins")
    return Selector(kind, first=first, last=last)


def _wrong(token: str, verdict: str) -> UsageError:
    return UsageError(f"lanes: {token!r} {verdict}.")
