"""One step's rollout and train rows -> the `samples` table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from miles_report.sources.sequences import Series
from miles_report.tables.frames import conform
from miles_report.tables.statistics import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.sources.rewards import Component
    from miles_report.sources.rollout import Rollout
    from miles_report.sources.step_data import StepData, TrainRows

INT64_MAX = 2**63 - 1
REWARD_PREFIX = "reward."


def samples_table(data: StepData, args: Mapping[str, Any]) -> pl.DataFrame:
    """One row a sample, in file order.

    Statistics are over response tokens whose loss mask in the train row is above 0. Every mean is per token within
    the sample.

    Args:
        data: the step.
        args: the run's recorded arguments; reward_key and eval_reward_key name the component that counts.

    Returns:
        The declared columns, then `reward.<key>` for every component of dict rewards: numbers where any sample has a number
        there, else text.

    Source: rollout_data/ and train_data/ of the step.
    """
    rollout, train = data.rollout, data.train
    n_samples = rollout.n_samples
    versions = [_versions(row, data.step) for row in rollout.weight_versions]
    columns: dict[str, Any] = {
        "step": pl.repeat(data.step, n_samples, dtype=pl.Int64, eager=True),
        "evaluation": pl.repeat(data.evaluation, n_samples, dtype=pl.Boolean, eager=True),
        "row": pl.int_range(n_samples, dtype=pl.Int64, eager=True),
        "sample_index": _i64(rollout.sample_index),
        "group_index": _i64(rollout.group_index),
        "eval_set": _i64(_eval_sets(rollout) if data.evaluation else [None] * n_samples),
        "status": _text(rollout.status),
        "remove_sample": _flag(rollout.remove_sample),
        "response_length": _i64(rollout.response_length),
        "total_length": _i64(rollout.total_length),
        "reward": _f64(rollout.reward),
        "weight_version": _text([row[-1] if row else None for row in rollout.weight_versions]),
        "weight_version_min": _i64([oldest for oldest, _ in versions]),
        "mixed_version": _flag(
            [len(set(row)) > 1 if row else None for row in rollout.weight_versions]
        ),
        "staleness": _i64([staleness for _, staleness in versions]),
        "turns": _i64([len(row) or None for row in rollout.weight_versions]),
        "tool_calls": _i64(rollout.tool_calls),
        "non_generation_time": _f64(rollout.non_generation_time),
        "spec_accept_rate": _f64(rollout.spec_accept_rate),
        "prefix_cache_hit_rate": _f64(rollout.prefix_cache_hit_rate),
        "label": _text(rollout.label),
        "adapter": _text(rollout.adapter),
    }
    columns |= _trainer_columns(data)
    components = rollout.reward_components
    raw_reward = columns["raw_reward"].to_list()
    columns["reward_value"] = _f64(
        [
            _reward_value(rollout, row, raw_reward[row], _reward_key(args))
            for row in range(n_samples)
        ]
    )
    for name, values in components.items():
        columns[REWARD_PREFIX + name] = _component(values)
    if train is not None:
        columns |= _statistics(rollout, train)
    return conform("samples", pl.DataFrame(columns))


def _trainer_columns(data: StepData) -> dict[str, pl.Series]:
    """Columns the trainer's rows decide, with what stands for them in a step without train files."""
    rollout, train = data.rollout, data.train
    from_status = [None if status is None else status == "truncated" for status in rollout.status]
    if train is None:
        falls_back = not data.evaluation
        return {
            "raw_reward": _f64(rollout.reward if falls_back else [None] * rollout.n_samples),
            "truncated": _flag(from_status),
            "alignment_failed": pl.repeat(False, rollout.n_samples, eager=True),  # noqa: FBT003 - the repeated value
        }
    truncated = [
        own if recorded is None else recorded
        for own, recorded in zip(from_status, train.truncated, strict=True)
    ]
    return {
        "raw_reward": _f64(train.raw_reward),
        "normalized_reward": _f64(train.normalized_reward),
        "truncated": _flag(truncated),
        "dumped_rank": _i64(train.rank),
        "alignment_failed": pl.Series(train.alignment_failed),
    }


def _statistics(rollout: Rollout, train: TrainRows) -> dict[str, pl.Series]:
    selection = Selection(rollout.response_offsets, train.mask.values)
    found: dict[str, pl.Series] = {}
    if (series := train.series.get("entropy")) is not None:
        entropy = selection.of(series)
        found["mean_entropy"] = entropy.mean()
        found["max_entropy"] = entropy.maximum()
    if (series := train.series.get("ref_entropy")) is not None:
        found["ref_entropy_mean"] = selection.of(series).mean()
    if (series := train.lp_diff) is not None:
        distance = selection.of(Series(np.abs(series.values), series.present))
        found["mean_abs_lp_diff"] = distance.mean()
        found["max_abs_lp_diff"] = distance.maximum()
        with np.errstate(over="ignore"):
            ratio = selection.of(Series(np.exp(series.values), series.present))
        found["mean_imp_ratio"] = ratio.mean()
    if (series := train.series.get("advantages")) is not None:
        advantages = selection.of(series)
        found["adv_mean"] = advantages.mean()
        found["adv_std"] = advantages.deviation()
    if (series := train.series.get("returns")) is not None:
        found["return_mean"] = selection.of(series).mean()
    return found


def _versions(versions: list[str], step: int) -> tuple[int | None, int | None]:
    """(smallest numeric version, staleness); null without a numeric one."""
    numeric = [version for text in versions if (version := _numeric(text)) is not None]
    if not numeric:
        return None, None
    return min(numeric), step - min(numeric)


def _numeric(text: str) -> int | None:
    """The number of a version of digits only; null for others, and for numbers beyond int64."""
    if not text.isdigit() or len(text) > 40:
        return None
    try:
        version = int(text)
    except ValueError:
        return None
    return version if version <= INT64_MAX else None


def _eval_sets(rollout: Rollout) -> list[int | None]:
    """Number of each sample's evaluation set: a new one begins where the index restarts.

    Equal neighbours are siblings, unless both are 0 and their prompts differ: then each set has one sample.
    """
    sets: list[int | None] = []
    number = 0
    last: int | None = None
    for row, index in enumerate(rollout.sample_index):
        if index is not None:
            if last is not None:
                single = index == last == 0 and rollout.prompt[row] != rollout.prompt[row - 1]
                number += index < last or single
            last = index
        sets.append(number)
    return sets


def _reward_key(args: Mapping[str, Any]) -> str:
    """The component that counts; "" if the run names none."""
    key = args.get("reward_key") or args.get("eval_reward_key")
    return key if isinstance(key, str) else ""


def _reward_value(rollout: Rollout, row: int, raw_reward: float | None, key: str) -> float | None:
    """The reward that pages show; null if the sample has none."""
    scalar = rollout.reward[row]
    if scalar is not None:
        return scalar
    if raw_reward is not None:
        return raw_reward
    values = {
        name: value
        for name, column in rollout.reward_components.items()
        if isinstance(value := column[row], float)
    }
    if key in values:
        return values[key]
    return sum(values.values()) if values else None


def _component(values: list[Component]) -> pl.Series:
    if any(isinstance(value, float) for value in values):
        return _f64([value if isinstance(value, float) else None for value in values])
    return _text([value if isinstance(value, str) else None for value in values])


def _i64(values: list[int | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64)


def _f64(values: list[float | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64)


def _text(values: list[str | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def _flag(values: list[bool | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.Boolean)
