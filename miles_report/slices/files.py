"""Files of a published site, from a folder or over http(s), held against what its catalogue says of them.

Whole files only: no range, no HEAD, and neither the length nor the type that a server names is trusted. Size and hash of
the catalogue decide; what was cut off on its way is fetched once more.
"""

from __future__ import annotations

import functools
import http.client
import zlib
from typing import TYPE_CHECKING, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import OpenerDirector, Request, build_opener

from miles_report.errors import SourceError, UsageError
from miles_report.slices.slice import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from miles_report.slices.catalog import FileEntry

ATTEMPTS = 2
"""A second one is for a connection that broke off, not for a host that is down."""

TIMEOUT_S = 30.0
MOST_BYTES = 1 << 28
"""No file of a site is near this; it bounds what a foreign server can make us hold."""

GONE = (403, 404, 410)
"""Answers for a file that is not there; hosts that list nothing say 403."""


ALTERED = (
    "it was altered: its hash is not the one it was written with. Build or copy the report again."
)


class UntrueFileError(SourceError):
    """A file that is not there, or not as its catalogue says: also what a site looks like that was built anew."""


class BrokenOffError(SourceError):
    """A file whose transfer failed; another attempt may succeed."""


class SiteFiles(Protocol):
    """Where a site lies."""

    def fetch(self, path: str) -> bytes:
        """The content of a file, as it is now.

        Args:
            path: from the root of the site.

        Raises:
            UntrueFileError: it is not there.
            SourceError: it cannot be had.
        """

    def name(self, path: str) -> str:
        """What messages call the file."""


class FolderFiles:
    """A site in a folder.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def fetch(self, path: str) -> bytes:
        """See `SiteFiles`."""
        try:
            return (self._root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as cause:
            raise UntrueFileError(self.name(path), "", "it is missing from this report.") from cause
        except OSError as cause:
            raise SourceError(
                self.name(path), "", f"it cannot be read: {cause.strerror}."
            ) from cause

    def name(self, path: str) -> str:
        """See `SiteFiles`."""
        return str(self._root / path)


class HttpFiles:
    """A site on a web server.

    Args:
        address: of the site or of a page in its root, http or https.
        opener: answers requests; null: plain urllib, with the proxies of the environment. One of one's own can add headers.
        timeout_s: for each wait on the network, seconds.

    Raises:
        UsageError: it is no such address.
    """

    def __init__(
        self, address: str, *, opener: OpenerDirector | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise UsageError(
                f"{address} is no address of a report; it begins with https:// or http://."
            )
        folder, _, last = parts.path.rpartition("/")
        is_page = last.endswith(".html") or not last
        path = f"{folder}/" if is_page else f"{parts.path}/"
        self._base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._opener = opener or build_opener()
        self._timeout_s = timeout_s

    def fetch(self, path: str) -> bytes:
        """See `SiteFiles`; a connection that fails is tried once more."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._get(path)
            except BrokenOffError:
                continue
        return self._get(path)

    def name(self, path: str) -> str:
        """See `SiteFiles`."""
        return self._base + quote(path)

    def _get(self, path: str) -> bytes:
        name = self.name(path)
        request = Request(  # noqa: S310 - the constructor lets http and https through, nothing else
            name, headers={"Accept-Encoding": "identity", "User-Agent": "miles-report"}
        )
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                content = _body(response)
                coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        except HTTPError as cause:
            cause.close()
            if cause.code in GONE:
                reason = f"it is missing from this report (the server answered {cause.code})."
                raise UntrueFileError(name, "", reason) from cause
            kind = (
                BrokenOffError
                if cause.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR
                else SourceError
            )
            raise kind(
                name, "", f"it could not be fetched: the server answered {cause.code}."
            ) from cause
        except (URLError, http.client.HTTPException, OSError) as cause:
            told = cause.reason if isinstance(cause, URLError) else cause
            words = "the server did not answer in time" if isinstance(told, TimeoutError) else told
            raise BrokenOffError(name, "", f"it could not be fetched: {words}.") from cause
        if len(content) > MOST_BYTES:
            raise SourceError(name, "", "it is larger than any file of a report.")
        return _decoded(name, content, coding)


def _body(response: http.client.HTTPResponse) -> bytes:
    """What the server sent; of a transfer that ends early what came, since only the catalogue knows whether that is all."""
    try:
        return response.read(MOST_BYTES + 1)
    except http.client.IncompleteRead as cut:
        return cut.partial


def _decoded(name: str, content: bytes, coding: str) -> bytes:
    if coding in {"identity", ""}:
        return content
    if coding not in {"gzip", "x-gzip"}:
        raise SourceError(name, "", f"it was sent as {coding}, which was not asked for.")
    try:
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, MOST_BYTES + 1)
    except zlib.error as cause:
        raise BrokenOffError(name, "", "it was sent as gzip, and cannot be unpacked.") from cause
    if len(plain) > MOST_BYTES:
        raise SourceError(name, "", "it is larger than any file of a report.")
    return plain


def fetch_entry(files: SiteFiles, entry: FileEntry) -> bytes:
    """The content of a file that a catalogue lists, proved by size and hash.

    Raises:
        UntrueFileError: it is missing, cut off or altered.
        SourceError: it cannot be had, or lies outside the site.
    """
    return _fetch_proved(files, entry.path, functools.partial(_problem, entry))


def fetch_named(files: SiteFiles, path: str) -> bytes:
    """The content of a file that nothing but a page names, proved by the hash in its name.

    Raises:
        UntrueFileError, SourceError: as `fetch_entry`.
    """
    return _fetch_proved(
        files, path, lambda content: "" if content_hash(content) in path else ALTERED
    )


def _fetch_proved(files: SiteFiles, path: str, problem_of: Callable[[bytes], str]) -> bytes:
    """The content of a file; one that has a problem is fetched once more, since it may have been cut off on its way."""
    steps = path.split("/")
    if ":" in path or "\\" in path or {"", ".", ".."} & set(steps):
        reason = f"its catalogue names {path!r}, which is no file of a report."
        raise SourceError(files.name("index.html"), "", reason)
    problem = ""
    for _ in range(ATTEMPTS):
        content = files.fetch(path)
        problem = problem_of(content)
        if not problem:
            return content
    raise UntrueFileError(files.name(path), "", problem)


def _problem(entry: FileEntry, content: bytes) -> str:
    if len(content) != entry.bytes:
        return (
            f"it has {len(content)} bytes where {entry.bytes} were written: it was cut off or altered. "
            "Build or copy the report again."
        )
    return "" if content_hash(content) == entry.sha256 else ALTERED
