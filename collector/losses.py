"""Records that were dropped: counted where it happens, told in the health stream."""

from __future__ import annotations

from dataclasses import dataclass

from miles_report.schema.streams import HealthEvent


@dataclass
class Loss:
    """Records that were dropped.

    Attributes:
        n: how many.
        first_ts: earliest of them; infinite while none has a timestamp.
        last_ts: latest.
    """

    n: int = 0
    first_ts: float = float("inf")
    last_ts: float = float("-inf")

    def add(self, ts: float) -> None:
        """Counts one."""
        self.n += 1
        self.first_ts = min(self.first_ts, ts)
        self.last_ts = max(self.last_ts, ts)

    def join(self, other: Loss) -> None:
        """Counts those of another."""
        self.n += other.n
        self.first_ts = min(self.first_ts, other.first_ts)
        self.last_ts = max(self.last_ts, other.last_ts)


def loss_event(
    stream: str, loss: Loss, why: str, *, now: float, node: str | None = None
) -> HealthEvent:
    """A loss as an event; its detail starts with the name of the stream and a colon."""
    if loss.first_ts <= loss.last_ts:
        why = f"{why}; they were of {loss.first_ts:.3f} to {loss.last_ts:.3f}"
    return HealthEvent(
        now, "records_dropped", node=node, detail=f"{stream}: {loss.n} records were lost: {why}"
    )
