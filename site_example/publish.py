"""Builds the committed pages of the example: `python -m site_example.publish DUMP SITE`.

They are whole but for scripts and the SQL engine, which carry code of others; `omitted.txt` names what is left out, and
`miles-report check` expects it to be absent.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from miles_report.build import BuildOptions, build
from miles_report.site.verify import OMITTED
from miles_report.site.writer import STATE_FOLDER
from site_example.trim import DATED_S

KEPT_ASSETS = (".css", ".svg", ".txt")


def publish(dump: Path, site: Path, *, jobs: int | None = None) -> None:
    """Builds a site from a copy of the dump with fixed times, and takes scripts away.

    Args:
        dump: of the example.
        site: is made anew.
        jobs: as in `BuildOptions`.
    """
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="site-example-") as scratch:
        copy = Path(scratch) / "dump"
        shutil.copytree(dump, copy)
        for path in copy.rglob("*"):
            os.utime(path, (DATED_S, DATED_S))
        build(copy, site, BuildOptions(jobs=jobs))
    shutil.rmtree(site / STATE_FOLDER)  # what a next build would take over
    omitted = sorted(
        path.relative_to(site).as_posix()
        for path in (site / "assets").iterdir()
        if path.suffix not in KEPT_ASSETS
    )
    for name in omitted:
        (site / name).unlink()
    (site / OMITTED).write_text("".join(f"{name}\n" for name in omitted), encoding="utf-8")


def main() -> None:
    """Publishes."""
    parser = argparse.ArgumentParser(description="Builds the committed pages of the example.")
    parser.add_argument("dump", type=Path)
    parser.add_argument("site", type=Path)
    options = parser.parse_args()
    publish(options.dump, options.site)


if __name__ == "__main__":
    main()
