"""Recorded conversations and the samples of their step -> the `conversations` table."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miles_report.sources.conversations import Conversation
    from miles_report.sources.step_data import StepData


def conversations_table(data: StepData, samples: pl.DataFrame) -> pl.DataFrame:
    """One row a sample with a recorded conversation, by row.

    A conversation belongs to the row with its sample_index; where rows share it, to the one that also agrees in
    group_index, status, reward and prompt. What still fits several rows is given out in file order, beginning again when each
    has one. Of several conversations of a row the last counts.

    Args:
        data: the step with its conversations.
        samples: the step's samples.

    Source: trajectory/[eval_]{step}.jsonl, else metadata.messages of the samples.
    """
    rows = _Rows(samples, data.rollout.prompt)
    found: dict[int, Conversation] = {}
    for conversation in data.conversations:
        row = conversation.row if conversation.row is not None else rows.of(conversation)
        if row is not None:
            found[row] = conversation
    chosen = sorted(found.items())
    return pl.DataFrame(
        [
            (
                data.step,
                data.evaluation,
                row,
                one.sample_index,
                one.group_index,
                one.status,
                one.reward,
                one.prompt,
                one.messages,
            )
            for row, one in chosen
        ],
        schema=table_schema("conversations"),
        orient="row",
    )


class _Rows:
    """Finds the row that a conversation belongs to."""

    def __init__(self, samples: pl.DataFrame, prompts: Sequence[str | None]) -> None:
        self._by_index: dict[int | None, list[int]] = defaultdict(list)
        self._facts: list[tuple[Any, ...]] = []
        columns = samples.select("sample_index", "group_index", "status", "reward")
        for row, (index, group, status, reward) in enumerate(columns.iter_rows()):
            self._by_index[index].append(row)
            self._facts.append((group, status, _comparable(reward), prompts[row]))
        self._given: dict[tuple[int, ...], int] = defaultdict(int)

    def of(self, conversation: Conversation) -> int | None:
        """Its row; null if no sample has its index."""
        rows = self._by_index.get(conversation.sample_index, [])
        if len(rows) < 2:
            return rows[0] if rows else None
        facts = (
            conversation.group_index,
            conversation.status,
            _comparable(conversation.reward),
            conversation.prompt,
        )
        agreeing = [
            sum(own == told for own, told in zip(self._facts[row], facts, strict=True))
            for row in rows
        ]
        best = tuple(
            row for row, n_equal in zip(rows, agreeing, strict=True) if n_equal == max(agreeing)
        )
        turn = self._given[best]
        self._given[best] += 1
        return best[turn % len(best)]


def _comparable(reward: float | None) -> float | str | None:
    """The reward such that NaN equals itself: a sidecar writes it as one number."""
    return "NaN" if reward is not None and math.isnan(reward) else reward
