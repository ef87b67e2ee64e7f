"""Where a site may be written: never into the dump, never over files that are not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miles_report.errors import UsageError
from miles_report.site.writer import STATE_FOLDER

if TYPE_CHECKING:
    from pathlib import Path


def check_places(dump: Path, site: Path) -> None:
    """Refuses an output directory that a build could do harm in; touches nothing.

    Raises:
        UsageError: it is the dump, lies in it or around it, is a file, or holds files but no site of ours.
    """
    inside, outside = site.resolve(), dump.resolve()
    if inside == outside or outside in inside.parents:
        raise UsageError(
            "The output directory lies in the dump, which is never written to: choose another."
        )
    if inside in outside.parents:
        raise UsageError(
            "The dump lies in the output directory: choose another, so that both stay apart."
        )
    check_ours(site)


def is_site(path: Path) -> bool:
    """Whether a directory holds a report rather than a dump."""
    return (path / "index.html").is_file() or (path / STATE_FOLDER).is_dir()


def check_ours(site: Path) -> None:
    """Refuses a directory that holds something but no site of ours.

    Raises:
        UsageError: as said; also if it is a file or cannot be listed.
    """
    try:
        if not site.exists() or (site / STATE_FOLDER).is_dir():
            return
        if not site.is_dir():
            raise UsageError(f"{site} is a file: choose a directory for the site.")
        if any(site.iterdir()):
            raise UsageError(
                f"{site} is not empty and was not made by miles-report: choose a new or empty directory."
            )
    except OSError as cause:
        raise UsageError(f"{site} cannot be looked into: {cause.strerror}.") from cause
