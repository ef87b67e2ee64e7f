"""Slices of the telemetry: every file holds a stretch of time of a few series, so that any zoom needs a few files.

`gpu_util` is written as samples of eight neighbouring lanes over 4,096 s and, for longer runs, as `gpu_levels` beside it:
buckets of 8, 64, 512 and 4,096 s that keep the least, mean and greatest reading. `engine_series` and `engine_levels` are the
same with one metric a file. `phases` and `gpu_processes` are cut by time. What the catalogue states of each file:

| table | keys |
|---|---|
| gpu_util | lane (first and last index in `lanes`), ts |
| gpu_levels | width_s, lane, ts (beginnings of the buckets) |
| engine_series | metric (its row in `engine_metrics`), ts |
| engine_levels | width_s, metric, ts |
| phases | t0, t1 |
| process_phases | t0, t1; only where a process named no GPU, see `run_timeline.process_phases` |
| gpu_processes | ts |

Stretches begin at multiples of their length since the epoch, and files are numbered by time: while a run grows, those of
stretches that are over stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from miles_report.run_timeline import process_phases
from miles_report.slices.encoding import encode_table
from miles_report.tables.frames import empty_table
from miles_report.tables.pyramid import RAW_TILE_S
from miles_report.tables.telemetry_tiles import READINGS, engine_tiles, gpu_tiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from miles_report.run import Run
    from miles_report.site.writer import SiteWriter
    from miles_report.slices.slice import Slice
    from miles_report.tables.pyramid import Tile

    Keys = Mapping[str, tuple[float, float]]

FOLDER = "data"

FEW_ROWS = 1 << 17
"""Samples of a whole stream below which its levels aren't worth their files: a page reads them as they are."""

ROWS_A_STRETCH = 1 << 15
"""Stretches of phases and processes share a file until they are so many rows."""


def write_telemetry(
    run: Run, tables: Mapping[str, pl.DataFrame], writer: SiteWriter
) -> dict[str, tuple[Slice, ...]]:
    """Writes gpu_util, gpu_levels, engine_series, engine_levels, phases, process_phases and gpu_processes.

    Args:
        run: the opened dump; the streams of samples are read block by block, twice the block at a time in memory.
        tables: lanes, engine_metrics, phases and gpu_processes.
        writer: takes the files.

    Returns:
        What the catalogue says of them; tables that only a site has are left out where they are empty.

    Raises:
        BuildError: the disk refuses.
    """
    timeline, lanes = run.timeline, tables["lanes"]
    metrics = {name: row for row, name in enumerate(tables["engine_metrics"]["metric"])}
    gpus = gpu_tiles(timeline.gpu_samples(None, None), timeline.coded(), lanes)
    engines = engine_tiles(timeline.engine_blocks(None, None))
    alone = process_phases(run)
    return {
        **({"process_phases": _by_time(alone, "process_phases", ("t0", "t1"), writer)} if alone.height else {}),
        **_pyramid(gpus, _Shape("gpu_util", "gpu_levels", lambda tile: _gpu_rows(tile, lanes)), writer),
        **_pyramid(engines, _Shape("engine_series", "engine_levels", lambda tile: _engine_rows(tile, metrics)), writer),
        "phases": _by_time(tables["phases"], "phases", ("t0", "t1"), writer),
        "gpu_processes": _by_time(tables["gpu_processes"], "gpu_processes", ("ts",), writer),
    }  # fmt: skip


class _Shape:
    """How tiles become files.

    Args:
        raw: table of the samples.
        levels: table of the coarser levels.
        rows: of a tile its rows as the table has them, and what they are of.
    """

    def __init__(
        self, raw: str, levels: str, rows: Callable[[Tile], tuple[pl.DataFrame, Keys]]
    ) -> None:
        self.raw = raw
        self.levels = levels
        self.rows = rows


def _pyramid(
    tiles: Iterable[Tile], shape: _Shape, writer: SiteWriter
) -> dict[str, tuple[Slice, ...]]:
    files = {name: _Files(name, writer) for name in (shape.raw, shape.levels)}
    held: list[tuple[pl.DataFrame, Keys]] = []
    n_samples = 0
    for tile in tiles:
        rows, keys = shape.rows(tile)
        if not tile.level:
            files[shape.raw].write(rows, keys)
            n_samples += rows.height
            continue
        width = pl.lit(tile.width_s, pl.Int32).alias("width_s")
        held.append((rows.select(width, pl.all()), {**keys, "width_s": (tile.width_s,) * 2}))
        if n_samples > FEW_ROWS:
            for part in held:
                files[shape.levels].write(*part)
            held.clear()
    if not files[shape.raw].slices:
        files[shape.raw].write(empty_table(shape.raw), {})
    return {name: tuple(one.slices) for name, one in files.items() if one.slices}


class _Files:
    """The files of one table, numbered as they come."""

    def __init__(self, name: str, writer: SiteWriter) -> None:
        self._name = name
        self._writer = writer
        self.slices: list[Slice] = []

    def write(self, rows: pl.DataFrame, keys: Keys) -> None:
        first = len(self.slices)
        for entry, content in encode_table(self._name, [rows], folder=FOLDER, first=first):
            self._writer.write(entry.path, content)
            self.slices.append(replace(entry, keys={**entry.keys, **keys}))


def _gpu_rows(tile: Tile, lanes: pl.DataFrame) -> tuple[pl.DataFrame, Keys]:
    rows = tile.rows
    span = _span(rows["index"])
    if tile.level:
        means = pl.col(f"{name}_mean" for name in READINGS).cast(pl.Float32)
        return rows.rename({"index": "lane"}).with_columns(means), {"lane": span}
    places = lanes.select("node", "gpu")[rows["index"]]
    return rows.select("ts").hstack(places).hstack(rows.select(READINGS)), {"lane": span}


def _engine_rows(tile: Tile, metrics: Mapping[str, int]) -> tuple[pl.DataFrame, Keys]:
    number = metrics[str(tile.group)]
    if tile.level:
        rows = tile.rows.with_columns(pl.lit(number, pl.Int32).alias("metric"))
        return rows, {"metric": (number, number)}
    columns = ("addr", "engine_type", "dp_rank", "metric", "ts", "value")
    return tile.rows.select(columns), {"metric": (number, number)}


def _span(column: pl.Series) -> tuple[float, float]:
    return int(column.min()), int(column.max())  # type: ignore[arg-type]  # polars types them for every dtype


def _by_time(
    frame: pl.DataFrame, name: str, columns: tuple[str, ...], writer: SiteWriter
) -> tuple[Slice, ...]:
    files = _Files(name, writer)
    for part in _stretches(frame, columns[0]):
        files.write(part, {key: _extremes(part[key]) for key in columns if part.height})
    return tuple(files.slices)


def _extremes(times: pl.Series) -> tuple[float, float]:
    return float(times.min()), float(times.max())  # type: ignore[arg-type]  # as above


def _stretches(frame: pl.DataFrame, column: str) -> Iterator[pl.DataFrame]:
    """Rows of one stretch of time after another, short ones together; the order within stays.

    Where a file ends depends on what is before it alone.
    """
    if frame.height <= ROWS_A_STRETCH:
        yield frame
        return
    number = (pl.col(column) / RAW_TILE_S).floor().alias("_stretch")
    rows = frame.with_columns(number).sort("_stretch", maintain_order=True)
    counts = rows.group_by("_stretch", maintain_order=True).len()["len"].to_list()
    start = stop = 0
    for count in counts:
        stop += count
        if stop - start >= ROWS_A_STRETCH:
            yield rows[start:stop].drop("_stretch")
            start = stop
    if stop > start:
        yield rows[start:stop].drop("_stretch")
