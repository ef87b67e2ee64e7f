"""The whole report by keyboard alone: no pointer is ever moved."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

FOCUSED = """() => {
  const node = document.activeElement;
  const shows = one => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  };
  return {
    name: node.getAttribute('aria-label') ?? node.textContent.trim(),
    tag: node.tagName,
    visible: shows(node) || shows(node.closest('.field') ?? node),
  };
}"""
MOST = 400


def tab_to(page, name, tag="A"):
    """Presses Tab until the focus stands on it; every stop on the way shows where it is."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED)
        assert now["visible"] or now["tag"] == "BODY", f"the focus cannot be seen: {now}"
        if now["tag"] == tag and now["name"].startswith(name):
            return
    raise AssertionError(f"{name} is not reached by Tab")


def test_a_walk_through_the_report(site, open_page):
    page = open_page(site("agentic", jobs=1) + "index.html")
    keyboard = page.keyboard
    keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["name"] == "Skip to the content"
    keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    tab_to(page, "All samples")
    keyboard.press("Enter")
    page.wait_for_url("**/rollouts/index.html")
    tab_to(page, "0")
    keyboard.press("Enter")
    page.wait_for_url("**/rollouts/step-0.html")

    expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()
    keyboard.press("/")
    keyboard.type("row < 9")
    keyboard.press("Enter")
    expect(page.locator(".step-rows tbody tr[data-row]")).to_have_count(9)
    tab_to(page, "Samples", "BUTTON")
    keyboard.press("ArrowRight")
    expect(page.locator(".step-unfold").first).to_be_visible()
    keyboard.press("ArrowLeft")
    page.evaluate("document.querySelector('.step-rows tbody tr[data-row]').scrollIntoView()")
    for _ in range(MOST):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('tr[data-row]')"):
            break
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    page.wait_for_url("**/sample.html?**")

    expect(page.locator(".sample-conversation .message").first).to_be_visible()
    tab_to(page, "Conversation", "BUTTON")
    keyboard.press("ArrowRight")
    expect(page.locator(".sample-tokens [data-i]").first).to_be_visible()
    keyboard.press("f")
    keyboard.type("a")
    keyboard.press("Enter")
    keyboard.press("Escape")
    keyboard.press("ArrowRight")
    assert "pos=" in page.url
    before = page.url.partition("row=")[2].partition("&")[0]
    keyboard.press(".")
    page.wait_for_url(lambda url: url.partition("row=")[2].partition("&")[0] != before)

    expect(page.locator(".sample-head h1").first).to_be_visible()
    keyboard.press("/")
    keyboard.type("notices")
    keyboard.press("Enter")
    page.wait_for_url("**/query.html?search=notices**")
    expect(page.get_by_role("link", name="Notices").last).to_be_visible()


@pytest.mark.parametrize("path", ["index.html", "rollouts/step-0.html", "query.html"])
def test_the_question_mark_shows_the_keys(site, open_page, path):
    page = open_page(site("agentic", jobs=1) + path)
    page.locator("main").focus()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    expect(sheet).to_contain_text("On every page")
    assert sheet.get_by_text("On this page").count() == (path != "index.html")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Keys").first.press("Enter")
    expect(sheet).to_be_visible()
    page.keyboard.press("Enter")
    expect(sheet).to_be_hidden()


def test_reduced_motion_moves_nothing(site, chromium):
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(site("agentic", jobs=1) + "metrics.html")
    page.locator(".metric-card svg.metric-plot").first.wait_for()
    moving = page.evaluate("""() => [...document.querySelectorAll('*')].filter(node => {
      const style = getComputedStyle(node);
      return [...style.transitionDuration.split(','), ...style.animationDuration.split(',')].some(part => parseFloat(part) > 0.001);
    }).map(node => node.className)""")
    context.close()
    assert moving == []


def test_paper_has_the_content_and_no_controls(site, open_page):
    page = open_page(site("agentic", jobs=1) + "rollouts/step-0.html")
    expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()
    for control in (".rail", ".topbar", ".copy-as", "[data-part=filter]"):
        expect(page.locator(control).first).to_be_hidden()
