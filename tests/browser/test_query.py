"""SQL in the page: an engine that starts on the first run, reads only what a query names, and never asks another server."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from miles_report.run import open_run

ENGINE_S = 60_000  # ms: two busy cores compile 34 MB of WebAssembly
RUN = "() => !document.querySelector('.query-toolbar .primary').disabled"
JOIN = """SELECT group_index, any_value(g.reward_std) AS reward_std, count(DISTINCT row) AS samples,
       count(*) AS tokens, avg(t.entropy) AS mean_entropy
FROM tokens t
JOIN samples s USING (step, evaluation, row)
JOIN groups g USING (step, evaluation, group_index)
WHERE step = 1 AND NOT evaluation AND t.loss_mask = 1
GROUP BY group_index ORDER BY group_index"""


def run(page, sql):
    """Types a query and waits for its answer; what the line under the editor then says."""
    page.locator(".query-input").fill(sql)
    page.keyboard.press("Control+Enter")
    page.wait_for_function(RUN, timeout=ENGINE_S)
    return page.locator(".query-toolbar .query-status").inner_text()


def trouble(page):
    return page.locator("#query-trouble").inner_text()


def cells(page):
    return [
        row.locator("td").all_inner_texts()
        for row in page.locator(".query-parts tr[data-row]").all()
    ]


def fetched(page):
    """Names of the files of the site that the page asked for, as they come."""
    names = []
    page.on("request", lambda request: names.append(request.url.rsplit("/", 1)[-1]))
    return names


def saved(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def expected_join(dump):
    """The same in polars, from the dump itself."""
    dumped = open_run(dump)
    keys = ["step", "evaluation", "row"]
    tokens = dumped.table("tokens", step=1).filter(pl.col("loss_mask") == 1)
    samples = dumped.table("samples", step=1).select(*keys, "group_index")
    groups = dumped.table("groups", step=1).select("group_index", "reward_std")
    joined = tokens.join(samples, on=keys).join(groups, on="group_index")
    return joined.group_by("group_index").agg(
        pl.col("reward_std").first(),
        samples=pl.col("row").n_unique(),
        tokens=pl.len(),
        mean_entropy=pl.col("entropy").cast(pl.Float64).mean(),
    ).sort("group_index")  # fmt: skip


def test_a_join_of_samples_groups_and_tokens_is_a_table_a_chart_and_files(open_page, site, dumps):
    page = open_page(site("agentic") + "query.html")
    names = fetched(page)
    page.wait_for_selector(".query-status:has-text('Reads')")
    before = page.locator(".query-toolbar .query-status").inner_text()
    assert "The engine (7.6" in before
    assert not [name for name in names if name.startswith("duckdb")]
    said = run(page, JOIN)
    assert re.match(r"3 rows, .*; read .* of .*, tokens of step 1, samples of step 1, groups", said)
    slices = {name.split("-0-")[0] for name in names if name.endswith(".parquet")}
    assert slices == {"tokens", "samples", "groups"}
    assert len([name for name in names if name.endswith(".wasm.gz")]) == 1
    assert page.locator(".query-plot rect.bar").count() == 3
    assert page.get_by_role("button", name="y reward_std").is_visible()

    expected = expected_join(dumps / "agentic")
    header, *rows = csv.reader(io.StringIO(saved(page, "CSV").decode()))
    assert header == expected.columns
    assert [[float(cell) for cell in row] for row in rows] == [
        pytest.approx(row, abs=2**-14) for row in expected.rows()
    ]
    frame = pl.read_parquet(io.BytesIO(saved(page, "Parquet")))
    assert frame.columns == expected.columns
    assert frame["tokens"].to_list() == expected["tokens"].to_list()
    assert saved(page, "SVG").startswith(b"<svg")

    page.get_by_role("button", name="y reward_std").click()
    page.get_by_role("option", name="mean_entropy").click()
    assert "y=mean_entropy" in page.url
    page.get_by_role("button", name="Table", exact=True).click()
    assert not page.locator(".query-plot").count()
    page.go_back()
    assert page.locator(".query-plot rect.bar").count() == 3


def test_the_next_query_reads_only_what_is_not_there_yet(open_page, site):
    page = open_page(site("agentic") + "query.html")
    run(page, "SELECT row, lp_diff FROM tokens WHERE step = 1 AND NOT evaluation")
    names = fetched(page)
    said = run(
        page,
        "SELECT max(row), avg(lp_diff) FROM 'tokens.parquet' WHERE step = 1 AND NOT evaluation",
    )
    assert "nothing more to read" in said
    assert not [name for name in names if name.endswith((".parquet", ".json", ".gz"))]
    assert run(page, "SELECT count(*) FROM tokens").startswith("1 row")
    assert "22" in cells(page)[0][0]
    assert run(page, "DESCRIBE tokens").startswith("18 rows")


def test_numbers_and_times_of_every_kind_are_shown(open_page, site):
    page = open_page(site("agentic") + "query.html")
    run(
        page,
        "SELECT sum(n) AS total, sum(n) * 1000000000000000 AS big, utc(1770160445.25) AS at, "
        "NULL AS nothing, 'NaN'::double AS nan, [1, 2] AS list, interval 1 day AS days, 1 = 1 AS yes "
        "FROM (SELECT 123456 AS n)",
    )
    row = [text.replace("\u202f", " ") for text in cells(page)[0]]
    assert row == [
        "123 456",
        "123456000000000000000",
        "2026-02-03 23:14:05.250 UTC",
        "–",
        "not finite",
        "[1, 2]",
        "1 day",
        "true",
    ]


def test_derived_columns_are_there_and_rows_lead_to_their_samples(open_page, site, dumps):
    page = open_page(site("agentic") + "query.html")
    run(
        page,
        "SELECT step, row, position, token_text, imp_ratio FROM tokens "
        "WHERE step = 0 AND NOT evaluation AND imp_ratio IS NOT NULL ORDER BY row, position LIMIT 5",
    )
    tokens = open_run(dumps / "agentic").table("tokens", step=0)
    first = (
        tokens.filter(pl.col("imp_ratio").is_not_null()).sort("row", "position").row(0, named=True)
    )
    shown = cells(page)[0]
    assert shown[:3] == ["0", str(first["row"]), str(first["position"])]
    assert shown[3] == first["token_text"].strip()
    assert float(shown[4]) == pytest.approx(first["imp_ratio"], rel=0.01)
    link = page.locator(".query-parts tr[data-row='0'] a").nth(1)
    assert link.get_attribute("href") == f"sample.html?step=0&row={first['row']}"


def test_a_big_query_is_cancelled_and_the_next_one_works(open_page, site):
    page = open_page(site("agentic") + "query.html")
    run(page, "SELECT 1 AS one")
    page.locator(".query-input").fill(
        "SELECT count(*) FROM tokens a, tokens b, tokens c WHERE (a.token_id * b.token_id * c.token_id) % 7 = 1"
    )
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".query-status:has-text('Running')")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".query-status:has-text('Cancelled')", timeout=60_000)
    assert cells(page) == [["1"]]
    assert run(page, "SELECT 2 AS two").startswith("1 row")
    assert cells(page) == [["2"]]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FROM read_parquet('x.parquet')", "reads no files by name"),
        ("SELECT messages -> '$[0]' FROM conversations", "JSON functions and the JSON type"),
        ("SELECT current_date", "current date needs an extension"),
        ("SELECT date_trunc('day', to_timestamp(ts)) FROM metrics", "Times with a time zone"),
        ("INSTALL httpfs", "has no extensions"),
        ("SELECT * FROM 'https://example.org/x.parquet'", "has no network"),
    ],
)
def test_what_needs_an_extension_or_the_network_is_told_in_a_sentence(open_page, site, sql, says):
    """The page's watcher fails this test on any request to another origin."""
    page = open_page(site("agentic") + "query.html")
    run(page, sql)
    assert says in trouble(page)
    assert "extension server" not in trouble(page)


def test_an_error_stands_under_the_editor_and_the_last_result_stays(open_page, site):
    page = open_page(site("agentic") + "query.html")
    run(page, "SELECT 7 AS seven")
    assert run(page, "SELECT step,\n       rewrd\nFROM samples").startswith("Not run")
    assert trouble(page).startswith("Line 2, column 8: There is no column rewrd here.")
    assert page.locator(".query-line.wrong").inner_text().strip() == "rewrd"
    assert cells(page) == [["7"]]
    assert page.locator("[data-part='output'].query-old").count() == 1
    page.locator(".query-input").fill("SELECT 8 AS eight")
    assert not page.locator("#query-trouble").is_visible()


def little(route):
    """The page with a question above 1 kB instead of 50 MiB."""
    answer = route.fetch()
    route.fulfill(
        response=answer, body=answer.text().replace('"ask_bytes":52428800', '"ask_bytes":1000')
    )


def test_more_than_50_mib_is_read_only_after_a_question(open_page, site):
    page = open_page("about:blank", origin=site("agentic"))
    page.route("**/query.html", little)
    page.goto(site("agentic") + "query.html")
    names = fetched(page)
    page.locator(".query-input").fill(
        "SELECT avg(entropy) FROM tokens WHERE step = 0 AND NOT evaluation"
    )
    page.wait_for_selector(".query-status:has-text('tokens of step 0')")
    said = page.locator(".query-toolbar .query-status").inner_text()
    amount = re.match(r"Reads (.+?) of", said)[1]
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(f".query-ask:has-text('This query reads {amount}')")
    assert not [name for name in names if name.endswith((".parquet", ".gz"))]
    page.get_by_role("button", name="Not now").click()
    page.wait_for_function(RUN)
    assert not page.locator(".query-ask").count()
    assert not [name for name in names if name.endswith((".parquet", ".gz"))]
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name=re.compile("^Read .* and run$")).click()
    page.wait_for_selector(".query-parts tr[data-row] td", timeout=ENGINE_S)


def test_a_link_runs_by_itself_unless_it_would_read_much(open_page, site):
    small = quote("SELECT count(*) AS n FROM samples WHERE step = 0 AND NOT evaluation")
    page = open_page(site("agentic") + f"query.html?sql={small}")
    page.wait_for_selector(".query-parts tr[data-row] td", timeout=ENGINE_S)
    assert cells(page) == [["24"]]

    page = open_page("about:blank", origin=site("agentic"))
    page.route("**/query.html?*", little)
    names = fetched(page)
    much = quote("SELECT count(entropy) FROM tokens WHERE step = 0 AND NOT evaluation")
    page.goto(site("agentic") + f"query.html?sql={much}")
    page.wait_for_selector(".query-status:has-text('It is not run by itself')")
    assert not [name for name in names if name.endswith((".parquet", ".gz"))]


@pytest.mark.parametrize("name", ["agentic", "basic"])
def test_every_example_runs(open_page, site, name):
    page = open_page(site(name) + "query.html")
    examples = page.locator("[data-example]")
    assert examples.count() >= 8
    for i in range(examples.count()):
        examples.nth(i).click()
        page.keyboard.press("Control+Enter")
        page.wait_for_function(RUN, timeout=ENGINE_S)
        said = page.locator(".query-toolbar .query-status").inner_text()
        assert re.match(r"[\d\u202f]+ rows?, ", said), (
            examples.nth(i).inner_text(),
            said,
            trouble(page),
        )


def test_an_altered_file_is_named_and_can_be_tried_again(open_page, site):
    page = open_page(site("agentic") + "query.html")
    page.route("**/samples-0-*.parquet", lambda route: route.fulfill(body="gone"))
    run(page, "SELECT count(*) FROM samples WHERE step = 0 AND NOT evaluation")
    said = page.locator(".error-box").inner_text()
    assert "data/step-0/samples-0-" in said
    assert "has 4 bytes where" in said
    page.unroute("**/samples-0-*.parquet")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".query-parts tr[data-row] td", timeout=ENGINE_S)
    assert cells(page) == [["24"]]


def test_names_are_put_into_the_editor_and_the_keyboard_leaves_it(open_page, site):
    page = open_page(site("agentic") + "query.html")
    editor = page.locator(".query-input")
    editor.fill("SELECT ")
    page.get_by_placeholder("Find a table or column").fill("staleness")
    page.locator("[data-table='samples'] button", has_text="staleness").click()
    assert editor.input_value() == "SELECT staleness"
    page.keyboard.press("Tab")
    assert editor.input_value() == "SELECT staleness  "
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Run")


def test_a_page_from_a_file_explains_itself(open_page, site, dumps, tmp_path):
    from miles_report.build import BuildOptions, build

    build(dumps / "agentic", tmp_path / "site", BuildOptions())
    page = open_page((tmp_path / "site" / "query.html").as_uri() + "?search=answer")
    assert "Search needs a server" in page.locator("#search").inner_text()
    page.get_by_role("tab", name="SQL").click()
    assert "SQL needs a server" in page.locator("#sql").inner_text()
    assert page.locator(".query-examples pre").first.is_visible()
    assert page.locator("[data-table='tokens'] [data-column]").first.is_visible()


def test_the_page_is_of_use_without_script(open_page, site):
    page = open_page(site("agentic") + "query.html", javascript=False)
    text = page.locator("main").inner_text()
    assert "Queries run in this page by script" in text
    assert "SELECT t.prompt" in text
    assert "imp_ratio" in text
    assert re.search(
        r"pl\.read_parquet\(\"https://example\.org/report/data/step-1/samples-0-", text
    )


def test_no_other_page_loads_the_engine(open_page, site):
    root = site("agentic")
    for path in ("index.html", "metrics.html", "rollouts/step-0.html", "sample.html?step=0&row=0"):
        page = open_page("about:blank", origin=root)
        names = fetched(page)
        page.goto(root + path)
        page.wait_for_load_state("networkidle")
        assert not [name for name in names if name.startswith(("duckdb", "query-"))], path


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_scrolls_sideways(open_page, site, width):
    page = open_page(site("agentic") + "query.html", width=width)
    run(page, "SELECT * FROM samples WHERE step = 0 AND NOT evaluation")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
