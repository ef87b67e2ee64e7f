from __future__ import annotations

import math

import pytest
from builders.dumps import rollout_dump, sample, train_dump
from builders.steps import tables_of

from miles_report.tables.frames import table_schema
from miles_report.tables.steps import unreadable_steps_row


def test_a_step_is_one_row_of_unweighted_means(tmp_path):
    samples = [
        sample(0, group_index=0, reward=1.0, response=(1,), rollout_log_probs=[-1.0]),
        sample(1, group_index=0, reward=1.0, weight_versions=["0", "1"]),
        sample(2, group_index=1, reward=0.0, status="truncated"),
        sample(3, group_index=1, reward=0.5, weight_versions=[]),
    ]
    rollout_dump(tmp_path, samples, step=4)
    series = {
        "rollout_log_probs": [[-1.0], [-1.0] * 3, [-1.0] * 3],
        "log_probs": [[-1.5], [-1.0] * 3, [-0.5] * 3],
        "entropy": [[2.0], [1.0] * 3, [0.0] * 3],
    }
    train_dump(tmp_path, samples[:3], batch=samples, step=4, series=series)
    row = tables_of(tmp_path, 4).steps.row(0, named=True)
    assert row == {
        "step": 4,
        "n_samples": 4,
        "n_trained": 3,
        "reward_mean": pytest.approx(2 / 3),
        "reward_std": pytest.approx(math.sqrt(1 / 3)),
        "response_length_mean": 2.5,
        "truncated_frac": 0.25,
        "zero_std_group_frac": 1.0,  # the only reward with a train row in group 1 is one reward
        "mean_abs_lp_diff": pytest.approx(1 / 3),
        "mean_entropy": 1.0,
        "mixed_version_frac": pytest.approx(1 / 3),
        "staleness_mean": 4.0,  # step 4, version 0 took part in all samples that have any
        "n_rewarded_groups": 2,
        "n_zero_std_groups": 2,
        "n_alignment_failed": 0,
        "state": "ok",
    }


def test_nan_makes_a_mean_nan(tmp_path):
    rollout_dump(tmp_path, [sample(0, reward=float("nan")), sample(1, reward=1.0)])
    row = tables_of(tmp_path).steps.row(0, named=True)
    assert math.isnan(row["reward_mean"])
    assert math.isnan(row["reward_std"])
    assert row["zero_std_group_frac"] == 0.0


def test_a_step_that_was_not_trained(tmp_path):
    rollout_dump(tmp_path, [sample(0, reward=0.5)])
    row = tables_of(tmp_path).steps.row(0, named=True)
    assert (row["n_samples"], row["n_trained"]) == (1, 0)
    assert (row["reward_mean"], row["reward_std"]) == (0.5, None)
    assert row["mean_entropy"] is None


def test_an_unreadable_step_is_a_row_of_nulls():
    table = unreadable_steps_row(7, "broken")
    assert dict(table.schema) == table_schema("steps")
    row = table.row(0, named=True)
    assert row.pop("step") == 7
    assert row.pop("state") == "broken"
    assert set(row.values()) == {None}
