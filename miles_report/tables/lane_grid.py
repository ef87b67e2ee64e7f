"""Lanes by buckets: the highest reading and the painted phase of each cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.tables.paint import paint
from miles_report.tables.phases import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from miles_report.tables.time_grid import TimeGrid

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def place_of(coded: pl.DataFrame, lanes: pl.DataFrame) -> Ints:
    """For every lane number of GPU samples its row in `lanes`; -1 where it is not among them.

    Args:
        coded: node, gpu and lane, ascending from 0 (`LaneCodes.lanes`).
        lanes: rows of the `lanes` table.
    """
    rows = lanes.select("node", "gpu").with_row_index("row")
    found = coded.join(rows, on=["node", "gpu"], how="left", maintain_order="left")
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def highest(
    samples: Iterable[pl.DataFrame], reading: str, places: Ints, rows: int, grid: TimeGrid
) -> Floats:
    """(rows, buckets) highest reading of each lane and bucket; NaN without one.

    Args:
        samples: GPU samples of the grid's window, block by block; columns as in `CODED`.
        reading: util, mem_mb or power_w.
        places: `place_of` the rows.
        rows: how many there are.
        grid: the buckets.
    """
    cells = np.full(rows * grid.buckets, -np.inf)
    for block in samples:
        told = block.filter(pl.col(reading).is_not_null())
        row = places[told["lane"].to_numpy()]
        cell = row * grid.buckets + grid.of(told["ts"])
        values = told[reading].to_numpy().astype(np.float64)
        np.maximum.at(cells, cell[row >= 0], values[row >= 0])
    cells[np.isneginf(cells)] = np.nan
    return cells.reshape(rows, grid.buckets)


def painted(phases: pl.DataFrame, lanes: pl.DataFrame, grid: TimeGrid) -> tuple[Ints, pl.Series]:
    """Phases painted over lanes and buckets; where they overlap the last of the painting order wins.

    Args:
        phases: rows of the `phases` table within the grid's window, in its order.
        lanes: rows of the `lanes` table; phases of other lanes are left out.
        grid: the buckets; a phase fills those of both its ends and all between.

    Returns:
        (rows * buckets,) which of the painted phases shows, -1 for none; and their names.
    """
    rows = lanes.select("node", "gpu").with_row_index("row")
    placed = painting_order(phases).join(
        rows, on=["node", "gpu"], how="inner", maintain_order="left"
    )
    start = placed["row"].cast(pl.Int64).to_numpy() * grid.buckets
    first, last = start + grid.of(placed["t0"]), start + grid.of(placed["t1"])
    return paint(lanes.height * grid.buckets, first, last), placed["name"]


def painting_order(phases: pl.DataFrame) -> pl.DataFrame:
    """Phases in the order in which they are painted: those that only hold a GPU lie below all others."""
    idle = pl.col("name").is_in(IDLE)
    return pl.concat([phases.filter(idle), phases.filter(~idle)])
