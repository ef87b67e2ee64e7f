"""Which engine metrics there are: those that were scraped, and the rates and means that follow from counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from miles_report.tables.frames import conform

if TYPE_CHECKING:
    from collections.abc import Mapping

RAW_ENDINGS = ("_total", "_sum", "_count")
"""Counters: their level says nothing, so they are not listed; they can be asked for by name."""

MEANS_OVER_RANKS = (
    "sglang_token_usage",
    "sglang_cache_hit_rate",
    "sglang_kv_transfer_latency_ms",
)
"""Metrics of which an engine's value is the mean over its dp ranks; of all others it is the sum."""


@dataclass(frozen=True)
class Derived:
    """A metric that follows from counters.

    Attributes:
        kind: rate (growth of `numerator` per second) or mean (its growth per growth of `denominator`).
        numerator: a counter.
        denominator: another; "" for a rate.
    """

    kind: Literal["rate", "mean"]
    numerator: str
    denominator: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The counters it needs."""
        return (self.numerator, self.denominator) if self.denominator else (self.numerator,)


def _rate(counter: str) -> Derived:
    return Derived("rate", f"sglang_{counter}_total")


def _mean(histogram: str) -> Derived:
    return Derived("mean", f"sglang_{histogram}_sum", f"sglang_{histogram}_count")


DERIVED: Mapping[str, Derived] = {
    "sglang_prompt_tokens_per_s": _rate("prompt_tokens"),
    "sglang_generation_tokens_per_s": _rate("generation_tokens"),
    "sglang_requests_per_s": _rate("num_requests"),
    "sglang_aborted_requests_per_s": _rate("num_aborted_requests"),
    "sglang_ttft_mean_s": _mean("time_to_first_token_seconds"),
    "sglang_inter_token_latency_mean_s": _mean("inter_token_latency_seconds"),
    "sglang_time_per_output_token_mean_s": _mean("time_per_output_token_seconds"),
    "sglang_e2e_latency_mean_s": _mean("e2e_request_latency_seconds"),
}


def inputs_of(metric: str) -> tuple[str, ...]:
    """The scraped metrics that a metric needs."""
    return DERIVED[metric].inputs if metric in DERIVED else (metric,)


def engine_metrics_table(scraped: pl.DataFrame) -> pl.DataFrame:
    """Available metrics by name.

    Args:
        scraped: metric and addr of all that was scraped, each pair once.

    Returns:
        Columns of the `engine_metrics` table. A mean is available on engines that report both of its counters.
    """
    engines = dict(scraped.group_by("metric").agg(pl.col("addr").unique()).iter_rows())
    rows = [
        (metric, "gauge", len(addrs))
        for metric, addrs in engines.items()
        if not metric.endswith(RAW_ENDINGS) and metric not in DERIVED
    ]
    for metric, derived in DERIVED.items():
        addrs = set.intersection(*(set(engines.get(one, ())) for one in derived.inputs))
        if addrs:
            rows.append((metric, derived.kind, len(addrs)))
    schema = {"metric": pl.String, "kind": pl.String, "engines": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return conform("engine_metrics", table.sort("metric"))
