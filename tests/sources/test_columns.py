from __future__ import annotations

from builders.dumps import columns_file, rollout_dump, sample, train_dump
from builders.steps import step_of, tables_of


def found(root):
    return [notice for notice in step_of(root).notices if "columns" in notice.code]


def step(root):
    samples = [sample(0), sample(1, response=(9, 9))]
    rollout_dump(root, samples)
    train_dump(root, samples)
    return samples


def test_columns_that_agree_are_silent(tmp_path):
    columns_file(tmp_path, step(tmp_path))
    assert found(tmp_path) == []


def test_missing_columns_are_an_info(tmp_path):
    step(tmp_path)
    assert [(notice.code, notice.severity) for notice in found(tmp_path)] == [
        ("no-token-columns", "info")
    ]


def test_the_pt_wins_over_columns_of_something_else(tmp_path):
    samples = step(tmp_path)
    columns_file(tmp_path, [samples[0], sample(1, response=(4, 4, 4, 4))])
    [notice] = found(tmp_path)
    assert (notice.code, notice.severity) == ("token-columns-unfit", "warning")
    assert notice.source == "dashboard_columns/rollout_0.parquet"
    assert "response_length" in notice.message
    assert tables_of(tmp_path).tokens(row=1)["token_id"].to_list() == [1, 2, 9, 9]


def test_fewer_rows_are_told(tmp_path):
    columns_file(tmp_path, step(tmp_path)[:1])
    assert "has 1 rows for 2 samples" in found(tmp_path)[0].message


def test_a_file_that_is_no_parquet_is_ignored(tmp_path):
    columns_file(tmp_path, step(tmp_path)).write_bytes(b"PAR1 not really PAR1")
    [notice] = found(tmp_path)
    assert notice.code == "token-columns-unfit"
    assert "cannot be read" in notice.message


def test_an_empty_file_is_ignored(tmp_path):
    columns_file(tmp_path, step(tmp_path)).write_bytes(b"")
    assert [notice.code for notice in found(tmp_path)] == ["token-columns-unfit"]
