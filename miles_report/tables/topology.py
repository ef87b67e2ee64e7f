"""The `topology` table: snapshots of the engines as windows of time."""

from __future__ import annotations

import polars as pl

from miles_report.tables.frames import conform


def topology_table(snapshots: pl.DataFrame) -> pl.DataFrame:
    """One row an engine and window; a window lasts until the next snapshot.

    Args:
        snapshots: the topology stream in file order. Of several with one ts the last counts.

    Returns:
        Columns of the `topology` table, by time, engines as listed. A snapshot without engines ends the window before it and has
        no row.
    """
    windows = (
        snapshots.unique("ts", keep="last", maintain_order=True)
        .sort("ts")
        .select("engines", pl.col("ts").alias("t0"), pl.col("ts").shift(-1).alias("t1"))
    )
    engines = windows.explode("engines").filter(pl.col("engines").is_not_null()).unnest("engines")
    engines = engines.filter(pl.col("addr").is_not_null())
    place = pl.concat_str(pl.element().list.get(0), pl.element().list.get(1), separator=":")
    return conform(
        "topology",
        engines.with_columns(
            pl.col("gpus").list.eval(place.filter(pl.element().list.len() == 2)).fill_null([]),
            pl.col("gpu_uuids").fill_null([]),
        ),
    )
