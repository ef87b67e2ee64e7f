from __future__ import annotations

import random

import pytest

from site_example.record import rise
from site_example.task import Problem, calculate, demonstration, draw, reward
from site_example.tokenizer import (
    END_ID,
    PAD_ID,
    TOKENS,
    make_tokenizer,
    prompt_text,
    save_tokenizer,
    tool_text,
)

CHAIN = Problem(12, (("times", 3), ("minus", 40)))


def test_a_problem_tells_its_question_its_calls_and_its_answer():
    assert CHAIN.text == "Take 12, times 3, minus 40."
    assert CHAIN.calls == [("12*3", "36"), ("36-40", "-4")]
    assert CHAIN.answer == -4


@pytest.mark.parametrize(
    ("message", "result"),
    [
        ("calc 12*3", "36"),
        ("calc -4+5", "1"),
        ("calc 3--4", None),
        ("calc 1+2+3", None),
        (" calc 1+2", None),
        ("answer 3", None),
        ("calc 1+2\n", None),
    ],
)
def test_the_calculator_takes_one_operation(message, result):
    assert calculate(message) == result


@pytest.mark.parametrize(
    ("messages", "correctness", "form"),
    [
        (["calc 12*3", "calc 36-40", "answer -4"], 0.9, 0.1),
        (["answer -4"], 0.9, 0.1),
        (["calc 12*3", "answer 36"], 0.0, 0.1),
        (["calc 12*", "answer -4"], 0.9, 0.0),
        (["calc 12*3"], 0.0, 0.0),
        (["answer 4 "], 0.0, 0.0),
        ([], 0.0, 0.0),
    ],
)
def test_components_of_the_reward(messages, correctness, form):
    assert reward(CHAIN, messages) == {"correctness": correctness, "format": form}


def test_demonstrations_without_flaws_are_worth_everything():
    source = random.Random(1)
    for _ in range(200):
        problem = draw(source, most_steps=4)
        messages = demonstration(problem, source, flaws=0.0)
        assert sum(reward(problem, messages).values()) == pytest.approx(1.0)


def test_flawed_demonstrations_leave_room():
    source = random.Random(1)
    problems = [draw(source) for _ in range(500)]
    values = [sum(reward(p, demonstration(p, source, flaws=1.0)).values()) for p in problems]
    assert 0.05 < sum(values) / len(values) < 0.5


def test_tokens_are_words_digits_and_marks(tmp_path):
    tokenizer = make_tokenizer()
    text = prompt_text(CHAIN.text) + "calc 12*3<|end|>" + tool_text("36") + "answer -4<|end|>"
    encoded = tokenizer.encode(text)
    assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text
    assert encoded.tokens[:6] == ["<|user|>", "Take", " ", "1", "2", ","]
    assert PAD_ID not in encoded.ids
    assert encoded.ids[-1] == END_ID
    assert len(set(TOKENS)) == len(TOKENS)
    save_tokenizer(tokenizer, tmp_path)
    assert (tmp_path / "tokenizer.json").is_file()


def test_rise_compares_the_first_steps_with_the_last():
    assert rise([0.1, 0.3, 0.9, 0.8, 1.0], 2) == pytest.approx(
        {"first": 0.2, "last": 0.9, "deviation": 0.02**0.5}
    )
