from __future__ import annotations

import json
from pathlib import Path

import pytest

from miles_report.pages import sample_head, sample_text
from miles_report.pages.format import DASH
from miles_report.pages.sample import dynamic_page, own_path, sample_page
from miles_report.pages.sample_conversation import entries
from miles_report.site.html import Shell, render_body, render_page

CASES = json.loads(
    (Path(__file__).parents[1] / "js" / "conversation_cases.json").read_text("utf-8")
)
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028"
SHELL = Shell(
    "r", assets={name: name for name in ("favicon.svg", "theme.js", "report.css", "sample.js")}
)


def made(sample=None, tokens=None, **rest):
    columns = {
        "step": 12, "evaluation": False, "row": 3, "sample_index": 6331, "group_index": 791, "status": "completed",
        "reward_value": 1.0, "adv_mean": 0.7, "weight_version": "12", "weight_version_min": 11, "mixed_version": True,
        "staleness": 1, "turns": 3, "tool_calls": 2, "mean_abs_lp_diff": 0.3972, "max_abs_lp_diff": 4.1204,
        "alignment_failed": False, "remove_sample": False,
    } | (sample or {})  # fmt: skip
    return {
        "facts": {"run_name": "r", "start_ts": None, "has_tokenizer": True, "args": {}},
        "sample": columns,
        "group": [{"row": row, "sample_index": 6328 + row, "reward_value": 1.0, "response_length": 3,
                   "status": "completed"} for row in range(5)],
        "group_row": None,
        "neighbours": {"previous": 2, "next": 4},
        "response_offset": 1,
        "tokens": {"token_id": [1, 2, 3, 4], "loss_mask": [None, 1, 0, 1], "lp_diff": [None, 0.5, None, -2.0]} | (tokens or {}),
        "token_texts": {"1": "Q", "2": "<think>", "3": " tool\n", "4": "\ufffd"},
        "conversation": None,
        "texts": {"prompt": "Q", "response": "<think> tool\n"},
        "spans": [],
    } | rest  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_messages_are_read_as_the_browser_reads_them(case):
    shown = [
        {"role": one.role, "name": one.name, "callId": one.call_id,
         "blocks": [[block.kind, block.text, block.name, block.id, block.argument] for block in one.blocks]}
        for one in entries(case["messages"])
    ]  # fmt: skip

    assert shown == case["entries"]


def test_the_head_line_says_what_the_sample_is():
    facts = {fact.label: fact.value for fact in sample_head.facts(made())}

    assert facts["reward"] == "1"
    assert facts["advantage"] == "+0.700"
    assert facts["versions"] == f"v11{DASH}v12"
    assert facts["tokens"] == "1 prompt + 3 response, 2 trained"
    assert facts["|lp diff|"] == "mean 0.3972, max 4.1204"


@pytest.mark.parametrize(
    ("parts", "value", "shown"),
    [
        ({"reward.format": 0.2, "reward.correct": 0.8}, 1.0, "1 = format 0.200 + correct 0.800"),
        ({"reward.format": 0.2, "reward.correct": 0.8}, 0.8, "0.800 (format 0.200, correct 0.800)"),
        ({"reward.why": "x", "reward.correct": 1.0}, 1.0, "1 (why x, correct 1)"),
        ({"reward.correct": "NaN"}, "NaN", "not finite (correct not finite)"),
        ({}, None, DASH),
    ],
)
def test_reward_with_its_parts(parts, value, shown):
    facts = sample_head.facts(made({"reward_value": value} | parts))

    assert next(fact.value for fact in facts if fact.label == "reward") == shown


def test_runs_follow_the_mask():
    runs = sample_text.runs(made())

    assert [(run.kind, run.text) for run in runs] == [
        ("prompt", "Q"),
        ("trained", "<think>"),
        ("masked", " tool↵\n"),
        ("trained", "⟨4⟩"),
    ]
    assert runs[1].label == f"trained 1{DASH}1"


def test_without_a_mask_the_response_is_one_run():
    runs = sample_text.runs(made(tokens={"loss_mask": [None] * 4}))

    assert [run.kind for run in runs] == ["prompt", "response"]


def test_extremes_rank_by_size_with_not_finite_first():
    found = sample_text.extremes(made(tokens={"lp_diff": [None, 0.5, "NaN", -2.0]}))

    assert [(one.position, one.ratio) for one in found][1:] == [
        (3, pytest.approx(0.1353352)),
        (1, pytest.approx(1.6487212)),
    ]
    assert found[0].position == 2
    assert sample_text.extremes(made(tokens={"lp_diff": [None, "Infinity", None, 1e9]}))[
        1
    ].ratio == float("inf")


def test_invisible_characters_are_named():
    assert (
        sample_text.visible("a\u202eb\u200b\x00\t\r\n\u2028") == "a⟨U+202E⟩b⟨U+200B⟩␀⇥␍↵\n⟨U+2028⟩"
    )
    assert sample_text.one_line("  x ") == "··x·"
    assert sample_text.one_line("x" * 40, 5) == "xxxx…"


def test_own_pages_by_row():
    assert own_path(12, 3, evaluation=False) == "samples/12/3.html"
    assert sample_page(made({"evaluation": True})).path == "samples/eval-12/3.html"


def test_the_page_without_script_has_it_all():
    messages = [
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [{"function": {"name": "bash", "arguments": '{"cmd": "ls"}'}}]},
        {"role": "tool", "name": "bash", "content": "a.txt"},
    ]  # fmt: skip
    page = sample_page(made(conversation={"messages": messages, "prompt": HOSTILE}))

    body = render_body(page)
    whole = render_page(page, body, SHELL)

    assert "Sample 6331" in body
    assert "4 of 5 in group" in body
    assert 'href="../../sample.html?step=12&amp;row=2"' in body
    assert "calls bash, cmd" in body
    assert "&lt;/script&gt;&lt;img" in body
    assert "<img" not in body
    assert whole.count("</script>") == whole.count("<script")
    assert (
        json.loads(whole.split('id="page-data">')[1].split("</script>")[0])["payload"]["sample"][
            "row"
        ]
        == 3
    )


def test_an_unrecorded_conversation_shows_prompt_and_response_and_why():
    body = render_body(sample_page(made()))

    assert "No conversation of this sample was recorded" in body
    assert '<div class="prose">Q</div>' in body


def test_long_samples_are_cut_in_words():
    many = sample_text.SHOWN_TOKENS + 1
    payload = made(
        tokens={"token_id": [1] * many, "loss_mask": [1] * many, "lp_diff": [None] * many}
    )

    body = render_body(sample_page(payload))

    assert "The first 4\u202f000 of 4\u202f001 tokens" in body


def test_no_tokens_are_an_answer():
    payload = made({"status": "aborted"}, {"token_id": [], "loss_mask": []}, response_offset=0)
    payload["tokens"].pop("lp_diff")

    assert "holds no token for this sample" in render_body(sample_page(payload))


def test_the_dynamic_page_says_without_script_where_own_pages_are():
    page = dynamic_page()

    assert page.path == "sample.html"
    assert "samples/&lt;step&gt;/&lt;row&gt;.html" in render_body(page)


def test_a_sample_without_group_or_index():
    page = sample_page(made({"group_index": None, "sample_index": None}, group=[]))

    assert page.title == "Row 3"
    assert "in group" not in render_body(page)
