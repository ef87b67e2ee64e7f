"""Search over all steps, from the field that every page has to the message that was meant."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from miles_report.run import open_run


def ended(page):
    page.wait_for_selector(".search-head .query-status:has-text('searched')", timeout=60_000)
    return page.locator(".search-head .query-status").inner_text()


def test_a_word_of_a_conversation_in_another_step_is_found_and_led_to(open_page, site, dumps):
    """The question of one sample of step 1 alone is found in the dump first."""
    phrase = "Question 3: what is in <script>alert(1)</script>?"
    dumped = open_run(dumps / "agentic")
    [(step, row, place)] = [
        (step, row["row"], place)
        for step in dumped.steps
        for row in dumped.table("conversations", step=step).iter_rows(named=True)
        for place, message in enumerate(json.loads(row["messages"]))
        if message["content"] == phrase
    ]
    assert step == 1

    page = open_page(site("agentic") + "rollouts/step-0.html")
    page.locator(".rail form.goto input").fill(f'"{phrase.lower()}"')
    page.keyboard.press("Enter")
    page.wait_for_url("**/query.html?search=*")
    assert ended(page).startswith(f"1 sample with “{phrase.lower()}”; 3 steps searched")
    assert page.locator(".search-hit mark").inner_text() == phrase
    link = page.locator(".search-hit .search-part")
    assert link.inner_text() == "user"
    assert (
        link.get_attribute("href")
        == f"sample.html?step=1&row={row}&tab=conversation&message={place}"
    )
    link.click()
    asked = page.locator("section.message[data-asked]")
    asked.wait_for()
    assert phrase in asked.inner_text()
    page.wait_for_function(
        "() => { const box = document.querySelector('[data-asked]').getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight; }"
    )

    page.goto(site("agentic") + "query.html?search=" + quote('"let me look." step = 1 -evaluation'))
    looked = sum("Let me look." in text for text in dumped.table("texts", step=1)["response"])
    assert ended(page).startswith(f"{looked} samples")
    assert re.fullmatch(r"turn \d+, assistant", page.locator(".search-part").first.inner_text())


def test_the_filter_grammar_works_over_all_steps(open_page, site, dumps):
    dumped = open_run(dumps / "agentic")
    expected = sum(
        int((dumped.table("samples", step=step)["status"] == "aborted").sum())
        for step in dumped.steps
    )
    page = open_page(site("agentic") + "query.html?search=status:aborted+-evaluation")
    assert f"{expected} samples with status = aborted and not evaluation; 2 steps" in ended(page)
    assert page.locator(".search-hit").count() == expected
    page.get_by_label("Search samples").fill("rewrd < 1")
    page.keyboard.press("Enter")
    assert "did you mean reward" in page.locator("#search-trouble").inner_text()


def test_hostile_text_in_a_hit_stays_text(open_page, site):
    page = open_page(site("agentic") + "query.html?search=onerror")
    ended(page)
    assert page.locator(".search-hit mark").first.inner_text() == "onerror"
    assert not page.locator(".search-hit img, .search-hit script").count()


def test_a_search_can_be_stopped(open_page, site):
    page = open_page(site("agentic") + "query.html")
    held = []

    def hold(route):
        held.append(route)

    page.route("**/step-1/texts-*.parquet", hold)
    page.get_by_role("tab", name="Search").click()
    page.get_by_label("Search samples").fill("answer")
    page.keyboard.press("Enter")
    page.wait_for_selector(".search-hit")
    assert "searching: 1 of 3 steps" in page.locator(".search-head .query-status").inner_text()
    page.get_by_role("button", name="Stop", exact=True).click()
    for route in held:
        route.continue_()
    page.wait_for_selector(".search-head .query-status:has-text('stopped after 1 of 3 steps')")
    assert page.locator(".search-hit").count() > 0


def test_much_reading_is_asked_for(open_page, site):
    page = open_page("about:blank", origin=site("agentic"))

    def little(route):
        answer = route.fetch()
        body = answer.text().replace('"ask_bytes":52428800', '"ask_bytes":15000')
        route.fulfill(response=answer, body=body)

    page.route("**/query.html?*", little)
    page.goto(site("agentic") + "query.html?search=answer")
    page.wait_for_selector(".query-ask:has-text('have been read')")
    page.get_by_role("button", name="Stop here").click()
    page.wait_for_selector(".search-head .query-status:has-text('stopped after 1 of 3 steps')")


def test_the_slash_goes_to_the_field_on_every_page(open_page, site):
    for path in ("index.html", "notices.html", "query.html"):
        page = open_page(site("agentic") + path)
        page.locator("h1").first.click()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.closest('form')?.className") == "goto"
    narrow = open_page(site("agentic") + "notices.html", width=390)
    narrow.keyboard.press("/")
    assert narrow.evaluate("document.activeElement.closest('.topbar') !== null")
    narrow.keyboard.type("step 1")
    narrow.keyboard.press("Enter")
    ended(narrow)
    narrow.locator(".search-places a", has_text="Step 1").click()
    assert narrow.url.endswith("rollouts/step-1.html")
