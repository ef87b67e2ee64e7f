from __future__ import annotations

from pathlib import Path

from miles_report.schema import browser

COMMITTED = Path(__file__).parents[2] / "templates" / "js" / "schema.js"


def test_the_browsers_copy_of_the_schema_is_up_to_date():
    assert COMMITTED.read_text(encoding="utf-8") == browser.script(), (
        "run: python -m miles_report.schema.browser"
    )


def test_its_first_line_says_that_it_is_generated():
    assert COMMITTED.read_text(encoding="utf-8").splitlines()[0] == browser.NOTICE
