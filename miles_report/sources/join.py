"""Which rows of which rank files hold each sample of the rollout file.

Rows are found by `sample_indices`. Where several samples share an index (sub-agent siblings, which may sit in different
shards) the row's tokens decide, and between equal tokens the log probs of the engine; what still fits several samples is
given out in file order, once a shard. Files with the same rows are twins and share one answer.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from miles_report.sources.values import Unfit

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from miles_report.notices import Notice
    from miles_report.sources.rollout import Rollout
    from miles_report.sources.train import Shard

Holding = tuple[int, int]
"""(number of the shard, row in it)."""

TokenKey = tuple[int | None, int, bytes]
"""(sample index, response length, token ids)."""


def find_holders(
    rollout: Rollout, shards: Sequence[Shard]
) -> tuple[list[list[Holding]], list[Notice]]:
    """All rows that hold each sample.

    Args:
        rollout: the rollout file.
        shards: the step's rank files by ascending rank.

    Returns:
        One list a sample, by ascending rank, empty if no file holds it; and what was left out.
    """
    by_index: dict[int | None, list[int]] = defaultdict(list)
    for row, index in enumerate(rollout.sample_index):
        by_index[index].append(row)
    siblings = _Siblings(rollout, {index for index, rows in by_index.items() if len(rows) > 1})
    holders: list[list[Holding]] = [[] for _ in range(rollout.n_samples)]
    notices: list[Notice] = []
    for number, shard in enumerate(shards):
        unfit = Unfit(shard.source, "row")
        shared = siblings.resolve(shard, unfit)
        taken = set()
        for place, index in enumerate(shard.sample_indices):
            rows = by_index.get(index, ())
            if not rows:
                unfit.add("The sample index", place, "is not in the rollout file")
                continue
            found = rows[0] if len(rows) == 1 else shared.get(place)
            if found is None:
                continue
            if found in taken:
                unfit.add("The sample index", place, "appears before in the same file")
                continue
            taken.add(found)
            holders[found].append((number, place))
        notices.extend(unfit.notices())
    return holders, notices


class _Siblings:
    """Tells samples apart that share an index."""

    def __init__(self, rollout: Rollout, shared: set[int | None]) -> None:
        self._rollout = rollout
        self._shared = shared
        self._by_tokens: dict[TokenKey, list[int]] = defaultdict(list)
        self._by_length: dict[Hashable, list[int]] = defaultdict(list)
        self._given: set[int] = set()
        self._answers: dict[Hashable, dict[int, int]] = {}
        lengths = rollout.response_lengths.tolist()
        for row, index in enumerate(rollout.sample_index):
            if index in shared:
                ids = rollout.sample_tokens(row).tobytes()
                self._by_tokens[index, lengths[row], ids].append(row)
                self._by_length[index, lengths[row]].append(row)

    def resolve(self, shard: Shard, unfit: Unfit) -> dict[int, int]:
        """Row of the rollout file by row of the shard, for rows whose index is shared."""
        places = [
            place for place, index in enumerate(shard.sample_indices) if index in self._shared
        ]
        keys = [self._key(shard, place) for place in places]
        identity = (shard.sample_indices, tuple(keys))
        if identity not in self._answers:
            self._answers[identity] = self._match(shard, places, keys)
        answer = self._answers[identity]
        for place in places:
            if place not in answer:
                unfit.add(
                    "The sample index", place, "is shared by samples that its tokens do not match"
                )
        return answer

    @staticmethod
    def _key(shard: Shard, place: int) -> tuple[int | None, int | None, bytes | None]:
        tokens = shard.whole_numbers("tokens", place)
        length = shard.count("response_lengths", place)
        return (
            shard.sample_indices[place],
            length,
            None if tokens is None else np.ascontiguousarray(tokens).tobytes(),
        )

    def _match(
        self,
        shard: Shard,
        places: Sequence[int],
        keys: Sequence[tuple[int | None, int | None, bytes | None]],
    ) -> dict[int, int]:
        answer: dict[int, int] = {}
        used: set[int] = set()
        for place, (index, length, ids) in zip(places, keys, strict=True):
            if length is None:
                continue
            if ids is None:
                candidates = self._by_length.get((index, length), [])
                candidates = candidates if len(candidates) == 1 else []
            else:
                candidates = self._by_tokens.get((index, length, ids), [])
            free = [row for row in candidates if row not in used]
            if not free:
                continue
            row = free[0] if len(candidates) == 1 else self._best(shard, place, free)
            answer[place] = row
            used.add(row)
        self._given |= used
        return answer

    def _best(self, shard: Shard, place: int, rows: Sequence[int]) -> int:
        """Among samples with equal tokens: same engine log probs first, then not yet given out, then file order."""
        recorded = shard.sequence("rollout_log_probs", place)

        def rank(row: int) -> tuple[bool, bool]:
            return not self._agrees(recorded, row), row in self._given

        return min(rows, key=rank)

    def _agrees(
        self, recorded: np.ndarray[tuple[int], np.dtype[np.float32]] | None, row: int
    ) -> bool:
        offsets = self._rollout.response_offsets
        if recorded is None or not self._rollout.log_probs.present[row]:
            return False
        own = self._rollout.log_probs.values[offsets[row] : offsets[row + 1]]
        return len(own) == len(recorded) and np.array_equal(
            own, recorded.astype(np.float32), equal_nan=True
        )
