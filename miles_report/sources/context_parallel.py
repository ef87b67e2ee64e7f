"""Context-parallel slices of a response put together again.

With context parallelism of size c a sequence is cut, from the start of the prompt, into 2c chunks of equal size; rank r holds
chunk r and then chunk 2c - 1 - r, so that every rank has as much causal attention to do. Per-token results live in
logit space: the value of response token j was computed at position prompt - 1 + j. A slice is never placed unless its
length is exactly what the layout says; a wrong number is worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.sources.sequences import Array

Span = tuple[int, int]
"""Half-open range of response positions."""


@dataclass(frozen=True)
class Layout:
    """How one sample was cut.

    Attributes:
        total: tokens of prompt and response.
        response: tokens of the response.
        cp_size: context-parallel ranks.
        chunk: tokens a chunk.
    """

    total: int
    response: int
    cp_size: int
    chunk: int

    def spans(self, cp_rank: int) -> tuple[Span, Span]:
        """Response positions that a rank holds, in the order in which its slice holds them; either may be empty."""
        return self._span(cp_rank), self._span(2 * self.cp_size - 1 - cp_rank)

    def width(self, cp_rank: int) -> int:
        """Length of a rank's slice."""
        return sum(stop - start for start, stop in self.spans(cp_rank))

    def _span(self, number: int) -> Span:
        """Without a prompt the first response token has no logit: position -1 is in no chunk."""
        first_logit = self.total - self.response - 1
        start = max(number * self.chunk, first_logit, 0)
        stop = min((number + 1) * self.chunk, self.total - 1)
        if stop <= start:
            return 0, 0
        return start - first_logit, stop - first_logit


def chunk_size(padded: int, cp_size: int) -> int:
    """Tokens a chunk: `padded` is the sample's own length (thd) or the batch's longest (bshd)."""
    return -(-padded // (2 * cp_size))


def reassemble(slices: Mapping[int, Array], layout: Layout) -> Array | None:
    """One series of a response from the slices of all ranks.

    Args:
        slices: by cp rank.
        layout: of the sample.

    Returns:
        (response,) values; 0 for a first token without a logit. Null if a rank is missing or a slice has not the length
        the layout gives it.
    """
    if len(slices) != layout.cp_size:
        return None
    first = next(iter(slices.values()))
    whole = np.zeros(layout.response, dtype=first.dtype)
    for cp_rank, piece in slices.items():
        if len(piece) != layout.width(cp_rank):
            return None
        taken = 0
        for start, stop in layout.spans(cp_rank):
            whole[start:stop] = piece[taken : taken + stop - start]
            taken += stop - start
    return whole


def legacy_ranks(slices: Mapping[int, Array], total: int, response: int) -> dict[int, int] | None:
    """Which cp rank each file of an older dump was, told from its slice of one series.

    Older files record no layout. Files with equal slices are twins; distinct slices in rank order are cp ranks 0, 1, ...
    That is believed only if every slice has the length the thd layout gives it.

    Args:
        slices: of `rollout_log_probs`, by train rank, ascending.
        total: tokens of prompt and response.
        response: tokens of the response.

    Returns:
        cp rank by train rank; null if the lengths contradict the layout.
    """
    seen: dict[bytes, int] = {}
    ranks = {rank: seen.setdefault(piece.tobytes(), len(seen)) for rank, piece in slices.items()}
    cp_size = len(seen)
    layout = Layout(total, response, cp_size, chunk_size(total, cp_size))
    for rank, piece in slices.items():
        expected = response if cp_size == 1 else layout.width(ranks[rank])
        if len(piece) != expected:
            return None
    return ranks
