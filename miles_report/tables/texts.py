"""A step's rollout file -> the `texts` table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from miles_report.sources.step_data import StepData


def texts_table(data: StepData) -> pl.DataFrame:
    """Prompt (JSON text) and response of every sample, in file order.

    Source: rollout_data/ of the step.
    """
    rollout = data.rollout
    n_samples = rollout.n_samples
    return pl.DataFrame(
        {
            "step": [data.step] * n_samples,
            "evaluation": [data.evaluation] * n_samples,
            "row": range(n_samples),
            "sample_index": rollout.sample_index,
            "prompt": rollout.prompt,
            "response": rollout.response,
        },
        schema=table_schema("texts"),
    )
