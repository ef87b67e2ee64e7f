from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from miles_report.pages import format as shown

CASES = json.loads((Path(__file__).parents[1] / "data" / "format_cases.json").read_text())
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
FUNCTIONS = {
    **{name: getattr(shown, name) for name in CASES if name != "id"},
    "id": lambda content: shown.value(content, "id"),
}


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [(name, content, text) for name, cases in CASES.items() for content, text in cases],
)
def test_case_shared_with_the_browser(name, content, text):
    given = SPECIAL.get(content, content) if isinstance(content, str) else content
    assert FUNCTIONS[name](given) == text


def test_rounding_is_of_the_exact_value_with_halves_away_from_zero():
    assert shown.fixed(0.125, 2) == "0.13"
    assert shown.fixed(-0.125, 2) == f"{shown.MINUS}0.13"
    assert shown.fixed(1.005, 2) == "1.00"  # 1.005 is stored a little lower


def test_forms_of_the_schema_reach_their_function():
    assert shown.value(0.25, "frac") == f"25.0{shown.THIN}%"
    assert shown.value(-0.5, "logprob") == f"{shown.MINUS}0.5000"
    assert shown.value(62.0, "seconds") == f"1{shown.THIN}m{shown.THIN}02{shown.THIN}s"
    assert shown.value(0, "ts") == "1970-01-01 00:00:00 UTC"
    assert shown.value(12345, "count") == f"12{shown.THIN}345"


def test_plural_and_span():
    assert shown.plural(1, "entry", "entries") == "1 entry"
    assert shown.plural(1200, "step") == f"1{shown.THIN}200 steps"
    assert shown.span(0.312, None) == f"0.312 {shown.DASH} {shown.DASH}"
