"""Scripts, styles and the other files that all pages share, named by their content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import miles_report
from miles_report.errors import BuildError
from miles_report.slices.catalog import FileEntry
from miles_report.slices.slice import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.site.writer import SiteWriter

ENGINE = "duckdb-eh.wasm.gz"
"""The SQL engine; pages fetch it only when a reader runs a query."""

BUNDLES = (
    "report.js",
    "sample.js",
    "query.js",
    "theme.js",
    "vega.js",
    "report.css",
    "favicon.svg",
    "licenses.txt",
    "duckdb-worker.js",
    ENGINE,
)
"""Made by hatch_build.py; logical names as `Shell.assets` has them."""

ROBOTS = "robots.txt"
ROBOTS_TEXT = b"User-agent: *\nDisallow: /\n"
"""A report may name people's data and machines; whoever publishes it openly can change the file on the server."""


def write_assets(
    writer: SiteWriter,
    *,
    folder: Path | None = None,
    present: Mapping[str, FileEntry] | None = None,
) -> dict[str, FileEntry]:
    """Writes all assets.

    Args:
        writer: takes the files.
        folder: of the bundles; null: where the installation has them.
        present: files of the site that are in place; those that would be the same are left alone.

    Returns:
        The file of each logical name.

    Raises:
        BuildError: the bundles were not made.
    """
    folder = folder or Path(miles_report.__file__).parent / "_assets"
    entries = {}
    for name in BUNDLES:
        try:
            content = (folder / name).read_bytes()
        except OSError as cause:
            raise BuildError(
                f"The browser bundle {name} is missing from this installation: run python hatch_build.py in a checkout, "
                "or install miles-report again."
            ) from cause
        entries[name] = _write(name, content, writer, present or {})
    return entries


def asset_paths(entries: Mapping[str, FileEntry]) -> dict[str, str]:
    """Path of each logical name, as pages want it."""
    return {name: entry.path for name, entry in sorted(entries.items())}


def _write(
    name: str, content: bytes, writer: SiteWriter, present: Mapping[str, FileEntry]
) -> FileEntry:
    stem, _, suffix = name.partition(".")
    path = f"assets/{stem}-{content_hash(content)}.{suffix}"
    entry = FileEntry.of(path, content)
    if present.get(path) != entry:
        writer.write(path, content)
    return entry
