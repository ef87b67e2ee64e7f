"""Train packs of a step into shards: what one rank file holds, its columns checked for shape but not yet joined.

A column is row-aligned with `sample_indices` or it belongs to the batch. Columns nobody shows (routed experts, pixels) stay
what the container gave: views of the file that are never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.errors import SourceError
from miles_report.sources.sequences import floats, integers
from miles_report.sources.values import Unfit, UnfitError, integer, number, type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.notices import Notice
    from miles_report.sources.sequences import Array

FORMATS = ("thd", "bshd")
MAX_CP_SIZE = 4096


@dataclass(frozen=True)
class Shard:
    """One rank file.

    Attributes:
        rank: from the file's name.
        source: name of the file.
        sample_indices: one a row; null where the sample has none.
        columns: as recorded, by name.
        cp_rank: context-parallel rank; null: an older file that does not say.
        cp_size: context-parallel ranks; 1 where the file does not say.
        qkv_format: "thd" or "bshd".
    """

    rank: int
    source: str
    sample_indices: tuple[int | None, ...]
    columns: Mapping[str, Any]
    cp_rank: int | None
    cp_size: int
    qkv_format: str

    @property
    def n_rows(self) -> int:
        """Samples in the file."""
        return len(self.sample_indices)

    def rows(self, name: str) -> Sequence[Any] | Array | None:
        """A row-aligned column; null if the file lacks it or it does not have one entry a row."""
        column = self.columns.get(name)
        if isinstance(column, np.ndarray):
            return column if column.ndim and len(column) == self.n_rows else None
        if isinstance(column, list | tuple) and len(column) == self.n_rows:
            return column
        return None

    def sequence(self, name: str, row: int) -> Array | None:
        """One row of a column of float sequences; null if it is not recorded or no such sequence."""
        column = self.rows(name)
        if column is None or column[row] is None:
            return None
        try:
            return floats(column[row])
        except UnfitError:
            return None

    def whole_numbers(self, name: str, row: int) -> Array | None:
        """One row of a column of integer sequences; null if it is not recorded or no such sequence."""
        column = self.rows(name)
        if column is None or column[row] is None:
            return None
        try:
            return integers(column[row])
        except UnfitError:
            return None

    def count(self, name: str, row: int) -> int | None:
        """One row of a column of integers; null if not recorded."""
        column = self.rows(name)
        if column is None:
            return None
        try:
            return integer(column[row])
        except UnfitError:
            return None

    def number(self, name: str, row: int) -> float | None:
        """One row of a column of numbers; null if not recorded."""
        column = self.rows(name)
        if column is None:
            return None
        try:
            return number(column[row])
        except UnfitError:
            return None


def shard_of(pack: Any, rank: int, source: str) -> Shard:
    """A loaded train pack as a shard.

    Args:
        pack: what the container held.
        rank: from the file's name.
        source: name of the file for errors.

    Raises:
        SourceError: it is no train pack, or does not say whose rows it holds.

    Source: train_data/{step}_{rank}.pt.
    """
    columns = pack.get("rollout_data") if isinstance(pack, dict) else None
    if not isinstance(columns, dict):
        raise SourceError(
            source, "", "It is no train pack: it has no rollout_data. Restore the file."
        )
    try:
        indices = _indices(columns.get("sample_indices"))
    except UnfitError as cause:
        found = type_name(columns.get("sample_indices"))
        raise SourceError(
            source,
            "sample_indices",
            f"The column that tells whose rows these are is of type {found}, not a list of integers.",
        ) from cause
    cp_rank, cp_size = _context_parallel(pack, source)
    qkv_format = pack.get("qkv_format") or "thd"
    if not isinstance(qkv_format, str) or qkv_format not in FORMATS:
        raise SourceError(source, "qkv_format", f"The layout is none of {', '.join(FORMATS)}.")
    return Shard(rank, source, indices, columns, cp_rank, cp_size, qkv_format)


def _indices(column: Any) -> tuple[int | None, ...]:
    if isinstance(column, list | tuple) and None in column:
        return tuple(None if index is None else integer(index) for index in column)
    return tuple(integers(column).tolist())


def _context_parallel(pack: Mapping[str, Any], source: str) -> tuple[int | None, int]:
    if pack.get("cp_rank") is None or pack.get("cp_size") is None:
        return None, 1
    try:
        cp_rank, cp_size = integer(pack["cp_rank"]), integer(pack["cp_size"])
    except UnfitError as cause:
        raise SourceError(source, "cp_rank", "cp_rank or cp_size is not an integer.") from cause
    if not 0 <= cp_rank < cp_size <= MAX_CP_SIZE:
        raise SourceError(
            source, "cp_rank", f"cp_rank {cp_rank} of cp_size {cp_size} makes no sense."
        )
    return cp_rank, cp_size


def raw_rewards(shards: Sequence[Shard], n_samples: int) -> tuple[list[float | None], list[Notice]]:
    """The batch-global raw_reward, one a sample of the rollout file, from the lowest rank whose column fits.

    Args:
        shards: by ascending rank.
        n_samples: samples of the rollout file.

    Returns:
        The rewards (null: none given, or a dict), all null if no column fits, and what did not fit.
    """
    unfit_shards = []
    for shard in shards:
        column = shard.columns.get("raw_reward")
        if column is None:
            continue
        fits = isinstance(column, list | tuple) or (
            isinstance(column, np.ndarray) and column.ndim == 1
        )
        if fits and len(column) == n_samples:
            unfit = Unfit(shard.source)
            values = [
                None if isinstance(value, dict) else unfit.read(number, value, "raw_reward", place)
                for place, value in enumerate(column)
            ]
            return values, list(unfit.notices())
        unfit_shards.append((shard, len(column) if fits else None))
    notices = []
    if unfit_shards:
        shard, length = unfit_shards[0]
        unfit = Unfit(shard.source, "column")
        trouble = (
            "is no list"
            if length is None
            else f"has {length} values for {n_samples} samples of the rollout file"
        )
        unfit.add("raw_reward", 0, trouble)
        notices = list(unfit.notices())
    return [None] * n_samples, notices
