"""The command-line flags of the collector, declared once; argparse, click, the checks and the docs follow from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCRAPE_MODES = ("auto", "router", "direct")

SGLANG_METRICS = (
    "sglang_num_running_reqs",
    "sglang_num_queue_reqs",
    "sglang_gen_throughput",
    "sglang_token_usage",
    "sglang_cache_hit_rate",
    "sglang_num_prefill_prealloc_queue_reqs",
    "sglang_num_prefill_bootstrap_queue_reqs",
    "sglang_num_prefill_inflight_queue_reqs",
    "sglang_num_decode_prealloc_queue_reqs",
    "sglang_num_decode_transfer_queue_reqs",
    "sglang_kv_transfer_speed_gb_s",
    "sglang_kv_transfer_latency_ms",
    "sglang_prompt_tokens_total",
    "sglang_generation_tokens_total",
    "sglang_num_requests_total",
    "sglang_num_aborted_requests_total",
    "sglang_time_to_first_token_seconds_sum",
    "sglang_time_to_first_token_seconds_count",
    "sglang_inter_token_latency_seconds_sum",
    "sglang_inter_token_latency_seconds_count",
    "sglang_time_per_output_token_seconds_sum",
    "sglang_time_per_output_token_seconds_count",
    "sglang_e2e_request_latency_seconds_sum",
    "sglang_e2e_request_latency_seconds_count",
)
"""What is scraped of an engine unless --dashboard-sglang-metrics says otherwise; names with "_" for ":"."""


@dataclass(frozen=True)
class Flag:
    """One flag.

    Attributes:
        name: with its dashes.
        kind: what it takes; a switch takes nothing.
        default: of its value.
        help: one sentence.
    """

    name: str
    kind: Literal["switch", "seconds", "mode", "names"]
    default: float | str | bool | None
    help: str

    @property
    def attribute(self) -> str:
        """Its name among the parsed arguments."""
        return self.name.removeprefix("--").replace("-", "_")


FLAGS = (
    Flag(
        "--use-miles-dashboard",
        "switch",
        default=False,
        help="Collect live telemetry under {dump-details}/dashboard/. Needs --dump-details.",
    ),
    Flag(
        "--dashboard-flush-interval",
        "seconds",
        default=5.0,
        help="Collector disk flush cadence, in seconds.",
    ),
    Flag(
        "--dashboard-gpu-sample-interval",
        "seconds",
        default=1.0,
        help="NVML sampling cadence, in seconds.",
    ),
    Flag(
        "--dashboard-sglang-scrape-interval",
        "seconds",
        default=2.0,
        help="Engine scrape cadence, in seconds.",
    ),
    Flag(
        "--dashboard-sglang-scrape-mode",
        "mode",
        default="auto",
        help="auto scrapes {router}/engine_metrics, or each engine's /metrics under --use-miles-router; "
        "router and direct force one or the other.",
    ),
    Flag(
        "--dashboard-sglang-metrics",
        "names",
        default=None,
        help="Comma separated override of the scraped sglang metric whitelist.",
    ),
    Flag(
        "--dashboard-forward-prometheus",
        "switch",
        default=False,
        help="Also push dashboard gauges to the --use-prometheus collector for external Grafana.",
    ),
)
"""In the order of the documentation."""
