from __future__ import annotations

import json
import math
from types import SimpleNamespace

import polars as pl
import pytest
from builders.dumps import (
    conversation,
    conversations_file,
    rollout_dump,
    sample,
    train_dump,
)
from builders.steps import tables_of

from miles_report.facts import RunFacts
from miles_report.pages.sample_payload import parse_json, payload, plain, whole_text

FACTS = RunFacts("run", {"eps_clip": 0.2, "secret": "x"}, 100.0, has_tokenizer=True)


def source(root, *, texts=(), evaluation=False):
    tables = tables_of(root, evaluation=evaluation)
    names = ("samples", "groups", "conversations", "texts")
    token_texts = pl.DataFrame(
        texts, schema={"token_id": pl.Int64, "token_text": pl.String}, orient="row"
    )
    frames = {name: getattr(tables, name) for name in names}
    return SimpleNamespace(step=0, tokens=tables.tokens(), token_texts=token_texts, **frames)


@pytest.fixture
def trained(tmp_path):
    samples = [
        sample(0, prompt=[1, 2], response=[3, 4, 5], reward=1.0, loss_mask=[1, 0, 1]),
        sample(1, prompt=[1], response=[6], reward=0.0),
        sample(2, prompt=[7], response=[], reward=None, status="aborted"),
    ]
    rollout_dump(tmp_path, samples)
    train_dump(tmp_path, samples)
    return tmp_path


def test_tokens_are_columns_with_nulls_in_the_prompt_and_where_masked(trained):
    made = payload(source(trained), 0, FACTS)

    assert made["response_offset"] == 2
    assert made["tokens"]["token_id"] == [1, 2, 3, 4, 5]
    assert made["tokens"]["loss_mask"] == [None, None, 1, 0, 1]
    assert made["tokens"]["lp_diff"] == [None, None, 0.0625, None, 0.0625]
    assert "imp_ratio" not in made["tokens"]
    assert "token_text" not in made["tokens"]


def test_only_the_texts_of_its_own_tokens(trained):
    made = payload(source(trained, texts=[(3, "c"), (6, "other"), (5, None)]), 0, FACTS)

    assert made["token_texts"] == {"3": "c"}


def test_siblings_and_neighbours(trained):
    first = payload(source(trained), 0, FACTS)
    last = payload(source(trained), 2, FACTS)

    assert [(one["row"], one["reward_value"]) for one in first["group"]] == [(0, 1.0), (1, 0.0)]
    assert first["group_row"]["reward_mean"] == 0.5
    assert first["neighbours"] == {"previous": None, "next": 1}
    assert last["neighbours"] == {"previous": 1, "next": None}


def test_a_sample_without_a_response_begins_behind_its_tokens(trained):
    made = payload(source(trained), 2, FACTS)

    assert made["response_offset"] == 1
    assert made["sample"]["status"] == "aborted"


def test_a_sample_without_tokens(tmp_path):
    rollout_dump(tmp_path, [sample(0, prompt=[], response=[], status="aborted")])

    made = payload(source(tmp_path), 0, FACTS)

    assert made["tokens"]["token_id"] == []
    assert made["response_offset"] == 0


def test_only_the_arguments_that_a_page_needs(trained):
    facts = payload(source(trained), 0, FACTS)["facts"]

    assert facts["args"]["eps_clip"] == 0.2
    assert facts["args"]["eps_clip_high"] is None
    assert "secret" not in facts["args"]


def test_without_train_rows_the_engine_s_log_probs_remain(tmp_path):
    rollout_dump(tmp_path, [sample(0, response=[3, 4])])

    made = payload(source(tmp_path), 0, FACTS)

    assert made["tokens"]["rollout_log_probs"] == [None, None, -0.5, -0.75]
    assert "lp_diff" not in made["tokens"]


def test_not_finite_is_a_word_and_null_stays_null(tmp_path):
    values = [math.nan, -math.inf, -0.5]
    samples = [sample(0, response=[3, 4, 5], rollout_log_probs=values, reward=math.nan)]
    rollout_dump(tmp_path, samples)

    made = payload(source(tmp_path), 0, FACTS)

    assert made["tokens"]["rollout_log_probs"] == [None, None, "NaN", "-Infinity", -0.5]
    assert made["sample"]["reward_value"] == "NaN"
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_a_float32_takes_the_digits_that_name_it(tmp_path):
    rollout_dump(tmp_path, [sample(0, prompt=[], response=[3], rollout_log_probs=[-0.1])])

    assert payload(source(tmp_path), 0, FACTS)["tokens"]["rollout_log_probs"] == [-0.1]


def test_conversation_is_read(tmp_path):
    entry = sample(0)
    rollout_dump(tmp_path, [entry, sample(1)])
    messages = [{"role": "user", "content": "</script>\u2028", "score": 0.5}]
    conversations_file(tmp_path, [conversation(entry, messages)])

    made = payload(source(tmp_path), 0, FACTS)

    assert made["conversation"]["messages"] == [
        {"role": "user", "content": "</script>\u2028", "score": 0.5}
    ]
    assert payload(source(tmp_path), 1, FACTS)["conversation"] is None
    assert payload(source(tmp_path), 1, FACTS)["texts"]["prompt"] == "question 1"


def test_spans_of_the_sample_only():
    spans = pl.DataFrame(
        {
            "sample_index": [0, 0, 1],
            "group_index": [0, -1, 0],
            "kind": ["attempt", "gen", "gen"],
            "t0": [1.0, None, 2.0],
            "t1": [4.0, 3.0, 3.0],
            "turn": [-1, 1, 1],
            "weight_version": [None, "7", "7"],
            "status": ["completed", "completed", ""],
        }
    )
    samples = pl.DataFrame({"row": [0], "sample_index": [0], "group_index": [0], "eval_set": [None],
                            "reward_value": [1.0], "response_length": [0], "status": ["x"]},
                           schema_overrides={"eval_set": pl.Int64})  # fmt: skip
    empty = {
        "row": pl.Int64,
        "token_id": pl.Int64,
        "in_response": pl.Boolean,
        "loss_mask": pl.Int64,
    }
    tokens = pl.DataFrame(schema=empty)
    none = pl.DataFrame(schema={"row": pl.Int64})
    texts = pl.DataFrame(schema={"token_id": pl.Int64, "token_text": pl.String})
    groups = pl.DataFrame({"group_index": [0]})
    tables = SimpleNamespace(step=3, samples=samples, groups=groups, tokens=tokens, token_texts=texts,
                             conversations=none, texts=none)  # fmt: skip

    made = payload(tables, 0, FACTS, trajectories=spans)

    assert [(span["kind"], span["t0"]) for span in made["spans"]] == [
        ("attempt", 1.0),
        ("gen", None),
    ]
    with pytest.raises(LookupError, match="step 3 has no row 9"):
        payload(tables, 9, FACTS)


def test_lone_surrogates_cannot_break_a_page():
    assert whole_text("a\ud83d\ude00b\ud800c") == "a\U0001f600b\ufffdc"
    assert plain({"\udc00": ["\udc00"]}) == {"\ufffd": ["\ufffd"]}
    assert parse_json('"\\ud800"') == "\ufffd"


def test_json_that_is_none_stays_text():
    assert parse_json("{broken") == "{broken"
    assert parse_json(None) is None
    assert parse_json("[" * 100_000) == "[" * 100_000
    assert parse_json('[NaN, "NaN", -Infinity]') == ["NaN", "NaN", "-Infinity"]
