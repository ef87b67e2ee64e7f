"""Frames in the shape that the schema declares: the one place where kinds become polars types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from miles_report.notices import Notice

DTYPES: Mapping[str, pl.DataType] = {
    "i64": pl.Int64(),
    "f64": pl.Float64(),
    "f32": pl.Float32(),
    "ts": pl.Float64(),
    "bool": pl.Boolean(),
    "str": pl.String(),
    "json": pl.String(),
    "list[i64]": pl.List(pl.Int64()),
    "list[f64]": pl.List(pl.Float64()),
    "list[str]": pl.List(pl.String()),
    "cells": pl.List(pl.String()),
}


def table_schema(name: str) -> dict[str, pl.DataType]:
    """Declared columns of a table with their polars types, in order."""
    return {column.name: DTYPES[column.kind] for column in TABLES[name].columns}


def empty_table(name: str) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=table_schema(name))


def conform(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the declared columns first, in order and type; absent ones are null, others follow."""
    declared = table_schema(name)
    columns = [
        (pl.col(column) if column in frame.columns else pl.lit(None)).cast(dtype).alias(column)
        for column, dtype in declared.items()
    ]
    return frame.select(*columns, pl.exclude(*declared))


def notices_table(notices: Iterable[Notice]) -> pl.DataFrame:
    """The `notices` table: errors first, then warnings, then infos; each once."""
    order = {"error": 0, "warning": 1, "info": 2}
    rows = sorted(set(notices), key=lambda notice: (order[notice.severity], notice))
    return pl.DataFrame(
        [
            (notice.code, notice.severity, notice.source, notice.message, notice.remedy)
            for notice in rows
        ],
        schema=table_schema("notices"),
        orient="row",
    )
