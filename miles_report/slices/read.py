"""Tables read back from the slices of a site, with the names and types they were declared with.

Only slices that can hold the wanted rows are opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from miles_report.errors import NotFoundError, SourceError, StillWritingError
from miles_report.schema.tables import TABLES
from miles_report.slices.catalog import parse_catalog
from miles_report.slices.parquet import decode
from miles_report.tables.frames import conform
from miles_report.tables.selection import clipped_span

if TYPE_CHECKING:
    from miles_report.slices.catalog import Catalog, FileEntry
    from miles_report.slices.slice import Slice

ReadFile = Callable[[str], bytes]
"""Content of a file of the site by its path."""


def open_catalog(read: ReadFile, path: str) -> Catalog:
    """The catalogue at that path.

    Raises:
        OSError: it is not there.
        ValueError: it is damaged.
    """
    return parse_catalog(path, read(path))


def find_step(root: Catalog, step: int, *, evaluation: bool) -> FileEntry:
    """The catalogue of one step, as the root catalogue lists it.

    Raises:
        NotFoundError: the site has no such step.
        SourceError: the step could not be read when the site was built.
        StillWritingError: the same, because it was still being written.
    """
    entry = root.step(step, evaluation=evaluation)
    what = f"evaluation {step}" if evaluation else f"step {step}"
    if entry is None:
        raise NotFoundError(f"There is no {what} in this report.")
    if entry.catalog is None:
        kind = StillWritingError if entry.state == "writing" else SourceError
        reason = f"it was {entry.state} when the report was built, which holds no data of it: see its notices."
        raise kind(root.path, what, reason)
    return entry.catalog


def open_step(read: ReadFile, root: Catalog, step: int, *, evaluation: bool) -> Catalog:
    """The catalogue of one step, opened.

    Raises:
        NotFoundError, SourceError: as `find_step`.
    """
    return open_catalog(read, find_step(root, step, evaluation=evaluation).path)


def read_table(
    read: ReadFile,
    catalog: Catalog,
    name: str,
    *,
    row: int | None = None,
    text: bool = True,
    wanted: Callable[[Slice], bool] | None = None,
) -> pl.DataFrame:
    """One table of a catalogue.

    Args:
        read: gives the content of a file of the site.
        catalog: of the run or of a step.
        name: of the table; `token_texts` is one too.
        row: only this sample; null: all.
        text: whether `tokens` get their `token_text`.
        wanted: which slices can hold the rows that are asked for; null: all. Of slices that overlap rows that do not count may
            come along.

    Returns:
        The declared columns first, in order, with their declared types; then columns of the run's own. `tokens` has imp_ratio
        computed from the rounded lp_diff.

    Raises:
        NotFoundError: the catalogue does not list the table.
        OSError: a slice is missing.
        SourceError: a slice is damaged.
    """
    slices = _slices_of(catalog, name)
    chosen = slices if wanted is None else tuple(filter(wanted, slices))
    frame = read_slices(read, chosen, row=row) if chosen else read_slices(read, slices[:1]).clear()
    if name == "tokens":
        frame = _with_derived(frame, read, catalog, text=text)
    return _declared(frame, name)


def read_span(
    read: ReadFile, catalog: Catalog, row: int, start: int | None, end: int | None
) -> pl.DataFrame:
    """The `tokens` of one sample at positions [start, end); slices that hold other positions of it alone are not opened.

    Args:
        read: gives the content of a file of the site.
        catalog: of a step.
        row: the sample, which the step has.
        start: first position; null: from the first.
        end: position after the last, clipped to the sample's length; null: to the last.

    Raises:
        UsageError: the positions selected are none.
        OSError: a slice is missing.
        SourceError: a slice is damaged.
    """
    slices = _slices_of(catalog, "tokens")
    passed = [entry for entry in slices if _is_passed(entry, row, start or 0, end)]
    opened = tuple(entry for entry in slices if entry not in passed)
    frame = read_slices(read, opened or slices[:1], row=row)
    lengths = [int(entry.keys["position"][1]) + 1 for entry in passed]
    if frame.height:
        lengths.append(int(frame["position"][-1]) + 1)
    first, last = clipped_span(start, end, max(lengths, default=0))
    frame = frame.filter(pl.col("position").is_between(first, last, closed="left"))
    return _declared(_with_derived(frame, read, catalog, text=True), "tokens")


def read_slices(
    read: ReadFile, slices: tuple[Slice, ...], *, row: int | None = None
) -> pl.DataFrame:
    """The rows of some slices of one table, with the types they have on disk.

    Args:
        read: gives the content of a file of the site.
        slices: of one table, at least one.
        row: only this sample, where the table has rows of samples; null: all.

    Raises:
        OSError: a slice is missing.
        SourceError: a slice is damaged.
    """
    parts = [_decoded(read, entry) for entry in slices if row is None or _may_hold(entry, row)]
    frame = pl.concat(parts, how="vertical_relaxed") if parts else _decoded(read, slices[0]).clear()
    if row is not None and "row" in frame.columns:
        frame = frame.filter(pl.col("row") == row)
    return frame


def _decoded(read: ReadFile, entry: Slice) -> pl.DataFrame:
    content = read(entry.path)
    try:
        return decode(content)
    except (ValueError, OSError, NotImplementedError) as cause:
        raise SourceError(entry.path, "", "it is damaged: it cannot be decoded.") from cause


def _slices_of(catalog: Catalog, name: str) -> tuple[Slice, ...]:
    slices = catalog.tables.get(name)
    if slices is None:
        raise NotFoundError(f"{catalog.path} has no table {name}.")
    return slices


def _may_hold(entry: Slice, row: int) -> bool:
    low, high = entry.keys.get("row", (row, row))
    return low <= row <= high


def _is_passed(entry: Slice, row: int, start: int, end: int | None) -> bool:
    """Whether a slice holds tokens of that sample only, and none in the span."""
    positions = entry.keys.get("position")
    if positions is None or entry.keys.get("row") != (row, row):
        return False
    return positions[1] < start or (end is not None and positions[0] >= end)


def _with_derived(
    frame: pl.DataFrame, read: ReadFile, catalog: Catalog, *, text: bool
) -> pl.DataFrame:
    frame = frame.with_columns(pl.col("lp_diff").exp().cast(pl.Float32).alias("imp_ratio"))
    texts = catalog.tables.get("token_texts", ())
    if not text or not texts:
        return frame.with_columns(pl.lit(None, pl.String).alias("token_text"))
    known = read_table(read, catalog, "token_texts").with_columns(
        pl.col("token_id").cast(frame["token_id"].dtype)
    )
    return frame.join(known, on="token_id", how="left", maintain_order="left")


def _declared(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """As declared; whole numbers of the run's own, which slices hold as narrow as they fit, get their width back."""
    wide = frame.with_columns(pl.col(pl.Int32).cast(pl.Int64))
    return conform(name, wide) if name in TABLES else wide
