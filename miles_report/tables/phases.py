"""The `phases` table: intervals of processes put on the lanes they used.

The rollout manager has no GPU: its phases are drawn on the GPUs of the engines of that time, cut where the engines change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.tables.frames import conform
from miles_report.tables.lanes import split_place

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from miles_report.tables.attempts import Attempts
    from miles_report.tables.phase_records import Window

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

MANAGER = "rollout_manager"
DERIVED = "derived"
INITIALIZE = "initialize"
IDLE = (INITIALIZE, "train_wait", "sleep")
"""Phases that hold a GPU without using it."""


def phases_table(
    records: pl.DataFrame,
    topology: pl.DataFrame,
    lanes: Callable[[], pl.DataFrame],
    *,
    window: Window,
    start_ts: float | None,
    attempts: Attempts,
) -> pl.DataFrame:
    """One row a phase and lane, by node (as text), GPU and beginning, ties in file order.

    Args:
        records: `phase_records` of the window.
        topology: the `topology` table.
        lanes: gives the `lanes` table; asked only where engines have no GPUs.
        window: of the records. Nothing is clipped to it, and every piece of a cut phase stays.
        start_ts: start of the last attempt; from it to a lane's first phase of the window the lane was being initialized, told
            only if the window covers it.
        attempts: beginnings of the run's attempts.

    Returns:
        Columns of the `phases` table.
    """
    of_manager = (pl.col("role") == MANAGER).fill_null(value=False) & (
        pl.col("gpus").list.len() == 0
    )
    own = records.filter(~of_manager).explode("gpus").rename({"gpus": "gpu"})
    own = own.filter(pl.col("gpu").is_not_null())
    drawn = _on_engines(records.filter(of_manager), topology, lanes)
    rows = pl.concat([own, drawn.select(own.columns)])
    if start_ts is not None and window.covers(start_ts):
        rows = pl.concat([rows, _initialize(rows, start_ts).filter(window.overlaps())])
    rows = rows.sort("node", "gpu", "t0", "order", maintain_order=True)
    return conform(
        "phases", rows.with_columns(attempts.number(pl.col("t0")).alias("attempt")).drop("order")
    )


def _initialize(rows: pl.DataFrame, start_ts: float) -> pl.DataFrame:
    """The derived phase of each lane whose first phase began after the start."""
    return (
        rows.group_by("node", "gpu")
        .agg(pl.col("t0").min().alias("t1"))
        .filter(pl.col("t1") > start_ts)
        .with_columns(
            order=pl.lit(-1, dtype=pl.Int64),
            name=pl.lit(INITIALIZE),
            t0=pl.lit(start_ts),
            rank=pl.lit(-1, dtype=pl.Int64),
            role=pl.lit(DERIVED),
            open=pl.lit(value=False),
        )
        .select(rows.columns)
    )


def _on_engines(
    records: pl.DataFrame, topology: pl.DataFrame, lanes: Callable[[], pl.DataFrame]
) -> pl.DataFrame:
    """The manager's phases, cut at the windows of the topology, on every lane of the window's engines."""
    windows = topology.select("t0", "t1").unique(maintain_order=True).sort("t0")
    begins = windows["t0"].to_numpy()
    ends = windows["t1"].fill_null(float("inf")).to_numpy()
    t0, t1 = records["t0"].to_numpy(), records["t1"].to_numpy()
    first = np.searchsorted(ends, t0, "right")  # the first window that ends after the phase began
    counts = np.maximum(np.searchsorted(begins, t1, "left") - first, 0)
    counts = np.where(t1 > t0, counts, (first < len(begins)) & _begun(begins, first, t0))
    of_record = np.repeat(np.arange(records.height), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    of_window = np.repeat(first, counts) + place
    pieces = records[of_record].with_columns(
        pl.Series("t0", np.maximum(t0[of_record], begins[of_window])),
        pl.Series("t1", np.minimum(t1[of_record], ends[of_window])),
        pl.Series("window", begins[of_window]),
    )
    used = _lanes_in_use(topology, lanes)
    return (
        pieces.drop("node", "gpus")
        .join(used, on="window", how="inner", maintain_order="left_right")
        .drop("window")
    )


def _begun(begins: Floats, at: Ints, ts: Floats) -> Bools:
    """Whether the window at each place has begun at the given time; false behind the last."""
    return np.append(begins, np.inf)[at] <= ts


def _lanes_in_use(topology: pl.DataFrame, lanes: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Columns window (its t0), node and gpu of the lanes of each window's engines, each once.

    Where no engine of a window has GPUs they are external: every known lane on the engines' hosts stands for them.
    """
    has_gpus = (pl.col("gpus").list.len() > 0).any().over("t0")
    told = topology.filter(has_gpus).select(pl.col("t0").alias("window"), "gpus").explode("gpus")
    used = told.with_columns(**split_place("gpus")).select("window", "node", "gpu").drop_nulls()
    external = topology.filter(~has_gpus).select(pl.col("t0").alias("window"), "addr")
    if external.height:
        hosts = external.select("window", host_of(pl.col("addr")).alias("node"))
        known = lanes().select("node", "gpu")
        used = pl.concat([used, hosts.join(known, on="node")])
    return used.unique(maintain_order=True)


def host_of(addr: pl.Expr) -> pl.Expr:
    """The host of an engine's address, without scheme, port and the brackets of IPv6."""
    start = r"^(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:[^@/]*@)?"
    return pl.coalesce(
        addr.str.extract(start + r"\[([^\]]+)\]", 1),
        addr.str.extract(start + r"([^/]*?)(?::[0-9]+)?(?:/.*)?$", 1),
    )
