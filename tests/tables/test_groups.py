from __future__ import annotations

import math

import pytest
from builders.dumps import rollout_dump, sample, train_dump
from builders.steps import tables_of

NAN, INF = float("nan"), float("inf")


def groups_of(root, rewards, *, evaluation=False, **fields):
    """Groups of a step whose samples have these (group, reward)."""
    samples = [
        sample(number, group_index=group, reward=reward, **fields)
        for number, (group, reward) in enumerate(rewards)
    ]
    rollout_dump(root, samples, evaluation=evaluation)
    return tables_of(root, evaluation=evaluation).groups


def test_groups_are_sorted_and_the_null_group_is_last(tmp_path):
    table = groups_of(tmp_path, [(7, 1.0), (None, 0.0), (2, 1.0), (7, 0.0), (-1, 0.5)])
    assert table["group_index"].to_list() == [-1, 2, 7, None]
    assert table["n"].to_list() == [1, 1, 2, 1]
    assert table["reward_mean"].to_list() == [0.5, 1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("rewards", "mean", "deviation", "zero"),
    [
        ([1.0, 1.0], 1.0, 0.0, True),
        ([1.0, 0.0], 0.5, math.sqrt(0.5), False),
        ([1.0], 1.0, None, True),
        ([None], None, None, False),
        ([None, 1.0], 1.0, None, True),
        ([1.0, 1.0 + 1e-13], 1.0, 0.0, True),
        ([1.0, 1.0 + 1e-11], 1.0, 7e-12, False),
    ],
)
def test_zero_std(tmp_path, rewards, mean, deviation, zero):
    row = groups_of(tmp_path, [(0, reward) for reward in rewards]).row(0, named=True)
    assert row["reward_mean"] == (None if mean is None else pytest.approx(mean))
    assert row["reward_std"] == (None if deviation is None else pytest.approx(deviation, abs=1e-12))
    assert row["zero_std"] is zero


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_group_with_a_reward_that_is_not_finite_is_not_zero_std(tmp_path, bad):
    table = groups_of(tmp_path, [(0, bad), (0, bad), (1, NAN), (2, 1.0), (2, 1.0)])
    assert table["zero_std"].to_list() == [False, False, True]
    assert not math.isfinite(table["reward_mean"][0])
    assert math.isnan(table["reward_std"][0])


def test_training_groups_count_raw_reward_and_evaluations_reward(tmp_path):
    samples = [sample(0, reward=1.0), sample(1, reward=0.0)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, raw_reward=[5.0, 7.0])
    assert tables_of(tmp_path).groups["reward_mean"].to_list() == [6.0]
    rollout_dump(tmp_path, samples, evaluation=True)
    assert tables_of(tmp_path, evaluation=True).groups["reward_mean"].to_list() == [0.5]


def test_other_means_are_unweighted(tmp_path):
    samples = [
        sample(0, group_index=0, response=(1,), status="truncated", rollout_log_probs=[-1.0]),
        sample(1, group_index=0, response=range(9), rollout_log_probs=[-1.0] * 9),
    ]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, series={"advantages": [[1.0], [3.0] * 9]})
    row = tables_of(tmp_path).groups.row(0, named=True)
    assert row["response_length_mean"] == 5.0
    assert row["truncated_frac"] == 0.5
    assert row["adv_mean"] == 2.0
    assert row["adv_std"] == pytest.approx(math.sqrt(2.0))


def test_a_group_without_advantages_has_none(tmp_path):
    row = groups_of(tmp_path, [(0, 1.0)]).row(0, named=True)
    assert row["adv_mean"] is None
    assert row["adv_std"] is None
