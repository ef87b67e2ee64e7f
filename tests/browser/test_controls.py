"""Controls of the pages, each alone in an empty page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]

TABLE = """
(rows) => {
  const { createTable, el } = window.parts;
  window.told = { sort: [], open: [], pin: [] };
  window.table = createTable({
    label: 'Numbers', height: 280,
    state: {
      length: rows, sort: { name: 'square', descending: true },
      columns: [
        { name: 'row', label: 'Row', numeric: true, cell: row => String(row) },
        { name: 'square', label: 'Square', numeric: true, cell: row => String(row * row) },
        { name: 'fixed', label: 'Fixed', sortable: false, cell: () => el('a', { href: '#x' }, '<b>x</b>') },
      ],
    },
    onSort: name => told.sort.push(name), onOpen: row => told.open.push(row), onPin: row => told.pin.push(row),
  });
  document.body.append(table.node);
}
"""


@pytest.fixture(scope="session")
def harness(tmp_path_factory):
    folder = tmp_path_factory.mktemp("harness")
    subprocess.run(
        [
            shutil.which("node"),
            ROOT / "node_modules/esbuild/bin/esbuild",
            ROOT / "tests/js/harness.js",
            "--bundle",
            "--format=iife",
            "--log-level=error",
            f"--outfile={folder / 'harness.js'}",
        ],
        check=True,
    )
    shutil.copy(ROOT / "miles_report" / "_assets" / "report.css", folder)
    (folder / "index.html").write_text(
        "<!doctype html><meta charset=utf-8><link rel=stylesheet href=report.css>"
        "<body><p>Before</p></body><script src=harness.js></script>"
    )
    return (folder / "index.html").as_uri()


def told(page):
    return page.evaluate("window.told")


def test_a_long_table_holds_only_rows_in_view_and_scrolls_to_the_last(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 10_000)
    assert page.locator("tr[data-row]").count() < 60
    assert page.locator("table").get_attribute("aria-rowcount") == "10001"
    page.locator(".virtual").evaluate("node => node.scrollTop = node.scrollHeight")
    page.wait_for_selector('tr[data-row="9999"]')
    assert page.locator('tr[data-row="9999"]').is_visible()
    assert page.locator('tr[data-row="0"]').count() == 0
    assert page.locator("thead th").first.is_visible()


def test_header_keeps_its_widths_while_rows_change(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 10_000)
    wide = "nodes => nodes.map(node => node.offsetWidth)"
    page.locator(".virtual").evaluate("node => node.scrollTop = node.scrollHeight")
    page.wait_for_selector('tr[data-row="9999"]')
    at_end = page.locator("th").evaluate_all(wide)
    page.locator(".virtual").evaluate("node => node.scrollTop = 0")
    page.wait_for_selector('tr[data-row="0"]')
    assert page.locator("th").evaluate_all(wide) == at_end


def test_arrow_keys_move_enter_opens_space_pins(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 500)
    page.locator('tr[data-row="0"]').focus()
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.row") == "30"
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.row") == "499"
    page.keyboard.press("Enter")
    assert told(page) == {"sort": [], "open": [30, 499], "pin": [30]}


def test_headers_sort_and_say_so_and_a_link_in_a_row_does_not_open_it(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 20)
    assert page.locator("th").evaluate_all("all => all.map(th => th.ariaSort)") == [
        None,
        "descending",
        None,
    ]
    page.get_by_role("button", name="Row").click()
    page.locator('tr[data-row="2"] a').click()
    page.locator('tr[data-row="3"] td').first.click()
    assert told(page) == {"sort": ["row"], "open": [3], "pin": []}
    assert page.locator("td b").count() == 0


def test_the_focus_stays_on_a_header_that_sorts(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 20)
    page.get_by_role("button", name="Row").focus()
    page.evaluate("table.update({ sort: { name: 'row', descending: false } })")
    assert page.evaluate("document.activeElement.textContent") == "Row"
    assert page.locator("th").first.get_attribute("aria-sort") == "ascending"


def test_a_new_state_is_drawn_and_keeps_no_old_row(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABLE, 500)
    page.evaluate("table.update({ length: 2, sort: null, selected: row => row === 1 })")
    assert page.locator("tr[data-row]").count() == 2
    assert page.locator("tr.selected").get_attribute("data-row") == "1"
    page.evaluate("table.update({ length: 0 })")
    assert page.locator("tr[data-row]").count() == 0


POPOVER = """
() => {
  const { createPopover, el } = window.parts;
  const button = el('button', { class: 'button', style: { position: 'absolute', top: '700px', left: '40px' } }, 'Columns');
  document.body.append(button);
  createPopover(button, box => box.append(el('input', { 'aria-label': 'Find' }), el('p', { style: { height: '400px' } }, 'tall')), { label: 'Columns' });
}
"""


def test_a_popover_never_covers_its_button_and_gives_the_focus_back(open_page, harness):
    page = open_page(harness)
    page.evaluate(POPOVER)
    button = page.get_by_role("button", name="Columns")
    button.click()
    box = page.get_by_role("dialog", name="Columns")
    assert page.get_by_label("Find").evaluate("node => node === document.activeElement")
    assert button.get_attribute("aria-expanded") == "true"
    over, under = box.bounding_box(), button.bounding_box()
    assert over["y"] + over["height"] <= under["y"] or over["y"] >= under["y"] + under["height"]
    page.keyboard.press("Escape")
    assert box.count() == 0
    assert button.evaluate("node => node === document.activeElement")
    button.click()
    page.mouse.click(900, 100)
    assert box.count() == 0


SELECT = """
() => {
  const { createSelect } = window.parts;
  window.told = [];
  const select = createSelect({
    label: 'y', value: 'b', onChange: value => told.push(value),
    options: [
      { value: 'a', label: 'Alpha' }, { value: 'b', label: 'Beta' },
      { value: 'c', label: 'Gamma', disabled: true, title: 'not recorded' }, { value: 'd', label: 'Delta', group: 'More' },
    ],
  });
  document.body.append(select.node);
}
"""


def test_a_select_is_chosen_from_by_mouse_and_keys(open_page, harness):
    page = open_page(harness)
    page.evaluate(SELECT)
    button = page.get_by_role("button", name="y Beta")
    button.click()
    assert page.get_by_role("option", selected=True).inner_text() == "Beta"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert told(page) == ["d"]
    page.get_by_role("button", name="y Delta").click()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    assert told(page) == ["d", "a"]
    page.get_by_role("button", name="y Alpha").click()
    page.get_by_role("option", name="Gamma").click(force=True)
    assert told(page) == ["d", "a"]


TABS = """
() => {
  const { createTabs, el } = window.parts;
  window.told = [];
  const panels = ['one', 'two'].map(text => el('div', null, text));
  const list = el('div');
  document.body.append(list, ...panels);
  createTabs(list, [{ id: 'one', label: 'One', panel: panels[0] }, { id: 'two', label: 'Two', panel: panels[1] }],
    { selected: 'nonsense', label: 'Views', onSelect: id => told.push(id) });
}
"""


def test_tabs_follow_arrow_keys_and_an_unknown_one_means_the_first(open_page, harness):
    page = open_page(harness)
    page.evaluate(TABS)
    assert page.get_by_role("tab", selected=True).inner_text() == "One"
    page.get_by_role("tab", name="One").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", selected=True).inner_text() == "Two"
    assert page.get_by_role("tabpanel", name="Two").is_visible()
    assert page.get_by_role("tabpanel", name="One").count() == 0
    assert told(page) == ["two"]


BRUSH = """
() => {
  const { createBrush, svg } = window.parts;
  window.told = [];
  const host = svg('svg', { width: 400, height: 100, style: { position: 'absolute', left: '0', top: '100px' } });
  document.body.append(host);
  createBrush(host, { x0: 50, x1: 350, y0: 0, y1: 100 }, {
    along: 'x', onEnd: box => told.push([box.x0, box.x1]), onClick: at => told.push(at.x), onClear: () => told.push('clear'),
  });
}
"""


def test_a_brush_is_dragged_cut_at_the_plot_and_cleared_by_a_double_click(open_page, harness):
    page = open_page(harness)
    page.evaluate(BRUSH)
    page.mouse.move(100, 150)
    page.mouse.down()
    page.mouse.move(200, 150)
    page.mouse.move(390, 150)
    page.mouse.up()
    assert told(page) == [[100, 350]]
    assert page.locator("rect.brush").get_attribute("visibility") == "visible"
    page.mouse.click(120, 150)
    assert told(page)[-1] == 120
    page.mouse.dblclick(120, 150)
    assert told(page)[-1] == "clear"
    assert page.locator("rect.brush").get_attribute("visibility") == "hidden"


def test_a_tooltip_stays_inside_the_window_and_holds_text_only(open_page, harness):
    page = open_page(harness, width=390)
    page.evaluate(
        "() => { window.tip = parts.createTooltip(); tip.show({ left: 380, top: 990 }, '<img src=x onerror=alert(1)>'); }"
    )
    box = page.get_by_role("tooltip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= 990
    assert page.locator("img").count() == 0
    page.evaluate("tip.hide()")
    assert not page.get_by_role("tooltip").is_visible()


def test_downloads_carry_the_name_the_rows_and_the_colours(open_page, harness):
    page = open_page(harness)
    with page.expect_download() as waited:
        page.evaluate(
            "parts.download('rows.csv', parts.csv({ length: 1, names: ['a'], columns: { a: ['x,y'] } }))"
        )
    assert waited.value.suggested_filename == "rows.csv"
    assert Path(waited.value.path()).read_bytes() == b'a\r\n"x,y"\r\n'
    page.evaluate(
        "document.body.append(parts.svg('svg', { id: 'drawing', class: 'marks', width: 20, height: 10 }, parts.svg('path', { class: 'line', d: 'M0,0L9,9' })))"
    )
    with page.expect_download() as waited:
        page.evaluate("parts.downloadSvg(document.getElementById('drawing'), 'chart')")
    text = Path(waited.value.path()).read_text()
    assert waited.value.suggested_filename == "chart.svg"
    assert "rgb(0, 114, 178)" in text
    assert "var(--" not in text
    with page.expect_download() as waited:
        page.evaluate("parts.downloadPng(document.getElementById('drawing'), 'chart')")
    assert Path(waited.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_failure_says_what_which_file_and_offers_another_try(open_page, harness):
    page = open_page(harness)
    page.evaluate(
        "document.body.append(parts.failure(new Error('data/x.parquet is missing.'), { what: 'The samples', retry: () => { window.told = 'again'; } }))"
    )
    assert page.get_by_role("alert").inner_text().startswith("The samples could not be shown")
    page.get_by_role("button", name="Try again").click()
    assert told(page) == "again"


def test_copy_as_gives_the_text_and_runs_it(site, open_page):
    page = open_page(site("agentic", pages="none", jobs=1) + "rollouts/step-0.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()
    fold = page.locator("#samples details[data-copy-as]")
    fold.locator("summary").click()
    fold.get_by_role("button", name="Copy SQL").click()
    expect(page.get_by_role("status").last).to_contain_text("SQL copied")
    sql = page.evaluate("navigator.clipboard.readText()")
    assert sql == "SELECT * FROM samples WHERE NOT evaluation AND step = 0"
    fold.get_by_role("button", name="Copy Python, on this report").click()
    expect(page.get_by_role("status").last).to_contain_text("Python")
    address = page.url.partition("rollouts/")[0]
    assert f'open_site("{address}")' in page.evaluate("navigator.clipboard.readText()")
    page.goto(address + "metrics.html")
    card = page.locator(".metric-card", has_text="dump/reward_mean").first
    card.get_by_role("button", name="Copy as: dump/reward_mean").click()
    page.get_by_role("menuitem", name="Command, on the dump").click()
    expect(page.get_by_role("status").last).to_contain_text("Command, on the dump copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert (
        command
        == "miles-report export DUMP metrics --metric dump/reward_mean --step-key rollout/step"
    )


def test_copy_as_leads_to_the_query(site, open_page):
    page = open_page(site("agentic", pages="none", jobs=1) + "notices.html")
    rows = page.locator(".notice-rows tbody tr").count()
    fold = page.locator("details[data-copy-as]")
    fold.locator("summary").click()
    fold.get_by_role("link", name="Run").click()
    expect(page.locator("[data-part=output] tr[data-row]")).to_have_count(rows)
