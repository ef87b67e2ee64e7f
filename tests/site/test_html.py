from __future__ import annotations

import json
import math
from dataclasses import replace
from html.parser import HTMLParser

import jinja2
import pytest

from miles_report.charts.render import Figure
from miles_report.pages.glossary import glossary_page
from miles_report.pages.notices import notices_page
from miles_report.pages.page import Choice, Link, Page
from miles_report.site import html

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\u2029&\"'"
ASSETS = {
    name: f"assets/{name}"
    for name in ("report.js", "sample.js", "theme.js", "report.css", "favicon.svg")
}
SHELL = html.Shell(
    run_name="a run",
    start="2026-02-03 17:02 UTC",
    rail=(
        html.RailEntry("overview", "Overview", "index.html"),
        html.RailEntry("rollouts", "Rollouts", "rollouts/index.html", 1200),
    ),
    version="0.1.0",
    assets=ASSETS,
    catalog="data/catalog-ab.json",
)


class Document(HTMLParser):
    """Tags with their attributes, texts of scripts, and all other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.texts, self.scripts, self.inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.texts).append(data)

    def handle_endtag(self, tag):
        self.inside = ""

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def page(**changes) -> Page:
    return replace(notices_page([]), **changes)


def rendered(one: Page, shell: html.Shell = SHELL) -> Document:
    return Document(html.render_page(one, html.render_body(one), shell))


def test_every_address_is_relative_to_the_page():
    deep = page(
        path="samples/eval-12/3.html",
        crumbs=(Link("Step 12", "rollouts/step-12.html?sort=reward#top"),),
        previous=Link("2", "samples/eval-12/2.html"),
        section="rollouts",
    )
    document = rendered(deep)
    hrefs = [link["href"] for link in document.all("a")]
    assert "../../rollouts/step-12.html?sort=reward#top" in hrefs
    assert "../../samples/eval-12/2.html" in hrefs
    assert [script.get("src") for script in document.all("script")] == [
        "../../assets/theme.js",
        None,
        "../../assets/report.js",
    ]
    assert {link["href"] for link in document.all("link")} == {
        "../../assets/favicon.svg",
        "../../assets/report.css",
    }
    body = document.all("body")[0]
    assert body["data-root"] == "../../"
    assert body["data-catalog"] == "data/catalog-ab.json"
    assert json.loads(body["data-assets"]) == ASSETS


def test_links_elsewhere_stay_and_a_scheme_is_never_followed():
    links = (
        Link("outside", "https://example.org/run"),
        Link("script", "javascript:alert(1)"),
        Link("here", "#top"),
    )
    hrefs = [link["href"] for link in rendered(page(path="index.html", actions=links)).all("a")]
    assert "https://example.org/run" in hrefs
    assert "#top" in hrefs
    assert "./javascript:alert(1)" in hrefs
    assert "javascript:alert(1)" not in hrefs


def test_hostile_text_stays_text_everywhere():
    hostile = page(
        title=HOSTILE,
        subtitle=HOSTILE,
        crumbs=(Link(HOSTILE, HOSTILE),),
        previous=Link(HOSTILE, HOSTILE),
        actions=(Link(HOSTILE, HOSTILE),),
        choices=(Choice(HOSTILE, reason=HOSTILE),),
        view=HOSTILE,
        data={HOSTILE: HOSTILE},
    )
    document = rendered(hostile, replace(SHELL, run_name=HOSTILE, start=HOSTILE, version=HOSTILE))
    assert document.all("img") == []
    assert len(document.all("script")) == 3
    assert all("onerror" not in attributes for _, attributes in document.tags)
    assert json.loads(document.scripts[0]) == {HOSTILE: HOSTILE}
    assert document.all("body")[0]["data-view"] == HOSTILE


def test_json_blocks_hold_no_character_that_a_parser_acts_on():
    text = html.json_text({"a": HOSTILE, "b": "\ud800\x00"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": HOSTILE, "b": "\ufffd\x00"}


def test_what_is_not_finite_reaches_the_script_as_words_that_number_understands():
    values = {"x": [1.5, math.nan, math.inf, -math.inf], 3: (None, True)}
    assert json.loads(html.json_text(values)) == {
        "x": [1.5, "NaN", "Infinity", "-Infinity"],
        "3": [None, True],
    }


def test_characters_that_no_document_can_hold_are_replaced():
    text = html.render_page(page(title="a\x00b\udc80c"), "", SHELL)
    assert "a\ufffdb\ufffdc" in text
    text.encode("utf-8")


def test_policy_allows_own_files_and_no_inline_script():
    document = rendered(page())
    policy = next(meta for meta in document.all("meta") if "http-equiv" in meta)["content"]
    assert policy == html.CSP
    assert "'unsafe-eval'" not in policy
    assert policy.split("script-src")[1].split(";")[0].split() == [
        "'self'",
        "'wasm-unsafe-eval'",
        "blob:",
    ]
    inline = [script for script in document.all("script") if "src" not in script]
    assert inline == [{"type": "application/json", "id": "page-data"}]
    assert all(not name.startswith("on") for _, tag in document.tags for name in tag)


def test_counts_stand_in_the_rail_of_run_wide_pages_only():
    wide = html.render_page(page(), "", SHELL)
    step = html.render_page(page(), "", replace(SHELL, nav_page=False))
    assert "1\u202f200" in wide
    assert "1\u202f200" not in step


def test_the_body_does_not_know_its_neighbours():
    alone = page(previous=None, next=None)
    between = page(previous=Link("1", "a.html"), next=Link("3", "b.html"))
    assert html.render_body(alone) == html.render_body(between)
    rels = [link.get("rel") for link in rendered(between).all("a") if "rel" in link]
    assert rels == ["prev", "next"]


def test_the_current_entry_is_marked_in_both_menus():
    marked = [
        link["href"]
        for link in rendered(page(path="rollouts/index.html", section="rollouts")).all("a")
        if link.get("aria-current") == "page"
    ]
    assert marked == ["../rollouts/index.html", "../rollouts/index.html"]


def test_a_value_that_a_template_lacks_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        html.render_body(page(values={}))


def test_an_asset_that_is_not_there_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        html.render_page(page(), "", replace(SHELL, assets={}))


def test_rendering_twice_gives_the_same_bytes():
    one = glossary_page()
    assert html.render_body(one) == html.render_body(one)
    assert html.render_page(one, "x", SHELL) == html.render_page(one, "x", SHELL)


def test_a_figure_names_its_spec_by_content():
    figure = Figure("reward", "<svg></svg>", {"mark": "line"}, "Reward", "By step")
    path, text = html.figure_file(figure)
    assert json.loads(text) == {"mark": "line"}
    assert path.startswith("charts/reward-")
    assert path.endswith(".json")
    other, _ = html.figure_file(replace(figure, spec={"mark": "bar"}))
    assert other != path


def test_ids_of_the_glossary_are_unique_and_its_own_links_arrive():
    document = rendered(glossary_page())
    ids = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    own = {link["href"][1:] for link in document.all("a") if link["href"].startswith("#")}
    assert own <= set(ids)
