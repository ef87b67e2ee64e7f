"""Ports of engines: none is handed out twice in a run, so a new engine never meets the remains of an old one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from miles_report.errors import MilesReportError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PORT = 15000
LAST_PORT = 65535


class PortsExhaustedError(MilesReportError):
    """A node has no port left above those that were handed out."""


class Ports:
    """A cursor a node, which only goes up. Share one among all groups of a job."""

    def __init__(self, first: int = FIRST_PORT) -> None:
        """Hands out `first` and what is above."""
        self._first = first
        self._next: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, node: str, n: int, find: Callable[[int, int], int]) -> tuple[int, ...]:
        """`n` free ports in a row.

        Args:
            node: address of the node.
            n: how many.
            find: (start, n) gives the first of n ports free on the node, at or above start; it may ask the node.

        Raises:
            PortsExhaustedError: there are none.
            ValueError: find answered with a port below start.
        """
        with self._lock:
            start = self._next.get(node, self._first)
            if start + n - 1 > LAST_PORT:
                raise PortsExhaustedError(f"no {n} ports are left on {node} above {start - 1}")
            first = find(start, n)
            if first < start:
                raise ValueError(f"{node} offered port {first}, which is below {start}")
            if first + n - 1 > LAST_PORT:
                raise PortsExhaustedError(f"no {n} ports are left on {node} above {start - 1}")
            self._next[node] = first + n
        return tuple(range(first, first + n))
