"""Per-token columns of the train files, each resolved over all rank files, as series over the response frame.

A field is taken from the lowest rank that has it: tensor-parallel twins hold copies, pipeline stages hold different fields.
Under context parallelism one slice of every cp rank is needed. A row counts only if its tokens are the sample's tokens and
its values are exactly as many as they have to be; otherwise the field is null for the sample and `failed` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.sources.context_parallel import Layout, chunk_size, legacy_ranks, reassemble
from miles_report.sources.sequences import join_series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.sources.join import Holding
    from miles_report.sources.rollout import Rollout
    from miles_report.sources.sequences import Array, Series
    from miles_report.sources.train import Shard

SLICED = (
    "rollout_log_probs",
    "log_probs",
    "ref_log_probs",
    "entropy",
    "ref_entropy",
    "advantages",
    "returns",
    "values",
    "teacher_log_probs",
    "opd_reverse_kl",
)
"""Columns that the trainer slices over context-parallel ranks."""

MAX_FURTHER = 24
"""Columns of its own that a run may add to the tokens table."""


@dataclass(frozen=True)
class _Plan:
    """How the rows of one sample fit together.

    Attributes:
        cp_ranks: cp rank by number of the shard; null: contradictory or unknown, nothing can be placed.
        layout: null where there is no context parallelism.
    """

    cp_ranks: Mapping[int, int] | None
    layout: Layout | None = None


_WHOLE = _Plan({})


class TokenSeries:
    """Resolves columns for all samples of a step.

    Attributes:
        failed: (n_samples,) bool, grows: a known column of the sample could not be placed.
        unfit: (number of the shard, row) of rows whose tokens are not the sample's.
    """

    def __init__(
        self, rollout: Rollout, shards: Sequence[Shard], holders: Sequence[Sequence[Holding]]
    ) -> None:
        self._rollout = rollout
        self._shards = shards
        self._holders = holders
        self._lengths = rollout.response_lengths
        self._plans: dict[int, _Plan] = {}
        self._fits: dict[Holding, bool] = {}
        self._is_whole = [shard.cp_rank is not None and shard.cp_size == 1 for shard in shards]
        self.failed = np.zeros(rollout.n_samples, dtype=bool)

    @property
    def unfit(self) -> list[Holding]:
        """Rows that were refused."""
        return sorted(holding for holding, fits in self._fits.items() if not fits)

    def masks(self) -> Series:
        """The trainer's loss mask (> 0) over the response frame."""
        pieces: list[Array | None] = []
        for row, length in enumerate(self._lengths.tolist()):
            mask = None
            for holding in self._holders[row]:
                number, place = holding
                found = self._shards[number].sequence("loss_masks", place)
                if found is not None and len(found) == length and self._is_same(row, holding):
                    mask = found > 0
                    break
            pieces.append(mask)
        return join_series(pieces, self._lengths, np.bool_)

    def known(self, name: str) -> Series | None:
        """A column of `SLICED`; null if no sample has it. Samples whose slices do not fit are marked in `failed`."""
        pieces: list[Array | None] = []
        for row in range(self._rollout.n_samples):
            piece, is_recorded = self._resolve(name, row)
            if piece is None and is_recorded:
                self.failed[row] = True
            pieces.append(piece)
        return self._joined(pieces)

    def further(self) -> dict[str, Series]:
        """Other columns of float sequences as long as the response (or as its slices), in order of their names.

        A column that does not fit some sample, other than one whose slices are lost anyway, is no per-token column.
        """
        found: dict[str, Series] = {}
        names = {name for shard in self._shards for name in shard.columns if isinstance(name, str)}
        for name in sorted(names - set(SLICED) - {"loss_masks", "tokens"}):
            if len(found) == MAX_FURTHER or not self._looks_per_token(name):
                continue
            pieces: list[Array | None] = []
            fits = True
            for row in range(self._rollout.n_samples):
                piece, is_recorded = self._resolve(name, row, allow_whole=True)
                fits = fits and (piece is not None or not is_recorded or bool(self.failed[row]))
                pieces.append(piece)
            series = self._joined(pieces) if fits else None
            if series is not None and any(piece is not None and len(piece) for piece in pieces):
                found[name] = series
        return found

    def _joined(self, pieces: Sequence[Array | None]) -> Series | None:
        if all(piece is None for piece in pieces):
            return None
        return join_series(pieces, self._lengths, np.float32)

    def _looks_per_token(self, name: str) -> bool:
        for shard in self._shards:
            rows = shard.rows(name)
            first = (
                next((row for row in rows if row is not None), None) if rows is not None else None
            )
            if isinstance(first, np.ndarray):
                return first.ndim == 1 and first.dtype.kind == "f"
            if isinstance(first, list | tuple):
                return bool(first) and type(first[0]) is float
        return False

    def _resolve(
        self, name: str, row: int, *, allow_whole: bool = False
    ) -> tuple[Array | None, bool]:
        """(values or null, whether any file recorded them) of one sample."""
        length = int(self._lengths[row])
        slices: dict[int, Array] = {}
        is_recorded = False
        for holding in self._holders[row]:
            number, place = holding
            piece = self._shards[number].sequence(name, place)
            if piece is None:
                continue
            is_recorded = True
            plan = self._plan(row)
            if plan.cp_ranks is None:
                return None, True
            if not self._is_same(row, holding):
                continue
            if plan.layout is None or (allow_whole and len(piece) == length):
                if len(piece) == length:
                    return piece, True
                continue
            cp_rank = plan.cp_ranks.get(number)
            if cp_rank is not None:
                slices.setdefault(cp_rank, piece)
                if len(slices) == plan.layout.cp_size:
                    return reassemble(slices, plan.layout), True
        return None, is_recorded

    def _is_same(self, row: int, holding: Holding) -> bool:
        """Whether a row of a shard has the sample's response length and tokens, as far as it records them."""
        known = self._fits.get(holding)
        if known is None:
            number, place = holding
            shard = self._shards[number]
            length = shard.count("response_lengths", place)
            known = length is None or length == self._lengths[row]
            tokens = shard.whole_numbers("tokens", place) if known else None
            if tokens is not None:
                known = np.array_equal(tokens, self._rollout.sample_tokens(row))
            self._fits[holding] = known
        return known

    def _plan(self, row: int) -> _Plan:
        plan = self._plans.get(row)
        if plan is None:
            holders = self._holders[row]
            is_whole = all(self._is_whole[number] for number, _ in holders)
            plan = self._plans[row] = _WHOLE if is_whole else self._cut_plan(row, holders)
        return plan

    def _cut_plan(self, row: int, holders: Sequence[Holding]) -> _Plan:
        total = int(np.diff(self._rollout.token_offsets[row : row + 2])[0])
        length = int(self._lengths[row])
        recorded = [holding for holding in holders if self._shards[holding[0]].cp_rank is not None]
        if not recorded:
            return self._legacy_plan(holders, total, length)
        layouts = set()
        for holding in recorded:
            shard = self._shards[holding[0]]
            layouts.add((shard.cp_size, shard.qkv_format, self._padded(holding, total)))
        if len(layouts) != 1:
            return _Plan(None)
        cp_size, _, padded = layouts.pop()
        if cp_size == 1:
            return _WHOLE
        if padded is None or padded < total:
            return _Plan(None)
        ranks: dict[int, Any] = {number: self._shards[number].cp_rank for number, _ in recorded}
        return _Plan(ranks, Layout(total, length, cp_size, chunk_size(padded, cp_size)))

    def _padded(self, holding: Holding, total: int) -> int | None:
        """Length that was cut into chunks; null if a bshd file does not say."""
        shard = self._shards[holding[0]]
        if shard.qkv_format == "thd":
            return total
        return shard.count("max_seq_lens", holding[1])

    def _legacy_plan(self, holders: Sequence[Holding], total: int, length: int) -> _Plan:
        slices = {}
        for number, place in holders:
            piece = self._shards[number].sequence("rollout_log_probs", place)
            if piece is not None:
                slices[number] = piece
        if not slices:
            return _WHOLE
        ranks = legacy_ranks(slices, total, length)
        if ranks is None:
            return _Plan(None)
        cp_size = max(ranks.values()) + 1
        if cp_size == 1:
            return _WHOLE
        return _Plan(ranks, Layout(total, length, cp_size, chunk_size(total, cp_size)))
