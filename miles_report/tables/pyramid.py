"""Long series as levels of detail: the samples themselves, and buckets of 8, 64, 512 and 4096 s with min, mean and max.

Meant to be written as slices: a tile is one level of a few series over one stretch of time, so that any zoom of a chart
needs a few of them. Samples go in block by block and tiles come out as soon as no sample is to be expected for them; only
the open stretch of each level is held. Nothing is lost by mean: extremes survive on every level, and a coarser level is
computed from sums and counts, not from means.

Stretches begin at multiples of their length since the epoch and lengths are powers of two, so that a later build of a
growing run gives the same tiles but for the newest. A sample that comes more than `LATE_S` after newer ones makes another
tile of the same stretch; a bucket may then have two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

WIDTHS_S = (8, 64, 512, 4096)
"""Seconds a bucket of each coarse level; powers of eight, so that three levels span a chart from seconds to days."""

TILE_BUCKETS = 512
"""Buckets of a series in a tile: a screen's width or less, so that a view needs two or three tiles a series."""

RAW_TILE_S = WIDTHS_S[0] * TILE_BUCKETS
"""Stretch of a tile of samples: 68 minutes, 4,096 samples of a GPU read once a second."""

MIN_SAMPLES = 4
"""Samples a bucket should hold; a level with fewer would be larger than what it stands for."""

LATE_S = 900.0
"""Nodes whose clocks or flushes differ by less than this still meet in one tile."""

MOST_HELD = 1 << 21
"""Rows held before complete tiles are given out."""

MOST_COMPARED = 1 << 16
"""Samples that are looked at for the sampling interval."""

MOST_ROWS = 1 << 17
"""Rows of a tile; larger ones are split by time. 128 Ki rows of three numbers stay below 1 MiB."""


@dataclass(frozen=True)
class Series:
    """What a pyramid is made of.

    Attributes:
        keys: columns that tell series apart; nulls are values.
        values: columns to keep.
        group: for a level (0: samples) which series share a tile; an expression over the rows. Series told apart by one number
            are grouped with their neighbours.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    group: Callable[[int], pl.Expr]


@dataclass(frozen=True)
class Tile:
    """One level of a group of series over one stretch of time.

    Attributes:
        level: 0 for samples, else the number of the coarse level from 1.
        width_s: seconds a bucket; 0 for samples.
        group: what the series have in common, as `Series.group` gives it.
        t0: beginning of the stretch, Unix seconds.
        t1: its end, exclusive.
        rows: by series and time. Samples: keys, ts, values. Buckets: keys, ts (beginning of the bucket), and of each value
            <value>_min, <value>_mean (over samples), <value>_max; null where no sample had the value.
    """

    level: int
    width_s: int
    group: int | str
    t0: float
    t1: float
    rows: pl.DataFrame


def level_widths(interval_s: float) -> tuple[int, ...]:
    """Widths of the coarse levels that are worth having for samples taken so often."""
    return tuple(width for width in WIDTHS_S if width >= MIN_SAMPLES * interval_s)


def sampling_interval(rows: pl.DataFrame, keys: Sequence[str]) -> float:
    """Median seconds between neighbouring samples of a series; 1 where there are none.

    Args:
        rows: samples of some stretch; needs ts.
        keys: columns that tell series apart.
    """
    steps = (
        rows.head(MOST_COMPARED)
        .sort(*keys, "ts")
        .select(pl.col("ts").diff().over(keys).alias("step"))
    )
    median = steps.filter(pl.col("step") > 0)["step"].median()
    return float(median) if isinstance(median, int | float) else 1.0


def tiles(
    blocks: Iterable[pl.DataFrame],
    series: Series,
    *,
    widths: Sequence[int] | None = None,
    most_held: int = MOST_HELD,
) -> Iterator[Tile]:
    """All tiles of a stream, those of finer levels before the coarser ones they are part of.

    Args:
        blocks: samples in file order: keys, ts, values.
        series: what they are.
        widths: of the coarse levels; null: those worth having by the interval of the first block.
        most_held: rows held before complete tiles are given out.
    """
    stages: list[_Stage] = []
    newest = float("-inf")
    for block in blocks:
        if not stages:
            chosen = (
                level_widths(sampling_interval(block, series.keys)) if widths is None else widths
            )
            stages = _stages(series, chosen)
        stages[0].add(block.select(*series.keys, "ts", *series.values))
        latest = block["ts"].max()
        newest = max(newest, latest) if isinstance(latest, float) else newest
        if stages[0].held > most_held:
            yield from _flush(stages, newest - LATE_S)
    yield from _flush(stages, float("inf"))


def _stages(series: Series, widths: Sequence[int]) -> list[_Stage]:
    levels = [(0, 0, RAW_TILE_S)]
    levels += [(n, width, width * TILE_BUCKETS) for n, width in enumerate(widths, start=1)]
    return [_Stage(series, *level) for level in levels]


def _flush(stages: Sequence[_Stage], before: float) -> Iterator[Tile]:
    """Tiles of stretches that ended by then; what they hold goes on to the next coarser level."""
    for number, stage in enumerate(stages):
        done = stage.take(before)
        if not done.height:
            continue
        if number + 1 < len(stages):
            stages[number + 1].add(stage.coarsened(done, stages[number + 1].width_s))
        yield from stage.tiles(done)


class _Stage:
    """The open stretches of one level.

    Rows of a coarse level carry of each value its sum, count, minimum and maximum until they are given out.
    """

    def __init__(self, series: Series, level: int, width_s: int, tile_s: int) -> None:
        self._series = series
        self._level = level
        self.width_s = width_s
        self._tile_s = tile_s
        self._parts: list[pl.DataFrame] = []

    @property
    def held(self) -> int:
        return sum(part.height for part in self._parts)

    def add(self, rows: pl.DataFrame) -> None:
        self._parts.append(rows)

    def take(self, before: float) -> pl.DataFrame:
        """Rows of stretches that ended by then; the others stay."""
        if not self._parts:
            return pl.DataFrame()
        rows = pl.concat(self._parts, how="vertical_relaxed")
        if self._level:
            rows = self._merged(rows)
        is_done = ((pl.col("ts") / self._tile_s).floor() + 1) * self._tile_s <= before
        done, rest = rows.filter(is_done), rows.filter(~is_done)
        self._parts = [rest] if rest.height else []
        return done

    def coarsened(self, rows: pl.DataFrame, width_s: int) -> pl.DataFrame:
        """The rows in buckets of a coarser level."""
        bucketed = rows.with_columns((pl.col("ts") / width_s).floor() * width_s)
        if self._level:
            return self._merged(bucketed)
        return bucketed.group_by(*self._series.keys, "ts").agg(
            part
            for value in self._series.values
            for part in (
                pl.col(value).cast(pl.Float64).sum().alias(f"{value}_sum"),
                pl.col(value).count().cast(pl.Int64).alias(f"{value}_n"),
                pl.col(value).min().alias(f"{value}_min"),
                pl.col(value).max().alias(f"{value}_max"),
            )
        )

    def tiles(self, rows: pl.DataFrame) -> Iterator[Tile]:
        stretch = (pl.col("ts") / self._tile_s).floor().alias("_stretch")
        group = self._series.group(self._level).alias("_group")
        placed = self._finished(rows).with_columns(stretch, group)
        ordered = placed.sort("_stretch", *self._order(placed), "ts", maintain_order=True)
        for (number, name), part in ordered.group_by("_stretch", "_group", maintain_order=True):
            t0 = float(number) * self._tile_s
            yield from self._split(name, t0, self._tile_s, part.drop("_stretch", "_group"))

    def _order(self, rows: pl.DataFrame) -> list[str]:
        """Columns to sort by for the group, then the series; of numbered series, whose groups are neighbours, the number does."""
        keys = list(self._series.keys)
        is_numbered = len(keys) == 1 and rows[keys[0]].dtype.is_integer()
        return keys if is_numbered else ["_group", *keys]

    def _split(
        self, group: int | str, t0: float, seconds: float, rows: pl.DataFrame
    ) -> Iterator[Tile]:
        """One tile, or halves of it by time where it has too many rows."""
        if rows.height <= MOST_ROWS or seconds <= 1:
            yield Tile(self._level, self.width_s, group, t0, t0 + seconds, rows)
            return
        half = seconds / 2
        is_early = pl.col("ts") < t0 + half
        for start, part in ((t0, rows.filter(is_early)), (t0 + half, rows.filter(~is_early))):
            if part.height:
                yield from self._split(group, start, half, part)

    def _merged(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.group_by(*self._series.keys, "ts").agg(
            pl.col("^.*_sum$", "^.*_n$").sum(), pl.col("^.*_min$").min(), pl.col("^.*_max$").max()
        )

    def _finished(self, rows: pl.DataFrame) -> pl.DataFrame:
        if not self._level:
            return rows
        return rows.select(
            *self._series.keys,
            "ts",
            *(
                part
                for value in self._series.values
                for part in (
                    pl.col(f"{value}_min"),
                    pl.when(pl.col(f"{value}_n") > 0)
                    .then(pl.col(f"{value}_sum") / pl.col(f"{value}_n"))
                    .alias(f"{value}_mean"),
                    pl.col(f"{value}_max"),
                )
            ),
        )
