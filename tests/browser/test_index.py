"""The first page in a browser: tiles become alive, nothing jumps, settings are searched, 390 px holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_a_tile_becomes_alive_in_place(site, open_page):
    page = open_page(site("agentic") + "index.html")
    tile = page.locator(".tile", has_text="|lp diff|")
    before = tile.bounding_box()
    drawn = tile.locator("svg path[stroke]").first.bounding_box()
    tile.hover()
    tile.locator("[data-alive]").wait_for()
    assert tile.bounding_box() == before
    alive = tile.locator(".chart-stage svg path[stroke]").first.bounding_box()
    assert all(abs(alive[side] - drawn[side]) < 1.5 for side in drawn)


def test_a_tile_tells_its_values_and_leads_to_the_metric(site, open_page):
    page = open_page(site("agentic") + "index.html")
    tile = page.locator(".tile", has_text="Step time")
    tile.hover()
    tile.locator("[data-alive]").wait_for()
    plot = tile.locator(".chart-stage svg").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] - 8, plot["y"] + 6)
    page.mouse.move(plot["x"] + plot["width"] - 6, plot["y"] + 5)
    tooltip = page.locator(".tooltip:visible")
    tooltip.wait_for()
    assert tooltip.locator(".tooltip-row").all_inner_texts() == [
        "step\n1",
        "value\n21\u202fm\u202f41\u202fs",
    ]
    tile.click()
    page.locator('.metric-card[data-key="perf/step_time"] svg.metric-plot').wait_for()
    assert page.locator(".metric-card").count() == 1


def test_the_age_of_the_data_moves_nothing(site, open_page):
    without = open_page(site("agentic") + "index.html", javascript=False)
    place = without.locator(".run-facts").bounding_box()
    page = open_page(site("agentic") + "index.html")
    assert page.locator("[data-age]").inner_text().endswith("ago")
    assert page.locator(".run-facts").bounding_box() == place


def test_settings_are_searched(site, open_page):
    page = open_page(site("agentic") + "index.html")
    page.locator("#settings > summary").click()
    page.locator("[data-settings-filter]").fill("sglang mem")
    assert page.locator(".settings > div:visible").count() == 1
    page.locator("[data-settings-filter]").fill("nothing such")
    assert page.locator("[data-settings-none]").is_visible()


def test_without_script_tiles_and_samples_are_there(site, open_page):
    page = open_page(site("agentic") + "index.html", javascript=False)
    assert page.locator(".tile svg").count() == 12
    assert page.locator("table.reading tbody tr").count() == 12


@pytest.mark.parametrize("name", ["agentic", "basic", "rollout_only", "telemetry_only"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", ["index.html", "metrics.html"])
def test_the_page_never_scrolls_sideways(site, open_page, name, width, path):
    page = open_page(site(name) + path, width=width)
    page.wait_for_load_state("networkidle")
    assert (
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        == 0
    )


def test_a_figure_is_saved_as_what_it_shows_and_what_it_is_made_of(site, open_page):
    page = open_page(site("agentic") + "rollouts/step-0.html")
    page.get_by_role("tab", name="Distributions").click()
    figure = page.locator("figure.chart:visible").first
    place = figure.bounding_box()
    figure.hover()
    figure.and_(page.locator("[data-alive]")).wait_for()
    assert figure.bounding_box() == place
    saved = {}
    for kind in ("SVG", "PNG", "CSV", "Vega-Lite spec"):
        figure.get_by_role("button", name="Save").click()
        with page.expect_download() as caught:
            page.get_by_role("menuitem", name=kind).click()
        saved[kind] = Path(caught.value.path()).read_bytes()
    assert saved["SVG"].startswith(b"<svg")
    assert b"fill:rgb(" in saved["SVG"]
    assert saved["PNG"].startswith(b"\x89PNG")
    assert b"," in saved["CSV"].splitlines()[0]
    assert json.loads(saved["Vega-Lite spec"])["$schema"].endswith(".json")
