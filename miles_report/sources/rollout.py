"""A rollout pack into columns: one list a field, per-token data flat.

Miles fills a sample's keys as it goes and old files lack some, so a missing key is null and an unknown one is ignored. A
value that cannot be what its field says is null too, with one notice a field; a pack that is no pack is a SourceError.
The Python objects of the pickle are not kept: two million small integers weigh ten times their array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.errors import SourceError
from miles_report.sources.rewards import Rewards
from miles_report.sources.sequences import Series, floats, integers, join_series, offsets_of
from miles_report.sources.values import (
    Unfit,
    UnfitError,
    flag,
    integer,
    json_text,
    number,
    plain_scalar,
    text,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.notices import Notice
    from miles_report.sources.rewards import Component
    from miles_report.sources.sequences import Array


@dataclass(frozen=True)
class Rollout:
    """All samples of a rollout file, in file order; lists have one entry a sample, null: not recorded.

    Attributes:
        n_samples: samples in the file.
        sample_index: Miles's index; may repeat.
        group_index: the prompt's index.
        status: as text.
        remove_sample: whether to be kept out of the loss.
        response_length: as recorded.
        total_length: len(tokens).
        reward: when it is a single number.
        reward_components: of dict rewards, by dotted name.
        weight_versions: one text a turn; empty: none recorded.
        tool_calls: role=tool messages of a chat prompt.
        non_generation_time: seconds.
        spec_accept_rate: accepted over drafted tokens.
        prefix_cache_hit_rate: cached over prompt tokens.
        label: expected answer.
        adapter: LoRA adapter's name.
        prompt: JSON text of the recorded prompt.
        response: text.
        messages: JSON text of the conversation that older dumps keep in the sample's metadata.
        token_offsets: (n_samples + 1,) int64 into `tokens`.
        tokens: flat int64 of prompt and response.
        response_offsets: (n_samples + 1,) int64 of the response frame; a response that does not fit its tokens is empty.
        log_probs: float32 in the response frame.
        mask: bool in the response frame: the rollout's own loss mask.
        notices: what was left out.
    """

    n_samples: int
    sample_index: list[int | None]
    group_index: list[int | None]
    status: list[str | None]
    remove_sample: list[bool | None]
    response_length: list[int | None]
    total_length: list[int | None]
    reward: list[float | None]
    reward_components: Mapping[str, list[Component]]
    weight_versions: list[list[str]]
    tool_calls: list[int | None]
    non_generation_time: list[float | None]
    spec_accept_rate: list[float | None]
    prefix_cache_hit_rate: list[float | None]
    label: list[str | None]
    adapter: list[str | None]
    prompt: list[str | None]
    response: list[str | None]
    messages: list[str | None]
    token_offsets: Array
    tokens: Array
    response_offsets: Array
    log_probs: Series
    mask: Series
    notices: tuple[Notice, ...] = ()

    @property
    def response_lengths(self) -> Array:
        """(n_samples,) positions of each sample in the response frame."""
        return np.diff(self.response_offsets)

    def sample_tokens(self, row: int) -> Array:
        """Token ids of one sample."""
        return self.tokens[self.token_offsets[row] : self.token_offsets[row + 1]]


def samples_of(pack: Any, source: str) -> list[dict[str, Any]]:
    """The sample dictionaries of a loaded rollout pack.

    Args:
        pack: what the container held.
        source: name of the file.

    Raises:
        SourceError: it is no rollout pack.
    """
    if not isinstance(pack, dict) or "samples" not in pack:
        raise SourceError(
            source, "", "It is no rollout pack: it has no list of samples. Restore the file."
        )
    samples = pack["samples"]
    if not isinstance(samples, list | tuple):
        raise SourceError(source, "", f"Its samples are of type {type_name(samples)}, not a list.")
    for place, sample in enumerate(samples):
        if not isinstance(sample, dict):
            raise SourceError(
                source, f"sample {place}", f"The sample is of type {type_name(sample)}, not a dict."
            )
    return list(samples)


def read_rollout(samples: Sequence[Mapping[str, Any]], source: str) -> Rollout:
    """Turns sample dictionaries into columns.

    Args:
        samples: as `samples_of` returns them.
        source: name of the file for notices.

    Source: rollout_data/[eval_]{step}.pt.
    """
    unfit = Unfit(source)

    def column(key: str, convert: Any) -> list[Any]:
        return [
            unfit.read(convert, sample.get(key), key, place) for place, sample in enumerate(samples)
        ]

    rewards = Rewards(len(samples), unfit)
    for place, sample in enumerate(samples):
        rewards.add(place, sample.get("reward"))
    response_length = column("response_length", _length)
    tokens = column("tokens", integers)
    token_lengths = np.array([0 if ids is None else len(ids) for ids in tokens], dtype=np.int64)
    lengths = _fitting_lengths(response_length, token_lengths, unfit)
    log_probs = _fitting(column("rollout_log_probs", floats), lengths, "rollout_log_probs", unfit)
    masks = _fitting(column("loss_mask", floats), lengths, "loss_mask", unfit)
    return Rollout(
        n_samples=len(samples),
        sample_index=column("index", integer),
        group_index=column("group_index", integer),
        status=column("status", text),
        remove_sample=column("remove_sample", flag),
        response_length=response_length,
        total_length=[None if ids is None else len(ids) for ids in tokens],
        reward=rewards.scalars,
        reward_components=rewards.components,
        weight_versions=[versions or [] for versions in column("weight_versions", _versions)],
        tool_calls=[_tool_calls(sample.get("prompt")) for sample in samples],
        non_generation_time=column("non_generation_time", number),
        spec_accept_rate=[
            _rate(sample.get("spec_info"), "spec_accept_token_num", "spec_draft_token_num")
            for sample in samples
        ],
        prefix_cache_hit_rate=[
            _rate(sample.get("prefix_cache_info"), "cached_tokens", "total_prompt_tokens")
            for sample in samples
        ],
        label=column("label", _label),
        adapter=column("adapter", _adapter),
        prompt=column("prompt", json_text),
        response=column("response", text),
        messages=[
            unfit.read(json_text, _messages(sample.get("metadata")), "messages", place)
            for place, sample in enumerate(samples)
        ],
        token_offsets=offsets_of(token_lengths),
        tokens=join_series(tokens, token_lengths, np.int64).values,
        response_offsets=offsets_of(lengths),
        log_probs=join_series(log_probs, lengths, np.float32),
        mask=join_series([None if mask is None else mask > 0 for mask in masks], lengths, np.bool_),
        notices=tuple(unfit.notices()),
    )


def _fitting_lengths(recorded: Sequence[int | None], n_tokens: Array, unfit: Unfit) -> Array:
    """Response lengths that their tokens allow, else 0."""
    lengths = np.zeros(len(recorded), dtype=np.int64)
    for place, (length, total) in enumerate(zip(recorded, n_tokens.tolist(), strict=True)):
        if length is None:
            continue
        if length <= total:
            lengths[place] = length
        else:
            unfit.add("response_length", place, f"is {length} with {total} tokens", kind="length")
    return lengths


def _fitting(pieces: list[Any], lengths: Array, field: str, unfit: Unfit) -> list[Any]:
    """The pieces, null where one is not as long as its response."""
    for place, (piece, length) in enumerate(zip(pieces, lengths.tolist(), strict=True)):
        if piece is not None and len(piece) != length:
            pieces[place] = None
            trouble = f"has {len(piece)} values for {length} response tokens"
            unfit.add(field, place, trouble, kind="length")
    return pieces


def _length(value: Any) -> int:
    length: int = integer(value)
    if length < 0:
        raise UnfitError
    return length


def _versions(value: Any) -> list[str]:
    if not isinstance(value, list | tuple):
        raise UnfitError
    return [text(item) if isinstance(item, str) else str(integer(item)) for item in value]


def _tool_calls(prompt: Any) -> int | None:
    if not isinstance(prompt, list | tuple):
        return None
    roles = [message.get("role") for message in prompt if isinstance(message, dict)]
    return sum(isinstance(role, str) and role == "tool" for role in roles)


def _rate(counts: Any, part: str, whole: str) -> float | None:
    """A quotient of two counts; null where they are not recorded or the denominator is 0."""
    if not isinstance(counts, dict):
        return None
    numerator, denominator = plain_scalar(counts.get(part)), plain_scalar(counts.get(whole))
    if type(numerator) not in (int, float) or type(denominator) not in (int, float):
        return None
    try:
        return float(numerator / denominator) if denominator else None
    except OverflowError:
        return None


def _label(value: Any) -> str:
    return text(value) if isinstance(value, str) else json_text(value)


def _adapter(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    get = getattr(value, "get", None)
    if get is None:
        raise UnfitError
    return text(get("name"))


def _messages(metadata: Any) -> Any:
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    return messages if isinstance(messages, list | tuple) and messages else None
