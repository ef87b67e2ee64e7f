"""How often an engine may be started again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Verdict(StrEnum):
    """Whether an engine may be started again now."""

    ALLOWED = "allowed"
    TOO_EARLY = "too_early"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True)
class RestartBudget:
    """Limits of one engine's restarts; off by default.

    Attributes:
        most: restarts in a run; null: any number.
        backoff_s: between two restarts; doubles with each.
    """

    most: int | None = None
    backoff_s: float = 0.0

    def verdict(self, restarts: Sequence[float], now: float) -> Verdict:
        """Whether one more restart is within the budget.

        Args:
            restarts: monotonic seconds of those so far, in order, failed ones included.
            now: monotonic seconds.
        """
        if self.most is not None and len(restarts) >= self.most:
            return Verdict.EXHAUSTED
        if restarts and now - restarts[-1] < self.backoff_s * 2 ** min(len(restarts) - 1, 64):
            return Verdict.TOO_EARLY
        return Verdict.ALLOWED
