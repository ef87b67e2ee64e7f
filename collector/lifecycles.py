"""The life of every request as events: attempts, generations, tool calls.

A sample is anything with `index`, `group_index`, `weight_versions`, `status` and `metadata`, such as Miles's `Sample`; what it
lacks is written as unknown. The hooks only append to a queue and never raise.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from miles_report.schema.streams import COARSE_TURN, TrajectoryEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from collector.outbox import Queue
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

NO_INDEX = -1
MOST_DETAIL = 200
"""Characters of a detail."""

SEGMENT = "lifecycle"
"""Key of a sample's metadata that tells the times of its turn: {t0, t1, turn[, prev_t1][, req_ts]}."""

AGENT_GAP = "agent gap"


class TrajectorySink:
    """What a rollout tells of its samples; each call may get one sample or a list of them."""

    def __init__(self, queue: Queue, clock: Clock) -> None:
        """Prepares.

        Args:
            queue: of the trajectories stream.
            clock: stamps what happens now.
        """
        self._put = queue.put
        self._clock = clock

    def attempt_start(self, samples: Any) -> None:
        """A sample waits to be generated."""
        self._now("attempt_start", samples)

    def gen_start(self, samples: Any) -> None:
        """A sample has left the queue. Coarse: told apart by turn it is, if at all, by `gen_span`."""
        self._now("gen_start", samples)

    def attempt_end(self, samples: Any) -> None:
        """A sample is done, well or not; its turns are told too, if its metadata has their times."""
        try:
            ts = self._clock.wall()
            members = list(_each(samples))
            for sample in members:
                self._segment(sample)
            seen: set[tuple[int, int]] = set()
            for sample in members:
                key = (_index(sample, "index"), _index(sample, "group_index"))
                if key not in seen:  # siblings of one attempt share it
                    seen.add(key)
                    self._event(ts, "attempt_end", sample, COARSE_TURN, _status(sample))
        except Exception:  # the barrier of a collector hook
            logger.debug("trajectories.hook_failed", exc_info=True)

    def gen_span(self, samples: Any, t0: float, t1: float, *, turn: int, detail: str = "") -> None:
        """A turn was generated.

        Args:
            samples: whose.
            t0: Unix seconds.
            t1: Unix seconds.
            turn: from 1.
            detail: such as the number of tokens.
        """
        self._span("gen", samples, (t0, t1), turn=turn, detail=detail)

    def tool_span(self, samples: Any, t0: float, t1: float, *, turn: int, detail: str = "") -> None:
        """Tools ran after a turn.

        Args:
            samples: whose.
            t0: Unix seconds.
            t1: Unix seconds.
            turn: from 1, the turn that called them.
            detail: such as "2 calls".
        """
        self._span("tool", samples, (t0, t1), turn=turn, detail=detail)

    def _now(self, kind: str, samples: Any) -> None:
        try:
            ts = self._clock.wall()
            for sample in _each(samples):
                self._event(ts, kind, sample, COARSE_TURN, "")
        except Exception:  # the barrier of a collector hook
            logger.debug("trajectories.hook_failed", exc_info=True)

    def _span(
        self, kind: str, samples: Any, times: tuple[float, float], *, turn: int, detail: str
    ) -> None:
        try:
            t0, t1 = times
            for sample in _each(samples):
                self._event(float(t0), f"{kind}_start", sample, int(turn), detail)
                self._event(float(t1), f"{kind}_end", sample, int(turn), detail)
        except Exception:  # the barrier of a collector hook
            logger.debug("trajectories.hook_failed", exc_info=True)

    def _segment(self, sample: Any) -> None:
        """The turn that a sample's metadata tells: what the agent did before it, and its generation."""
        metadata = getattr(sample, "metadata", None)
        segment = metadata.get(SEGMENT) if isinstance(metadata, dict) else None
        if not isinstance(segment, dict):
            return
        times = {name: _time(segment.get(name)) for name in ("t0", "t1", "prev_t1", "req_ts")}
        turn, t0, t1 = segment.get("turn"), times["t0"], times["t1"]
        if type(turn) is not int or t1 is None:
            return
        request = times["req_ts"] if times["req_ts"] is not None else t0
        before = times["prev_t1"]
        if before is not None and request is not None and request > before:
            self._event(before, "tool_start", sample, turn - 1, AGENT_GAP)
            self._event(request, "tool_end", sample, turn - 1, AGENT_GAP)
        start = t0 if t0 is not None else request
        if start is not None:
            self._event(start, "gen_start", sample, turn, "")
        self._event(t1, "gen_end", sample, turn, _tokens(sample))

    def _event(self, ts: float, kind: str, sample: Any, turn: int, detail: str) -> None:
        self._put(
            TrajectoryEvent(
                ts,
                kind,
                _index(sample, "index"),
                _index(sample, "group_index"),
                turn,
                _version(sample),
                str(detail)[:MOST_DETAIL],
            )
        )


def _each(samples: Any) -> Iterable[Any]:
    return samples if isinstance(samples, list | tuple) else (samples,)


def _index(sample: Any, name: str) -> int:
    value = getattr(sample, name, None)
    return NO_INDEX if value is None else int(value)


def _version(sample: Any) -> str:
    """The newest weight version that generated for it; "" before any has."""
    versions = getattr(sample, "weight_versions", None)
    return str(versions[-1]) if versions else ""


def _status(sample: Any) -> str:
    status = getattr(sample, "status", "")
    return str(getattr(status, "value", status))


def _tokens(sample: Any) -> str:
    n_tokens = getattr(sample, "response_length", None)
    return "" if n_tokens is None else str(n_tokens)


def _time(value: Any) -> float | None:
    is_time = (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    )
    return float(value) if is_time else None
