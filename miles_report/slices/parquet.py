"""Tables into the bytes of Parquet files, in the form the browser's reader likes best.

Numbers are byte-stream-split without dictionary, integers int32 where they fit, columns without null required: only of
those hyparquet makes typed arrays. One row group and one page a column, since short pages cost zstd a tenth in size. The
bytes depend on the rows alone: no time, no path, no number of threads.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ZSTD_TABLES = ("tokens", "token_texts", "conversations", "texts")
"""Read by sample pages only, whose script knows zstd; the others are snappy, which every page's script knows."""

RANGE_KEYS = ("step", "row", "position", "ts")
"""Columns whose extremes the catalogue states, so that a page picks slices without opening them."""

WHOLE = 1 << 30
"""Rows and bytes of a page: more than any slice has."""


class TableEncoder:
    """Encodes parts of one table with the same schema, whatever rows each part has.

    Args:
        name: of the table; it decides on the codec.
        frame: all rows.
    """

    def __init__(self, name: str, frame: pl.DataFrame) -> None:
        self._table = _to_arrow(frame)
        self.names = tuple(self._table.column_names)
        self.height: int = self._table.num_rows
        zstd = name in ZSTD_TABLES
        schema = self._table.schema
        self._options: dict[str, Any] = {
            "compression": "zstd" if zstd else "snappy",
            "use_dictionary": [] if zstd else _names(schema, pa.types.is_large_string),
            "column_encoding": dict.fromkeys(_names(schema, _is_number), "BYTE_STREAM_SPLIT"),
            "write_statistics": [key for key in RANGE_KEYS if key in self.names],
            "store_schema": False,
            "data_page_size": WHOLE,
            "max_rows_per_page": WHOLE,
        }

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """All values of a column that has no null."""
        values: np.ndarray[Any, Any] = self._table[name].to_numpy()
        return values

    def encode(self, start: int, stop: int) -> bytes:
        """The rows [start, stop) as one Parquet file."""
        sink = io.BytesIO()
        pq.write_table(self._table.slice(start, stop - start), sink, **self._options)
        return sink.getvalue()

    def ranges(self, start: int, stop: int) -> dict[str, tuple[float, float]]:
        """Extremes over [start, stop) of each range key that is never null there."""
        ranges = {}
        for key in RANGE_KEYS:
            if key not in self.names or stop <= start:
                continue
            part = self._table[key].slice(start, stop - start)
            if part.null_count == 0:
                extremes = pc.min_max(part).as_py()
                ranges[key] = (extremes["min"], extremes["max"])
        return ranges

    @property
    def fixed_bytes(self) -> float:
        """Bytes of each row before encoding, roughly, without its text."""
        return sum(_width(column.type) for column in self._table.columns)

    def text_bytes(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Bytes of the text of each row, (n_rows,); null if the table has no text."""
        lengths = [
            pc.fill_null(pc.binary_length(column), 0).to_numpy()
            for column in self._table.columns
            if pa.types.is_large_string(column.type)
        ]
        return np.sum(lengths, axis=0, dtype=np.float64) if lengths else None


def decode(content: bytes) -> pl.DataFrame:
    """The rows of a slice with the types it has on disk.

    Raises:
        pyarrow.ArrowInvalid: it is no Parquet file.
    """
    frame = pl.from_arrow(pq.read_table(io.BytesIO(content), use_threads=False))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Columns of one chunk; integers int32 where they fit, columns without null not nullable."""
    columns = [narrow(column) for column in frame.rechunk().get_columns()]
    arrays = [column.to_arrow(compat_level=pl.CompatLevel.oldest()) for column in columns]
    fields = [
        pa.field(column.name, array.type, nullable=column.null_count() > 0)
        for column, array in zip(columns, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def narrow(column: pl.Series) -> pl.Series:
    """Integers as int32 if all of them fit, else as int64; other columns as they are."""
    if not column.dtype.is_integer():
        return column
    try:
        return column.cast(pl.Int32)
    except pl.exceptions.InvalidOperationError:
        return column.cast(pl.Int64)


def _names(schema: pa.Schema, wanted: Any) -> list[str]:
    return [field.name for field in schema if wanted(field.type)]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _width(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # text and lists
        return 8.0
