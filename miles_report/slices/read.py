"""Tables read back from the slices of a site, with the names and types they were declared with.

Only slices that can hold the wanted rows are opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from miles_report.errors import NotFoundError
from miles_report.schema.tables import TABLES
from miles_report.slices.catalog import parse_catalog
from miles_report.slices.parquet import decode
from miles_report.tables.frames import conform

if TYPE_CHECKING:
    from miles_report.slices.catalog import Catalog
    from miles_report.slices.slice import Slice

ReadFile = Callable[[str], bytes]
"""Content of a file of the site by its path."""


def open_catalog(read: ReadFile, path: str) -> Catalog:
    """The catalogue at that path.

    Raises:
        ValueError: it is damaged.
        OSError: it is not there.
    """
    return parse_catalog(path, read(path))


def open_step(read: ReadFile, root: Catalog, step: int, *, evaluation: bool) -> Catalog:
    """The catalogue of one step.

    Raises:
        NotFoundError: the site has no such step, or could not read it when it was built.
    """
    entry = root.step(step, evaluation=evaluation)
    if entry is None or entry.catalog is None:
        what = f"eval of step {step}" if evaluation else f"step {step}"
        why = "not in this report" if entry is None else entry.state
        raise NotFoundError(f"The site has no data of {what}: it is {why}.")
    return open_catalog(read, entry.catalog.path)


def read_table(
    read: ReadFile, catalog: Catalog, name: str, *, row: int | None = None, text: bool = True
) -> pl.DataFrame:
    """One table of a catalogue.

    Args:
        read: gives the content of a file of the site.
        catalog: of the run or of a step.
        name: of the table; `token_texts` is one too.
        row: only this sample; null: all.
        text: whether `tokens` get their `token_text`.

    Returns:
        The declared columns first, in order, with their declared types; then columns of the run's own. `tokens` has imp_ratio
        computed from the rounded lp_diff.

    Raises:
        NotFoundError: the catalogue does not list the table.
        OSError, ValueError: a slice is missing or damaged.
    """
    slices = catalog.tables.get(name)
    if slices is None:
        raise NotFoundError(f"{catalog.path} has no table {name}.")
    frame = read_slices(read, slices, row=row)
    if name == "tokens":
        frame = _with_derived(frame, read, catalog, text=text)
    return _declared(frame, name)


def read_slices(
    read: ReadFile, slices: tuple[Slice, ...], *, row: int | None = None
) -> pl.DataFrame:
    """The rows of some slices of one table, with the types they have on disk.

    Args:
        read: gives the content of a file of the site.
        slices: of one table, at least one.
        row: only this sample, where the table has rows of samples; null: all.

    Raises:
        OSError, ValueError: a slice is missing or damaged.
    """
    parts = [decode(read(entry.path)) for entry in slices if row is None or _may_hold(entry, row)]
    frame = pl.concat(parts) if parts else decode(read(slices[0].path)).clear()
    if row is not None and "row" in frame.columns:
        frame = frame.filter(pl.col("row") == row)
    return frame


def _may_hold(entry: Slice, row: int) -> bool:
    low, high = entry.keys.get("row", (row, row))
    return low <= row <= high


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
    return conform(name, frame) if name in TABLES else frame
