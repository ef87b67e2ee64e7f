"""A chart and its rows, apart until they meet in the spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


@dataclass(frozen=True)
class Drawn:
    """An Altair chart of named data, and the rows of each name.

    Rows inside a chart would be checked and copied at every step of its making, 100 ms a chart.

    Attributes:
        chart: draws named data.
        rows: of each name.
    """

    chart: Any
    rows: Mapping[str, pl.DataFrame]

    def to_dict(self, *, validate: bool = True) -> dict[str, Any]:
        """The spec, as a chart gives it."""
        spec: dict[str, Any] = self.chart.to_dict(validate=validate)
        return spec | {"datasets": {name: frame.to_dicts() for name, frame in self.rows.items()}}
