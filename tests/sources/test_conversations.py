from __future__ import annotations

import json

from builders.dumps import conversation, conversations_file, rollout_dump, sample
from builders.steps import codes, step_of, tables_of

HELLO = [{"role": "user", "content": "hello"}]
NAN = float("nan")


def said(table):
    return [json.loads(text)[0]["content"] for text in table["messages"].to_list()]


def say(text):
    return [{"role": "assistant", "content": text}]


def test_a_line_belongs_to_the_sample_it_names(tmp_path):
    samples = [sample(0), sample(1), sample(2)]
    rollout_dump(tmp_path, samples)
    conversations_file(
        tmp_path, [conversation(samples[2], say("c")), conversation(samples[0], say("a"))]
    )
    table = tables_of(tmp_path).conversations
    assert table["row"].to_list() == [0, 2]
    assert said(table) == ["a", "c"]
    assert json.loads(table["prompt"][1]) == "question 2"


def test_the_last_of_several_lines_counts(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    conversations_file(
        tmp_path, [conversation(samples[0], say("old")), conversation(samples[0], say("new"))]
    )
    assert said(tables_of(tmp_path).conversations) == ["new"]


def test_siblings_are_told_by_what_else_the_line_says(tmp_path):
    samples = [
        sample(5, reward=0.0),
        sample(5, reward=1.0),
        sample(5, reward=1.0) | {"prompt": [{"role": "user", "content": "other"}]},
        sample(5, reward=1.0, status="truncated"),
        sample(5, reward=1.0, group_index=9),
    ]
    rollout_dump(tmp_path, samples)
    order = [4, 2, 0, 3, 1]
    conversations_file(tmp_path, [conversation(samples[row], say(str(row))) for row in order])
    table = tables_of(tmp_path).conversations
    assert table["row"].to_list() == [0, 1, 2, 3, 4]
    assert said(table) == ["0", "1", "2", "3", "4"]


def test_equal_siblings_take_lines_in_file_order(tmp_path):
    samples = [sample(5), sample(5)]
    rollout_dump(tmp_path, samples)
    lines = [conversation(samples[0], say(text)) for text in ("a", "b", "a again", "b again")]
    conversations_file(tmp_path, lines)
    assert said(tables_of(tmp_path).conversations) == ["a again", "b again"]


def test_a_nan_reward_agrees_with_itself(tmp_path):
    samples = [sample(5, reward=1.0), sample(5, reward=NAN)]
    rollout_dump(tmp_path, samples)
    conversations_file(
        tmp_path, [conversation(samples[1], say("nan")), conversation(samples[0], say("one"))]
    )
    assert said(tables_of(tmp_path).conversations) == ["one", "nan"]


def test_dict_rewards_are_null_in_the_sidecar(tmp_path):
    samples = [sample(0, reward={"acc": 1.0})]
    rollout_dump(tmp_path, samples)
    conversations_file(tmp_path, [conversation(samples[0], HELLO)])
    assert tables_of(tmp_path).conversations["reward"].to_list() == [None]


def test_bad_lines_and_strangers_are_told_and_neighbours_count(tmp_path):
    samples = [sample(0), sample(1)]
    rollout_dump(tmp_path, samples)
    nested = "[" * 100_000
    conversations_file(
        tmp_path,
        [
            conversation(samples[0], say("a")),
            "{broken",
            nested,
            '{"sample_index": 0}',
            "[1]",
            conversation(sample(0), HELLO, sample_index="0"),
            conversation(sample(88), HELLO),
            conversation(samples[1], say("b")),
        ],
        tail='{"sample_index": 1, "mess',
    )
    data = step_of(tmp_path)
    assert said(tables_of(tmp_path).conversations) == ["a", "b"]
    assert {"bad-line", "conversation-of-no-sample", "torn-tail"} <= set(codes(data))
    [bad] = [notice for notice in data.notices if notice.code == "bad-line"]
    assert bad.source == "trajectory/0.jsonl:2"
    assert "5 lines" in bad.message


def test_hostile_text_survives_as_json(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    text = "</script>\u2028<img onerror=x>\ud800\x00"
    conversations_file(
        tmp_path, [conversation(samples[0], say(text), status="\udfff", reward=1e400)]
    )
    table = tables_of(tmp_path).conversations
    assert said(table) == ["</script>\u2028<img onerror=x>\ufffd\x00"]
    assert table["status"].to_list() == ["\ufffd"]


def test_older_dumps_keep_messages_in_the_sample(tmp_path):
    samples = [
        sample(0),
        sample(1, metadata={"messages": say("from the pt")}),
        sample(2, metadata={"messages": 5}),
    ]
    rollout_dump(tmp_path, samples)
    table = tables_of(tmp_path).conversations
    assert table["row"].to_list() == [1]
    assert said(table) == ["from the pt"]
    assert table["reward"].to_list() == [1.0]


def test_the_sidecar_wins_over_messages_in_the_sample(tmp_path):
    samples = [sample(0, metadata={"messages": say("pt")})]
    rollout_dump(tmp_path, samples)
    conversations_file(tmp_path, [conversation(samples[0], say("sidecar"))])
    assert said(tables_of(tmp_path).conversations) == ["sidecar"]


def test_evaluations_have_their_own_sidecar(tmp_path):
    samples = [sample(0)]
    rollout_dump(tmp_path, samples)
    rollout_dump(tmp_path, samples, evaluation=True)
    conversations_file(tmp_path, [conversation(samples[0], say("eval"))], evaluation=True)
    assert tables_of(tmp_path).conversations.height == 0
    table = tables_of(tmp_path, evaluation=True).conversations
    assert said(table) == ["eval"]
    assert table["evaluation"].to_list() == [True]
