"""All tables by name: the one contract between reading, pages, scripts and the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miles_report.schema import (
    health_columns,
    overview_columns,
    run_columns,
    sample_columns,
    telemetry_columns,
    token_columns,
)

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
        telemetry_columns.LANES,
        telemetry_columns.TOPOLOGY,
        telemetry_columns.PHASES,
        telemetry_columns.STEP_PHASES,
        telemetry_columns.GPU_UTIL,
        telemetry_columns.GPU_PROCESSES,
        telemetry_columns.ENGINE_SERIES,
        telemetry_columns.ENGINE_METRICS,
        overview_columns.FLEET,
        overview_columns.CARPET,
        overview_columns.OUTLIERS,
        overview_columns.ADVISORIES,
        health_columns.HEALTH,
        health_columns.INCIDENTS,
        run_columns.BUBBLES,
        run_columns.DATA_BUFFER,
        run_columns.MFU,
        sample_columns.NOTABLE,
        run_columns.NOTICES,
    )
}

PER_STEP = ("samples", "groups", "tokens", "conversations", "texts")
"""Tables whose rows belong to one (step, evaluation); the others describe the run."""
