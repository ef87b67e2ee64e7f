"""What a collector is told at its start; plain values that travel between processes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collector.curated import curated_args
from collector.flags import SGLANG_METRICS
from collector.options import check_options, metric_names

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_RUN_NAME = "miles-run"

BUFFER_RECORDS = 500_000
"""Records a stream holds while the disk cannot take them: an hour of 128 GPUs at one sample a second."""

BUFFER_BYTES = 256 << 20
"""Bytes of lines a stream holds; logged metrics have records of many kilobytes."""


@dataclass(frozen=True)
class CollectorConfig:
    """How to collect.

    Attributes:
        dump: the `--dump-details` directory; streams go into its `dashboard` folder.
        run_name: of meta.json.
        start_ts: when this attempt of the run began, Unix seconds. A collector that is started again with the same
            value goes on with the attempt; with another one it begins the next.
        args: curated arguments for meta.json.
        flush_interval_s: from one writing to the disk to the next.
        gpu_sample_interval_s: between readings of the GPUs.
        scrape_interval_s: between scrapes of the engines.
        scrape_mode: auto, router or direct.
        metrics: scraped names, with "_" for ":".
        use_miles_router: Miles's own router is in use, which has no engine metrics.
        router: address of the router, or "" if it is not known yet.
        forward_prometheus: hand a snapshot of the newest values on at every flush.
        buffer_records: most records a stream holds in memory.
        buffer_bytes: most bytes of lines a stream holds in memory.
    """

    dump: Path
    run_name: str = DEFAULT_RUN_NAME
    start_ts: float = 0.0
    args: Mapping[str, Any] = field(default_factory=dict)
    flush_interval_s: float = 5.0
    gpu_sample_interval_s: float = 1.0
    scrape_interval_s: float = 2.0
    scrape_mode: str = "auto"
    metrics: tuple[str, ...] = SGLANG_METRICS
    use_miles_router: bool = False
    router: str = ""
    forward_prometheus: bool = False
    buffer_records: int = BUFFER_RECORDS
    buffer_bytes: int = BUFFER_BYTES

    @property
    def dashboard(self) -> Path:
        """The folder of the streams."""
        return self.dump / "dashboard"

    @classmethod
    def from_args(cls, args: Any, *, start_ts: float | None = None) -> CollectorConfig:
        """The configuration that a command line asks for.

        Args:
            args: parsed arguments of the trainer.
            start_ts: when the attempt began; null: now.

        Raises:
            UsageError: see `check_options`.
        """
        check_options(args)

        def given(name: str, default: Any) -> Any:
            value = getattr(args, name, None)
            return default if value is None else value

        names = given("dashboard_sglang_metrics", None)
        return cls(
            dump=Path(args.dump_details),
            run_name=str(given("wandb_group", "") or DEFAULT_RUN_NAME),
            start_ts=time.time() if start_ts is None else start_ts,
            args=curated_args(args),
            flush_interval_s=float(given("dashboard_flush_interval", cls.flush_interval_s)),
            gpu_sample_interval_s=float(
                given("dashboard_gpu_sample_interval", cls.gpu_sample_interval_s)
            ),
            scrape_interval_s=float(
                given("dashboard_sglang_scrape_interval", cls.scrape_interval_s)
            ),
            scrape_mode=given("dashboard_sglang_scrape_mode", cls.scrape_mode),
            metrics=SGLANG_METRICS if names is None else metric_names(names),
            use_miles_router=bool(given("use_miles_router", default=False)),
            router=router_url(given("sglang_router_ip", None), given("sglang_router_port", None)),
            forward_prometheus=bool(given("dashboard_forward_prometheus", default=False)),
        )


def router_url(host: str | None, port: int | str | None) -> str:
    """The address of a router; "" while either part is unknown."""
    if not host or not port:
        return ""
    bracketed = f"[{host}]" if ":" in str(host) and not str(host).startswith("[") else host
    return f"http://{bracketed}:{port}"
