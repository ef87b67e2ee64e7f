"""An opened report: `open_site` reads its catalogue, `Site.table` the slices that hold what is asked for and nothing more.

The tables are those of `Run.table`, with per-token series as rounded as slices are. A report that is built anew while it is
read shows as files that are gone: the catalogue is looked up again, once, and the question asked again.
"""

from __future__ import annotations

import functools
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.errors import SourceError, UsageError
from miles_report.facts import RunFacts
from miles_report.notices import Notice
from miles_report.schema.tables import PER_STEP
from miles_report.slices.catalog import FileEntry, named_catalog, parse_catalog
from miles_report.slices.files import (
    TIMEOUT_S,
    FolderFiles,
    HttpFiles,
    UntrueFileError,
    fetch_entry,
    fetch_named,
)
from miles_report.slices.read import find_step
from miles_report.slices.select import (
    absent,
    check_lifecycles,
    run_table,
    step_lifecycles,
    step_table,
)
from miles_report.sources.files import IDENTIFYING
from miles_report.tables.frames import empty_table
from miles_report.tables.parameters import checked, known_table, parse_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from urllib.request import OpenerDirector

    from miles_report.slices.catalog import Catalog
    from miles_report.slices.files import SiteFiles
    from miles_report.slices.read import ReadFile

logger = logging.getLogger(__name__)

ENTRANCE = "index.html"
FURTHER = ("token_texts",)  # in slices beside the declared tables
BY_STEP = (*PER_STEP, "trajectories", *FURTHER)
ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
KEPT_FILES = 8
"""Files that stay in memory, near 1 MiB each, so that looking at one sample after another fetches nothing anew."""


class Site:
    """One report, as it was when opened or when it was last found to be built anew; see `open_site`.

    Args:
        files: where it lies.

    Raises:
        UsageError: no report lies there.
        SourceError: it cannot be fetched or trusted.
    """

    def __init__(self, files: SiteFiles) -> None:
        self._files = files
        self._fetch = functools.lru_cache(maxsize=KEPT_FILES)(functools.partial(fetch_entry, files))
        self._root = self._open_root()

    @property
    def place(self) -> str:
        """Path or address of its first page."""
        return self._files.name(ENTRANCE)

    @property
    def steps(self) -> list[int]:
        """Train steps of the report, ascending; also those that could not be read."""
        return [entry.step for entry in self._root.steps if not entry.evaluation]

    @property
    def eval_steps(self) -> list[int]:
        """Steps of the report at which an evaluation ran, ascending."""
        return [entry.step for entry in self._root.steps if entry.evaluation]

    @property
    def args(self) -> Mapping[str, Any]:
        """The recorded subset of the run's arguments; empty without telemetry."""
        return self.facts.args

    @property
    def facts(self) -> RunFacts:
        """What the run is."""
        told = self._root.facts
        return RunFacts(
            run_name=str(told.get("run_name", "")),
            args=told.get("args") or {},
            start_ts=told.get("start_ts"),
            has_tokenizer=bool(told.get("has_tokenizer")),
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything that was absent, skipped or broken when the report was built."""
        return tuple(Notice(**row) for row in self.table("notices").to_dicts())

    def table(self, name: str, **parameters: Any) -> pl.DataFrame:
        """One table of the contract, as `Run.table` gives it.

        Args:
            name: see `miles_report.schema.tables.TABLES`.
            **parameters: those the table declares. Omitted step: all steps that have data; the others are logged and stand
                in `notices`. `trajectories` needs a step.

        Returns:
            Its rows, with the declared columns in order; a run may add columns behind them. Per-token series of `tokens` are
            rounded as the schema says, and imp_ratio is exp(lp_diff) of the rounded lp_diff.

        Raises:
            UsageError: unknown table or parameter, or a value that makes no sense.
            NotFoundError: a step, row or sample that is not there; a table that reports do not hold.
            SourceError: a file that cannot be fetched, is missing or altered, or a step without data.
        """
        given = checked(known_table(name), parameters)
        try:
            return self._table(name, given)
        except UntrueFileError as gone:
            root = self._open_root()
            if root.path == self._root.path:
                raise
            logger.info("%s was built anew: %s", self.place, gone)
            self._root = root
        return self._table(name, given)

    def files(
        self, name: str, *, step: int | str | Iterable[int] | None = None, evaluation: bool = False
    ) -> list[str]:
        """Paths or addresses of the slices of a table, for other engines; rows in order over them.

        Args:
            name: of the table; also `token_texts`, the texts of token ids of a step.
            step: of a table that a report holds by step: only these; null: all that have data.
            evaluation: of the evaluations at those steps.

        Raises:
            UsageError: no such table, or steps of a table that is about the run.
            NotFoundError: the report has no such step, or does not hold the table.
            SourceError: a catalogue cannot be had, or a step has no data.
        """
        if name not in FURTHER:
            known_table(name)
        if name in self._root.tables:
            if step is not None or evaluation:
                raise UsageError(f"A report holds {name} for the run as a whole: leave out step.")
            catalogs = [self._root]
        elif name not in BY_STEP:
            raise absent(name)
        else:
            steps = None if step is None else parse_steps(step)
            catalogs = [catalog for _, catalog in self._opened(steps, evaluation=evaluation)]
        return [
            self._files.name(part.path)
            for catalog in catalogs
            for part in catalog.tables.get(name, ())
        ]

    def _table(self, name: str, given: Mapping[str, Any]) -> pl.DataFrame:
        if name in PER_STEP:
            return self._per_step(name, **given)
        if name == "trajectories":
            return self._lifecycles(**given)
        return run_table(self._reader(self._root), self._root, name, **given)

    def _per_step(
        self,
        name: str,
        *,
        step: list[int] | None = None,
        evaluation: bool = False,
        **selection: Any,
    ) -> pl.DataFrame:
        frames = [
            step_table(self._reader(catalog), catalog, number, name, **selection)
            for number, catalog in self._opened(step, evaluation=evaluation)
        ]
        return pl.concat(frames, how="diagonal_relaxed") if frames else empty_table(name)

    def _lifecycles(
        self,
        *,
        step: list[int] | None = None,
        t0: float | None = None,
        t1: float | None = None,
        **selection: Any,
    ) -> pl.DataFrame:
        frames = [
            step_lifecycles(self._reader(catalog), catalog, number, **selection)
            for number, catalog in self._opened(check_lifecycles(step, t0, t1), evaluation=False)
        ]
        return pl.concat(frames) if frames else empty_table("trajectories")

    def _opened(
        self, steps: list[int] | None, *, evaluation: bool
    ) -> Iterator[tuple[int, Catalog]]:
        """The catalogues of the given steps, else of all that have one."""
        if steps is None:
            listed = [entry for entry in self._root.steps if entry.evaluation == evaluation]
            for entry in listed:
                if entry.catalog is None:
                    logger.warning("left out: step %d was %s", entry.step, entry.state)
            steps = [entry.step for entry in listed if entry.catalog is not None]
        for step in steps:
            found = find_step(self._root, step, evaluation=evaluation)
            yield step, self._parsed(found.path, self._fetch(found))

    def _reader(self, catalog: Catalog) -> ReadFile:
        """Files by path, each held against what the catalogue says of it."""
        listed = {
            part.path: FileEntry(part.path, part.bytes, part.sha256)
            for parts in catalog.tables.values()
            for part in parts
        }
        return lambda path: self._fetch(listed[path])

    def _open_root(self) -> Catalog:
        """The catalogue that the first page names now."""
        path = self._named_by_entrance()
        try:
            content = fetch_named(self._files, path)
        except UntrueFileError:
            newer = self._named_by_entrance()
            if newer == path:
                raise
            path, content = newer, fetch_named(self._files, newer)
        return self._parsed(path, content)

    def _named_by_entrance(self) -> str:
        try:
            page = self._files.fetch(ENTRANCE)
        except UntrueFileError as cause:
            raise UsageError(f"There is no report at {self.place}.") from cause
        path = named_catalog(page.decode(errors="replace"))
        if not path:
            raise UsageError(f"{self.place} is no report of miles-report: it names no catalogue.")
        return path

    def _parsed(self, path: str, content: bytes) -> Catalog:
        try:
            return parse_catalog(path, content)
        except ValueError as cause:
            raise SourceError(self._files.name(path), "", str(cause)) from cause


def open_site(
    place: str | Path, *, opener: OpenerDirector | None = None, timeout_s: float = TIMEOUT_S
) -> Site:
    """Opens a published report: fetches its first page and its catalogue, and nothing large.

    Args:
        place: its folder, or the address of it or of its first page, http or https.
        opener: of urllib, where a server wants headers or cookies; null: the usual one.
        timeout_s: for each wait on the network, seconds.

    Raises:
        UsageError: no report lies there.
        SourceError: it cannot be fetched or trusted.
    """
    text = str(place)
    if ADDRESS.match(text):
        return Site(HttpFiles(text, opener=opener, timeout_s=timeout_s))
    folder = Path(place)
    if any((folder / name).is_dir() for name in IDENTIFYING):
        raise UsageError(f"There is no report at {folder}. It is a dump: open it with open_run.")
    return Site(FolderFiles(folder.parent if folder.is_file() else folder))
