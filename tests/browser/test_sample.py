"""Sample pages in a browser: reading, colouring, jumping; by http, from a file, without script, at 100,000 tokens."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import pytest

from miles_report.pages.sample import sample_page
from miles_report.site import html

ASSETS = Path(__file__).parents[2] / "miles_report" / "_assets"
HOSTILE = "</script><img src=x onerror=alert(1)>"
MESSAGES = [
    {"role": "system", "content": "Be careful."},
    {"role": "user", "content": HOSTILE},
    {
        "role": "assistant",
        "content": "<think>inline thought</think>Let me look.",
        "reasoning_content": "first thought",
        "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": '{"cmd": "ls -l"}'}}],
    },
    {"role": "tool", "name": "bash", "tool_call_id": "c1", "content": "<b>total</b> 0"},
    {"role": "assistant", "content": "It is <i>empty</i>."},
]
# position:      0     1     2    3       4      5     6     7      8
TEXTS = ["Q:", " go", "ok", " then", "\n<x>", " a", "b", "Now", " it"]
MASK = [None, None, 1, 1, 0, 0, 0, 1, 1]
LP_DIFF = [None, None, 0.01, -0.2, None, None, None, 2.0, 0.6]
PAINT = "[data-i='{}']"


def crafted(length: int | None = None) -> dict:
    """A payload whose places are known: turn 1 at 2, tool output at 4, turn 2 at 7, the largest lp_diff there."""
    sample = {
        "step": 12, "evaluation": False, "row": 3, "sample_index": 97, "group_index": 5, "eval_set": None,
        "status": "completed", "reward_value": 1.0, "reward.format": 0.2, "reward.correct": 0.8, "adv_mean": 0.7,
        "weight_version": "12", "weight_version_min": 11, "mixed_version": True, "staleness": 1, "turns": 2,
        "tool_calls": None, "mean_abs_lp_diff": 0.7, "max_abs_lp_diff": 2.0, "alignment_failed": False,
        "remove_sample": False, "dumped_rank": 0, "response_length": 7,
    }  # fmt: skip
    repeat = 1 if length is None else length // len(TEXTS) + 1
    ids = list(range(1, len(TEXTS) + 1)) * repeat
    mask = MASK + [1 if value is None else value for value in MASK] * (repeat - 1)
    lp_diff = LP_DIFF + [0.001 if flag else None for flag in mask[len(TEXTS) :]]
    span = {"status": "completed"}
    return {
        "version": 1,
        "facts": {"run_name": "r", "start_ts": 0.0, "has_tokenizer": True,
                  "args": {"eps_clip": 0.2, "eps_clip_high": 0.28}},
        "sample": sample,
        "group": [{"row": row, "sample_index": 94 + row, "reward_value": 1.0, "response_length": row,
                   "status": "completed"} for row in range(2, 5)],
        "group_row": {"reward_mean": 0.375},
        "neighbours": {"previous": 2, "next": 4},
        "response_offset": 2,
        "tokens": {"token_id": ids, "loss_mask": mask, "lp_diff": lp_diff,
                   "rollout_log_probs": [None if value is None else -1.0 for value in lp_diff]},
        "token_texts": {str(number + 1): text for number, text in enumerate(TEXTS)},
        "conversation": {"messages": MESSAGES, "prompt": "Q: go"},
        "texts": {"prompt": "Q: go", "response": "".join(TEXTS[2:])},
        "spans": [
            {"kind": "attempt", "t0": 10.0, "t1": 40.0, "turn": -1, "weight_version": None} | span,
            {"kind": "gen", "t0": 12.0, "t1": 20.0, "turn": 1, "weight_version": "11"} | span,
            {"kind": "tool", "t0": 20.0, "t1": 24.0, "turn": 1, "weight_version": None} | span,
            {"kind": "gen", "t0": 24.0, "t1": 40.0, "turn": 2, "weight_version": "12"} | span,
        ],
    }  # fmt: skip


@pytest.fixture(scope="session")
def own_pages(tmp_path_factory):
    """Own pages rendered into a folder: `own_pages(name, payload)` is a file address."""
    root = tmp_path_factory.mktemp("own")
    shutil.copytree(ASSETS, root / "assets")
    assets = {path.name: f"assets/{path.name}" for path in ASSETS.iterdir()}
    shell = html.Shell("r", assets=assets)

    def write(name, payload):
        page = sample_page(payload)
        path = root / "samples" / name / "3.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html.render_page(page, html.render_body(page), shell), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture(scope="session")
def own_page(own_pages):
    return own_pages("crafted", crafted())


def background(page, position):
    return page.locator(PAINT.format(position)).first.evaluate(
        "node => getComputedStyle(node).backgroundColor"
    )


def selected(page):
    return page.locator(".t.selected").first.get_attribute("data-i")


def test_the_head_says_what_it_is(open_page, own_page):
    page = open_page(own_page)

    assert page.locator("h1").inner_text() == "Sample 97"
    facts = page.locator(".facts").inner_text()
    assert "1 = format 0.200 + correct 0.800" in facts
    assert "v11–v12" in facts
    assert "2 prompt + 7 response, 4 trained" in facts
    # ratios 1.01, 0.82, 7.39, 1.82 against 0.8 and 1.28
    assert "2 (50.0\u202f%)" in facts
    links = page.locator(".sample-nav").first
    assert links.inner_text().split()[1:-1] == ["96", "2", "of", "3", "in", "group", "98"]
    assert links.locator("a").first.get_attribute("href") == "../../sample.html?step=12&row=2"
    labels = page.locator(".life-labels span").all_inner_texts()
    assert labels == ["queued", "turn 1, v11", "tool 4.0\u202fs", "turn 2, v12"]


def test_a_conversation_is_read_and_its_markup_stays_inert(open_page, own_page):
    page = open_page(own_page)

    messages = page.locator(".message")
    assert messages.count() == len(MESSAGES)
    assert messages.nth(1).locator(".prose").inner_text() == HOSTILE
    assert messages.nth(4).locator(".prose").inner_text() == "It is <i>empty</i>."
    assert page.locator(".conversation img, .conversation i, .conversation script").count() == 0
    assistant = messages.nth(2)
    assert assistant.locator(".block.thinking .prose").all_inner_texts() == [
        "first thought",
        "inline thought",
    ]
    assert assistant.locator(".block.call pre").inner_text() == "ls -l"
    assert "bash, cmd" in assistant.locator(".block.call summary").inner_text()
    assert "turn 1, v11" in assistant.locator(".gutter").inner_text()
    result = messages.nth(3)
    assert result.locator("pre").inner_text() == "<b>total</b> 0"
    assert "14 characters" in result.locator("summary").inner_text()
    assert "masked" in result.locator(".gutter").inner_text()


def test_folding_keeps_sizes_and_markup_shows_what_was_recorded(open_page, own_page):
    page = open_page(own_page)

    page.get_by_role("button", name="Fold all").click()
    assert page.locator(".message details[open]").count() == 0
    assert page.locator(".block.result summary").is_visible()
    assert "14 characters" in page.locator(".block.result summary").inner_text()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".block.result pre").is_visible()
    page.get_by_role("button", name="Show markup").click()
    assert "<think>inline thought</think>" in page.locator(".markup").nth(2).inner_text()
    assert "markup=1" in page.url


def test_tokens_are_coloured_by_ratio_and_masked_ones_are_not(open_page, own_page):
    page = open_page(own_page + "?tab=tokens")

    assert "imp_ratio" in page.get_by_role("button", name=re.compile("^colour")).inner_text()
    plain = background(page, 0)
    assert [background(page, position) == plain for position in range(9)] == [
        True, True, True, False, True, True, True, False, False,
    ]  # fmt: skip
    assert page.locator(".segment.masked [data-i]").first.get_attribute("data-i") == "4"
    assert page.locator(".segment.prompt [data-i]").count() == 2
    colour = "node => getComputedStyle(node).color"
    dimmed = page.locator(PAINT.format(5)).evaluate(colour)
    assert dimmed == page.locator(PAINT.format(0)).evaluate(colour)
    assert dimmed != page.locator(PAINT.format(2)).evaluate(colour)
    assert page.locator(".t.out").evaluate_all("list => list.map(node => node.dataset.i)") == [
        "7",
        "8",
    ]


def test_a_masked_token_has_no_values(open_page, own_page):
    page = open_page(own_page + "?tab=tokens")

    page.locator(PAINT.format(5)).hover()
    card = page.locator(".token-card")
    cells = card.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => row.innerText.split('\\t').slice(1).join('|'))"
    )
    assert set(cells) == {"–|masked"}


def test_the_card_tells_every_series(open_page, own_page):
    page = open_page(own_page + "?tab=tokens")

    page.locator(PAINT.format(7)).hover()
    rows = dict(
        page.locator(".token-card tbody tr").evaluate_all(
            "rows => rows.map(row => [row.cells[0].innerText, row.cells[1].innerText + ' ' + row.cells[2].innerText])"
        )
    )
    assert rows["lp_diff"] == "+2.0000 "
    assert rows["imp_ratio"] == f"{math.exp(2):.2f} clipped at 1.28"
    assert rows["rollout_log_probs"] == "−1.0000 p 36.8\u202f%"
    assert rows["entropy"] == "– not recorded"


def test_buttons_reach_the_extreme_the_divergence_and_the_boundary(open_page, own_page):
    page = open_page(own_page + "?tab=tokens")

    page.get_by_role("button", name=re.compile("Largest .lp diff")).click()
    assert selected(page) == "7"
    assert "pos=7" in page.url
    assert page.locator(".token-card").is_visible()
    page.get_by_role("button", name="First divergence").click()
    assert selected(page) == "7"
    page.get_by_role("button", name="Next boundary").click()
    assert selected(page) == "0"
    for place in ("2", "4", "7"):
        page.get_by_role("button", name="Next boundary").click()
        assert selected(page) == place
    page.get_by_role("button", name="Next out of clip").click()
    assert selected(page) == "8"
    page.get_by_role("button", name="First masked").click()
    assert selected(page) == "4"
    assert page.get_by_role("button", name="Largest entropy").is_disabled()


def test_keys_move_and_pin(open_page, own_page):
    page = open_page(own_page + "?tab=tokens")

    page.keyboard.press("d")
    assert selected(page) == "7"
    page.keyboard.press("ArrowRight")
    assert selected(page) == "8"
    page.keyboard.press("ArrowUp")
    assert int(selected(page)) < 8
    page.keyboard.press("Enter")
    assert page.locator(".token-card").is_hidden()
    page.keyboard.press("f")
    page.keyboard.type("NOW IT")
    page.keyboard.press("Enter")
    assert selected(page) == "7"
    assert page.locator(".t.found").count() == 2


def test_the_link_brings_the_view_back(open_page, own_page):
    page = open_page(own_page + "?tab=tokens&series=lp_diff&pos=8")

    page.locator(".t.selected").first.wait_for()
    assert selected(page) == "8"
    assert "lp_diff" in page.get_by_role("button", name=re.compile("^colour")).inner_text()
    page.get_by_role("tab", name="Raw").click()
    assert "tab=raw" in page.url
    page.go_back()
    assert page.get_by_role("tab", name="Tokens").get_attribute("aria-selected") == "true"


def test_without_script_it_can_be_read(open_page, own_page):
    page = open_page(own_page, javascript=False)

    text = page.locator("main").inner_text()
    assert HOSTILE in text
    assert "first thought" in text
    assert "masked 4–6" in text
    assert page.locator(".static-extremes tbody tr").first.inner_text().split("\t")[:2] == [
        "7",
        "Now",
    ]


def test_a_hundred_thousand_tokens_scroll_with_few_elements(open_page, own_pages):
    page = open_page(own_pages("long", crafted(100_000)) + "?tab=tokens")

    page.locator(".segment").first.wait_for()
    count = "document.querySelectorAll('main *').length"
    at_top = page.evaluate(count)
    scroll = """async share => {
      const strip = document.querySelector('.token-strip');
      strip.scrollTop = share * strip.scrollHeight;
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      return [document.querySelectorAll('main *').length, Number(document.querySelector('.line [data-i]').dataset.i)];
    }"""
    places = [page.evaluate(scroll, share) for share in (0.25, 0.5, 0.9)]
    assert max(at_top, *(elements for elements, _ in places)) < 6000
    assert [first for _, first in places] == sorted(first for _, first in places)
    assert places[-1][1] > 80_000
    page.keyboard.press("d")
    page.locator(".t.selected").first.wait_for()
    assert selected(page) == "7"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("tab", ["conversation", "tokens", "raw"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_scrolls_sideways(open_page, own_page, width, tab, dark):
    page = open_page(f"{own_page}?tab={tab}", width=width, dark=dark)

    page.get_by_role("tab", name=tab.capitalize()).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_narrow_page_the_card_is_a_sheet(open_page, own_page):
    page = open_page(own_page + "?tab=tokens&pos=7", width=390, height=844)

    page.locator(".token-card.sheet").wait_for()
    box = page.locator(".token-card").bounding_box()
    assert round(box["x"]) == 0
    assert round(box["y"] + box["height"]) == 844


def test_samples_without_tokens_say_why(open_page, own_pages):
    payload = crafted()
    payload["tokens"] = {"token_id": [], "loss_mask": []}
    payload["response_offset"] = 0
    payload["sample"] |= {"status": "aborted", "response_length": 0}
    page = open_page(own_pages("empty", payload) + "?tab=tokens")

    assert "aborted before anything was generated" in page.locator(".sample-tokens").inner_text()


def test_not_finite_values_are_shown_as_such(open_page, own_pages):
    payload = crafted()
    payload["tokens"]["lp_diff"][7] = "NaN"
    payload["tokens"]["lp_diff"][8] = "Infinity"
    page = open_page(own_pages("strange", payload) + "?tab=tokens")

    page.locator(PAINT.format(7)).hover()
    assert page.locator(".token-card").inner_text().count("not finite") == 2
    assert page.locator(".t.strange").count() == 2
    assert page.locator("table.largest tbody tr").first.inner_text().split("\t")[0] == "7"


def test_any_sample_is_fetched_from_the_slices(open_page, site):
    page = open_page(site("agentic") + "sample.html?step=0&row=3&tab=tokens")

    page.locator(".segment.turn").first.wait_for()
    assert page.locator("h1").inner_text() == "Sample 3"
    assert page.locator(".life-band i").count() > 5
    page.get_by_role("button", name=re.compile("Largest .lp diff")).click()
    assert selected(page) == "615"
    page.get_by_role("button", name="First divergence").click()
    page.get_by_role("button", name="Next boundary").click()
    assert "tool" in page.locator(".segment:has(.selected) .gutter").inner_text()


def test_any_eval_sample(open_page, site):
    page = open_page(site("agentic") + "sample.html?step=1&row=0&eval=1")

    page.locator(".message").first.wait_for()
    assert "Eval at step 1" in page.locator(".crumbs").inner_text()


def test_an_index_that_several_rows_share_asks_which(open_page, site):
    page = open_page(site("agentic") + "sample.html?step=1&sample=0&eval=1&tab=tokens")

    page.locator("main .empty a").first.click()
    page.locator(".facts").wait_for()
    assert page.locator("h1").inner_text() == "Sample 0"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "The address names no sample"),
        ("?step=0", "The address names no row"),
        ("?step=x&row=0", "step=x is no whole number"),
        ("?step=0&row=999", "The step has no row 999"),
        ("?step=77&row=0", "Step 77 is not in this report"),
    ],
)
def test_what_cannot_be_shown_is_said(open_page, site, query, words):
    page = open_page(site("agentic") + "sample.html" + query)

    page.locator("main .empty, main .error-box").first.wait_for()
    assert words in page.locator("main").inner_text()


def test_own_and_fetched_pages_show_the_same(open_page, site):
    address = site("agentic", pages="all")
    own = open_page(address + "samples/0/5.html?tab=tokens")
    own.locator(".segment").first.wait_for()
    fetched = open_page(address + "sample.html?step=0&row=5&tab=tokens")
    fetched.locator(".segment").first.wait_for()

    for part in (".facts", ".token-strip", ".sample-side", ".sample-nav >> nth=0"):
        assert own.locator(part).inner_text() == fetched.locator(part).inner_text()
