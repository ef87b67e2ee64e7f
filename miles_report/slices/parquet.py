"""Frames into the bytes of one Parquet file each, in the form the browser's reader likes best.

Numbers are byte-stream-split without dictionary, integers int32 where they fit, columns without null required: only of
those hyparquet makes typed arrays. One row group and one page a column, since short pages cost zstd a tenth in size. The
bytes depend on the rows alone: no time, no path, no number of threads.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from miles_report.schema.tables import TABLES
from miles_report.slices.rounding import shorten

if TYPE_CHECKING:
    from miles_report.schema.columns import Rounding

ZSTD_TABLES = ("tokens", "token_texts", "conversations", "texts")
"""Read by sample pages only, whose script knows zstd; the others are snappy, which every page's script knows."""

RANGE_KEYS = ("step", "row", "position", "ts")
"""Columns whose extremes the catalogue states, so that a page picks slices without opening them."""

WHOLE = 1 << 30
"""Rows and bytes of a page: more than any slice has."""


class ParquetEncoder:
    """Encodes parts of one table with the same schema, whatever rows each part has."""

    def __init__(self, name: str, frame: pl.DataFrame) -> None:
        """Settles types, encodings and roundings from the whole table.

        Args:
            name: of the table; its declaration says how columns are rounded.
            frame: all rows.
        """
        columns = frame.get_columns()
        del frame
        self.table = _to_arrow(columns)
        self._roundings = _roundings(name, self.table.schema)
        zstd = name in ZSTD_TABLES
        self._options: dict[str, Any] = {
            "compression": "zstd" if zstd else "snappy",
            "compression_level": 1 if zstd else None,
            "use_dictionary": [] if zstd else _names(self.table.schema, pa.types.is_large_string),
            "column_encoding": dict.fromkeys(
                _names(self.table.schema, _is_number), "BYTE_STREAM_SPLIT"
            ),
            "write_statistics": [key for key in RANGE_KEYS if key in self.table.column_names],
            "store_schema": False,
            "data_page_size": WHOLE,
            "max_rows_per_page": WHOLE,
        }

    def encode(self, start: int, stop: int) -> bytes:
        """The rows [start, stop) as one Parquet file."""
        part = self.table.slice(start, stop - start)
        for name, rounding in self._roundings.items():
            index = part.column_names.index(name)
            part = part.set_column(
                index, part.schema.field(index), _shortened(part[name], rounding)
            )
        sink = io.BytesIO()
        pq.write_table(part, sink, **self._options)
        return sink.getvalue()

    def ranges(self, start: int, stop: int) -> dict[str, tuple[float, float]]:
        """Extremes over [start, stop) of each range key that is never null there."""
        ranges = {}
        for key in RANGE_KEYS:
            if key not in self.table.column_names or stop <= start:
                continue
            part = self.table[key].slice(start, stop - start)
            if part.null_count == 0:
                extremes = pc.min_max(part).as_py()
                ranges[key] = (extremes["min"], extremes["max"])
        return ranges

    @property
    def fixed_bytes(self) -> float:
        """Bytes of each row before encoding, roughly, without its text."""
        return sum(_width(column.type) for column in self.table.columns)

    def text_bytes(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Bytes of the text of each row, (n_rows,); null if the table has no text."""
        lengths = [
            pc.fill_null(pc.binary_length(column), 0).to_numpy()
            for column in self.table.columns
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


def _to_arrow(columns: list[pl.Series]) -> pa.Table:
    """The columns as arrow, each of one chunk; they are taken out of the list one by one, so that memory is freed."""
    fields, arrays = [], []
    columns.reverse()
    while columns:
        column = _narrow(columns.pop().rechunk())
        array = column.to_arrow(compat_level=pl.CompatLevel.oldest())
        fields.append(pa.field(column.name, array.type, nullable=column.null_count() > 0))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _narrow(column: pl.Series) -> pl.Series:
    """Integers as int32 if all of them fit."""
    if column.dtype != pl.Int64:
        return column
    try:
        return column.cast(pl.Int32)
    except pl.exceptions.InvalidOperationError:
        return column


def _roundings(name: str, schema: pa.Schema) -> dict[str, Rounding]:
    """How each float32 column is shortened; series of the run's own are as the strictest declared ones."""
    table = TABLES.get(name)
    declared = {column.name: column.rounding for column in table.columns} if table else {}
    own: Rounding = "13 bits" if name == "tokens" else "none"
    roundings = {
        column.name: declared.get(column.name, own)
        for column in schema
        if pa.types.is_float32(column.type)
    }
    return {column: rounding for column, rounding in roundings.items() if rounding != "none"}


def _shortened(column: pa.ChunkedArray, rounding: Rounding) -> pa.Array:
    """A column of one chunk with shortened values over the same null bitmap; what lies under a null does not matter."""
    (array,) = column.chunks
    validity, data = array.buffers()
    lead = array.offset % 8  # bitmaps are cut at bytes only
    values = np.frombuffer(data, np.float32, lead + len(array), (array.offset - lead) * 4)
    if validity is not None:
        validity = validity.slice((array.offset - lead) // 8)
    buffers = [validity, pa.py_buffer(shorten(values, rounding))]
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, lead)


def _names(schema: pa.Schema, wanted: Any) -> list[str]:
    return [field.name for field in schema if wanted(field.type)]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _width(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # text and lists
        return 8.0
