"""A small server for looking at a site on one's own machine: static files, byte ranges, nothing else.

Not for the open network. It never leaves the directory, follows no link out of it, lists nothing, and hides the state folder.
"""

from __future__ import annotations

import contextlib
import re
import threading
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from miles_report.errors import UsageError
from miles_report.site.writer import STATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".gz": "application/gzip",
    ".parquet": "application/vnd.apache.parquet",
}
OTHER_TYPE = "application/octet-stream"
HASHED = re.compile(r"-[0-9a-f]{16}\.[a-z]+$")
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class SiteHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD from one directory.

    Args:
        directory: the site, resolved.
    """

    protocol_version = "HTTP/1.1"
    server_version = "miles-report"

    def __init__(self, *args: Any, directory: Path) -> None:
        self._directory = directory
        super().__init__(*args)

    def do_GET(self) -> None:
        """The file, or the range of it that was asked for."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """As GET, without the file."""
        self._answer(with_body=False)

    def log_message(self, *_args: Any) -> None:
        """Says nothing: the terminal belongs to the command."""

    def _answer(self, *, with_body: bool) -> None:
        path = self._file()
        try:
            content = None if path is None else path.read_bytes()
        except OSError:
            content = None
        if path is None or content is None:
            self._head(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", 0)
            return
        total = len(content)
        span = self._range(total)
        if span is None:
            self._head(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                OTHER_TYPE,
                0,
                {"Content-Range": f"bytes */{total}"},
            )
            return
        first, last = span
        part = content[first : last + 1]
        is_partial = (
            self._asked() is not None
        )  # a range over the whole is one too: some readers insist on 206
        self._head(
            HTTPStatus.PARTIAL_CONTENT if is_partial else HTTPStatus.OK,
            CONTENT_TYPES.get(path.suffix, OTHER_TYPE),
            len(part),
            {
                "Cache-Control": "max-age=31536000, immutable"
                if HASHED.search(path.name)
                else "no-cache",
                **({"Content-Range": f"bytes {first}-{last}/{total}"} if is_partial else {}),
            },
        )
        if with_body:
            with contextlib.suppress(ConnectionError):
                self.wfile.write(part)

    def _head(
        self, status: HTTPStatus, kind: str, length: int, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _file(self) -> Path | None:
        """The file that the request names; null if there is none that may be shown."""
        try:
            name = unquote(urlsplit(self.path).path, errors="strict").lstrip("/")
            path = (self._directory / (name or "index.html")).resolve()
            inside = path.is_relative_to(self._directory)
            if path.is_dir():
                path /= "index.html"
            hidden = path.is_relative_to(self._directory / STATE_FOLDER)
            return path if inside and not hidden and path.is_file() else None
        except (ValueError, OSError):
            return None

    def _asked(self) -> re.Match[str] | None:
        """The single range of the request; null if it has none that is understood."""
        match = RANGE.fullmatch(self.headers.get("Range", "").strip())
        return None if match is None or match.groups() == ("", "") else match

    def _range(self, total: int) -> tuple[int, int] | None:
        """First and last byte to send, all of them without a single range; null if it lies behind the end."""
        match = self._asked()
        if match is None:
            return 0, total - 1
        if not match[1]:
            length = int(match[2])
            return (max(total - length, 0), total - 1) if length and total else None
        first = int(match[1])
        last = min(int(match[2]), total - 1) if match[2] else total - 1
        return (first, last) if first <= last else None


def open_server(directory: Path, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server that listens; the caller runs and closes it.

    Args:
        directory: the site.
        host: address to listen on.
        port: 0 for any free one.

    Raises:
        UsageError: no site there, or the port cannot be had.
    """
    if not (directory / "index.html").is_file():
        raise UsageError(f"{directory} holds no site: it has no index.html.")
    handler = partial(SiteHandler, directory=directory.resolve())
    try:
        return ThreadingHTTPServer((host, port), handler)
    except (OSError, OverflowError) as cause:
        raise UsageError(
            f"Port {port} of {host} cannot be had: {cause}. Choose another with --port."
        ) from cause


@contextlib.contextmanager
def serve(directory: Path, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serves a site from another thread; gives its address, which ends with a slash.

    Raises:
        UsageError: as `open_server`.
    """
    with open_server(directory, host=host, port=port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://{host}:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
