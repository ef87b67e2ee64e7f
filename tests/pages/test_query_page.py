"""What the query page says before any script runs: tables, examples, other tools."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from miles_report.pages.query import FIRST, PLACE, TableSize, query_page, rows_text
from miles_report.pages.query_examples import examples
from miles_report.site import html

SIZES = {
    "samples": TableSize(
        56, 4_000, ("step", "row", "reward.<b>"), "data/step-1/samples-0-ab.parquet"
    ),
    "tokens": TableSize(6_900_000, 40_000_000, ("step", "row", "token_id", "lp_diff")),
    "token_texts": TableSize(477, 2_000, ("token_id", "token_text")),
    "groups": TableSize(0, 300),
}
CATALOG = "data/catalog-12.json"


@pytest.fixture
def page():
    return query_page(SIZES, steps=[0, 4], catalog=CATALOG, engine_bytes=7_640_000)


class Text(HTMLParser):
    """Collects links, names in `data-…` attributes, and text."""

    def __init__(self, body):
        super().__init__()
        self.links, self.tables, self.columns, self.text = [], [], [], ""
        self.feed(body)

    def handle_starttag(self, _tag, attributes):
        found = dict(attributes)
        self.links += [found["href"]] if "href" in found else []
        self.tables += [found["data-table"]] if "data-table" in found else []
        self.columns += [found["data-column"]] if "data-column" in found else []

    def handle_data(self, text):
        self.text += text


def test_every_table_and_column_is_listed_also_those_of_the_run(page):
    body = Text(html.render_body(page))
    assert body.tables[:3] == ["tokens", "samples", "groups"]
    assert set(body.tables) == {*SIZES, *FIRST}
    assert "reward.<b>" in body.columns
    assert "imp_ratio" in body.columns
    assert "6.9\u202fM rows" in body.text
    assert "Nothing of it was recorded." in body.text


def test_examples_are_links_that_carry_their_query(page):
    body = Text(html.render_body(page))
    queries = [parse_qs(urlsplit(link).query)["sql"][0] for link in body.links if "sql=" in link]
    assert queries == [one["sql"] for one in page.data["examples"]]
    assert all(sql.startswith("-- ") for sql in queries)
    assert any("step = 4" in sql for sql in queries)
    assert not any("{step}" in sql for sql in queries)


def test_only_questions_that_the_run_can_answer_are_asked():
    asked = {one.question for one in examples(["samples"], 3)}
    assert "How does the reward depend on the length of the response?" in asked
    assert "Which tools took longest?" not in asked
    assert not any("tokens" in one.sql.split() for one in examples(["tokens", "samples"], None))
    assert query_page({}, steps=[], catalog=CATALOG, engine_bytes=1).data["examples"]


def test_other_tools_are_given_addresses_of_this_site(page):
    body = Text(html.render_body(page))
    assert f"read_parquet('{PLACE}data/step-1/samples-0-ab.parquet')" in body.text
    assert f'read("{CATALOG}")' in body.text


def test_sums_are_over_all_tables(page):
    assert page.data["bytes"] == 40_006_300
    assert page.data["sample_columns"] == ["reward.<b>"]
    assert page.data["engine_bytes"] == 7_640_000


@pytest.mark.parametrize(
    ("rows", "text"), [(0, "0"), (10_240, "10\u202f240"), (1_430_000, "1.43\u202fM")]
)
def test_rows_are_short(rows, text):
    assert rows_text(rows) == text
