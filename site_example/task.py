"""The task: a chain of additions, subtractions and products, solved with a calculator called in turns.

The prompt reads "Take 12, times 3, plus 7." The reward has two components that are added up: 0.9 for the right answer and 0.1
for a solution in the right form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

WORDS = {"plus": "+", "minus": "-", "times": "*"}
MOST_TURNS = 5
"""Turns of the model after which a sample counts as truncated."""

_CALL = re.compile(r"calc (-?\d+)([+*-])(\d+)")
_ANSWER = re.compile(r"answer (-?\d+)")


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes:
        start: the first number.
        steps: (word, operand) in the order in which they are applied.
    """

    start: int
    steps: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The question."""
        return f"Take {self.start}, " + ", ".join(f"{word} {n}" for word, n in self.steps) + "."

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calculations that lead to the answer, each with its result."""
        calls, value = [], self.start
        for word, operand in self.steps:
            expression = f"{value}{WORDS[word]}{operand}"
            value = int(calculate(f"calc {expression}") or 0)
            calls.append((expression, str(value)))
        return calls

    @property
    def answer(self) -> int:
        """The number that is asked for."""
        return int(self.calls[-1][1])


def draw(source: random.Random, *, most_steps: int = 2) -> Problem:
    """A problem of one to `most_steps` steps."""
    n_steps = source.randint(1, most_steps)
    words = sorted(WORDS)
    steps = tuple((source.choice(words), source.randint(2, 9)) for _ in range(n_steps))
    return Problem(source.randint(10, 99), steps)


def calculate(message: str) -> str | None:
    """The calculator's result; null if the message is no call of it."""
    found = _CALL.fullmatch(message)
    if found is None:
        return None
    left, operator, right = int(found[1]), found[2], int(found[3])
    results = {"+": left + right, "-": left - right, "*": left * right}
    return str(results[operator])


def reward(problem: Problem, messages: list[str]) -> dict[str, float]:
    """What the model's messages, one a turn, are worth.

    Returns:
        correctness, and format (every message but the last is a call, the last an answer); what is trained is their sum.
    """
    found = _ANSWER.fullmatch(messages[-1]) if messages else None
    is_formed = found is not None and all(calculate(text) is not None for text in messages[:-1])
    is_correct = found is not None and int(found[1]) == problem.answer
    return {
        "correctness": 0.9 * is_correct,
        "format": 0.1 * is_formed,
    }


def demonstration(problem: Problem, source: random.Random, *, flaws: float) -> list[str]:
    """Messages of a demonstrator who goes wrong in a share of cases: a slip in a number, or a guess without the tool.

    Args:
        problem: what is solved.
        source: decides whether and how it goes wrong.
        flaws: share of demonstrations with a flaw.
    """
    messages = [f"calc {expression}" for expression, _ in problem.calls]
    messages.append(f"answer {problem.answer}")
    if source.random() >= flaws:
        return messages
    at = source.randrange(len(messages))
    if source.random() < 0.5:  # a guess
        return [*messages[:at], f"answer {source.randint(0, 199)}"]
    slipped = re.sub(r"\d", lambda _: str(source.randint(1, 9)), messages[at], count=1)
    return [*messages[:at], slipped, *messages[at + 1 :]]
