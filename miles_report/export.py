"""A table as bytes: json (an array of row objects), ndjson, csv or parquet; values are never rounded."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_A_CHUNK = 10_000


def encode(frame: pl.DataFrame, form: str) -> bytes:
    """The frame in one of the export formats.

    JSON writes NaN and infinities as null; csv writes lists as JSON text and leaves null empty.

    Raises:
        UsageError: an unknown format.
    """
    if form == "json":
        rows = ",\n".join(_json_rows(frame))
        return f"[{rows}]\n".encode()
    if form == "ndjson":
        return "".join(f"{row}\n" for row in _json_rows(frame)).encode()
    if form == "csv":
        return _flat(frame).write_csv().encode()
    if form == "parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    raise UsageError(f"There is no format {form!r}; there are json, ndjson, csv and parquet.")


def _json_rows(frame: pl.DataFrame) -> Iterator[str]:
    for chunk in frame.iter_slices(ROWS_A_CHUNK):
        for row in chunk.iter_rows(named=True):
            yield json.dumps(
                {name: _finite(value) for name, value in row.items()},
                ensure_ascii=False,
                allow_nan=False,
            )


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(
        pl.col(name).map_elements(
            lambda cell: json.dumps(_finite(cell.to_list())), return_dtype=pl.String
        )
        for name in lists
    )
