"""The metrics page in a browser: hover, zoom, reset, filter, log, time, pins, downloads; without script."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect


@pytest.fixture
def metrics(site, open_page):
    def open_metrics(query="", name="agentic", **options):
        page = open_page(site(name) + "metrics.html" + query, **options)
        page.locator(".metric-body .metric-card").first.wait_for()
        return page

    return open_metrics


def reload(page):
    page.wait_for_load_state("networkidle")
    page.reload()


def query(page):
    return {key: values[0] for key, values in parse_qs(urlsplit(page.url).query).items()}


def chart(page, key):
    return page.locator(f'.metric-body .metric-card[data-key="{key}"] svg.metric-plot').last


def point_at(page, key, share):
    chart(page, key).scroll_into_view_if_needed()
    box = chart(page, key).bounding_box()
    return box["x"] + 40 + share * (box["width"] - 48), box["y"] + 40


def test_every_key_is_a_card_in_its_category(metrics):
    page = metrics()
    names = page.locator(".metric-body h2").all_inner_texts()
    assert names == ["Pinned", "rollout", "train", "dump", "perf", "eval", "misc", "data buffer"]
    assert page.locator(".metric-body .metric-card").count() == 6 + 26 + 1


def test_hover_shows_the_value_in_all_charts(metrics):
    page = metrics("?filter=train/")
    page.mouse.move(*point_at(page, "train/loss", 1.0))
    page.locator(".metric-body g[visibility='visible'] text.value").first.wait_for()
    values = page.locator(".metric-body g[visibility='visible'] text.value").all_text_contents()
    assert values == ["\u22120.0100", "1.50", "3"]
    page.mouse.move(5, 5)
    page.locator(".metric-body g[visibility='visible'] text.value").first.wait_for(state="detached")


def test_drag_zooms_all_charts_and_double_click_resets(metrics):
    page = metrics("?filter=train/")
    labels = chart(page, "train/grad_norm").locator(".axis.x text")
    assert labels.all_text_contents() == ["step 0", "1", "2", "3"]
    page.mouse.move(*point_at(page, "train/loss", 0.25))
    page.mouse.down()
    page.mouse.move(*point_at(page, "train/loss", 0.8), steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Reset zoom").wait_for()
    assert labels.all_text_contents() == ["step 1", "2"]
    assert re.fullmatch(r"[0-9.]+:[0-9.]+", query(page)["zoom"])
    reload(page)
    labels.first.wait_for()
    assert labels.all_text_contents() == ["step 1", "2"]
    page.mouse.dblclick(*point_at(page, "train/loss", 0.5))
    page.get_by_role("button", name="Reset zoom").wait_for(state="hidden")
    assert labels.all_text_contents() == ["step 0", "1", "2", "3"]
    assert "zoom" not in query(page)


def test_filter_by_words_of_key_or_explanation(metrics):
    page = metrics()
    page.keyboard.press("/")
    page.keyboard.type("zero_std")
    expect(page.locator(".metric-body .metric-card")).to_have_count(1)
    assert (
        page.locator(".metric-body .metric-card").get_attribute("data-key")
        == "dump/zero_std_group_frac"
    )
    assert query(page) == {"filter": "zero_std"}
    page.locator(".metric-filter input").fill("no such words")
    page.get_by_text("No key has these words.").wait_for()
    page.locator(".metric-filter input").fill("")
    expect(page.locator(".metric-body .metric-card")).to_have_count(33)


def test_log_time_columns_and_smoothing_are_in_the_link(metrics):
    page = metrics("?filter=perf/")
    page.get_by_role("button", name="Log", exact=True).click()
    page.get_by_role("button", name="Time", exact=True).click()
    page.get_by_role("button", name="2 columns").click()
    page.get_by_role("slider", name="Smoothing").fill("0.6")
    assert query(page) == {
        "filter": "perf/",
        "y": "log",
        "x": "time",
        "columns": "2",
        "smooth": "0.6",
    }
    reload(page)
    chart(page, "perf/step_time").wait_for()
    card = page.locator('.metric-card[data-key="perf/step_time"]')
    assert "log" in card.locator(".metric-words").inner_text()
    assert card.locator(".axis.x text").first.text_content().startswith("+0:")
    assert card.locator("path.line.raw").count() == 1
    assert card.locator(".metric-value").inner_text() == "21\u202fm\u202f41\u202fs"


def test_a_pin_stays(metrics):
    page = metrics()
    card = page.locator(
        '.metric-body section:has(h2:text-is("train")) .metric-card[data-key="train/loss"]'
    )
    card.scroll_into_view_if_needed()
    card.hover()
    card.get_by_role("button", name="Pin train/loss").click()
    pinned = page.locator('.metric-body section:has(h2:text-is("Pinned")) .metric-card')
    assert pinned.count() == 7
    assert pinned.last.get_attribute("data-key") == "train/loss"
    reload(page)
    pinned.first.wait_for()
    assert pinned.count() == 7


def test_text_and_what_is_not_finite_say_so(metrics):
    page = metrics("?filter=rollout/n")
    name = page.locator('.metric-card[data-key="rollout/name"]')
    assert name.locator(".metric-text").all_inner_texts() == ["step 0 text"]
    nan = page.locator('.metric-card[data-key="rollout/nan_metric"]')
    assert nan.locator(".metric-value").inner_text() == "not finite"
    assert "2 not finite" in nan.locator(".metric-words").inner_text()


def test_the_download_holds_what_was_logged(metrics):
    page = metrics("?filter=train/loss")
    with page.expect_download() as caught:
        page.get_by_role("button", name="CSV").click()
    with Path(caught.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["key"], row["step"], float(row["value"])) for row in rows] == [
        ("train/loss", "0", 0.0),
        ("train/loss", "1", -0.01),
        ("train/loss", "2", 0.0),
        ("train/loss", "3", -0.01),
    ]


def test_only_charts_in_view_are_drawn(metrics):
    page = metrics(height=600)
    assert page.locator(".metric-body svg.metric-plot").count() < 20
    last = page.locator(".metric-body .metric-card").last
    assert last.locator("svg").count() == 0
    last.scroll_into_view_if_needed()
    last.locator("svg.metric-plot").wait_for()


def test_without_a_collector_there_are_the_aggregates(metrics):
    page = metrics(name="rollout_only")
    assert page.locator(".metric-body h2").all_inner_texts() == ["Pinned", "dump"]


def test_the_script_takes_over_without_a_jump(site, open_page, metrics):
    drawn = open_page(site("agentic") + "metrics.html", javascript=False)
    page = metrics()
    width = drawn.locator(".metric-card").first.bounding_box()["width"]
    assert page.locator(".metric-body .metric-card").first.bounding_box()["width"] == width


def test_without_script_charts_and_all_keys_are_there(site, open_page):
    page = open_page(site("agentic") + "metrics.html", javascript=False)
    assert page.locator(".metric-card svg").count() == 6
    assert page.locator("[data-metrics] .metric-table tbody tr").count() == 26
    assert page.locator("[data-engines] tbody tr").count() == 5
    assert page.locator("section:has(#buffer) svg").count() == 1


def test_engines_are_lines_that_can_be_hidden_and_zoomed(site, open_page):
    page = open_page(site("telemetry_only") + "metrics.html")
    card = page.locator('[data-engines] [data-key="sglang_num_running_reqs"]')
    card.scroll_into_view_if_needed()
    lines = card.locator(".metric-plot > .engine-line")
    expect(lines).to_have_count(3)
    box = card.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    expect(page.locator(".tooltip .tooltip-row")).to_have_count(3)
    page.locator(".engine-legend input").first.uncheck()
    expect(lines).to_have_count(2)
    page.get_by_role("button", name="By dp rank").click()
    expect(lines).to_have_count(2)  # none of these engines labels ranks
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 40, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom").last).to_be_visible()
    address = query(page)
    assert address["off"].startswith("http://")
    assert (address["dp"], len(address["t"].split(","))) == ("1", 2)
