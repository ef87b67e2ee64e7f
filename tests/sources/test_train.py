from __future__ import annotations

import numpy as np
import pytest
import torch
from builders.dumps import (
    default_series,
    rollout_dump,
    sample,
    train_columns,
    train_dump,
    train_pack,
    write_pt,
)
from builders.steps import codes, step_of

from miles_report.errors import SourceError
from miles_report.sources.train import raw_rewards, shard_of

NAN = float("nan")


def values(data, name, row):
    offsets = data.rollout.response_offsets
    return data.train.series[name].values[offsets[row] : offsets[row + 1]].tolist()


def notice(data, code):
    found = [one for one in data.notices if one.code == code]
    assert len(found) == 1
    return found[0]


def test_rows_join_by_index_whatever_their_order(tmp_path):
    samples = [sample(number, response=range(3, 4 + number)) for number in range(4)]
    rollout_dump(tmp_path, samples)
    shuffled = [samples[2], samples[0], samples[3], samples[1]]
    columns = train_columns(
        shuffled, batch=samples, series={"entropy": [[2.0] * 3, [0.0], [3.0] * 4, [1.0] * 2]}
    )
    train_pack(tmp_path, columns, rank=0)
    data = step_of(tmp_path)
    assert [values(data, "entropy", row) for row in range(4)] == [
        [0.0],
        [1.0] * 2,
        [2.0] * 3,
        [3.0] * 4,
    ]
    assert data.train.normalized_reward == [1.0, 3.0, 0.0, 2.0]
    assert data.train.rank == [0, 0, 0, 0]


def test_twins_give_way_to_the_lowest_rank(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    for rank in (10, 9, 2):
        train_pack(
            tmp_path, train_columns(samples, series={"entropy": [[float(rank)] * 3]}), rank=rank
        )
    data = step_of(tmp_path)
    assert values(data, "entropy", 0) == [2.0] * 3
    assert data.train.rank == [2]


def test_each_field_comes_from_the_lowest_rank_that_has_it(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    train_pack(tmp_path, train_columns(samples, series={}, rewards=None), rank=0)
    train_pack(
        tmp_path, train_columns(samples, series={"entropy": [[1.0] * 3]}, rewards=[7.0]), rank=1
    )
    train_pack(
        tmp_path,
        train_columns(samples, series={"entropy": [[9.0] * 3], "returns": [[3.0] * 3]}),
        rank=2,
    )
    data = step_of(tmp_path)
    assert values(data, "entropy", 0) == [1.0] * 3
    assert values(data, "returns", 0) == [3.0] * 3
    assert data.train.normalized_reward == [7.0]
    assert data.train.rank == [0]


def siblings():
    """Four samples of one index: three told apart by tokens, one of them with another length."""
    return [
        sample(5, response=(10, 11, 12)),
        sample(5, response=(20, 21, 22)),
        sample(5, response=(30,)),
        sample(6, response=(40, 41)),
    ]


def test_siblings_in_different_shards_are_told_by_their_tokens(tmp_path):
    samples = siblings()
    rollout_dump(tmp_path, samples)
    marked = {
        "entropy": [[float(entry["tokens"][-1])] * entry["response_length"] for entry in samples]
    }
    left, right = [samples[1], samples[3]], [samples[2], samples[0]]
    for ranks, rows, marks in (((0, 1), left, (1, 3)), ((2, 3), right, (2, 0))):
        series = {"entropy": [marked["entropy"][mark] for mark in marks]}
        train_dump(tmp_path, rows, ranks=ranks, batch=samples, series=series)
    data = step_of(tmp_path)
    assert [values(data, "entropy", row)[0] for row in range(4)] == [12.0, 22.0, 30.0, 41.0]
    assert data.train.rank == [2, 0, 2, 0]
    assert "partial-train-rows" not in codes(data)


def test_equal_siblings_are_told_by_their_log_probs(tmp_path):
    samples = [
        sample(5, rollout_log_probs=[-1.0, -2.0, -3.0]),
        sample(5, rollout_log_probs=[-4.0, -5.0, -6.0]),
    ]
    rollout_dump(tmp_path, samples)
    backwards = samples[::-1]
    series = default_series(backwards) | {"entropy": [[2.0] * 3, [1.0] * 3]}
    train_dump(tmp_path, backwards, series=series)
    data = step_of(tmp_path)
    assert values(data, "entropy", 0) == [1.0] * 3
    assert values(data, "entropy", 1) == [2.0] * 3


def test_identical_siblings_are_given_out_once_a_shard(tmp_path):
    samples = [sample(5), sample(5), sample(5)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[:2], ranks=(0, 1), series={"entropy": [[1.0] * 3, [2.0] * 3]})
    train_dump(tmp_path, samples[:1], ranks=(2, 3), series={"entropy": [[3.0] * 3]})
    data = step_of(tmp_path)
    assert [values(data, "entropy", row)[0] for row in range(3)] == [1.0, 2.0, 3.0]


def test_siblings_without_tokens_are_not_guessed(tmp_path):
    samples = siblings()
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, tokens=None)
    data = step_of(tmp_path)
    assert data.train.rank == [None, None, 0, 0]
    assert notice(data, "unfit-value").message.startswith("The sample index of row 0, 1 is shared")


def test_samples_without_an_index_join_by_tokens(tmp_path):
    samples = [sample(None, response=(8, 9)), sample(None, response=(7, 7))]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[::-1], series={"entropy": [[2.0] * 2, [1.0] * 2]})
    data = step_of(tmp_path)
    assert values(data, "entropy", 0) == [1.0] * 2
    assert values(data, "entropy", 1) == [2.0] * 2


def test_rows_of_unknown_samples_and_repeated_rows_are_told(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, [samples[0], samples[0], sample(77), samples[1]], raw_reward=[1.0, 0.0])
    data = step_of(tmp_path)
    told = " ".join(one.message for one in data.notices if one.code == "unfit-value")
    assert "row 1 appears before" in told
    assert "row 2 is not in the rollout file" in told
    assert data.train.rank == [0, 0]


def test_rows_for_part_of_the_samples_are_told(tmp_path):
    samples = [sample(0, reward=0.5), sample(1, reward=0.25)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[:1], batch=samples)
    data = step_of(tmp_path)
    assert notice(data, "partial-train-rows").message.startswith("Train rows for 1 of 2 samples")
    assert data.train.raw_reward == [0.5, None]
    assert data.train.normalized_reward == [0.0, None]
    assert data.train.truncated == [False, None]


@pytest.mark.parametrize(
    "change", [{"tokens": [1, 2, 3, 4, 99]}, {"tokens": [1, 2, 3, 4]}, {"response_length": 2}]
)
def test_a_row_of_other_tokens_gives_no_per_token_value(tmp_path, change):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, [samples[0], samples[1] | change])
    data = step_of(tmp_path)
    assert data.train.alignment_failed.tolist() == [False, True]
    assert all(series.present.tolist() == [True, False] for series in data.train.series.values())
    assert data.train.mask.present.tolist() == [True, False]
    assert notice(data, "tokens-differ").source == "train_data/0_0.pt"
    assert data.train.rank == [0, 0]


@pytest.mark.parametrize(
    "junk", ["abc", {"a": 1}, [1.0], [[1.0, 2.0]], [[1.0] * 3, "x"], 7, torch.zeros(2, 2, 2)]
)
def test_a_junk_series_is_absent_or_failed_never_shifted(tmp_path, junk):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, series={}, entropy=junk)
    data = step_of(tmp_path)
    found = data.train.series.get("entropy")
    assert found is None or found.present.tolist() == [True, False]


def test_a_series_of_another_length_is_failed(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, series={"entropy": [[1.0, 2.0], [1.0, 2.0, 3.0]]})
    data = step_of(tmp_path)
    assert data.train.alignment_failed.tolist() == [True, False]
    assert data.train.series["entropy"].present.tolist() == [False, True]
    assert notice(data, "alignment-failed").severity == "warning"


def test_further_columns_of_the_run_are_found(tmp_path):
    samples = [sample(0), sample(1, response=(5, 6))]
    rollout_dump(tmp_path, samples)
    own = {
        "values": [[0.5] * 3, [0.25] * 2],
        "my_score": [[1.0, 2.0, 3.0], [4.0, 5.0]],
        "halves": [[1.0], [2.0]],
    }
    train_dump(
        tmp_path, samples, series=own, listed=[[0.5, 0.5, 0.5], [1.5, 1.5]], wide=torch.zeros(2, 9)
    )
    data = step_of(tmp_path)
    assert set(data.train.series) == {"values"}
    assert list(data.train.further) == ["listed", "my_score"]
    assert data.train.further["my_score"].values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert not data.train.alignment_failed.any()


def test_bfloat16_series_are_exact_float32(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    train_dump(
        tmp_path,
        samples,
        series={"rollout_log_probs": [[-0.1, -1.0, -300.0]]},
        dtype=torch.bfloat16,
    )
    expected = torch.tensor([-0.1, -1.0, -300.0], dtype=torch.bfloat16).float().tolist()
    assert values(step_of(tmp_path), "rollout_log_probs", 0) == expected


def test_ranks_that_contradict_each_other_place_nothing(tmp_path):
    samples = [sample(0, response=range(8))]
    rollout_dump(tmp_path, samples)
    columns = train_columns(samples)
    train_pack(tmp_path, columns, rank=0, cp_rank=0, cp_size=1)
    train_pack(tmp_path, columns, rank=1, cp_rank=1, cp_size=2)
    data = step_of(tmp_path)
    assert data.train.alignment_failed.tolist() == [True]
    assert data.train.series == {}


def test_raw_reward_of_another_batch_is_left_out(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, raw_reward=[1.0, 2.0, 3.0])
    data = step_of(tmp_path)
    assert data.train.raw_reward == [None, None]
    assert "3 values for 2 samples" in notice(data, "unfit-value").message


def shard(**columns):
    return shard_of({"rollout_data": {"sample_indices": [0]} | columns}, 0, "train_data/0_0.pt")


def test_raw_rewards_come_from_the_first_column_that_fits():
    shards = [
        shard(),
        shard(raw_reward=[1.0]),
        shard(raw_reward=np.array([2.0, NAN])),
        shard(raw_reward=[5.0, 5.0]),
    ]
    rewards, notices = raw_rewards(shards, 2)
    assert rewards[0] == 2.0
    assert rewards[1] != rewards[1]
    assert notices == []


def test_dicts_and_junk_among_raw_rewards_are_null():
    rewards, notices = raw_rewards([shard(raw_reward=[{"acc": 1.0}, None, "x", True])], 4)
    assert rewards == [None, None, None, 1.0]
    assert len(notices) == 1


@pytest.mark.parametrize(
    ("pack", "place"),
    [
        (None, ""),
        ([], ""),
        ({"rollout_data": [1]}, ""),
        ({"rollout_data": {}}, "sample_indices"),
        ({"rollout_data": {"sample_indices": ["a"]}}, "sample_indices"),
        ({"rollout_data": {"sample_indices": [2**70]}}, "sample_indices"),
        ({"rollout_data": {"sample_indices": [0]}, "cp_rank": 3, "cp_size": 2}, "cp_rank"),
        ({"rollout_data": {"sample_indices": [0]}, "cp_rank": -1, "cp_size": 2}, "cp_rank"),
        ({"rollout_data": {"sample_indices": [0]}, "cp_rank": "0", "cp_size": 2}, "cp_rank"),
        ({"rollout_data": {"sample_indices": [0]}, "cp_rank": 0, "cp_size": 10**9}, "cp_rank"),
        ({"rollout_data": {"sample_indices": [0]}, "qkv_format": "sbhd"}, "qkv_format"),
        ({"rollout_data": {"sample_indices": [0]}, "qkv_format": [1]}, "qkv_format"),
    ],
)
def test_what_is_no_train_pack_is_a_source_error(pack, place):
    with pytest.raises(SourceError) as caught:
        shard_of(pack, 0, "train_data/0_0.pt")
    assert caught.value.at == place


def test_a_broken_rank_file_costs_its_values_only(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[:1], batch=samples, ranks=(0,))
    write_pt(tmp_path / "train_data" / "0_1.pt", "no pack")
    data = step_of(tmp_path)
    assert notice(data, "unreadable-train-file").source == "train_data/0_1.pt"
    assert data.train.rank == [0, None]


def test_a_young_broken_rank_file_is_still_being_written(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    broken = tmp_path / "train_data" / "0_0.pt"
    broken.parent.mkdir()
    broken.write_bytes(b"PK\x03\x04 half a file")
    data = step_of(tmp_path)
    assert notice(data, "still-writing").severity == "info"
    assert data.train.rank == [None]
    assert data.train.raw_reward == [None]
