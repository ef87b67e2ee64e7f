"""One HTTP GET with a deadline for the whole of it.

The standard clients time out between two packets: a server that sends a byte now and then holds them for ever. Proxies of the
environment are not used: engines are neighbours.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_BYTES = 32 << 20
"""No engine has so many metrics."""

CHUNK_BYTES = 1 << 16


class FetchError(Exception):
    """No usable answer; the message continues "it …"."""


@dataclass(frozen=True)
class Answer:
    """What a server said.

    Attributes:
        status: of HTTP.
        body: complete.
    """

    status: int
    body: bytes


def fetch(url: str, *, timeout_s: float) -> Answer:
    """The answer to a GET.

    Args:
        url: http or https.
        timeout_s: for connecting, sending and receiving together.

    Raises:
        FetchError: there was no answer, or it was cut off, too long or too late.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FetchError("has no http address")
    deadline = time.monotonic() + timeout_s
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname, port), timeout=timeout_s) as plain:
            connection = _secured(plain, parts.hostname) if parts.scheme == "https" else plain
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            request = f"GET {path} HTTP/1.0\r\nHost: {parts.netloc}\r\nAccept: text/plain\r\n\r\n"
            connection.sendall(request.encode("latin-1", "replace"))
            raw = _receive(connection, deadline)
        response = http.client.HTTPResponse(_Received(raw))  # type: ignore[arg-type]
        response.begin()
        return Answer(response.status, response.read())
    except TimeoutError as cause:
        raise FetchError(f"did not answer within {timeout_s:g} s") from cause
    except http.client.IncompleteRead as cause:
        raise FetchError("sent only a part of its answer") from cause
    except http.client.HTTPException as cause:
        raise FetchError("does not speak HTTP") from cause
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or cause
        raise FetchError(f"cannot be reached ({reason})") from cause


def _secured(plain: socket.socket, host: str) -> socket.socket:
    import ssl  # noqa: PLC0415 - heavy, and engines rarely have it

    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """All bytes until the server closes.

    Raises:
        TimeoutError: the deadline passed.
        FetchError: there is no end to it.
    """
    received = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            return bytes(received)
        received += chunk
        if len(received) > MAX_BYTES:
            raise FetchError("sent more than metrics")


class _Received:
    """What `HTTPResponse` needs of a socket, over bytes that are already there."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str, *_: object) -> io.BytesIO:
        del mode
        return io.BytesIO(self._raw)
