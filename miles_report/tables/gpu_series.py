"""The `gpu_util` and `gpu_processes` tables: what was read from the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.sources.lane_codes import CODED
from miles_report.tables.frames import conform
from miles_report.tables.lane_grid import place_of
from miles_report.tables.thinning import thin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from miles_report.tables.time_grid import TimeGrid


def gpu_util_table(
    samples: Iterable[pl.DataFrame],
    coded: Callable[[], pl.DataFrame],
    lanes: pl.DataFrame | None,
    *,
    grid: TimeGrid | None = None,
) -> pl.DataFrame:
    """GPU samples by node (as text), GPU and time, ties in file order.

    Args:
        samples: of the window, block by block, with lane numbers.
        coded: gives node, gpu and lane; of all lanes where some are chosen, else of those of the blocks read.
        lanes: the lanes to show, by node and GPU; null: every GPU there is.
        grid: two points a bucket and lane are kept: its lowest and its highest utilization; null: all samples. A lane with no more
            samples than that keeps them all.

    Returns:
        Columns of the `gpu_util` table.
    """
    if lanes is None:
        blocks = list(samples)
        shown = coded().select("node", "gpu").sort("node", "gpu")
        parts = [_placed(block, place_of(coded(), shown)) for block in blocks]
    else:
        shown = lanes.select("node", "gpu")
        places = place_of(coded(), shown)
        parts = [_placed(block, places) for block in samples]
    empty = pl.DataFrame(schema={**CODED, "place": pl.Int64})
    rows = pl.concat([empty, *parts], how="vertical_relaxed")
    rows = rows.sort("place", "ts", maintain_order=True)
    if grid is not None:
        rows = thin(rows, grid, series=["place"], value="util")
    return conform("gpu_util", rows.drop("lane", "place").hstack(shown[rows["place"]]))


def _placed(block: pl.DataFrame, places: npt.NDArray[np.int64]) -> pl.DataFrame:
    """The samples of the shown lanes, with their place among them."""
    place = pl.Series("place", places[block["lane"].to_numpy()])
    rows = block.with_columns(place)
    return rows if (place >= 0).all() else rows.filter(pl.col("place") >= 0)


def gpu_processes_table(
    readings: Iterable[pl.DataFrame], lanes: pl.DataFrame | None
) -> pl.DataFrame:
    """Process readings by node (as text), GPU and time, ties in file order.

    Args:
        readings: the gpu_processes stream of the window, block by block.
        lanes: the lanes to show; null: every GPU there is.

    Returns:
        Columns of the `gpu_processes` table.
    """
    parts = [
        block
        if lanes is None
        else block.join(lanes, on=["node", "gpu"], how="semi", maintain_order="left")
        for block in readings
    ]
    if not parts:
        return conform("gpu_processes", pl.DataFrame({"ts": np.zeros(0)}))
    rows = pl.concat(parts).sort("node", "gpu", "ts", maintain_order=True)
    return conform("gpu_processes", rows)
