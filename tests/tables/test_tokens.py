from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from builders.dumps import float32, rollout_dump, sample, train_dump
from builders.steps import step_of, tables_of
from polars.testing import assert_frame_equal

from miles_report.errors import NotFoundError, UsageError
from miles_report.tables.frames import table_schema
from miles_report.tables.tokens import token_texts_table, tokens_table

NAN, INF = float("nan"), float("inf")
STATISTICS = (
    "train_log_probs",
    "lp_diff",
    "imp_ratio",
    "entropy",
    "ref_entropy",
    "ref_log_probs",
    "advantages",
    "returns",
)


def upper(ids):
    return [f"<{token}>" for token in ids.tolist()]


def one(tmp_path, entry, series=None, **columns):
    rollout_dump(tmp_path, [entry])
    train_dump(tmp_path, [entry], series=series, **columns)
    return tables_of(tmp_path).tokens(row=0)


def test_a_token_is_a_row_with_every_series(tmp_path):
    entry = sample(4, prompt=(1, 2), response=(7, 8), rollout_log_probs=[-0.1, -0.2])
    series = {
        "rollout_log_probs": [[-0.5, -1.0]],
        "log_probs": [[-0.25, -1.5]],
        "entropy": [[1.0, 2.0]],
        "ref_entropy": [[3.0, 4.0]],
        "ref_log_probs": [[-3.0, -4.0]],
        "advantages": [[0.5, -0.5]],
        "returns": [[5.0, 6.0]],
    }
    table = one(tmp_path, entry, series)
    assert dict(table.schema) == table_schema("tokens")
    assert table["position"].to_list() == [0, 1, 2, 3]
    assert table["token_id"].to_list() == [1, 2, 7, 8]
    assert table["in_response"].to_list() == [False, False, True, True]
    assert table["loss_mask"].to_list() == [None, None, 1, 1]
    assert table["rollout_log_probs"].to_list() == [None, None, *float32([-0.1, -0.2])]
    assert table["lp_diff"].to_list() == [None, None, 0.25, -0.5]
    assert table["imp_ratio"].to_list()[2:] == pytest.approx(
        [math.exp(0.25), math.exp(-0.5)], rel=1e-6
    )
    assert table["train_log_probs"].to_list() == [None, None, -0.25, -1.5]
    assert table["returns"].to_list() == [None, None, 5.0, 6.0]
    assert table["sample_index"].to_list() == [4] * 4
    assert table["token_text"].null_count() == 4


def test_masked_tokens_keep_their_id_and_lose_their_numbers(tmp_path):
    table = one(tmp_path, sample(0, loss_mask=[1, 0, 1]))
    assert table["loss_mask"].to_list() == [None, None, 1, 0, 1]
    for name in ("rollout_log_probs", *STATISTICS):
        values = table[name].to_list()
        assert values[3] is None, name
        assert values[2] is not None, name
        assert values[4] is not None, name


def test_the_trainers_mask_wins_over_the_rollouts(tmp_path):
    entry = sample(0, loss_mask=[0, 1, 1])
    rollout_dump(tmp_path, [entry])
    train_dump(tmp_path, [entry | {"loss_mask": [1, 1, 0]}])
    table = tables_of(tmp_path).tokens(row=0)
    assert table["loss_mask"].to_list() == [None, None, 1, 1, 0]
    assert table["rollout_log_probs"].is_null().to_list() == [True, True, False, False, True]


def test_without_train_files_the_rollouts_mask_decides(tmp_path):
    rollout_dump(tmp_path, [sample(0, loss_mask=[1, 0, 1]), sample(1)])
    tables = tables_of(tmp_path)
    assert tables.tokens(row=0)["loss_mask"].to_list() == [None, None, 1, 0, 1]
    assert tables.tokens(row=0)["rollout_log_probs"].to_list()[2:] == [-0.5, None, -1.0]
    assert tables.tokens(row=1)["loss_mask"].to_list() == [None] * 5
    assert tables.tokens(row=1)["rollout_log_probs"].to_list()[2:] == [-0.5, -0.75, -1.0]


def test_a_sample_without_a_train_row_shows_what_the_engine_said(tmp_path):
    samples = [sample(0), sample(1, loss_mask=[1, 0, 1])]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[:1], batch=samples)
    table = tables_of(tmp_path).tokens(row=1)
    assert table["loss_mask"].to_list() == [None] * 5
    assert table["rollout_log_probs"].to_list() == [None, None, -0.5, -0.75, -1.0]
    assert all(table[name].null_count() == 5 for name in STATISTICS)


def test_the_train_file_lends_its_log_probs_where_the_rollout_has_none(tmp_path):
    samples = [sample(0, rollout_log_probs=None), sample(1)]
    rollout_dump(tmp_path, samples)
    series = {"rollout_log_probs": [[-7.0] * 3, [-8.0] * 3]}
    train_dump(tmp_path, samples, series=series)
    tables = tables_of(tmp_path)
    assert tables.tokens(row=0)["rollout_log_probs"].to_list()[2:] == [-7.0] * 3
    assert tables.tokens(row=1)["rollout_log_probs"].to_list()[2:] == [-0.5, -0.75, -1.0]


def test_nan_and_infinities_are_values(tmp_path):
    entry = sample(0, rollout_log_probs=[NAN, -INF, -1.0])
    series = {"rollout_log_probs": [[NAN, -INF, -200.0]], "log_probs": [[-1.0, -1.0, -1.0]]}
    table = one(tmp_path, entry, series)
    values = table["rollout_log_probs"].to_list()
    assert math.isnan(values[2])
    assert values[3] == -INF
    assert math.isnan(table["lp_diff"][2])
    assert table["imp_ratio"].to_list()[3:] == [INF, INF]
    assert table["lp_diff"].null_count() == 2


def test_further_series_follow_the_declared_ones(tmp_path):
    table = one(tmp_path, sample(0), {"values": [[1.0, 2.0, 3.0]], "position": [[4.0, 5.0, 6.0]]})
    assert table.columns[len(table_schema("tokens")) :] == ["values", "train.position"]
    assert table["values"].to_list() == [None, None, 1.0, 2.0, 3.0]
    assert table["position"].to_list() == [0, 1, 2, 3, 4]
    assert table["train.position"].to_list()[2:] == [4.0, 5.0, 6.0]
    assert table["values"].dtype == pl.Float32


def odd_samples():
    return [
        sample(0, prompt=(), response=(1, 2), rollout_log_probs=[-1.0, -2.0]),
        sample(1, response=(), rollout_log_probs=[]),
        sample(2, prompt=(), response=(), rollout_log_probs=[]),
        sample(3, tokens=None),
        sample(None, loss_mask=[1, 0, 1]),
        sample(5, response_length=99),
    ]


def test_all_tokens_at_once_are_each_samples_tokens(tmp_path):
    samples = odd_samples()
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, [samples[0], samples[1], samples[4]], batch=samples)
    tables = tables_of(tmp_path)
    apart = pl.concat([tables.tokens(row=row) for row in range(len(samples))])
    assert_frame_equal(tables.tokens(), apart)
    assert apart["row"].to_list() == [0, 0, 1, 1, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5]
    assert apart.filter(pl.col("row") == 4)["sample_index"].null_count() == 5


def masked_pair(root):
    samples = [sample(0), sample(1, prompt=(1, 2), response=(3, 4, 5, 6), loss_mask=[1, 1, 0, 1])]
    rollout_dump(root, samples)
    train_dump(root, samples)
    return step_of(root)


@pytest.mark.parametrize("end", [6, 7, 1000, None])
@pytest.mark.parametrize("start", [None, 0, 1, 2, 3, 5])
def test_positions_up_to_the_end_select_without_shifting(tmp_path, start, end):
    data = masked_pair(tmp_path)
    expected = tokens_table(data, None, row=1).slice(start or 0)
    assert_frame_equal(tokens_table(data, None, row=1, start=start, end=end), expected)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 3), (3, 5), (5, 6)]
)
def test_positions_select_without_shifting(tmp_path, start, end):
    data = masked_pair(tmp_path)
    expected = tokens_table(data, None, row=1).slice(start, end - start)
    assert_frame_equal(tokens_table(data, None, row=1, start=start, end=end), expected)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (2, 2), (3, 1), (6, None), (6, 9), (99, 100), (-1, 3)]
)
def test_an_empty_selection_is_refused(tmp_path, start, end):
    with pytest.raises(UsageError):
        tokens_table(masked_pair(tmp_path), None, row=1, start=start, end=end)


def test_bad_selections_are_refused(tmp_path):
    rollout_dump(tmp_path, [sample(0, prompt=(), response=(), rollout_log_probs=[])])
    data = step_of(tmp_path)
    assert tokens_table(data, None, row=0).height == 0
    with pytest.raises(UsageError):
        tokens_table(data, None, row=0, start=0)
    with pytest.raises(UsageError):
        tokens_table(data, None, row=0, end=-1)
    with pytest.raises(UsageError):
        tokens_table(data, None, start=0, end=1)
    with pytest.raises(NotFoundError):
        tokens_table(data, None, row=1)
    with pytest.raises(NotFoundError):
        tokens_table(data, None, row=-1)


def test_texts_are_decoded_once_an_id(tmp_path):
    rollout_dump(tmp_path, [sample(0, prompt=(9, 3), response=(3, 9, 3))])
    data = step_of(tmp_path)
    assert tokens_table(data, upper)["token_text"].to_list() == ["<9>", "<3>", "<3>", "<9>", "<3>"]
    texts = token_texts_table(data, upper)
    assert texts.to_dict(as_series=False) == {"token_id": [3, 9], "token_text": ["<3>", "<9>"]}
    assert token_texts_table(data, None).height == 0


def test_large_ids_are_kept(tmp_path):
    rollout_dump(
        tmp_path, [sample(0, prompt=(2**63 - 1, -1), response=(0,), rollout_log_probs=[-1.0])]
    )
    assert tables_of(tmp_path).tokens(row=0)["token_id"].to_list() == [2**63 - 1, -1, 0]


def test_a_long_response_is_one_table(tmp_path):
    length = 100_000
    entry = sample(0, response=np.arange(length).tolist(), rollout_log_probs=[-1.0] * length)
    table = one(tmp_path, entry, {"entropy": [[0.5] * length]})
    assert table.height == length + 2
    assert table["entropy"].sum() == length / 2
