"""Time as an argument: wall clock for what is written, monotonic for durations."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings of time, both in seconds."""

    def wall(self) -> float:
        """Unix seconds (UTC); may jump when the host's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back. Only differences mean something."""
        ...


class SystemClock:
    """The host's clocks."""

    def wall(self) -> float:
        """Unix seconds (UTC)."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to, for tests and replays."""

    def __init__(self, wall: float = 0.0, monotonic: float = 0.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def wall(self) -> float:
        """Unix seconds (UTC)."""
        return self._wall

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Moves both readings forward.

        Raises:
            ValueError: seconds is negative.
        """
        if seconds < 0:
            raise ValueError("time does not go back; set_wall sets the host's clock")
        self._wall += seconds
        self._monotonic += seconds

    def set_wall(self, wall: float) -> None:
        """Sets the wall clock alone, as an administrator or NTP does."""
        self._wall = wall
