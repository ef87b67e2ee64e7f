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
    from collections.abc import Callable, Iterable, Mapping

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
        is_node = pl.col("node") == self.text
        return {
            "all": pl.lit(value=True),
            "g": pl.col("index").is_between(self.first, self.last),
            "rank": _any("ranks", item.is_between(self.first, self.last)),
            "node": is_node,
            "gpu": is_node & (pl.col("gpu") == self.first),
            "engine": _any("engine_addrs", item.str.contains(self.text, literal=True)),
            "role": pl.col("roles").list.contains(self.text),
            "every": pl.col("index") % max(self.first, 1) == 0,
        }[self.kind]


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


def _any(column: str, condition: pl.Expr) -> pl.Expr:
    """Whether any entry of a list column meets a condition."""
    return pl.col(column).list.eval(condition).list.any()


def _selector(token: str) -> Selector:
    kind, colon, text = token.partition(":")
    if token == "all":  # noqa: S105 - a word of the grammar
        return Selector("all")
    if not colon or kind not in PARSERS:
        raise _wrong(token, f"is no lane selector; there are {FORMS}")
    if not text:
        raise _wrong(token, f"needs something behind {kind}:")
    return PARSERS[kind](token, text)


def _gpu(token: str, text: str) -> Selector:
    node, _, gpu = text.rpartition(":")  # the last colon: nodes may be IPv6 addresses
    if not node or NUMBER.fullmatch(gpu) is None:
        raise _wrong(token, "must be written gpu:<node>:<number>")
    return Selector("gpu", node, int(gpu), int(gpu))


def _every(token: str, text: str) -> Selector:
    if NUMBER.fullmatch(text) is None or int(text) < 1:
        raise _wrong(token, "needs a whole number from 1 on")
    return Selector("every", first=int(text))


def _role(token: str, text: str) -> Selector:
    if text not in ROLES:
        raise _wrong(token, f"names no role; there are {' and '.join(ROLES)}")
    return Selector("role", text)


def _range(token: str, kind: Literal["g", "rank"], text: str) -> Selector:
    match = NUMBERS.fullmatch(text)
    if match is None:
        raise _wrong(token, f"needs a number or a range, as in {kind}:5 or {kind}:0-7")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise _wrong(token, "ends before it begins")
    return Selector(kind, first=first, last=last)


PARSERS: Mapping[str, Callable[[str, str], Selector]] = {
    "g": lambda token, text: _range(token, "g", text),
    "rank": lambda token, text: _range(token, "rank", text),
    "node": lambda _token, text: Selector("node", text),
    "gpu": _gpu,
    "engine": lambda _token, text: Selector("engine", text),
    "role": _role,
    "every": _every,
}
"""How the text behind the colon of each kind is read."""


def _wrong(token: str, verdict: str) -> UsageError:
    return UsageError(f"lanes: {token!r} {verdict}.")
