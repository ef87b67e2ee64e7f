"""What the benchmarks share: a task in a process of its own, the best of a few tries, the printed table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MIB = 1 << 20
TRIES = 3

Figure = tuple[str, float, str, float, bool]
"""Name, value, unit, budget (NaN: none), whether more is better."""

NONE = float("nan")


def apart(script: str, task: str, *arguments: object) -> dict[str, float]:
    """Runs `script --task task arguments` in a fresh process; it prints its answer as JSON in the last line."""
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    done = subprocess.run(
        [sys.executable, script, "--task", task, *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    )
    return json.loads(done.stdout.splitlines()[-1])


def best(script: str, task: str, *arguments: object, key: str = "seconds") -> dict[str, float]:
    """The quickest of a few tries: a machine that does other work at the same time only makes them slower."""
    return min((apart(script, task, *arguments) for _ in range(TRIES)), key=lambda one: one[key])


def show(figures: list[Figure]) -> None:
    """Prints the table, with a word where a budget is passed."""
    print(f"{'':46}{'measured':>12}{'budget':>12}")
    for name, value, unit, budget, more in figures:
        has_budget = budget == budget  # noqa: PLR0124 - NaN: none
        limit = f"{'≥' if more else '≤'} {budget:.2f}" if has_budget else ""
        is_met = not has_budget or (value >= budget if more else value <= budget)
        print(f"{name:46}{value:>9.2f} {unit:<3}{limit:>11}{'' if is_met else '  over'}")
