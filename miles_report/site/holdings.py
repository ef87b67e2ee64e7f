"""What a site has of each table, and of the engine that queries them: what the query page says before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.pages.query import TableSize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from miles_report.slices.slice import Slice


@dataclass(frozen=True)
class Holdings:
    """What the query page needs to know of a site.

    Attributes:
        sizes: of each table by name.
        catalog: path of the root catalogue.
        engine_bytes: of the SQL engine.
    """

    sizes: Mapping[str, TableSize]
    catalog: str
    engine_bytes: int


def table_sizes(tables: Iterable[Mapping[str, tuple[Slice, ...]]]) -> dict[str, TableSize]:
    """The sizes of all tables.

    Args:
        tables: slices by table, of the whole run and of each step, oldest first.
    """
    slices: dict[str, list[Slice]] = {}
    for one in tables:
        for name, parts in one.items():
            slices.setdefault(name, []).extend(parts)
    return {name: _size(parts) for name, parts in slices.items()}


def _size(parts: list[Slice]) -> TableSize:
    return TableSize(
        rows=sum(part.rows for part in parts),
        bytes=sum(part.bytes for part in parts),
        columns=tuple(dict.fromkeys(name for part in parts for name in part.columns)),
        path=parts[-1].path if parts else "",
    )
