"""One file of a table as catalogues list it, and the hash that names files by their content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HASH_DIGITS = 16


@dataclass(frozen=True)
class Slice:
    """One file of a table, as the catalogue lists it.

    Attributes:
        path: from the root of the site.
        bytes: size of the file.
        sha256: first 16 hex digits of the hash of its content.
        rows: how many it holds.
        columns: in order.
        keys: smallest and largest value of each range key that is never null in the slice.
    """

    path: str
    bytes: int
    sha256: str
    rows: int
    columns: tuple[str, ...]
    keys: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As in the catalogue."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "rows": self.rows,
            "columns": list(self.columns),
            "keys": {name: list(pair) for name, pair in self.keys.items()},
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Slice:
        """Back from the catalogue.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is not an entry of a catalogue.
        """
        return cls(
            path=str(entry["path"]),
            bytes=int(entry["bytes"]),
            sha256=str(entry["sha256"]),
            rows=int(entry["rows"]),
            columns=tuple(str(name) for name in entry["columns"]),
            keys={str(name): (low, high) for name, (low, high) in entry["keys"].items()},
        )


def content_hash(content: bytes) -> str:
    """What names a file by its content: 16 hex digits of its sha-256."""
    return hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
