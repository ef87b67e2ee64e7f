"""A dump through the real command line, and its report as a reader finds it.

report = report_of(dump, site)             # builds and checks; both must succeed
report.notice("step-broken")               # the one notice of that code, as a dict
report.table("samples", 3)                 # read back from the slices
report.page("rollouts/step-3.html")        # text of a page
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from miles_report.cli import main
from miles_report.slices.read import open_catalog, open_step, read_table

if TYPE_CHECKING:
    import polars as pl
    from click.testing import Result

    from miles_report.slices.catalog import Catalog

ROOT = Path(__file__).parents[2]
NAMED_CATALOG = re.compile(r'<body[^>]* data-catalog="([^"]+)"')


def invoke(*arguments: object) -> Result:
    """Runs a command of miles-report here; whatever it does not handle is raised."""
    return CliRunner().invoke(
        main, [str(argument) for argument in arguments], catch_exceptions=False
    )


def refusal(*arguments: object, code: int) -> str:
    """The one sentence with which a command refuses, exit code as given."""
    done = invoke(*arguments)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("miles-report: ")
    return line.removeprefix("miles-report: ")


@dataclass(frozen=True)
class Report:
    """A built site."""

    site: Path

    def read(self, path: str) -> bytes:
        return (self.site / path).read_bytes()

    def page(self, path: str) -> str:
        return self.read(path).decode()

    @property
    def steps(self) -> dict[str, str]:
        """State of each step by the name of its page."""
        return {
            f"{'eval' if entry.evaluation else 'step'}-{entry.step}": entry.state
            for entry in self._root.steps
        }

    def table(
        self, name: str, step: int | None = None, *, evaluation: bool = False
    ) -> pl.DataFrame:
        """A table as its slices tell it."""
        catalog = self._root
        if step is not None:
            catalog = open_step(self.read, catalog, step, evaluation=evaluation)
        return read_table(self.read, catalog, name)

    @property
    def notices(self) -> list[dict[str, Any]]:
        return self.table("notices").to_dicts()

    def notice(self, code: str, source: str | None = None) -> dict[str, Any]:
        """The only notice of that code (and source); its sentence stands on the page of notices too."""
        (found,) = (
            row for row in self.notices if row["code"] == code and source in (None, row["source"])
        )
        return found

    @property
    def _root(self) -> Catalog:
        named = NAMED_CATALOG.search(self.page("index.html"))
        assert named
        return open_catalog(self.read, named[1])


def report_of(dump: Path, site: Path, *options: object) -> Report:
    """Builds a dump and checks the site; both exit with 0 and say so in one line."""
    done = invoke("build", dump, "-o", site, "--jobs", 1, *options)
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    assert line.startswith("Wrote "), line
    checked = invoke("check", site)
    assert checked.exit_code == 0, checked.output
    assert "no problem" in checked.stdout
    return Report(site)


PEAK = """
import re, sys
from pathlib import Path
from miles_report.cli import main
try:
    main()
finally:
    status = Path("/proc/self/status").read_text()  # getrusage would count what the parent took before the fork
    print("peak MiB", int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) >> 10, file=sys.stderr)
"""


def apart(
    *arguments: object, limit_s: float = 120.0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process of its own; its last line of stderr tells its peak of memory (`peak_mib`)."""
    return subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        **options,
    )


def peak_mib(done: subprocess.CompletedProcess[str]) -> int:
    """Peak of memory of a process started by `apart`."""
    return int(done.stderr.splitlines()[-1].removeprefix("peak MiB "))
