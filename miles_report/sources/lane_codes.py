"""GPU lanes as small numbers, so that millions of samples stay small and group fast."""

from __future__ import annotations

import polars as pl

CODED = pl.Schema(
    {
        "ts": pl.Float64(),
        "lane": pl.Int32(),
        "util": pl.Int32(),
        "mem_mb": pl.Int32(),
        "power_w": pl.Int32(),
    }
)
"""Samples as they are kept; a reading beyond 32 bits keeps the frame in 64."""

READINGS = ("util", "mem_mb", "power_w")


class LaneCodes:
    """Numbers lanes in the order in which they are first seen."""

    def __init__(self) -> None:
        self._seen = pl.DataFrame(schema={"node": pl.String, "gpu": pl.Int64, "lane": pl.Int32})

    @property
    def lanes(self) -> pl.DataFrame:
        """node, gpu and lane (their number), ascending."""
        return self._seen

    def encode(self, samples: pl.DataFrame) -> pl.DataFrame:
        """GPU samples with a lane number in place of node and gpu, in the same order; columns as in `CODED`."""
        coded = self._joined(samples)
        if coded["lane"].null_count():
            self._number(coded.filter(pl.col("lane").is_null()))
            coded = self._joined(samples)
        coded = coded.select(list(CODED))
        try:
            return coded.cast(CODED)
        except pl.exceptions.InvalidOperationError:
            return coded.with_columns(pl.col(READINGS).cast(pl.Int64))

    def _joined(self, samples: pl.DataFrame) -> pl.DataFrame:
        return samples.join(self._seen, on=["node", "gpu"], how="left", maintain_order="left")

    def _number(self, unknown: pl.DataFrame) -> None:
        fresh = unknown.select("node", "gpu").unique(maintain_order=True)
        first = self._seen.height
        numbers = pl.int_range(first, first + fresh.height, dtype=pl.Int32, eager=True)
        self._seen = pl.concat([self._seen, fresh.with_columns(numbers.alias("lane"))])
