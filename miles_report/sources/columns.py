"""The token columns file of a step held against its rollout file.

Miles writes the parquet beside the `.pt` so that its own server need not load the latter. We load it anyway and it is the
original, so the columns are read only as far as it takes to notice that they belong to something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from miles_report.notices import Notice

if TYPE_CHECKING:
    from miles_report.sources.folders import FileStamp
    from miles_report.sources.rollout import Rollout

CHECKED = ("sample_index", "response_length", "total_length")


def check_columns(stamp: FileStamp | None, rollout: Rollout, rollout_name: str) -> list[Notice]:
    """Compares indices and lengths of all samples.

    Args:
        stamp: the columns file; null if there is none.
        rollout: the rollout file.
        rollout_name: its name.

    Returns:
        At most one notice; none if they agree.

    Source: dashboard_columns/rollout_[eval_]{step}.parquet.
    """
    if stamp is None:
        return [
            Notice(
                "no-token-columns",
                "info",
                rollout_name,
                "The step has no file in dashboard_columns; its tokens are read from the rollout file.",
                "None: nothing is lost.",
            )
        ]
    try:
        with pq.ParquetFile(stamp.path) as file:
            n_rows = file.metadata.num_rows
            if n_rows != rollout.n_samples:
                trouble = f"has {n_rows} rows for {rollout.n_samples} samples of {rollout_name}"
                return [_notice(stamp, trouble)]
            table = file.read(columns=list(CHECKED), use_threads=False)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return [_notice(stamp, f"cannot be read ({reason})")]
    expected = (rollout.sample_index, rollout.response_length, rollout.total_length)
    for name, values in zip(CHECKED, expected, strict=True):
        if name not in table.column_names or table[name].to_pylist() != values:
            return [_notice(stamp, f"differs from {rollout_name} in {name}")]
    return []


def _notice(stamp: FileStamp, trouble: str) -> Notice:
    return Notice(
        "token-columns-unfit",
        "warning",
        stamp.name,
        f"The file {trouble}; it is ignored, and the tokens are read from the rollout file.",
        "None for the report; Miles's own dashboard rewrites the file once it is removed.",
    )
