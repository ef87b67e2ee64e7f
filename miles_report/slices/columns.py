"""Numeric columns into the bytes of a Parquet file, for the one table that is large: tokens.

pyarrow takes three times as long for a column with nulls as for one without, and nearly every series of tokens has the same
nulls. Here the null levels of columns that share them are encoded once, and values are byte-stream-split by numpy. One row
group, one page a column, as the browser's reader likes it; any Parquet reader reads it (the tests use three).

Layout: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.slices.thrift import Struct, encode_struct, varint

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    Values = npt.NDArray[Any]
    Flags = npt.NDArray[np.bool_]

MAGIC = b"PAR1"
CREATED_BY = "miles-report"
BOOLEAN, INT32, INT64, FLOAT, DOUBLE = 0, 1, 2, 4, 5
PHYSICAL = {"bool": BOOLEAN, "int32": INT32, "int64": INT64, "float32": FLOAT, "float64": DOUBLE}
REQUIRED, OPTIONAL = 0, 1
PLAIN, RLE, BYTE_STREAM_SPLIT = 0, 3, 9
ZSTD = 6
DATA_PAGE = 0


@dataclass(frozen=True)
class NumericColumn:
    """One column of a part.

    Attributes:
        name: as in the table.
        values: of the rows that have one, in order; bool, int32, int64, float32 or float64.
        nulls: which rows those are; null if all rows have a value and always will.
        extremes: whether the file states its smallest and largest value.
    """

    name: str
    values: Values
    nulls: Nulls | None = None
    extremes: bool = False


class Nulls:
    """Which rows of a part have a value, shared by the columns for which that is the same.

    Args:
        valid: (n_rows,) true where there is a value.
    """

    def __init__(self, valid: Flags) -> None:
        self.places = np.flatnonzero(valid)
        self.levels = _levels(valid)


def encode_columns(columns: list[NumericColumn], n_rows: int, codec: pa.Codec) -> bytes:
    """A Parquet file of one row group.

    Args:
        columns: in order.
        n_rows: of each.
        codec: zstd.
    """
    parts, chunks, offset = [MAGIC], [], len(MAGIC)
    for column in columns:
        page = _page(column)
        squeezed = codec.compress(page, asbytes=True)
        header = _page_header(column, n_rows, len(page), len(squeezed))
        sizes = len(header) + len(page), len(header) + len(squeezed)
        chunks.append(_chunk(column, n_rows, offset, sizes))
        parts += [header, squeezed]
        offset += len(header) + len(squeezed)
    footer = encode_struct(_footer(columns, chunks, n_rows, offset))
    return b"".join([*parts, footer, len(footer).to_bytes(4, "little"), MAGIC])


def _page(column: NumericColumn) -> bytes:
    """Content of the column's page: null levels, then values."""
    values = column.values
    if values.dtype == np.bool_:
        content = np.packbits(values, bitorder="little").tobytes()
    else:
        content = values.view(np.uint8).reshape(-1, values.itemsize).T.tobytes()
    return content if column.nulls is None else column.nulls.levels + content


def _levels(valid: Flags) -> bytes:
    """Definition levels as runs: how many rows, and whether they have a value."""
    edges = np.flatnonzero(valid[1:] != valid[:-1]) + 1
    starts = np.concatenate(([0], edges)) if len(valid) else edges
    lengths = np.diff(np.append(starts, len(valid))).tolist()
    runs = b"".join(
        varint(length << 1) + bytes([value])
        for length, value in zip(lengths, valid[starts].tolist(), strict=True)
    )
    return len(runs).to_bytes(4, "little") + runs


def _encoding(column: NumericColumn) -> int:
    return PLAIN if column.values.dtype == np.bool_ else BYTE_STREAM_SPLIT


def _page_header(column: NumericColumn, n_rows: int, plain: int, squeezed: int) -> bytes:
    data_page: Struct = {1: n_rows, 2: _encoding(column), 3: RLE, 4: RLE}
    return encode_struct({1: DATA_PAGE, 2: plain, 3: squeezed, 5: data_page})


def _chunk(column: NumericColumn, n_rows: int, offset: int, sizes: tuple[int, int]) -> Struct:
    meta: Struct = {
        1: PHYSICAL[column.values.dtype.name],
        2: [RLE, _encoding(column)],
        3: [column.name],
        4: ZSTD,
        5: np.int64(n_rows),
        6: np.int64(sizes[0]),
        7: np.int64(sizes[1]),
        9: np.int64(offset),
    }
    if column.extremes and len(column.values):
        meta[12] = {5: column.values.max().tobytes(), 6: column.values.min().tobytes()}
    return {2: np.int64(offset), 3: meta}


def _footer(columns: list[NumericColumn], chunks: list[Struct], n_rows: int, size: int) -> Struct:
    root: Struct = {4: "schema", 5: len(columns)}
    fields: list[Struct] = [
        {
            1: PHYSICAL[column.values.dtype.name],
            3: REQUIRED if column.nulls is None else OPTIONAL,
            4: column.name,
        }
        for column in columns
    ]
    group: Struct = {1: chunks, 2: np.int64(size - len(MAGIC)), 3: np.int64(n_rows)}
    orders: list[Struct] = [{1: {}} for _ in columns]  # extremes are in the order of the type
    return {1: 2, 2: [root, *fields], 3: np.int64(n_rows), 4: [group], 6: CREATED_BY, 7: orders}
