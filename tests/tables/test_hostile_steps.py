"""Whatever stands where a value should be, the tables are built and every number sits at its own token."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from builders.dumps import rollout_dump, sample, train_columns, train_pack
from builders.steps import tables_of

JUNK = (
    None, True, 0, -1, 2**63, -(2**80), 10**400, 0.5, float("nan"), float("inf"), "", "text", "\ud800", b"bytes", [], [None],
    ["a"], [[1]], [1, 2.5], [2**70], [float("nan")] * 3, {}, {"a": 1}, {1: {2: {3: {4: {5: 6}}}}}, (1, 2, 3), {1, 2},
    torch.zeros(3), torch.zeros(3, dtype=torch.int64), torch.zeros(0), torch.tensor(5.0), torch.zeros(2, 2), np.zeros(3),
    np.array(["a", "b", "c"]), np.float64(1.5), np.int32(7), 1 + 2j, torch.device("cpu"), ["x"] * 5000,
)  # fmt: skip

FIELDS = tuple(sample(0))
TABLES = ("samples", "groups", "steps", "conversations", "texts", "notable")
TRAIN_FIELDS = (
    "tokens", "response_lengths", "rewards", "truncated", "loss_masks", "total_lengths", "raw_reward", "weight_versions",
    "log_probs", "rollout_log_probs", "entropy", "advantages", "max_seq_lens", "rollout_mask_sums", "brand_new",
)  # fmt: skip


def build(root):
    tables = tables_of(root)
    for name in TABLES:
        getattr(tables, name).to_arrow()
    tokens = tables.tokens()
    tokens.to_arrow()
    return tables, tokens


@pytest.mark.parametrize("field", FIELDS)
def test_junk_in_any_field_of_a_sample(tmp_path, field):
    samples = [sample(row) | {field: junk} for row, junk in enumerate(JUNK)]
    good = [sample(1000), sample(1001)]
    rollout_dump(tmp_path, [good[0], *samples, good[1]])
    train_pack(
        tmp_path, train_columns(good, series={"entropy": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})
    )
    tables, tokens = build(tmp_path)
    assert tables.samples.height == len(JUNK) + 2
    assert tables.samples["mean_entropy"].to_list()[:: len(JUNK) + 1] == [2.0, 5.0]
    last = tokens.filter(row=len(JUNK) + 1)
    assert last["entropy"].to_list() == [None, None, 4.0, 5.0, 6.0]
    assert last["token_id"].to_list() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("field", TRAIN_FIELDS)
def test_junk_in_any_row_of_a_train_column(tmp_path, field):
    samples = [sample(row) for row in range(len(JUNK) + 1)]
    rollout_dump(tmp_path, samples)
    columns = train_columns(samples)
    columns[field] = [*JUNK, columns.get(field, [torch.ones(3)])[-1]]
    train_pack(tmp_path, columns)
    tables, tokens = build(tmp_path)
    assert tables.samples["mean_entropy"][-1] == 1.0
    assert tokens["entropy"].to_list()[-5:] == [None, None, 0.5, 1.0, 1.5]
    assert tokens["train_log_probs"].to_list()[-5:] == [None, None, *[-0.4375, -0.6875, -0.9375]]


@pytest.mark.parametrize("number", range(len(JUNK)))
def test_junk_instead_of_a_train_column(tmp_path, number):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    columns = train_columns(samples)
    train_pack(tmp_path, columns | dict.fromkeys(TRAIN_FIELDS, JUNK[number]), rank=0)
    train_pack(tmp_path, columns, rank=1)
    tables, tokens = build(tmp_path)
    assert tables.samples["mean_entropy"].to_list() == [1.0, 1.0]
    assert tokens["entropy"].to_list()[2:5] == [0.5, 1.0, 1.5]
