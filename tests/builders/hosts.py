"""Local web servers, each treating a site as some real host does; what they sent is counted.

with serve(folder, Host(prefix="/reports/run-7/", compresses=True)) as served:
    served.url                     # ends with a slash
    served.sent                    # [(path from the root of the site, bytes of the body)]
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Patterns = tuple[str, ...]
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript",
    "css": "text/css",
    "json": "application/json",
    "svg": "image/svg+xml",
    "wasm": "application/wasm",
}
HELD_S = 60.0


@dataclass(frozen=True)
class Host:
    """How a server treats a site. Patterns are of fnmatch, over paths from the root of the site.

    Attributes:
        prefix: path under which the site lies; all else is not there.
        has_index: whether a folder is answered with its index.html, else 403.
        head: how HEAD is answered: as GET, with 405, or with a length that is not that of the file.
        compresses: whether everything is sent as gzip to who accepts it.
        always_compresses: whether it is also sent so to who does not.
        plain: suffixes that are said to be text/plain.
        missing: files answered with 404.
        soft_missing: files answered with 200 and the first page.
        altered: files of which one byte is another.
        cut: files whose transfer breaks off in the middle, the first time that each is asked for.
        failing: files answered with 500, the first time that each is asked for.
        held: files that are not answered before `Served.release`.
    """

    prefix: str = "/"
    has_index: bool = True
    head: Literal["right", "refused", "wrong"] = "right"
    compresses: bool = False
    always_compresses: bool = False
    plain: Patterns = ()
    missing: Patterns = ()
    soft_missing: Patterns = ()
    altered: Patterns = ()
    cut: Patterns = ()
    failing: Patterns = ()
    held: Patterns = ()


@dataclass
class Served:
    """A running server.

    Attributes:
        url: of the site, ends with a slash.
        sent: path and bytes of the body of every GET that was answered with 200, in order.
        asked: method and path of every request.
    """

    url: str
    sent: list[tuple[str, int]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    _gate: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        """Answers what was held."""
        self._gate.set()

    def wait(self) -> None:
        """Waits for `release`."""
        assert self._gate.wait(HELD_S), "nobody released the held files"

    def bytes_of(self, pattern: str) -> int:
        """Bytes sent of the files that match."""
        return sum(size for path, size in self.sent if fnmatch(path, pattern))


@contextlib.contextmanager
def serve(folder: Path, host: Host | None = None) -> Iterator[Served]:
    """Serves a folder from another thread."""
    host, served = host or Host(), Served("")
    handler = functools.partial(_Handler, folder=folder, host=host, served=served, seen=set())
    with _Server(("127.0.0.1", 0), handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}{host.prefix}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield served
        finally:
            served.release()
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def serve_python(folder: Path) -> Iterator[str]:
    """`python -m http.server` over a folder; gives its address."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "--directory", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            port = re.search(r"port (\d+)", process.stdout.readline())
            yield f"http://127.0.0.1:{port[1]}/"
        finally:
            process.terminate()


NGINX = """
daemon off; user root; pid {scratch}/pid; error_log {scratch}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {scratch}/a; proxy_temp_path {scratch}/b; fastcgi_temp_path {scratch}/c;
  uwsgi_temp_path {scratch}/d; scgi_temp_path {scratch}/e;
  types {{ text/html html; text/css css; application/javascript js; application/json json; image/svg+xml svg; }}
  default_type application/octet-stream;
  gzip on; gzip_min_length 1; gzip_types *;
  server {{ listen 127.0.0.1:{port}; location {prefix} {{ alias {folder}/; index none; }} }}
}}
"""


def has_nginx() -> bool:
    """Whether nginx is on the PATH."""
    return shutil.which("nginx") is not None


@contextlib.contextmanager
def serve_nginx(folder: Path, scratch: Path, *, prefix: str = "/") -> Iterator[str]:
    """A real nginx over a folder: under a sub-path, gzip on the fly, no index documents; gives its address.

    It inherits a socket that listens already, so nobody has to wait until it is up. Its `user` counts where it is started by
    root: only root may look into the folders of pytest then.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, number = listening.getsockname()[1], listening.fileno()
        config = scratch / "nginx.conf"
        config.write_text(
            NGINX.format(scratch=scratch, port=port, prefix=prefix, folder=folder.resolve())
        )
        with subprocess.Popen(
            ["nginx", "-p", str(scratch), "-e", str(scratch / "error.log"), "-c", str(config)],
            env={**os.environ, "NGINX": f"{number};"},
            pass_fds=(number,),
        ) as process:
            try:
                yield f"http://127.0.0.1:{port}{prefix}"
            finally:
                process.terminate()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A reader that left is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args, folder: Path, host: Host, served: Served, seen: set[str]) -> None:
        self.folder, self.host, self.served, self.seen = folder.resolve(), host, served, seen
        super().__init__(*args)

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self.served.asked.append(("HEAD", self.path))
        if self.host.head == "refused":
            self._refuse(405)
            return
        path = self._path()
        content = None if path is None else self._content(path)
        if content is None:
            self._refuse(404)
            return
        length = len(content) if self.host.head == "right" else len(content) // 3 + 7
        self._head(path, length)

    def do_GET(self) -> None:
        self.served.asked.append(("GET", self.path))
        path = self._path()
        if path is None or self._matches(path, self.host.missing):
            self._refuse(404)
            return
        if self._matches(path, self.host.held):
            self.served.wait()
        if self._matches(path, self.host.failing) and self._is_first(path):
            self._refuse(500)
            return
        if path.endswith("/") or path == "":
            if not self.host.has_index:
                self._refuse(403)
                return
            path += "index.html"
        content = self._content(path)
        if content is None:
            self._refuse(404)
            return
        self._send(path, content)

    def _send(self, path: str, content: bytes) -> None:
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        packs = self.host.always_compresses or (self.host.compresses and accepts)
        body = gzip.compress(content) if packs else content
        self._head(path, len(body), {"Content-Encoding": "gzip"} if packs else {})
        if self._matches(path, self.host.cut) and self._is_first(path):
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.served.sent.append((path, len(body)))  # before the reader can know that it is there
        self.wfile.write(body)

    def _head(self, path: str, length: int, headers: dict[str, str] | None = None) -> None:
        suffix = path.rpartition(".")[2]
        plain = suffix in self.host.plain
        kind = "text/plain" if plain else TYPES.get(suffix, "application/octet-stream")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _path(self) -> str | None:
        """The path from the root of the site; null outside of it."""
        whole = unquote(urlsplit(self.path).path)
        return whole[len(self.host.prefix) :] if whole.startswith(self.host.prefix) else None

    def _content(self, path: str) -> bytes | None:
        if self._matches(path, self.host.soft_missing):
            path = "index.html"
        target = (self.folder / path).resolve()
        if not target.is_relative_to(self.folder) or not target.is_file():
            return None
        content = target.read_bytes()
        if self._matches(path, self.host.altered):
            middle = len(content) // 2
            return content[:middle] + bytes([content[middle] ^ 0x5A]) + content[middle + 1 :]
        return content

    def _is_first(self, path: str) -> bool:
        known = path in self.seen
        self.seen.add(path)
        return not known

    @staticmethod
    def _matches(path: str, patterns: Patterns) -> bool:
        return any(fnmatch(path, pattern) for pattern in patterns)
