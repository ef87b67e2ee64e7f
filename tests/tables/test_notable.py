from __future__ import annotations

import pytest
from builders.dumps import rollout_dump, sample, train_dump
from builders.steps import tables_of

from miles_report.tables.words import duration, grouped, number

NAN, INF = float("nan"), float("inf")
THIN = "\u202f"


def notable(root, samples, *, series=None, evaluation=False, **columns):
    rollout_dump(root, samples, evaluation=evaluation)
    if series is not None:
        train_dump(root, samples, series=series, **columns)
    table = tables_of(root, evaluation=evaluation).notable
    return {row["kind"]: (row["row"], row["why"], row["value"]) for row in table.to_dicts()}


def equal(count, **fields):
    """Samples that no rule can tell apart."""
    return [sample(row, group_index=0, **fields) for row in range(count)]


def flat(samples, **rows):
    """Series of one value a sample."""
    return {name: [[value] * 3 for value in values] for name, values in rows.items()}


def test_equal_samples_are_not_worth_reading(tmp_path):
    samples = equal(20, non_generation_time=5.0, weight_versions=["0", "1"])
    series = flat(samples, rollout_log_probs=[-1.0] * 20, log_probs=[-1.5] * 20, entropy=[0.5] * 20)
    assert notable(tmp_path, samples, series=series) == {}


def test_one_sample_is_no_superlative(tmp_path):
    assert notable(tmp_path, equal(1, non_generation_time=99.0)) == {}


def test_the_largest_difference_ratio_and_entropy(tmp_path):
    samples = equal(4)
    series = {
        "rollout_log_probs": [[-1.0] * 3] * 4,
        "log_probs": [[-1.0, -1.0, -0.25], [-0.75] * 3, [-1.5] * 3, [-1.0] * 3],
        "entropy": [[0.1] * 3, [0.2] * 3, [0.3] * 3, [1.844] * 3],
    }
    found = notable(tmp_path, samples, series=series)
    assert found["max_abs_lp_diff"] == (0, "Largest |lp diff| of the step", 0.75)
    # exp(0.25) three times; sample 0 has (1 + 1 + e^0.75) / 3 = 1.372, but it is listed already
    assert "mean_imp_ratio" not in found
    assert found["mean_abs_lp_diff"] == (2, "Largest mean |lp diff| of the step", 0.5)
    assert found["mean_entropy"] == (
        3,
        "Highest entropy, 1.84 nats",
        pytest.approx(1.844, rel=1e-6),
    )


def test_a_ratio_that_matters(tmp_path):
    samples = equal(3)
    series = {
        "rollout_log_probs": [[-1.0] * 3] * 3,
        "log_probs": [[-1.0, -1.0, -3.0], [-0.75] * 3, [-1.0] * 3],
    }
    found = notable(tmp_path, samples, series=series)
    assert found["max_abs_lp_diff"][0] == 0
    assert found["mean_imp_ratio"] == (
        1,
        "Largest mean ratio, 1.28",
        pytest.approx(1.2840254, rel=1e-6),
    )


def rewarded(*rewards, groups=None, **fields):
    return [
        sample(row, group_index=groups[row] if groups else 0, reward=reward, **fields)
        for row, reward in enumerate(rewards)
    ]


def test_the_only_success_and_the_only_failure(tmp_path):
    samples = rewarded(0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, groups=[0, 0, 0, 0, 1, 1, 1, 1])
    found = notable(tmp_path, samples)
    assert found["only_success"] == (2, "The only success in its group", 1.0)
    assert found["only_failure"] == (6, "The only failure in its group", 0.0)


def test_the_larger_group_comes_first(tmp_path):
    samples = rewarded(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, groups=[0, 0, 0, 1, 1, 1, 1])
    assert notable(tmp_path, samples)["only_success"][0] == 6


def test_a_pair_or_the_null_group_has_no_only_success(tmp_path):
    assert "only_success" not in notable(tmp_path, rewarded(1.0, 0.0, groups=[0, 0]))
    assert "only_success" not in notable(tmp_path, rewarded(1.0, 0.0, 0.0, groups=[None] * 3))


def test_graded_rewards_have_no_successes(tmp_path):
    found = notable(tmp_path, rewarded(0.0, 0.0, 1.0, 0.3))
    assert "only_success" not in found
    assert "only_failure" not in found
    assert "shortest_right" not in found


def test_the_shortest_right_answer(tmp_path):
    lengths = [9, 2, 4, 3]
    samples = [
        sample(
            row,
            group_index=row,
            reward=float(row > 1),
            response=range(length),
            rollout_log_probs=None,
        )
        for row, length in enumerate(lengths)
    ]
    found = notable(tmp_path, samples)
    assert found["shortest_right"] == (3, "Shortest answer that is right, 3 tokens", 3.0)
    assert found["response_length"] == (0, "Longest answer, 9 tokens", 9.0)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_reward_that_is_not_finite(tmp_path, bad):
    found = notable(tmp_path, rewarded(1.0, bad, 0.0))
    assert found["reward_not_finite"] == (1, "Reward is not finite", None)


def test_a_log_prob_that_is_not_finite(tmp_path):
    samples = equal(3)
    series = flat(samples, rollout_log_probs=[-1.0, -1.0, NAN], log_probs=[-1.0, -1.25, -1.0])
    found = notable(tmp_path, samples, series=series)
    assert found["log_prob_not_finite"] == (2, "A log prob is not finite", None)
    assert found["max_abs_lp_diff"] == (1, "Largest |lp diff| of the step", 0.25)


def test_slices_that_cannot_be_placed(tmp_path):
    samples = equal(3)
    found = notable(tmp_path, samples, series={"entropy": [[1.0] * 3, [1.0] * 2, [1.0] * 3]})
    assert found["unplaceable"] == (1, "Its trainer values could not be placed", None)


def test_a_line_that_repeats(tmp_path):
    samples = equal(3)
    samples[1]["response"] = "I should check again.\n" * 1212 + "}\n" * 9000
    samples[2]["response"] = "}\n" * 9000
    found = notable(tmp_path, samples)
    assert found["repeated_line"] == (1, f"Repeats one line 1{THIN}212 times", 1212.0)


def test_few_repetitions_are_no_reason(tmp_path):
    samples = equal(2)
    samples[1]["response"] = "the same line\n" * 11
    assert notable(tmp_path, samples) == {}


def test_waiting_tools_and_versions(tmp_path):
    chat = [{"role": "user", "content": "x"}] + [{"role": "tool", "content": "y"}] * 31
    samples = equal(6)
    samples[0]["non_generation_time"] = 401.0
    samples[1]["prompt"] = chat
    samples[2]["prompt"] = chat[:4]
    samples[3]["weight_versions"] = ["13", "15", "17"]
    samples[4]["weight_versions"] = ["12", "13"]
    found = notable(tmp_path, samples)
    assert found["non_generation_time"] == (0, "Longest wait outside the model, 6 m 41 s", 401.0)
    assert found["tool_calls"] == (1, "Most tool calls, 31", 31.0)
    assert found["weight_versions"] == (3, "Most weight versions, v13\u2013v17", 5.0)


def test_how_a_sample_ended(tmp_path):
    samples = equal(4)
    samples[1] |= {"status": "aborted"}
    samples[2] |= {"status": "failed", "response_length": 0, "rollout_log_probs": []}
    found = notable(tmp_path, samples)
    assert found["aborted"] == (1, "Aborted after 3 tokens", 3.0)
    assert found["failed"] == (2, "Failed without a token", 0.0)


def test_if_all_were_aborted_nobody_stands_out(tmp_path):
    assert "aborted" not in notable(tmp_path, equal(3, status="aborted"))


def test_a_sample_stands_under_its_first_reason(tmp_path):
    samples = equal(3, reward=1.0)
    samples[1] |= {"reward": NAN, "status": "aborted", "non_generation_time": 500.0}
    assert notable(tmp_path, samples) == {"reward_not_finite": (1, "Reward is not finite", None)}


def test_a_tie_of_many_is_no_superlative(tmp_path):
    samples = equal(40)
    for row in (5, 6, 7):
        samples[row]["non_generation_time"] = 50.0
    assert notable(tmp_path, samples) == {}
    samples[7]["non_generation_time"] = 1.0
    assert notable(tmp_path, samples)["non_generation_time"][0] == 5


def test_an_evaluation_has_its_own_list(tmp_path):
    samples = equal(3)
    samples[2]["status"] = "aborted"
    assert notable(tmp_path, samples, evaluation=True)["aborted"][0] == 2


def test_the_list_is_short_and_each_row_stands_once(dumps):
    for name in ("agentic", "basic", "removed", "cp2_missing"):
        table = tables_of(dumps / name).notable
        assert 0 < table.height <= 12
        assert table["row"].is_unique().all()
        assert table["kind"].is_unique().all()


def test_ten_thousand_samples(tmp_path):
    samples = [sample(row, response=(1,), rollout_log_probs=None) for row in range(10_000)]
    samples[8_765]["non_generation_time"] = 3.45
    found = notable(tmp_path, samples)
    assert found == {"non_generation_time": (8_765, "Longest wait outside the model, 3.5 s", 3.45)}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.42, "3.4 s"),
        (59.94, "59.9 s"),
        (59.96, "1 m 00 s"),
        (401, "6 m 41 s"),
        (3599.6, "1 h 00 m"),
        (3720, "1 h 02 m"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_numbers():
    assert grouped(16384) == f"16{THIN}384"
    assert number(1.844) == "1.84"
    assert number(99.97) == "100"
    assert number(123456.7) == f"123{THIN}457"
    assert number(0.00012345) == "0.000123"
