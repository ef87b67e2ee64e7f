from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import torch
from builders.dumps import rollout_dump, sample, train_dump
from builders.steps import tables_of

from miles_report.tables.frames import table_schema

NAN, INF = float("nan"), float("inf")
STATISTICS = (
    "mean_entropy", "max_entropy", "ref_entropy_mean", "mean_abs_lp_diff", "max_abs_lp_diff", "mean_imp_ratio", "adv_mean",
    "adv_std", "return_mean",
)  # fmt: skip


def rollout_only(root, samples, step=0, *, evaluation=False, **args):
    rollout_dump(root, samples, step=step, evaluation=evaluation)
    return tables_of(root, step, evaluation=evaluation, **args).samples


def trained(root, samples, series, **columns):
    rollout_dump(root, samples)
    train_dump(root, samples, series=series, **columns)
    return tables_of(root).samples


def test_declared_columns_come_first_in_order_and_type(tmp_path):
    table = rollout_only(tmp_path, [sample(0, reward={"acc": 1.0})])
    declared = table_schema("samples")
    assert dict(list(table.schema.items())[: len(declared)]) == declared
    assert table.columns[len(declared) :] == ["reward.acc"]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], (None, None, None, None, None)),
        (None, (None, None, None, None, None)),
        (["3"], ("3", 3, False, 7, 1)),
        (["4", "3", "5"], ("5", 3, True, 7, 3)),
        (["007"], ("007", 7, False, 3, 1)),
        (["default", "5"], ("5", 5, True, 5, 2)),
        (["default"], ("default", None, False, None, 1)),
        (["-1"], ("-1", None, False, None, 1)),
        (["12", "12"], ("12", 12, False, -2, 2)),
        (["²"], ("²", None, False, None, 1)),
        (["9" * 30], ("9" * 30, None, False, None, 1)),
        (["9" * 5000], ("9" * 5000, None, False, None, 1)),
        ([1, 2], ("2", 1, True, 9, 2)),
    ],
)
def test_versions(tmp_path, versions, expected):
    table = rollout_only(tmp_path, [sample(0, weight_versions=versions)], step=10)
    names = ("weight_version", "weight_version_min", "mixed_version", "staleness", "turns")
    assert table.select(names).row(0) == expected


def test_rewards_are_numbers_or_null_and_nan_stays(tmp_path):
    table = rollout_only(
        tmp_path, [sample(0, reward=2), sample(1, reward=True), sample(2, reward=NAN), sample(3, reward=None), sample(4, reward="x")]
    )  # fmt: skip
    assert table["reward"].to_list()[:2] == [2.0, 1.0]
    assert math.isnan(table["reward"][2])
    assert table["reward"].to_list()[3:] == [None, None]
    assert table["reward"].null_count() == 2


def test_without_train_files_raw_reward_is_the_rollouts_own(tmp_path):
    table = rollout_only(tmp_path, [sample(0, reward=0.5), sample(1, reward={"a": 1.0})])
    assert table["raw_reward"].to_list() == [0.5, None]
    assert table["normalized_reward"].to_list() == [None, None]
    assert table["dumped_rank"].to_list() == [None, None]
    assert table["alignment_failed"].to_list() == [False, False]


def test_an_evaluation_has_no_raw_reward(tmp_path):
    table = rollout_only(tmp_path, [sample(0, reward=0.5)], evaluation=True)
    assert table["raw_reward"].to_list() == [None]
    assert table["reward_value"].to_list() == [0.5]


def test_samples_that_no_rank_holds_have_no_trainer_values(tmp_path):
    samples = [sample(0, reward=0.5), sample(1, reward=0.25, status="truncated")]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[:1], batch=samples)
    table = tables_of(tmp_path).samples
    assert table["raw_reward"].to_list() == [0.5, None]
    assert table["normalized_reward"].to_list() == [0.0, None]
    assert table["dumped_rank"].to_list() == [0, None]
    assert table["mean_entropy"].to_list() == [1.0, None]
    assert table["truncated"].to_list() == [False, True]
    assert table["reward_value"].to_list() == [0.5, 0.25]


def test_the_train_column_decides_truncation(tmp_path):
    samples = [sample(0, status="completed"), sample(1, status="truncated"), sample(2, status=None)]
    table = trained(tmp_path, samples, {}, truncated=[1, 0, 0])
    assert table["truncated"].to_list() == [True, False, False]


def test_truncation_falls_back_to_the_status(tmp_path):
    samples = [sample(0, status="completed"), sample(1, status="truncated"), sample(2, status=None)]
    assert rollout_only(tmp_path, samples)["truncated"].to_list() == [False, True, None]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, [0.75, 5.0, 0.5]),
        ({"reward_key": "acc"}, [0.5, 5.0, 0.5]),
        ({"eval_reward_key": "fmt"}, [0.25, 5.0, 0.5]),
        ({"reward_key": None, "eval_reward_key": "fmt"}, [0.25, 5.0, 0.5]),
        ({"reward_key": "nope"}, [0.75, 5.0, 0.5]),
        ({"reward_key": ["acc"]}, [0.75, 5.0, 0.5]),
    ],
)
def test_reward_value_prefers_the_configured_component(tmp_path, args, expected):
    samples = [
        sample(0, reward={"acc": 0.5, "fmt": 0.25, "note": "x"}),
        sample(1, reward=5),
        sample(2, reward={"acc": 0.5}),
    ]
    assert rollout_only(tmp_path, samples, **args)["reward_value"].to_list() == expected


def test_raw_reward_stands_in_for_a_dict(tmp_path):
    samples = [sample(0, reward={"acc": 1.0, "fmt": 9.0})]
    table = trained(tmp_path, samples, {}, raw_reward=[1.0])
    assert table["reward"].to_list() == [None]
    assert table["reward_value"].to_list() == [1.0]


def test_components_are_numbers_where_any_is_and_text_elsewhere(tmp_path):
    samples = [
        sample(0, reward={"a": 1.0, "b": "x"}),
        sample(1, reward={"a": "n/a"}),
        sample(2, reward=1.0),
    ]
    table = rollout_only(tmp_path, samples)
    assert table["reward.a"].to_list() == [1.0, None, None]
    assert table["reward.b"].to_list() == ["x", None, None]


def test_a_sum_with_nan_is_nan(tmp_path):
    table = rollout_only(tmp_path, [sample(0, reward={"a": NAN, "b": 1.0})])
    assert math.isnan(table["reward_value"][0])


def eval_sets(root, indices, prompts=None):
    samples = [sample(index) for index in indices]
    for number, prompt in enumerate(prompts or []):
        samples[number]["prompt"] = prompt
    return rollout_only(root, samples, evaluation=True)["eval_set"].to_list()


def test_a_new_eval_set_begins_where_the_index_restarts(tmp_path):
    assert eval_sets(tmp_path, [0, 1, 2, 0, 1, 0]) == [0, 0, 0, 1, 1, 2]


def test_siblings_do_not_begin_an_eval_set(tmp_path):
    assert eval_sets(tmp_path, [0, 1, 1, 2, None, 2, 0, 0]) == [0, 0, 0, 0, 0, 0, 1, 1]


def test_eval_sets_of_one_sample_differ_in_their_prompts(tmp_path):
    assert eval_sets(tmp_path, [0, 0, 0], ["a", "b", "b"]) == [0, 1, 1]


def test_train_samples_have_no_eval_set(tmp_path):
    assert rollout_only(tmp_path, [sample(0), sample(0)])["eval_set"].to_list() == [None, None]


def test_statistics_are_over_the_masked_tokens_only(tmp_path):
    samples = [sample(0, response=range(4), loss_mask=[1, 0, 1, 1], rollout_log_probs=[-1.0] * 4)]
    series = {
        "rollout_log_probs": [[-1.0, 7.0, -2.0, -3.0]],
        "log_probs": [[-0.5, 99.0, -2.5, -3.25]],
        "entropy": [[1.0, 50.0, 2.0, 3.0]],
        "ref_entropy": [[2.0, 50.0, 2.0, 5.0]],
        "advantages": [[1.0, 50.0, 2.0, 4.5]],
        "returns": [[0.5, 50.0, 0.5, 0.5]],
    }
    row = trained(tmp_path, samples, series).row(0, named=True)
    assert row["mean_entropy"] == 2.0
    assert row["max_entropy"] == 3.0
    assert row["ref_entropy_mean"] == 3.0
    assert row["mean_abs_lp_diff"] == pytest.approx((0.5 + 0.5 + 0.25) / 3, rel=1e-6)
    assert row["max_abs_lp_diff"] == 0.5
    assert row["mean_imp_ratio"] == pytest.approx(
        (math.exp(0.5) + math.exp(-0.5) + math.exp(-0.25)) / 3, rel=1e-6
    )
    assert row["adv_mean"] == 2.5
    assert row["adv_std"] == pytest.approx(math.sqrt((1.5**2 + 0.5**2 + 2.0**2) / 2), rel=1e-6)
    assert row["return_mean"] == 0.5


def test_lp_diff_compares_columns_of_the_train_file(tmp_path):
    samples = [sample(0, rollout_log_probs=[-9.0] * 3)]
    series = {"rollout_log_probs": [[-1.0] * 3], "log_probs": [[-1.5] * 3]}
    assert trained(tmp_path, samples, series)["mean_abs_lp_diff"].to_list() == [0.5]


def test_without_the_engines_log_probs_in_the_train_file_there_is_no_difference(tmp_path):
    table = trained(tmp_path, [sample(0)], {"log_probs": [[-1.5] * 3]})
    assert table["mean_abs_lp_diff"].to_list() == [None]
    assert table["mean_imp_ratio"].to_list() == [None]


def test_an_empty_selection_is_null_and_one_value_has_no_deviation(tmp_path):
    samples = [
        sample(0, loss_mask=[0, 0, 0]),
        sample(1, loss_mask=[0, 1, 0]),
        sample(2, response=(), rollout_log_probs=[]),
        sample(3),
    ]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples)
    table = tables_of(tmp_path).samples
    for name in STATISTICS:
        assert table[name][0] is None
        assert table[name][2] is None
        assert table[name][3] is not None
    assert table["mean_entropy"][1] == 1.0
    assert table["adv_mean"][1] == 1.0
    assert table["adv_std"].to_list() == [None, None, None, 0.0]


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_what_is_not_finite_is_never_dropped(tmp_path, bad):
    samples = [sample(0), sample(1)]
    series = {
        "entropy": [[1.0, bad, 2.0], [1.0, 1.0, 1.0]],
        "advantages": [[1.0, bad, 2.0], [1.0, 2.0, 3.0]],
    }
    table = trained(tmp_path, samples, series)
    first = table.row(0, named=True)
    with np.errstate(invalid="ignore"):
        expected = torch.tensor([1.0, bad, 2.0])
    assert str(first["mean_entropy"]) == str(expected.mean().item())
    assert str(first["max_entropy"]) == str(expected.max().item())
    assert math.isnan(first["adv_std"])
    assert table["mean_entropy"][1] == 1.0
    assert table["adv_std"][1] == 1.0


def test_a_masked_nan_does_no_harm(tmp_path):
    samples = [sample(0, loss_mask=[1, 0, 1])]
    table = trained(tmp_path, samples, {"entropy": [[1.0, NAN, 2.0]]})
    assert table["mean_entropy"].to_list() == [1.5]


def test_a_ratio_beyond_float32_is_infinite(tmp_path):
    series = {"rollout_log_probs": [[-200.0, -1.0, -1.0]], "log_probs": [[-1.0, -1.0, -1.0]]}
    table = trained(tmp_path, [sample(0)], series)
    assert table["mean_imp_ratio"].to_list() == [INF]
    assert table["max_abs_lp_diff"].to_list() == [199.0]


def test_statistics_agree_with_torch(tmp_path):
    generator = torch.Generator().manual_seed(7)
    lengths = [1, 2, 5, 64, 0, 3000, 9000]
    samples = [
        sample(
            number,
            response=range(length),
            rollout_log_probs=(-torch.rand(length, generator=generator)).tolist(),
            loss_mask=(torch.rand(length, generator=generator) > 0.3).int().tolist(),
        )
        for number, length in enumerate(lengths)
    ]
    rows = {
        name: [torch.randn(length, generator=generator) for length in lengths]
        for name in ("entropy", "advantages", "log_probs")
    }
    series = {name: [row.tolist() for row in found] for name, found in rows.items()}
    series["rollout_log_probs"] = [entry["rollout_log_probs"] for entry in samples]
    table = trained(tmp_path, samples, series)
    for row, entry in enumerate(samples):
        mask = torch.tensor(entry["loss_mask"], dtype=torch.bool)
        n_chosen = int(mask.sum())
        entropy, advantages = rows["entropy"][row][mask], rows["advantages"][row][mask]
        difference = (rows["log_probs"][row] - torch.tensor(entry["rollout_log_probs"]))[mask]
        expected = {
            "mean_entropy": entropy.mean(),
            "max_entropy": entropy.max() if n_chosen else None,
            "mean_abs_lp_diff": difference.abs().mean(),
            "mean_imp_ratio": difference.exp().mean(),
            "adv_mean": advantages.mean(),
            "adv_std": advantages.std() if n_chosen > 1 else None,
        }
        for name, value in expected.items():
            wanted = (
                None
                if value is None or not n_chosen
                else pytest.approx(value.item(), rel=2e-6, abs=1e-6)
            )
            assert table[name][row] == wanted, (name, row)


def test_indices_and_text_of_any_kind_fit_the_table(tmp_path):
    table = rollout_only(
        tmp_path,
        [
            sample(None, status="\ud800x", label="</script>\u2028"),
            sample(2**63 - 1),
            sample(-(2**63)),
        ],
    )
    assert table["sample_index"].to_list() == [None, 2**63 - 1, -(2**63)]
    assert table["status"].to_list()[0] == "\ufffdx"
    assert table["label"].to_list()[0] == "</script>\u2028"
    assert table["row"].to_list() == [0, 1, 2]


def test_late_values_keep_their_type(tmp_path):
    samples = [sample(number, reward=0, weight_versions=[]) for number in range(150)]
    samples.append(sample(150, reward=0.5, weight_versions=["3"]))
    table = rollout_only(tmp_path, samples)
    assert table["reward"].to_list()[-1] == 0.5
    assert table["weight_version_min"].to_list()[-1] == 3
    assert table.filter(pl.col("turns").is_null()).height == 150
