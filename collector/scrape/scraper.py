"""Keeps reading the metrics of all engines, through the router or one by one.

A gap stays a gap. Whatever a server does (404, a web page, half a line, silence) costs at most its own series: the router is
given up for the engines themselves where that is allowed, and each engine has a thread of its own.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collector.scrape.exposition import ExpositionError, read_exposition, wanted_names
from collector.scrape.fetch import FetchError, fetch
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import Throttle, ThrottledWarnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from collector.scrape.exposition import Scrape
    from collector.scrape.fetch import Answer
    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import EngineSample

logger = logging.getLogger(__name__)

TIMEOUT_S = 5.0
"""For one answer: longer than a busy engine takes, shorter than anybody waits for a chart."""

WARN_EVERY_S = 300.0

RETRY_ROUTER_S = 300.0
"""How often a router that was given up is tried again: engines may be out of reach but through it."""

MANY_FAILURES = 3
"""Failures in a row after which a router that does not answer properly is given up, too."""

HAS_NO_METRICS = frozenset({404, 405, 501})


@dataclass(frozen=True)
class ScrapeSettings:
    """What to scrape and how.

    Attributes:
        mode: auto, router or direct.
        use_miles_router: the router in use has no engine metrics.
        metrics: names with "_" for ":".
        every_s: from one scrape to the next.
    """

    mode: str
    use_miles_router: bool
    metrics: tuple[str, ...]
    every_s: float


class Surroundings:
    """What a scraper asks and tells; the collector is one."""

    def router(self) -> str:
        """Address of the router, "" while unknown."""
        raise NotImplementedError

    def engine_addrs(self) -> Sequence[str]:
        """Addresses of the engines now."""
        raise NotImplementedError

    def take_samples(self, samples: Sequence[EngineSample], *, through_router: bool) -> None:
        """Gets what was scraped."""
        raise NotImplementedError

    def take_gap(self, addr: str, why: str) -> None:
        """Gets the reason why there is nothing, at most once in five minutes an address."""
        raise NotImplementedError


class _NoMetricsError(Exception):
    """The router answers and has no engine metrics."""


class EngineScraper:
    """Scrapes until it is stopped; `tick` is one round."""

    def __init__(
        self,
        settings: ScrapeSettings,
        around: Surroundings,
        clock: Clock,
        *,
        get: Callable[..., Answer] = fetch,
    ) -> None:
        """Prepares; nothing is asked before `tick`.

        Args:
            settings: what and how.
            around: where addresses come from and samples go.
            clock: stamps scrapes and limits warnings.
            get: `fetch`, or what a test puts in its place.
        """
        self._settings = settings
        self._around = around
        self._clock = clock
        self._get = get
        self._wanted = wanted_names(settings.metrics)
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._gaps: dict[str, Throttle] = {}
        self._given_up: str | None = None
        self._retry_at = 0.0
        self._n_failures = 0
        self._engines: dict[str, Periodic] = {}

    def tick(self) -> None:
        """One round: reads the router, or sees that every engine is being read."""
        router = self._around.router()
        if self._reads_router(router):
            self._read_router(router)
        if self._reads_router(self._around.router()):
            self._follow(())
        elif self._settings.mode != "router":
            self._follow(self._around.engine_addrs())

    def stop(self, timeout_s: float) -> bool:
        """Ends the threads of the engines; False if one did not end in time."""
        deadline = self._clock.monotonic() + timeout_s
        ended = [
            periodic.stop(max(0.0, deadline - self._clock.monotonic()))
            for periodic in self._engines.values()
        ]
        self._engines.clear()
        return all(ended)

    def read_engine(self, addr: str) -> None:
        """Scrapes one engine."""
        ts = self._clock.wall()
        try:
            scrape = self._read(f"{addr.rstrip('/')}/metrics", ts, addr)
        except (FetchError, ExpositionError, _NoMetricsError) as cause:
            self._gap(addr, f"the engine {cause}")
            return
        if (
            addr in self._around.engine_addrs()
        ):  # taken away meanwhile: its late answer counts for nothing
            self._around.take_samples(scrape.samples, through_router=False)

    def _reads_router(self, router: str) -> bool:
        mode = self._settings.mode
        if mode == "auto":
            usable = bool(router) and not self._settings.use_miles_router
            return usable and (
                self._given_up != router or self._clock.monotonic() >= self._retry_at
            )
        return mode == "router" and bool(router)

    def _read_router(self, router: str) -> None:
        ts = self._clock.wall()
        try:
            scrape = self._read(f"{router.rstrip('/')}/engine_metrics", ts, None)
        except _NoMetricsError as cause:
            self._router_failed(router, str(cause), for_good=True)
        except (FetchError, ExpositionError) as cause:
            self._router_failed(router, str(cause), for_good=False)
        else:
            self._n_failures = 0
            self._given_up = None
            self._around.take_samples(scrape.samples, through_router=True)

    def _router_failed(self, router: str, why: str, *, for_good: bool) -> None:
        self._n_failures += 1
        was_given_up = self._given_up == router
        can_fall_back = self._settings.mode == "auto" and bool(self._around.engine_addrs())
        if can_fall_back and (for_good or was_given_up or self._n_failures >= MANY_FAILURES):
            self._given_up = router
            self._retry_at = self._clock.monotonic() + RETRY_ROUTER_S
            if not was_given_up:
                logger.warning(
                    "scraper.router_given_up: the router %s %s; its engines are scraped directly",
                    router,
                    why,
                )
            return
        self._gap(router, f"the router {why}")

    def _read(self, url: str, ts: float, addr: str | None) -> Scrape:
        answer = self._get(url, timeout_s=TIMEOUT_S)
        if answer.status in HAS_NO_METRICS:
            raise _NoMetricsError(f"answers {answer.status}")
        if answer.status != 200:
            raise FetchError(f"answers {answer.status}")
        scrape = read_exposition(answer.body, wanted=self._wanted, ts=ts, addr=addr)
        if not scrape.has_engine_metrics:
            raise _NoMetricsError("answers without engine metrics")
        return scrape

    def _gap(self, addr: str, why: str) -> None:
        self._warnings.warn(f"scraper.gap: {_kind(why)}", addr=addr, why=why)
        throttle = self._gaps.setdefault(addr, Throttle(every_s=WARN_EVERY_S, clock=self._clock))
        if throttle.allow() is not None:
            self._around.take_gap(addr, why)

    def _follow(self, addrs: Sequence[str]) -> None:
        """Starts a thread for each new engine and ends those of engines that are gone."""
        for addr in set(self._engines) - set(addrs):
            self._engines.pop(addr).stop(0.0)
            self._gaps.pop(addr, None)
        for addr in addrs:
            if addr not in self._engines:
                self._engines[addr] = Periodic(
                    functools.partial(self.read_engine, addr),
                    every_s=self._settings.every_s,
                    clock=self._clock,
                    name=f"scrape {addr}",
                    throttle=Throttle(every_s=WARN_EVERY_S, clock=self._clock),
                )
                self._engines[addr].start()


def _kind(why: str) -> str:
    """Router or engine: few names, as each is remembered."""
    return (
        "no metrics from the router"
        if why.startswith("the router")
        else "no metrics from an engine"
    )
