"""The pyramids of `gpu_util` and `engine_series`, as tiles for slices."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.engine_catalog import DERIVED, RAW_ENDINGS
from miles_report.tables.engine_series import SERIES, derive, fold
from miles_report.tables.lane_grid import place_of
from miles_report.tables.pyramid import LATE_S, RAW_TILE_S, Series, sampling_interval, tiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from miles_report.tables.pyramid import Tile

READINGS = ("util", "mem_mb", "power_w")

LANES_A_TILE = (8, 64)
"""Lanes of a tile of samples read once a second and of a coarse one: a zoom looks at few lanes closely or at many from afar."""

ENGINE_SERIES = Series(
    keys=("metric", *SERIES), values=("value",), group=lambda _level: pl.col("metric")
)
"""A tile holds one metric of all engines."""


def gpu_tiles(
    samples: Iterable[pl.DataFrame],
    coded: pl.DataFrame,
    lanes: pl.DataFrame,
    *,
    widths: Sequence[int] | None = None,
) -> Iterator[Tile]:
    """Tiles of the GPU samples of a run.

    Args:
        samples: the whole stream, block by block, with lane numbers.
        coded: node, gpu and lane of all lane numbers.
        lanes: all lanes.
        widths: of the coarse levels; null: by the sampling interval.

    Yields:
        Tiles whose rows have index, ts and the readings; their group is the index of the first lane over the lanes a tile.
    """
    places = place_of(coded, lanes)
    rows = (
        block.with_columns(pl.Series("index", places[block["lane"].to_numpy()], dtype=pl.Int32))
        for block in samples
    )
    first = next(rows, None)
    if first is None:
        return iter(())
    a_tile = lanes_a_tile(sampling_interval(first, ("index",)))
    series = Series(
        keys=("index",),
        values=READINGS,
        group=lambda level: pl.col("index") // (LANES_A_TILE[1] if level else a_tile),
    )
    return tiles(chain([first], rows), series, widths=widths)


def lanes_a_tile(interval_s: float) -> int:
    """Neighbouring lanes of a tile of samples: so many more as they are taken more rarely, by powers of two."""
    least, most = LANES_A_TILE
    return min(most, least << int(math.log2(max(interval_s, 1.0))))


def engine_tiles(
    blocks: Iterable[pl.DataFrame], *, widths: Sequence[int] | None = None
) -> Iterator[Tile]:
    """Tiles of all metrics of `engine_metrics`: those scraped, and the rates and means that follow.

    Args:
        blocks: the whole engine_series stream, in file order.
        widths: of the coarse levels; null: by the scraping interval.

    Yields:
        Tiles whose rows have metric, addr, engine_type, dp_rank, ts, value; their group is the metric. Values are those of the
        `engine_series` table. An engine that labels its dp ranks has rows of them beside the folded ones, whose dp_rank is null.
    """
    return tiles(_metrics(blocks), ENGINE_SERIES, widths=widths)


def _metrics(blocks: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Values of engines and, where they label them, of their dp ranks, a stretch of time at a time."""
    whole, apart = _Values(per_dp_rank=False), _Values(per_dp_rank=True)
    for stretch in _stretches(blocks):
        yield whole.of(stretch)
        labelled = stretch.filter(pl.col("dp_rank").is_not_null())
        if labelled.height:
            yield apart.of(labelled)


class _Values:
    """Folded and derived values of one stretch after another.

    A counter's last scrape of a stretch is carried into the next, so that no interval is lost between them.
    """

    def __init__(self, *, per_dp_rank: bool) -> None:
        self._per_dp_rank = per_dp_rank
        self._carried = fold(_EMPTY)

    def of(self, stretch: pl.DataFrame) -> pl.DataFrame:
        folded = fold(stretch, per_dp_rank=self._per_dp_rank)
        is_counter = pl.col("metric").str.contains(f"({'|'.join(RAW_ENDINGS)})$")
        gauges = folded.filter(~is_counter & ~pl.col("metric").is_in(list(DERIVED)))
        counters = pl.concat([self._carried, folded.filter(is_counter)]).unique(
            ["metric", *SERIES, "ts"], keep="first", maintain_order=True
        )
        scraped = set(counters["metric"].unique())
        self._carried = counters.sort("ts", maintain_order=True).unique(
            ["metric", *SERIES], keep="last", maintain_order=True
        )
        return pl.concat(
            [gauges]
            + [
                derive(counters, derived).select(
                    pl.lit(name).alias("metric"), *SERIES, "ts", "value"
                )
                for name, derived in DERIVED.items()
                if scraped.issuperset(derived.inputs)
            ]
        )


_EMPTY = pl.DataFrame(
    schema={
        "ts": pl.Float64,
        "addr": pl.String,
        "metric": pl.String,
        "engine_type": pl.String,
        "dp_rank": pl.String,
        "value": pl.Float64,
    }
)


def _stretches(blocks: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The samples of one stretch after another; each is whole unless its samples come late."""
    held = _EMPTY
    for block in blocks:
        rows = block.unnest("labels").select(_EMPTY.columns)
        held = pl.concat([held, rows])
        newest = held["ts"].max()
        if not isinstance(newest, float):
            continue
        edge = (newest - LATE_S) // RAW_TILE_S * RAW_TILE_S
        done = held.filter(pl.col("ts") < edge)
        if done.height:
            yield done
            held = held.filter(pl.col("ts") >= edge)
    if held.height:
        yield held
