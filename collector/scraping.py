"""The scraper inside a collector: addresses come from it, samples and gaps go to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collector.scrape.scraper import EngineScraper, ScrapeSettings, Surroundings
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import Throttle
from miles_report.schema.streams import HealthEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collector.collector import DashboardCollector
    from collector.config import CollectorConfig
    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import EngineSample

WARN_EVERY_S = 300.0


class Scraping:
    """A thread that scrapes for one collector."""

    def __init__(
        self, collector: DashboardCollector, config: CollectorConfig, clock: Clock
    ) -> None:
        """Prepares; nothing is asked before `start`."""
        settings = ScrapeSettings(
            config.scrape_mode, config.use_miles_router, config.metrics, config.scrape_interval_s
        )
        self._scraper = EngineScraper(settings, _Around(collector, clock), clock)
        self._periodic = Periodic(
            self._scraper.tick,
            every_s=config.scrape_interval_s,
            clock=clock,
            name="engine scraper",
            throttle=Throttle(every_s=WARN_EVERY_S, clock=clock),
        )

    def start(self) -> None:
        """Begins."""
        self._periodic.start()

    def stop(self, timeout_s: float) -> bool:
        """Ends; False if an answer is still waited for."""
        return self._periodic.stop(timeout_s) and self._scraper.stop(timeout_s)


class _Around(Surroundings):
    def __init__(self, collector: DashboardCollector, clock: Clock) -> None:
        self._collector = collector
        self._clock = clock

    def router(self) -> str:
        return self._collector.router

    def engine_addrs(self) -> Sequence[str]:
        return [engine.addr for engine in self._collector.engines]

    def take_samples(self, samples: Sequence[EngineSample], *, through_router: bool) -> None:
        if through_router:
            self._collector.learn_engines(sorted({sample.addr for sample in samples}))
        self._collector.push_engine_samples(samples)

    def take_gap(self, addr: str, why: str) -> None:
        event = HealthEvent(
            self._clock.wall(), "records_dropped", addr=addr, detail=f"engine_series: {why}"
        )
        self._collector.push_health([event])
