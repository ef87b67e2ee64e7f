from __future__ import annotations

from miles_report.notices import Notice
from miles_report.pages.notices import notices_page, notices_summary
from miles_report.site.html import render_body


def torn(line: int) -> Notice:
    return Notice(
        "torn-line", "warning", f"metrics.jsonl, line {line}", f"Line {line} is torn.", "None."
    )


BROKEN = Notice("broken-file", "error", "rollout_data/3.pt", "Step 3 is missing.", "Copy it again.")
ABSENT = Notice("no-metrics", "info", "", "Nothing was logged.", "")


def test_gravest_first_and_only_what_is_there():
    severities = notices_page([ABSENT, torn(1), BROKEN]).values["severities"]
    assert [group.name for group in severities] == ["error", "warning", "info"]
    assert [group.name for group in notices_page([ABSENT]).values["severities"]] == ["info"]


def test_more_than_six_of_a_kind_are_folded_but_there():
    notices = [torn(line) for line in range(10, 19)]
    (group,) = notices_page(notices).values["severities"]
    (kind,) = group.kinds
    assert len(kind.open) == 6
    assert [*kind.open, *kind.folded] == notices
    assert kind.more == "3 more of this kind"
    body = render_body(notices_page(notices))
    assert all(f"Line {line} is torn." in body for line in range(10, 19))


def test_one_code_with_two_remedies_makes_two_kinds():
    other = Notice("torn-line", "warning", "x", "y", "Another remedy.")
    (group,) = notices_page([torn(1), other]).values["severities"]
    assert {kind.remedy for kind in group.kinds} == {"None.", "Another remedy."}


def test_order_of_the_input_does_not_matter():
    notices = [torn(3), BROKEN, ABSENT, torn(1)]
    assert notices_page(notices) == notices_page(notices[::-1])


def test_summary_counts_in_words():
    assert notices_summary([]) == "none"
    assert notices_summary([torn(1), torn(2), BROKEN, ABSENT]) == "1 error, 2 warnings, 1 info"


def test_without_notices_the_page_says_what_would_stand_here():
    body = render_body(notices_page([]))
    assert "Nothing to report" in body
    assert "would stand here" in body


def test_a_notice_on_the_whole_dump_says_so_and_text_is_escaped():
    body = render_body(notices_page([ABSENT, Notice("x", "info", "<b>.pt", "<i>", "<u>")]))
    assert "the dump" in body
    assert "&lt;b&gt;.pt" in body
    assert "<i>" not in body
