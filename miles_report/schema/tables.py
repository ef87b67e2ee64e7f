"""All tables by name: the one contract between reading, pages, scripts and the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miles_report.schema import run_columns, sample_columns, token_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.schema.columns import Table

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        run_columns.RUN,
        run_columns.METRICS,
        sample_columns.STEPS,
        sample_columns.SAMPLES,
        sample_columns.GROUPS,
        token_columns.TOKENS,
        token_columns.CONVERSATIONS,
        token_columns.TEXTS,
        token_columns.TRAJECTORIES,
        run_columns.BUBBLES,
        run_columns.DATA_BUFFER,
        run_columns.MFU,
        sample_columns.NOTABLE,
        run_columns.NOTICES,
    )
}

PER_STEP = ("samples", "groups", "tokens", "conversations", "texts")
"""Tables whose rows belong to one (step, evaluation); the others describe the run."""
