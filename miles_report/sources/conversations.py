"""Recorded conversations of a step: the sidecar's lines, or what older dumps keep in the samples' metadata.

A line names its sample by index only, and indices may repeat; who gets it is decided in `tables/conversations.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.notices import Notice
from miles_report.sources.complete_lines import LineFile
from miles_report.sources.values import UnfitError, integer, json_text, number, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from miles_report.sources.folders import FileStamp
    from miles_report.sources.rollout import Rollout


@dataclass(frozen=True)
class Conversation:
    """One recorded conversation.

    Attributes:
        sample_index: of the sample; null where it has none.
        group_index: of the sample when the line was written.
        status: likewise.
        reward: likewise; null for dicts.
        prompt: JSON text; null if not recorded.
        messages: JSON text of a list.
        row: the sample's row where it is known; null for lines of the sidecar.
    """

    sample_index: int | None
    group_index: int | None
    status: str | None
    reward: float | None
    prompt: str | None
    messages: str
    row: int | None = None


def read_conversations(
    stamp: FileStamp | None, rollout: Rollout
) -> tuple[tuple[Conversation, ...], list[Notice]]:
    """The conversations of a step.

    Args:
        stamp: the sidecar; null if there is none.
        rollout: the step's rollout file, whose samples may hold messages themselves.

    Returns:
        Lines of the sidecar in file order; without a usable sidecar those of the samples, in row order.

    Source: trajectory/[eval_]{step}.jsonl, else metadata.messages in rollout_data/.
    """
    lines, notices = _read_sidecar(stamp, set(rollout.sample_index)) if stamp else ([], [])
    return tuple(lines) or tuple(_of_samples(rollout)), notices


def _read_sidecar(
    stamp: FileStamp, known: set[int | None]
) -> tuple[list[Conversation], list[Notice]]:
    source = LineFile(stamp)
    found: list[Conversation] = []
    strangers: list[int] = []
    for block in source.blocks():
        for place, line in block.lines():
            try:
                conversation = _of_line(line)
            except (ValueError, RecursionError):
                source.bad_line(place, "is no conversation: a JSON object with a list of messages")
                continue
            if conversation.sample_index in known:
                found.append(conversation)
            else:
                strangers.append(place)
    notices = source.notices()
    if strangers:
        notices.append(
            Notice(
                "conversation-of-no-sample",
                "warning",
                f"{stamp.name}:{strangers[0]}",
                f"{len(strangers)} conversations name samples that the rollout file does not hold; they are left out.",
                "Check that the file belongs to this run.",
            )
        )
    return found, notices


def _of_line(line: bytes) -> Conversation:
    record = json.loads(line)
    messages = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(messages, list):
        raise UnfitError
    prompt = record.get("prompt")
    index = record.get("sample_index")
    return Conversation(
        None if index is None else integer(index),
        _or_null(integer, record.get("group_index")),
        _or_null(text, record.get("status")),
        _or_null(number, record.get("reward")),
        None if prompt is None else json_text(prompt),
        json_text(messages),
    )


def _or_null(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return None if value is None else convert(value)
    except UnfitError:
        return None


def _of_samples(rollout: Rollout) -> list[Conversation]:
    return [
        Conversation(
            rollout.sample_index[row],
            rollout.group_index[row],
            rollout.status[row],
            rollout.reward[row],
            rollout.prompt[row],
            messages,
            row,
        )
        for row, messages in enumerate(rollout.messages)
        if messages is not None
    ]
