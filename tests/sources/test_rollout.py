from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from builders.dumps import rollout_dump, sample
from builders.steps import step_of, tables_of

from miles_report.errors import SourceError
from miles_report.sources.rollout import read_rollout, samples_of

NAN = float("nan")


def read(*samples):
    return read_rollout(samples, "rollout_data/0.pt")


def messages(rollout):
    return [notice.message for notice in rollout.notices]


def test_plain_samples_become_columns():
    rollout = read(
        sample(4, prompt=[1, 2], response=[7, 8, 9], rollout_log_probs=[-1, -0.5, NAN]),
        sample(5, prompt=[1], response=[], reward=True, loss_mask=[]),
    )
    assert rollout.notices == ()
    assert rollout.sample_index == [4, 5]
    assert rollout.tokens.tolist() == [1, 2, 7, 8, 9, 1]
    assert rollout.token_offsets.tolist() == [0, 5, 6]
    assert rollout.response_offsets.tolist() == [0, 3, 3]
    assert rollout.total_length == [5, 1]
    assert rollout.log_probs.values[:2].tolist() == [-1.0, -0.5]
    assert math.isnan(rollout.log_probs.values[2])
    assert rollout.log_probs.values.dtype == np.float32
    assert rollout.mask.present.tolist() == [False, True]
    assert rollout.reward == [1.0, 1.0]


def test_missing_keys_are_null_without_a_word():
    rollout = read({})
    assert rollout.notices == ()
    assert rollout.sample_index == [None]
    assert rollout.response_length == [None]
    assert rollout.total_length == [None]
    assert rollout.weight_versions == [[]]
    assert rollout.prompt == [None]
    assert len(rollout.tokens) == 0


@pytest.mark.parametrize(
    ("field", "value", "attribute", "expected"),
    [
        ("index", "3", "sample_index", None),
        ("index", True, "sample_index", None),
        ("index", 2**63, "sample_index", None),
        ("index", 2.0, "sample_index", None),
        ("group_index", [1], "group_index", None),
        ("status", 5, "status", None),
        ("remove_sample", "yes", "remove_sample", None),
        ("response_length", -1, "response_length", None),
        ("response_length", NAN, "response_length", None),
        ("tokens", "abc", "total_length", None),
        ("tokens", [1, 2.5], "total_length", None),
        ("tokens", [2**70], "total_length", None),
        ("tokens", torch.ones(2, 2), "total_length", None),
        ("non_generation_time", "long", "non_generation_time", None),
        ("reward", [1.0], "reward", None),
        ("reward", 10**400, "reward", None),
        ("response", 7, "response", None),
    ],
)
def test_junk_is_null_and_told(tmp_path, field, value, attribute, expected):
    rollout_dump(tmp_path, [sample(0), sample(1) | {field: value}])
    rollout = step_of(tmp_path).rollout
    assert getattr(rollout, attribute)[1] == expected
    assert getattr(rollout, attribute)[0] is not None
    told = [
        notice for notice in rollout.notices if notice.message.startswith(f"{field} of sample 1")
    ]
    assert len(told) == 1
    assert told[0].source == "rollout_data/0.pt"
    assert told[0].severity == "warning"


@pytest.mark.parametrize("junk", ["x", 5, [None], [0.1, "b"], {"a": 1}])
def test_junk_log_probs_and_masks_are_left_out(junk):
    rollout = read(sample(0, rollout_log_probs=junk, loss_mask=junk))
    assert not rollout.log_probs.present.any()
    assert not rollout.mask.present.any()
    assert len(rollout.notices) == 2


def test_sequences_of_another_length_are_left_out():
    rollout = read(sample(0, rollout_log_probs=[-1.0]), sample(1, loss_mask=[1, 1, 1, 1]))
    assert rollout.log_probs.present.tolist() == [False, True]
    assert rollout.mask.present.tolist() == [False, False]
    assert "1 values for 3 response tokens" in messages(rollout)[0]
    assert "4 values for 3 response tokens" in messages(rollout)[1]


def test_a_response_longer_than_its_tokens_has_no_positions():
    rollout = read(sample(0, response_length=99), sample(1))
    assert rollout.response_length == [99, 3]
    assert rollout.response_offsets.tolist() == [0, 0, 3]
    assert any("99 with 5 tokens" in message for message in messages(rollout))


def test_many_troubles_of_a_field_are_one_notice():
    rollout = read(*(sample(number, status=number) for number in range(500)))
    assert len(rollout.notices) == 1
    assert "status of sample 0, 1, 2 and 497 more" in rollout.notices[0].message


def test_tensors_count_as_sequences():
    rollout = read(
        sample(0, tokens=np.array([1, 2, 3, 4, 5], dtype=np.int32), rollout_log_probs=np.array([-1, -2, -3], dtype=np.float16))
    )  # fmt: skip
    assert rollout.tokens.tolist() == [1, 2, 3, 4, 5]
    assert rollout.log_probs.values.tolist() == [-1.0, -2.0, -3.0]


def test_rates_need_a_denominator():
    rollout = read(
        sample(0, spec_info={"spec_accept_token_num": 3, "spec_draft_token_num": 4}),
        sample(1, spec_info={"spec_accept_token_num": 3, "spec_draft_token_num": 0}),
        sample(2, spec_info=None, prefix_cache_info={"cached_tokens": 1, "total_prompt_tokens": 8}),
        sample(3, spec_info={"spec_accept_token_num": "a", "spec_draft_token_num": 1}),
    )
    assert rollout.spec_accept_rate == [0.75, None, None, None]
    assert rollout.prefix_cache_hit_rate == [None, None, 0.125, None]


def test_tool_calls_are_counted_in_chat_prompts_only():
    chat = [{"role": "user"}, {"role": "tool"}, "junk", {"role": "tool"}, {"role": ["tool"]}]
    assert read(sample(0, prompt=[], response=[])).tool_calls == [None]
    assert read({"prompt": chat}, {"prompt": "tool"}, {"prompt": []}).tool_calls == [2, None, 0]


def test_reward_dicts_become_components():
    rollout = read(
        sample(0, reward={"acc": 1, "style": {"tone": 0.5, "deep": {"x": True}}, "note": "ok"}),
        sample(1, reward=0.25),
        sample(2, reward={"acc": NAN, "bad": [1], "none": None, 7: 2.0}),
    )
    assert rollout.reward == [None, 0.25, None]
    components = rollout.reward_components
    assert list(components) == ["acc", "style.tone", "style.deep.x", "note", "7"]
    assert components["style.tone"] == [0.5, None, None]
    assert components["style.deep.x"] == [1.0, None, None]
    assert components["note"] == ["ok", None, None]
    assert math.isnan(components["acc"][2])
    assert "a component of type list" in messages(rollout)[0]


def test_huge_reward_dicts_are_cut():
    rollout = read(sample(0, reward={f"k{number}": 1.0 for number in range(100_000)}))
    assert len(rollout.reward_components) == 64
    assert "more than 64 components" in messages(rollout)[0]


def test_endless_rewards_and_prompts_are_refused():
    endless = {"a": 1.0}
    endless["self"] = endless
    rollout = read(sample(0, reward=endless, prompt=[1], response=[]) | {"prompt": [endless]})
    assert rollout.reward_components["a"] == [1.0]
    assert rollout.prompt == [None]


def test_a_prompt_that_multiplies_itself_is_refused():
    bomb = ["boom"] * 10
    for _ in range(20):
        bomb = [bomb] * 10
    assert read({"prompt": bomb}).prompt == [None]


def test_prompts_are_json():
    rollout = read(
        {"prompt": 'a "b" </script>\u2028'},
        {"prompt": [{"role": "user", "content": "日本", "x": NAN, "big": 2**80}]},
        {"prompt": "broken \ud800 text"},
    )
    assert rollout.prompt[0] == '"a \\"b\\" </script>\u2028"'
    assert (
        rollout.prompt[1]
        == '[{"role":"user","content":"日本","x":null,"big":"[integer of 81 bits]"}]'
    )
    assert rollout.prompt[2] == '"broken \ufffd text"'


def test_labels_and_adapters():
    rollout = read(
        {"label": {"answer": 4}, "adapter": "lora0"},
        {"label": None, "adapter": {"name": "lora1"}},
        {"label": "x\udfff", "adapter": 5},
    )
    assert rollout.label == ['{"answer":4}', None, "x\ufffd"]
    assert rollout.adapter == ["lora0", "lora1", None]


def test_recorded_adapters_have_names(dumps):
    assert set(tables_of(dumps / "objects").samples["adapter"]) == {"lora0", "lora1"}


@pytest.mark.parametrize(
    ("pack", "place"),
    [
        (None, ""),
        ([1, 2], ""),
        ({}, ""),
        ({"rollout_id": 0}, ""),
        ({"samples": "abc"}, ""),
        ({"samples": {"a": 1}}, ""),
        ({"samples": [{}, 5]}, "sample 1"),
        ({"samples": [None]}, "sample 0"),
    ],
)
def test_what_is_no_pack_is_a_source_error(pack, place):
    with pytest.raises(SourceError) as caught:
        samples_of(pack, "rollout_data/0.pt")
    assert caught.value.path == "rollout_data/0.pt"
    assert caught.value.at == place


def test_an_empty_step_is_a_step(tmp_path):
    rollout_dump(tmp_path, [])
    tables = tables_of(tmp_path)
    assert tables.samples.height == 0
    assert tables.groups.height == 0
    assert tables.tokens().height == 0
    assert tables.texts.height == 0
    assert tables.conversations.height == 0
    assert tables.notable.height == 0
    assert tables.steps["n_samples"].to_list() == [0]
    assert tables.steps["reward_mean"].to_list() == [None]
