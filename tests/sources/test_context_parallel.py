from __future__ import annotations

import numpy as np
import pytest
from builders.dumps import cp_dump, rollout_dump, sample, zigzag_positions
from builders.steps import codes, step_of

from miles_report.sources.context_parallel import Layout, chunk_size, legacy_ranks, reassemble


def series_of(length):
    return [float(position + 1) / 8 for position in range(length)]


def test_a_sequence_of_eight_over_two_ranks_is_zigzag():
    # 8 tokens, 2 ranks: 4 chunks of 2. Prompt of 3: response logits 2..6, response tokens 0..4.
    layout = Layout(total=8, response=5, cp_size=2, chunk=chunk_size(8, 2))
    assert layout.chunk == 2
    assert layout.spans(0) == ((0, 0), (4, 5))  # logits 0-1 hold none, 6-7 hold logit 6 only
    assert layout.spans(1) == ((0, 2), (2, 4))  # logits 2-3 and 4-5
    slices = {0: np.array([50.0]), 1: np.array([10.0, 20.0, 30.0, 40.0])}
    assert reassemble(slices, layout).tolist() == [10.0, 20.0, 30.0, 40.0, 50.0]


def test_chunks_are_rounded_up():
    assert chunk_size(9, 2) == 3
    assert chunk_size(8, 2) == 2
    assert chunk_size(1, 4) == 1
    assert chunk_size(0, 4) == 0


@pytest.mark.parametrize("cp_size", [2, 3, 4, 8])
@pytest.mark.parametrize("padding", [0, 1, 7, 100])
def test_every_split_comes_back(cp_size, padding):
    for prompt in (0, 1, 2, 3, 5, 16):
        for response in (0, 1, 2, 3, 7, 8, 15, 16, 17, 33):
            total = prompt + response
            chunk = chunk_size(total + padding, cp_size)
            layout = Layout(total, response, cp_size, chunk)
            whole = np.array(series_of(response))
            slices = {}
            for rank in range(cp_size):
                held = zigzag_positions(total, response, chunk, rank, cp_size)
                assert layout.width(rank) == len(held)
                slices[rank] = whole[held]
            expected = whole.copy()
            if prompt == 0:
                expected[:1] = 0.0  # the first token of all has no logit
            assert reassemble(slices, layout).tolist() == expected.tolist()


def test_a_missing_rank_or_a_wrong_width_is_refused():
    layout = Layout(total=8, response=5, cp_size=2, chunk=2)
    assert reassemble({1: np.zeros(4)}, layout) is None
    assert reassemble({0: np.zeros(2), 1: np.zeros(4)}, layout) is None
    assert reassemble({0: np.zeros(0), 1: np.zeros(4)}, layout) is None


def test_legacy_ranks_are_told_by_their_slices():
    first, second = np.array([0.5]), np.array([0.1, 0.2, 0.3, 0.4])
    twins = {0: first, 1: second, 4: first.copy(), 5: second.copy()}
    assert legacy_ranks(twins, 8, 5) == {0: 0, 1: 1, 4: 0, 5: 1}


def test_legacy_slices_of_another_layout_are_refused():
    assert legacy_ranks({0: np.zeros(2), 1: np.ones(3)}, 8, 5) is None


def test_one_legacy_slice_is_the_whole_response():
    assert legacy_ranks({0: np.zeros(5), 1: np.zeros(5)}, 8, 5) == {0: 0, 1: 0}
    assert legacy_ranks({0: np.zeros(4)}, 8, 5) is None


def test_nan_slices_equal_themselves():
    nan = np.array([float("nan")] * 5)
    assert legacy_ranks({0: nan, 1: nan.copy()}, 8, 5) == {0: 0, 1: 0}


def long_samples():
    shapes = [(3, 5), (1, 1), (7, 40), (2, 0), (30, 3), (1, 64)]
    return [
        sample(
            number,
            prompt=range(prompt),
            response=range(100, 100 + response),
            rollout_log_probs=[-value for value in series_of(response)],
        )
        for number, (prompt, response) in enumerate(shapes)
    ]


def entropies(samples):
    return [series_of(entry["response_length"]) for entry in samples]


def columns_of(samples):
    return {
        "rollout_log_probs": [entry["rollout_log_probs"] for entry in samples],
        "log_probs": [[value + 0.25 for value in entry["rollout_log_probs"]] for entry in samples],
        "entropy": entropies(samples),
    }


@pytest.mark.parametrize(
    ("cp_size", "qkv_format", "legacy"),
    [
        (2, "thd", False),
        (4, "thd", False),
        (2, "bshd", False),
        (3, "bshd", False),
        (2, "thd", True),
    ],
)
def test_a_dump_of_slices_gives_the_series_back(tmp_path, cp_size, qkv_format, legacy):
    samples = long_samples()
    rollout_dump(tmp_path, samples)
    cp_dump(
        tmp_path, samples, cp_size=cp_size, qkv_format=qkv_format, legacy=legacy, max_seq_len=70, series=columns_of(samples)
    )  # fmt: skip
    data = step_of(tmp_path)
    assert not data.train.alignment_failed.any()
    offsets = data.rollout.response_offsets
    for row, expected in enumerate(entropies(samples)):
        found = data.train.series["entropy"].values[offsets[row] : offsets[row + 1]]
        assert found.tolist() == expected
    assert set(data.train.lp_diff.values.tolist()) == {0.25}
    assert "alignment-failed" not in codes(data)


def test_a_missing_rank_fails_every_sample_and_says_so(tmp_path):
    samples = long_samples()
    rollout_dump(tmp_path, samples)
    cp_dump(tmp_path, samples, cp_size=2, ranks=(1,), series=columns_of(samples))
    data = step_of(tmp_path)
    assert data.train.alignment_failed.all()
    assert data.train.series == {}
    assert data.train.rank == [1] * 6
    assert "alignment-failed" in codes(data)


def test_legacy_bshd_is_refused_and_not_guessed(tmp_path):
    samples = long_samples()
    rollout_dump(tmp_path, samples)
    cp_dump(
        tmp_path, samples, cp_size=2, qkv_format="bshd", legacy=True, max_seq_len=70, series=columns_of(samples)
    )  # fmt: skip
    data = step_of(tmp_path)
    assert data.train.alignment_failed.tolist()[2]
    found = data.train.series["entropy"]
    offsets = data.rollout.response_offsets
    for row, expected in enumerate(entropies(samples)):
        shown = found.values[offsets[row] : offsets[row + 1]].tolist()
        assert shown == expected or not found.present[row]


def test_a_prompt_of_no_tokens_leaves_the_first_value_zero(tmp_path):
    samples = [sample(0, prompt=(), response=range(12), rollout_log_probs=[-1.0] * 12)]
    rollout_dump(tmp_path, samples)
    cp_dump(tmp_path, samples, cp_size=2, series={"entropy": [series_of(12)]})
    found = step_of(tmp_path).train.series["entropy"]
    assert found.values.tolist() == [0.0, *series_of(12)[1:]]


def test_padding_shorter_than_the_sample_is_refused(tmp_path):
    samples = [sample(0, response=range(20), rollout_log_probs=[-1.0] * 20)]
    rollout_dump(tmp_path, samples)
    cp_dump(
        tmp_path, samples, cp_size=2, qkv_format="bshd", series={"entropy": [series_of(20)]}, max_seq_lens=[4]
    )  # fmt: skip
    data = step_of(tmp_path)
    assert data.train.alignment_failed.tolist() == [True]
    assert data.train.series == {}
