"""Point-to-point weight transfers whose waits are bounded: one deadline for a batch, however many hang.

By default a transfer that fails is logged and told, and nothing else: no retry, no other way. Both are options. A transfer that
misses the deadline may still be running; whoever allows retries must allow two transfers to one engine.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faulttol.backend import attempt, error_of
from faulttol.waiting import wait_all
from miles_report.runtime.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from concurrent.futures import Future

    from faulttol.events import HealthLog
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class TransferReport:
    """How a batch went.

    Attributes:
        done: names of transfers that ended well, retried ones included.
        failed: names and what went wrong with those that did not.
        fell_back: whether the other way was taken for those that failed, and worked.
        took_s: from the first to the last.
    """

    done: tuple[str, ...]
    failed: Mapping[str, str]
    fell_back: bool
    took_s: float


class TransferPool:
    """Runs batches of transfers side by side."""

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        n_retries: int = 0,
        fall_back: Callable[[Collection[str]], Future[Any]] | None = None,
        log: HealthLog | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepares.

        Args:
            timeout_s: for a batch; each retry and the other way get as much again.
            n_retries: how often those that failed are begun again.
            fall_back: begins the other way, such as a broadcast, for the names given; null: there is none.
            log: is told.
            clock: the host's, if null.
        """
        self._timeout_s = timeout_s
        self._n_retries = n_retries
        self._fall_back = fall_back
        self._log = log
        self._clock = SystemClock() if clock is None else clock

    def run(self, transfers: Mapping[str, Callable[[], Future[Any]]]) -> TransferReport:
        """Begins all transfers, waits for them until the deadline; never raises for one that fails.

        Args:
            transfers: by name of the receiver; each begins its transfer and returns at once.
        """
        began = self._clock.monotonic()
        failed = self._attempt(transfers, transfers)
        for _ in range(self._n_retries):
            if not failed:
                break
            self._tell("p2p_retried", detail=", ".join(failed))
            failed = self._attempt(transfers, failed)
        fell_back = bool(failed) and self._fall_back is not None and self._take_other_way(failed)
        done = tuple(name for name in transfers if name not in failed)
        return TransferReport(done, failed, fell_back, self._clock.monotonic() - began)

    def _attempt(
        self, transfers: Mapping[str, Callable[[], Future[Any]]], names: Collection[str]
    ) -> dict[str, str]:
        calls = {name: attempt(transfers[name]) for name in names}
        began = self._clock.monotonic()
        wait_all(calls.values(), self._timeout_s, clock=self._clock)
        failed = {name: error for name, call in calls.items() if (error := self._error(call))}
        for name, error in failed.items():
            logger.error("[P2P] Transfer future failed: %s: %s", name, error)
            self._tell(
                "p2p_transfer_failed",
                latency_s=self._clock.monotonic() - began,
                detail=f"{name}: {error}",
            )
        return failed

    def _take_other_way(self, failed: Collection[str]) -> bool:
        assert self._fall_back is not None
        fall_back = self._fall_back
        call = attempt(lambda: fall_back(tuple(failed)))
        wait_all([call], self._timeout_s, clock=self._clock)
        error = self._error(call)
        self._tell("p2p_fell_back", detail=", ".join(failed) + (f": {error}" if error else ""))
        if error is not None:
            logger.error("[P2P] Broadcast fallback failed: %s", error)
        return error is None

    def _error(self, call: Future[Any]) -> str | None:
        return error_of(call) if call.done() else f"no answer within {self._timeout_s:g} s"

    def _tell(
        self, event: str, *, latency_s: float | None = None, detail: str | None = None
    ) -> None:
        if self._log is not None:
            self._log.tell(event, latency_s=latency_s, detail=detail)
