from __future__ import annotations

import pytest
from builders.dumps import aged, columns_file, rollout_dump, sample, train_dump
from builders.steps import codes, step_of

from miles_report.errors import NotFoundError, SourceError, StillWritingError
from miles_report.sources.files import list_dump
from miles_report.sources.step_data import read_step


def test_a_whole_step_has_nothing_to_say(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples)
    columns_file(tmp_path, samples)
    assert step_of(tmp_path).notices == ()


def test_a_missing_entropy_names_the_flag(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples, series={"log_probs": [[-1.0] * 3]})
    found = [notice for notice in step_of(tmp_path).notices if notice.code == "no-entropy"]
    assert [notice.severity for notice in found] == ["info"]
    assert "--use-rollout-entropy" in found[0].message


def test_a_step_without_train_files_says_so(tmp_path):
    rollout_dump(tmp_path, [sample(0)])
    rollout_dump(tmp_path, [sample(0)], evaluation=True)
    assert codes(step_of(tmp_path)) == ["no-token-columns", "no-train-data"]
    assert codes(step_of(tmp_path, evaluation=True)) == ["no-token-columns"]
    assert all(notice.severity == "info" for notice in step_of(tmp_path).notices)


def test_an_evaluation_takes_no_train_rows_of_its_number(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples)
    rollout_dump(tmp_path, samples, evaluation=True)
    assert step_of(tmp_path, evaluation=True).train is None


def test_an_unknown_step_is_not_found(tmp_path):
    rollout_dump(tmp_path, [sample(0)])
    with pytest.raises(NotFoundError):
        step_of(tmp_path, 1)
    with pytest.raises(NotFoundError):
        step_of(tmp_path, 0, evaluation=True)


@pytest.mark.parametrize(("age_s", "error"), [(59.0, StillWritingError), (61.0, SourceError)])
def test_an_unreadable_rollout_is_writing_for_a_minute(tmp_path, age_s, error):
    path = rollout_dump(tmp_path, [sample(0)])
    path.write_bytes(path.read_bytes()[:300])
    aged(path, 0)
    now = path.stat().st_mtime + age_s
    with pytest.raises(SourceError) as caught:
        read_step(list_dump(tmp_path, now=now), 0, evaluation=False, now=now)
    assert type(caught.value) is error
    assert caught.value.path == "rollout_data/0.pt"


def test_per_token_data_are_flat_and_small(tmp_path):
    samples = [sample(number, response=range(50)) for number in range(200)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples)
    data = step_of(tmp_path)
    assert data.rollout.tokens.nbytes == 200 * 52 * 8
    assert data.train.series["entropy"].values.nbytes == 200 * 50 * 4


def test_ten_thousand_samples_are_joined(tmp_path):
    samples = [sample(number, response=(number % 97, 5)) for number in range(10_000)]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples[::-1], series={"entropy": [[0.5, 1.0]] * 10_000}, loss_masks=None)
    data = step_of(tmp_path)
    assert data.train.rank == [0] * 10_000
    assert data.train.series["entropy"].values.tolist() == [0.5, 1.0] * 10_000
    assert data.train.normalized_reward == [float(9_999 - row) for row in range(10_000)]


def test_the_recorded_dumps_are_read(dumps):
    for name in ("agentic", "basic", "objects", "pp", "cp2"):
        data = step_of(dumps / name)
        assert data.rollout.n_samples > 0
        assert not any(notice.severity == "error" for notice in data.notices)
