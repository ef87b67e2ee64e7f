"""What surrounds every page: rail and menu, colours, the glossary's field; by http, by file, without script."""

from __future__ import annotations

import functools
import shutil
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from miles_report.notices import Notice
from miles_report.pages.glossary import glossary_page
from miles_report.pages.notices import notices_page
from miles_report.site import html

ASSETS = Path(__file__).parents[2] / "miles_report" / "_assets"
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028"
RAIL = (
    html.RailEntry("overview", "Overview", "index.html"),
    html.RailEntry("notices", "Notices", "rollouts/notices.html", 1),
    html.RailEntry("glossary", "Glossary", "glossary.html"),
)
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 19, 21)"}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Three pages: a glossary, notices one folder deeper, and an empty start."""
    root = tmp_path_factory.mktemp("shell")
    shutil.copytree(ASSETS, root / "assets")
    assets = {path.name: f"assets/{path.name}" for path in ASSETS.iterdir()}
    shell = html.Shell("run " + HOSTILE, "2026-02-03 17:02 UTC", RAIL, "0.1.0", assets)
    notice = Notice("broken-file", "error", f"rollout_data/{HOSTILE}.pt", HOSTILE * 20, HOSTILE)
    pages = (
        glossary_page(),
        replace(notices_page([notice]), path="rollouts/notices.html", data={"text": HOSTILE}),
        replace(notices_page([]), path="index.html", title="Start", section="overview"),
    )
    for page in pages:
        path = root / page.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(html.render_page(page, html.render_body(page), shell), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def address(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def paper(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", ["glossary.html", "rollouts/notices.html", "index.html"])
def test_no_page_scrolls_sideways(open_page, address, path, width):
    page = open_page(address + path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_rail_stands_beside_wide_pages_and_the_menu_above_narrow_ones(open_page, address):
    wide = open_page(address + "glossary.html")
    assert wide.get_by_role("navigation", name="Pages", exact=True).is_visible()
    assert not wide.locator(".topbar").is_visible()
    box = wide.locator(".rail").bounding_box()
    assert (box["x"], box["width"]) == (0, 168)
    assert wide.locator("main").bounding_box()["width"] == 1200
    narrow = open_page(address + "glossary.html", width=390)
    assert not narrow.locator(".rail").is_visible()
    narrow.locator("summary", has_text="Pages").click()
    narrow.get_by_role("navigation", name="Pages, menu").get_by_role("link", name="Notices").click()
    assert narrow.url == address + "rollouts/notices.html"


def test_the_choice_of_colours_is_remembered_before_anything_is_drawn(open_page, address):
    page = open_page(address + "index.html")
    assert paper(page) == PAPER["light"]
    page.get_by_role("button", name="Dark").click()
    assert paper(page) == PAPER["dark"]
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    page.add_init_script(
        "window.seen = []; new MutationObserver(() => document.body && seen.push(document.documentElement.dataset.theme))"
        ".observe(document, { childList: true, subtree: true });"
    )
    page.get_by_role("link", name="Glossary").first.click()
    page.wait_for_selector("h1:has-text('Glossary')")
    assert paper(page) == PAPER["dark"]
    assert set(page.evaluate("seen")) == {"dark"}
    page.get_by_role("button", name="System").click()
    assert paper(page) == PAPER["light"]
    page.emulate_media(color_scheme="dark")
    assert paper(page) == PAPER["dark"]
    page.get_by_role("button", name="Light").click()
    assert paper(page) == PAPER["light"]


def test_the_first_stop_of_the_keyboard_skips_to_the_content(open_page, address):
    page = open_page(address + "glossary.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_field_of_the_glossary_leaves_what_matches_and_the_link_keeps_it(open_page, address):
    page = open_page(address + "glossary.html")
    every = page.locator("table.glossary tbody tr:visible").count()
    page.get_by_label("Find a column").fill("entropy trained")
    found = page.locator("table.glossary tbody tr:visible")
    assert 0 < found.count() < every
    assert page.locator('[id="samples.mean_entropy"]').is_visible()
    again = open_page(page.url)
    assert again.locator("table.glossary tbody tr:visible").count() == found.count()


def test_a_link_to_a_column_arrives_at_its_row(open_page, address):
    page = open_page(address + "glossary.html#samples.mean_entropy")
    row = page.locator('[id="samples.mean_entropy"]')
    assert row.evaluate("node => node.matches(':target')")
    assert 0 <= row.bounding_box()["y"] < 1000


def test_without_script_everything_but_the_switches_is_there(open_page, address):
    page = open_page(address + "rollouts/notices.html", width=390, javascript=False)
    page.locator("summary", has_text="Pages").click()
    assert page.get_by_role("navigation", name="Pages, menu").is_visible()
    assert not page.get_by_role("button", name="Dark").first.is_visible()
    glossary = open_page(address + "glossary.html", javascript=False)
    assert glossary.locator("table.glossary tbody tr").first.is_visible()
    assert not glossary.locator(".glossary-find").is_visible()


def test_hostile_names_are_text(open_page, address):
    page = open_page(address + "rollouts/notices.html")
    assert page.locator("img").count() == 0
    assert page.locator(".notice-source").inner_text() == f"rollout_data/{HOSTILE}.pt"
    assert page.title().startswith("Notices")
    data = "JSON.parse(document.getElementById('page-data').textContent).text"
    assert page.evaluate(data) == HOSTILE


def test_from_a_file_the_page_is_whole_and_alive(open_page, folder):
    page = open_page((folder / "glossary.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    page.get_by_role("button", name="Dark").click()
    assert paper(page) == PAPER["dark"]
    page.get_by_label("Find a column").fill("mean_entropy")
    assert page.locator("table.glossary tbody tr:visible").count() >= 1
