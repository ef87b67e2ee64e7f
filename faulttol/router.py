"""sglang's router told of engines that come and go, so that no request is sent to one that was killed."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any, Protocol

from miles_report.errors import UsageError

CALL_S = 5.0


class Router(Protocol):
    """What a group tells of its engines; called on threads of their own, and what is raised is logged."""

    def add(self, addr: str) -> object:
        """An engine is alive."""
        ...

    def remove(self, addr: str) -> object:
        """An engine is dead."""
        ...


class SglangRouter:
    """The worker API of `sglang-router`."""

    def __init__(self, address: str) -> None:
        """Prepares.

        Args:
            address: of the router, with http://.

        Raises:
            UsageError: it is no http address.
        """
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise UsageError(f"The router's address begins with http://, not {address!r}.")
        self._address = address.rstrip("/")

    def add(self, addr: str) -> None:
        """Adds a worker; the router asks it what it is.

        Raises:
            OSError: the router did not answer, or refused.
        """
        self._call("POST", "/workers", {"url": addr})

    def remove(self, addr: str) -> None:
        """Removes a worker; one that it does not know is no error.

        Raises:
            OSError: the router did not answer, or refused.
        """
        for worker in self._call("GET", "/workers").get("workers", ()):
            if worker.get("url") == addr:
                self._call("DELETE", f"/workers/{urllib.parse.quote(str(worker['id']), safe='')}")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            self._address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=CALL_S) as answer:  # noqa: S310 - see above
            return json.loads(answer.read() or b"{}")
