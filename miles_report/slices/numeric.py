"""The tokens table into slices: numbers only, rounded as declared, many columns with the same nulls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from miles_report.schema.tables import TABLES
from miles_report.slices.columns import Nulls, NumericColumn, encode_columns
from miles_report.slices.parquet import RANGE_KEYS, narrow
from miles_report.slices.rounding import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from miles_report.schema.columns import Rounding

    Values = npt.NDArray[Any]
    Flags = npt.NDArray[np.bool_]

LEVEL = 1  # of zstd: higher ones take twice the time for a hundredth of the size


class NumericEncoder:
    """Encodes parts of a table of numbers with the same schema, whatever rows each part has.

    Args:
        name: of the table; its declaration says how columns are rounded.
        frame: all rows; every column a number or a boolean.
    """

    def __init__(self, name: str, frame: pl.DataFrame) -> None:
        self.names = tuple(frame.columns)
        self.height = frame.height
        self._codec = pa.Codec("zstd", LEVEL)
        self._roundings = _roundings(name, frame)
        self._values: dict[str, Values] = {}
        self._valid: dict[str, Flags] = {}
        patterns: dict[bytes, Flags] = {}
        columns = frame.get_columns()
        del frame
        while columns:
            column = columns.pop()
            self._values[column.name] = _values(column)
            if column.null_count():
                valid = column.is_not_null().to_numpy()
                self._valid[column.name] = patterns.setdefault(valid.tobytes(), valid)

    def column(self, name: str) -> Values:
        """All values of a column; what stands at nulls does not matter."""
        return self._values[name]

    def encode(self, start: int, stop: int) -> bytes:
        """The rows [start, stop) as one Parquet file."""
        known: dict[int, Nulls] = {}
        columns = []
        for name in self.names:
            values, valid, nulls = self._values[name][start:stop], self._valid.get(name), None
            if valid is not None:
                nulls = known.get(id(valid)) or Nulls(valid[start:stop])
                known[id(valid)] = nulls
                values = values[nulls.places]
            values = shorten(values, self._roundings.get(name, "none"))
            columns.append(NumericColumn(name, values, nulls, extremes=name in RANGE_KEYS))
        return encode_columns(columns, stop - start, self._codec)

    def ranges(self, start: int, stop: int) -> dict[str, tuple[float, float]]:
        """Extremes over [start, stop) of each range key that is never null."""
        keys = [key for key in RANGE_KEYS if key in self.names and key not in self._valid]
        parts = {key: self._values[key][start:stop] for key in keys if stop > start}
        return {key: (part.min().item(), part.max().item()) for key, part in parts.items()}

    @property
    def fixed_bytes(self) -> float:
        """Bytes of each row before encoding."""
        return float(sum(values.itemsize for values in self._values.values()))

    def text_bytes(self) -> None:
        """There is no text."""


def _roundings(name: str, frame: pl.DataFrame) -> Mapping[str, Rounding]:
    """How each float32 column is shortened; series of the run's own are as the strictest declared ones."""
    declared = {column.name: column.rounding for column in TABLES[name].columns}
    floats = [column for column, kind in frame.schema.items() if kind == pl.Float32]
    return {column: declared.get(column, "13 bits") for column in floats}


def _values(column: pl.Series) -> Values:
    """The values without copying where that is possible; integers as int32 if all of them fit."""
    if column.dtype == pl.Boolean:
        return column.fill_null(value=False).to_numpy()
    if column.dtype.is_integer():
        column = narrow(column)
    elif column.dtype not in {pl.Float32, pl.Float64}:
        column = column.cast(pl.Float32)
    array = column.rechunk().to_arrow()
    kind = array.type.to_pandas_dtype()
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind().itemsize)
