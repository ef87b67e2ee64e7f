"""What the advisory rules look at, gathered once: phases, engines, the newest step, health events."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.sources.stream_shapes import shape_of
from miles_report.tables.engine_series import engine_samples, fold, pooled
from miles_report.tables.frames import empty_table
from miles_report.tables.phase_records import RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TOKEN_USAGE = "sglang_token_usage"  # noqa: S105 - name of a metric
CACHE_HIT_RATE = "sglang_cache_hit_rate"
RUNNING = "sglang_num_running_reqs"
REQUESTS = "sglang_num_requests_total"
ABORTED = "sglang_num_aborted_requests_total"
ADVISED = (TOKEN_USAGE, CACHE_HIT_RATE, RUNNING, REQUESTS, ABORTED)
"""Engine metrics that rules need."""

MAX_RUNNING = "sglang_max_running_requests"


@dataclass(frozen=True)
class EngineView:
    """What the engines reported in the window.

    Attributes:
        folded: `fold` of the advised metrics.
        by_rank: the same of running requests with dp ranks apart.
        newest_ts: newest sample of any metric; null without one.
    """

    folded: pl.DataFrame
    by_rank: pl.DataFrame
    newest_ts: float | None

    def values(self, metric: str) -> pl.Series:
        """All values of all engines."""
        return pooled(self.folded, metric)

    def mean(self, metric: str) -> float:
        """Mean over all values of all engines; NaN without any, or if one is not finite."""
        values = self.values(metric)
        return _number(values.mean()) if values.is_finite().all() else math.nan

    def peak(self, metric: str) -> float:
        """Highest single value; NaN without any, or if one is not finite."""
        values = self.values(metric)
        return _number(values.max()) if values.is_finite().all() else math.nan

    def span(self, metric: str) -> tuple[float, float]:
        """First and last moment at which the metric was scraped; both NaN without."""
        stamps = self.folded.filter(pl.col("metric") == metric)["ts"]
        return _number(stamps.min()), _number(stamps.max())


def view_engines(blocks: Iterable[pl.DataFrame]) -> EngineView:
    """Reads the engine_series stream of a window once."""
    newest: list[float] = []

    def seen() -> Iterator[pl.DataFrame]:
        for block in blocks:
            newest.append(_number(block["ts"].max()))
            yield block

    samples = engine_samples(seen(), ADVISED)
    running = samples.filter((pl.col("metric") == RUNNING) & pl.col("dp_rank").is_not_null())
    return EngineView(
        folded=fold(samples),
        by_rank=fold(running, per_dp_rank=True),
        newest_ts=max(newest, default=None),
    )


@dataclass(frozen=True)
class AdvisoryInputs:
    """Everything the rules look at.

    Attributes:
        args: the run's recorded arguments.
        start_ts: start of the last attempt.
        last_ts: latest record of the run.
        records: `phase_records` of the whole run.
        engines: of the window.
        health: health events of the window, in file order.
        step: newest row of `steps` that could be read; null without one.
        mfu: the `mfu` table.
    """

    args: Mapping[str, Any] = field(default_factory=dict)
    start_ts: float | None = None
    last_ts: float | None = None
    records: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RECORDS))
    engines: EngineView = field(default_factory=lambda: view_engines([]))
    health: pl.DataFrame = field(default_factory=lambda: shape_of("health").empty())
    step: Mapping[str, Any] | None = None
    mfu: pl.DataFrame = field(default_factory=lambda: empty_table("mfu"))

    @property
    def colocate(self) -> bool:
        """Whether trainer and engines share GPUs."""
        return self.args.get("colocate") is True

    @property
    def max_running(self) -> float:
        """The configured cap on running requests of an engine; NaN if it was not recorded."""
        value = self.args.get(MAX_RUNNING)
        is_cap = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        return float(value) if is_cap else math.nan  # type: ignore[arg-type]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
