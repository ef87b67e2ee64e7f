"""One step read once: the rollout file joined with the trainer's rank files.

The rollout file decides: without it there is no step. Everything else is optional, and what is missing or broken there costs
its own columns and a notice, never the step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.errors import NotFoundError, SourceError, StillWritingError
from miles_report.notices import STILL_WRITING, Notice
from miles_report.sources.columns import check_columns
from miles_report.sources.container import load_container
from miles_report.sources.conversations import read_conversations
from miles_report.sources.join import find_holders
from miles_report.sources.rollout import read_rollout, samples_of
from miles_report.sources.sequences import Series
from miles_report.sources.token_series import SLICED, TokenSeries
from miles_report.sources.train import raw_rewards, shard_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from miles_report.sources.conversations import Conversation
    from miles_report.sources.files import DumpFiles
    from miles_report.sources.folders import FileStamp
    from miles_report.sources.join import Holding
    from miles_report.sources.rollout import Rollout
    from miles_report.sources.sequences import Array
    from miles_report.sources.train import Shard

WRITING_S = 60.0
"""A file younger than this that cannot be read is taken to be still being written."""

UNSHOWN = frozenset(
    {
        "rollout_routed_experts",
        "rollout_indexer_topk",
        "multimodal_inputs",
        "multimodal_train_inputs",
    }
)
"""Keys whose values may be huge and are on no page."""

ENTROPY_FLAG = "--use-rollout-entropy"


@dataclass(frozen=True)
class TrainRows:
    """What the trainer recorded, one entry a sample of the rollout file.

    Attributes:
        rank: lowest rank that holds the sample; null: none does.
        raw_reward: batch-global reward; null also where no rank holds the sample.
        normalized_reward: reward after normalisation within the group.
        truncated: the train column.
        alignment_failed: (n_samples,) bool; a per-token column exists and could not be placed.
        mask: bool over the response frame: loss mask > 0.
        series: float32 over the response frame by Miles's column name; columns that no sample has are left out.
        further: other per-token columns of the run, by name.
    """

    rank: list[int | None]
    raw_reward: list[float | None]
    normalized_reward: list[float | None]
    truncated: list[bool | None]
    alignment_failed: Array
    mask: Series
    series: Mapping[str, Series]
    further: Mapping[str, Series]

    @cached_property
    def lp_diff(self) -> Series | None:
        """Train log prob minus the train file's own rollout log prob, float32 nats; null if no sample has both."""
        train, rollout = self.series.get("log_probs"), self.series.get("rollout_log_probs")
        if train is None or rollout is None:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            return Series(train.values - rollout.values, train.present & rollout.present)


@dataclass(frozen=True)
class StepData:
    """One (step, evaluation), per-token data flat.

    Attributes:
        step: from the file's name.
        evaluation: whether it is an evaluation.
        rollout: the rollout file.
        train: the rank files; null: the step has none (an evaluation never has).
        conversations: as recorded, not yet given to rows.
        notices: what is missing or was left out.
    """

    step: int
    evaluation: bool
    rollout: Rollout
    train: TrainRows | None
    conversations: tuple[Conversation, ...]
    notices: tuple[Notice, ...]


def read_step(files: DumpFiles, step: int, *, evaluation: bool, now: float) -> StepData:
    """Reads one step.

    Args:
        files: the dump.
        step: its number.
        evaluation: whether the evaluation of that number is meant.
        now: Unix seconds, against which the age of an unreadable file is taken.

    Returns:
        The step. Unreadable rank files are notices.

    Raises:
        NotFoundError: the dump has no such step.
        StillWritingError: the rollout file cannot be read and is younger than a minute.
        SourceError: the rollout file cannot be read or is no rollout pack.

    Source: rollout_data/, train_data/, dashboard_columns/ and trajectory/ of the step.
    """
    stamp = files.rollout(step, evaluation=evaluation)
    if stamp is None:
        kind = "evaluation" if evaluation else "step"
        raise NotFoundError(f"There is no {kind} {step} in this dump.")
    rollout = _load_rollout(stamp, now)
    notices = list(rollout.notices)
    stamps = {} if evaluation else files.train.get(step, {})
    train = None
    if stamps:
        shards, trouble = _load_shards(stamps, now)
        notices.extend(trouble)
        train, trouble = _join(rollout, shards, f"train_data/{step}_*.pt")
        notices.extend(trouble)
    elif not evaluation:
        notices.append(
            Notice(
                "no-train-data",
                "info",
                stamp.name,
                "The step has no train file: rewards are the rollout's own, and advantages, entropies and the "
                "trainer's log probs are not known.",
                "None if the step was not trained yet; else restore its files in train_data.",
            )
        )
    notices.extend(check_columns(files.columns.get((step, evaluation)), rollout, stamp.name))
    sidecar = files.conversations.get((step, evaluation))
    conversations, trouble = read_conversations(sidecar, rollout)
    notices.extend(trouble)
    return StepData(step, evaluation, rollout, train, conversations, tuple(sorted(set(notices))))


def _load(stamp: FileStamp, now: float) -> Any:
    """The content of a container; a failure of a young file is a StillWritingError."""
    try:
        return load_container(stamp.path, name=stamp.name, skip=UNSHOWN, arrays=True)
    except SourceError as error:
        if now - stamp.mtime_ns / 1e9 < WRITING_S:
            raise StillWritingError(error.path, error.at, error.reason) from error
        raise


def _load_rollout(stamp: FileStamp, now: float) -> Rollout:
    """The rollout file; the objects of its pickle are gone when this returns."""
    return read_rollout(samples_of(_load(stamp, now), stamp.name), stamp.name)


def _load_shards(stamps: Mapping[int, FileStamp], now: float) -> tuple[list[Shard], list[Notice]]:
    shards, notices = [], []
    for rank, stamp in sorted(stamps.items()):
        try:
            shards.append(shard_of(_load(stamp, now), rank, stamp.name))
        except StillWritingError:
            notices.append(
                Notice(
                    STILL_WRITING,
                    "info",
                    stamp.name,
                    "The file is younger than a minute and cannot be read yet; the trainer's values of its samples "
                    "are left out.",
                    "Build again later.",
                )
            )
        except SourceError as error:
            reason = error.reason.rstrip(".")
            notices.append(
                Notice(
                    "unreadable-train-file",
                    "error",
                    f"{error.path}, {error.at}" if error.at else error.path,
                    f"{reason[:1].upper()}{reason[1:]}. The trainer's values that only this file holds are left out.",
                    "Restore the file from the run's storage.",
                )
            )
    return shards, notices


def _join(rollout: Rollout, shards: Sequence[Shard], source: str) -> tuple[TrainRows, list[Notice]]:
    holders, notices = find_holders(rollout, shards)
    tokens = TokenSeries(rollout, shards, holders)
    series = {name: found for name in SLICED if (found := tokens.known(name)) is not None}
    rewards, trouble = raw_rewards(shards, rollout.n_samples)
    notices.extend(trouble)
    train = TrainRows(
        rank=[shards[held[0][0]].rank if held else None for held in holders],
        raw_reward=[
            reward if held else None for reward, held in zip(rewards, holders, strict=True)
        ],
        normalized_reward=[_first_number(shards, held, "rewards") for held in holders],
        truncated=[
            None if value is None else value > 0
            for value in (_first_number(shards, held, "truncated") for held in holders)
        ],
        alignment_failed=tokens.failed,
        mask=tokens.masks(),
        series=series,
        further=tokens.further(),
    )
    notices.extend(_coverage(rollout, holders, train, source))
    if any(holders) and not any(shard.columns.get("entropy") is not None for shard in shards):
        notices.append(_no_entropy(source))
    notices.extend(_misfits(shards, tokens))
    return train, notices


def _first_number(shards: Sequence[Shard], held: Sequence[Holding], name: str) -> float | None:
    for number, place in held:
        value = shards[number].number(name, place)
        if value is not None:
            return value
    return None


def _coverage(
    rollout: Rollout, holders: Sequence[Sequence[Holding]], train: TrainRows, source: str
) -> list[Notice]:
    """What the trainer's files do not tell of this step."""
    notices = []
    n_held = sum(bool(held) for held in holders)
    if n_held < rollout.n_samples:
        notices.append(
            Notice(
                "partial-train-rows",
                "warning",
                source,
                f"Train rows for {n_held} of {rollout.n_samples} samples; the others have no trainer values.",
                "Check that the files of all ranks were copied.",
            )
        )
    if train.alignment_failed.any():
        rows = np.flatnonzero(train.alignment_failed).tolist()
        notices.append(
            Notice(
                "alignment-failed",
                "warning",
                source,
                f"Per-token values of {len(rows)} samples (rows {_few(rows)}) could not be placed: a context-parallel "
                "rank is missing, or their lengths contradict the layout. They are left out.",
                "Restore the files of all ranks. Dumps of older Miles versions do not record the layout.",
            )
        )
    return notices


def _no_entropy(source: str) -> Notice:
    return Notice(
        "no-entropy",
        "info",
        source,
        f"No entropy: the run was started without {ENTROPY_FLAG}.",
        f"Start the run with {ENTROPY_FLAG} to record it.",
    )


def _misfits(shards: Sequence[Shard], tokens: TokenSeries) -> list[Notice]:
    by_shard = Counter(number for number, _ in tokens.unfit)
    first = dict(reversed(tokens.unfit))
    return [
        Notice(
            "tokens-differ",
            "warning",
            shards[number].source,
            f"{count} rows (first: row {first[number]}) have other tokens or another response length than the sample "
            "of the rollout file with their index; their per-token values are left out.",
            "Check that the rollout and train files are of the same run.",
        )
        for number, count in sorted(by_shard.items())
    ]


def _few(rows: Sequence[int]) -> str:
    shown = ", ".join(str(row) for row in rows[:3])
    return shown if len(rows) <= 3 else f"{shown}, …"
