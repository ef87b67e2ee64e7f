"""The `data_buffer` table: samples queued between rollout and training."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def data_buffer_table(reports: pl.DataFrame) -> pl.DataFrame:
    """The reports in file order: ts, length (samples).

    Args:
        reports: the data_buffer stream.
    """
    return reports.select("ts", "length")


def data_buffer_length(reports: pl.DataFrame) -> int | None:
    """The last report in file order, which is the newest; null without one."""
    return int(reports["length"][-1]) if reports.height else None
