"""Looks through a built site as a reader's browser would, and proves what pages promise: links, files, hashes, numbers.

Reads published files only, so it works on a copy fetched from a server too. It follows what pages name; leftovers of an older
generation do no harm and are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from miles_report.pages.format import plural
from miles_report.site.figures import FigureCheck, Shown
from miles_report.slices.catalog import Catalog, FileEntry, parse_catalog
from miles_report.slices.slice import content_hash

if TYPE_CHECKING:
    from pathlib import Path

    from miles_report.slices.slice import Slice

ENTRANCE = "index.html"
MAGIC = b"PAR1"
REFERENCES = {
    ("a", "href"),
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("figure", "data-spec"),
}
OMITTED = "omitted.txt"
"""In a site that was published without scripts: their paths, one a line. Only files of assets/ may be left out."""

MAX_PROBLEMS = 200
"""More than this say nothing new."""


@dataclass(frozen=True)
class SiteReport:
    """What was found.

    Attributes:
        problems: one sentence each; none if the site is whole.
        summary: one line.
    """

    problems: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class PageLinks:
    """What one page refers to.

    Attributes:
        path: of the page.
        links: files it refers to, from the site root.
        catalog: its catalogue; "" if it names none.
        shown: numbers it shows, by what they are.
    """

    path: str
    links: tuple[str, ...]
    catalog: str
    shown: tuple[Shown, ...]


def verify_site(root: Path) -> SiteReport:
    """Verifies a site, every page that can be reached and every file they and their catalogues name."""
    return _Verifier(root).report()


class _Verifier:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._problems: list[str] = []
        self._files: dict[str, bool] = {}
        self._catalogs: dict[str, Catalog | None] = {}
        self._n_bytes = 0
        self._omitted = _omitted(self._root)
        self._n_absent = 0

    def report(self) -> SiteReport:
        """Walks from the entrance, then over all other pages."""
        pages = self._pages()
        figures = FigureCheck(self._read, self._root_catalog(pages.get(ENTRANCE)))
        for page in pages.values():
            self._check_page(page, figures)
        self._problems += figures.problems()
        n_files = len(self._files) - self._n_absent
        checked = f"{plural(len(pages), 'page')} and {plural(n_files, 'file')} checked"
        if self._n_absent:
            checked += f", {plural(self._n_absent, 'file')} left out on purpose"
        verdict = plural(len(self._problems), "problem") if self._problems else "no problem"
        return SiteReport(
            tuple(self._problems[:MAX_PROBLEMS]),
            f"{self._root.name}: {checked}, {plural(figures.n_compared, 'number')} compared, {verdict}",
        )

    def _pages(self) -> dict[str, PageLinks]:
        """The entrance, all pages it leads to, and all other pages that are there."""
        others = sorted(
            path.relative_to(self._root).as_posix() for path in self._root.rglob("*.html")
        )
        waiting = [(path, "") for path in (ENTRANCE, *others)]
        pages: dict[str, PageLinks] = {}
        for path, named_by in waiting:
            content = None if path in pages else self._content(path, named_by)
            if content is not None:
                page = parse_page(path, content.decode(errors="replace"))
                pages[path] = page
                waiting += [(link, path) for link in page.links if link.endswith(".html")]
        return pages

    def _check_page(self, page: PageLinks, figures: FigureCheck) -> None:
        for link in page.links:
            self._exists(link, page.path)
        if page.catalog:
            catalog = self._catalog(page.catalog, page.path)
            if catalog is not None:
                figures.add(page.path, page.shown, catalog)

    def _root_catalog(self, entrance: PageLinks | None) -> Catalog | None:
        if entrance is None or not entrance.catalog:
            return None
        return self._catalog(entrance.catalog, ENTRANCE)

    def _catalog(self, path: str, page: str) -> Catalog | None:
        if path not in self._catalogs:
            self._catalogs[path] = self._open_catalog(path, page)
        return self._catalogs[path]

    def _open_catalog(self, path: str, page: str) -> Catalog | None:
        content = self._content(path, page)
        if content is None:
            return None
        if content_hash(content) not in path:
            self._problems.append(f"{path} does not have the content its name promises.")
        try:
            catalog = parse_catalog(path, content)
        except ValueError as error:
            self._problems.append(str(error))
            return None
        for parts in catalog.tables.values():
            for part in parts:
                self._check_slice(part, path)
        for step in catalog.steps:
            if step.catalog is not None and self._check_file(step.catalog, path):
                self._catalog(step.catalog.path, path)
        return catalog

    def _check_slice(self, part: Slice, named_by: str) -> None:
        content = self._check_file(FileEntry(part.path, part.bytes, part.sha256), named_by)
        if content is not None and not (content.startswith(MAGIC) and content.endswith(MAGIC)):
            self._problems.append(f"{part.path} is no Parquet file.")

    def _check_file(self, entry: FileEntry, named_by: str) -> bytes | None:
        content = self._content(entry.path, named_by)
        if content is None:
            return None
        if len(content) != entry.bytes:
            self._problems.append(
                f"{entry.path} has {len(content)} bytes instead of {entry.bytes}."
            )
            return None
        if content_hash(content) != entry.sha256:
            self._problems.append(f"{entry.path} was altered: its hash is not that of {named_by}.")
            return None
        return content

    def _exists(self, path: str, page: str) -> None:
        if path not in self._files:
            self._content(path, page)

    def _content(self, path: str, named_by: str) -> bytes | None:
        """The content of a file; null, with a problem told once, if it is not there."""
        known = self._files.get(path)
        if known is False:
            return None
        place = f" (named by {named_by})" if named_by else ""
        target = (self._root / path).resolve()
        if path in self._omitted and not target.exists():
            self._files[path] = False
            self._n_absent += 1
            return None
        self._files[path] = target.is_relative_to(self._root) and target.is_file()
        if not self._files[path]:
            self._problems.append(f"{path} is missing{place}.")
            return None
        try:
            return target.read_bytes()
        except OSError as cause:
            self._files[path] = False
            self._problems.append(f"{path} cannot be read{place}: {cause.strerror}.")
            return None

    def _read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()


def _omitted(root: Path) -> frozenset[str]:
    """Files that the site's owner has left out, and said so."""
    try:
        names = (root / OMITTED).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return frozenset()
    return frozenset(name for name in names if name.startswith("assets/"))


def parse_page(path: str, html: str) -> PageLinks:
    """What a page refers to and shows.

    Args:
        path: of the page, from the site root.
        html: its text.
    """
    parser = _PageParser(path)
    parser.feed(html)
    parser.close()
    return PageLinks(path, tuple(dict.fromkeys(parser.links)), parser.catalog, tuple(parser.shown))


class _PageParser(HTMLParser):
    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self._folder = path.rpartition("/")[0]
        self._cell: tuple[str, int] | None = None
        self._text = ""
        self._depth = 0
        self.links: list[str] = []
        self.catalog = ""
        self.shown: list[Shown] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Gathers references and the catalogue; begins a number."""
        values = {name: value or "" for name, value in attrs}
        for name, value in values.items():
            if (tag, name) == ("figure", "data-spec"):
                self.links.append(value)
            elif (tag, name) in REFERENCES:
                self._refer(value)
        if tag == "body":
            self.catalog = values.get("data-catalog", "")
        if tag not in VOID:
            self._depth += 1
        if "data-cell" in values and self._cell is None:
            self._cell, self._text = (values["data-cell"], self._depth), ""

    def handle_endtag(self, tag: str) -> None:
        """Ends a number."""
        if tag in VOID:
            return
        if self._cell is not None and self._cell[1] == self._depth:
            self.shown.append(Shown(self._cell[0], self._text.strip()))
            self._cell = None
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        """The text of a number."""
        if self._cell is not None:
            self._text += data

    def _refer(self, link: str) -> None:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return
        steps: list[str] = self._folder.split("/") if self._folder else []
        for step in unquote(parts.path).split("/"):
            if step == "..":
                if not steps:
                    self.links.append(unquote(parts.path))
                    return
                steps.pop()
            elif step not in {"", "."}:
                steps.append(step)
        self.links.append("/".join(steps))


VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
}  # fmt: skip
