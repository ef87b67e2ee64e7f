"""A reader works a step page: sort, filter, columns, brush, groups; the link brings the view back."""

from __future__ import annotations

import csv
import io
import math
import re

import pytest
from builders.dumps import rollout_dump, sample
from playwright.sync_api import expect

from miles_report.build import BuildOptions, build
from miles_report.run import open_run
from miles_report.site.preview import serve

NASTY = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def samples(dumps):
    return open_run(dumps / "agentic").table("samples", step=0)


def shown(page, name) -> list[str]:
    """The texts of a column of the table, in order."""
    heads = page.locator(".step-rows thead th")
    at = [heads.nth(i).get_attribute("data-name") for i in range(heads.count())].index(name)
    return page.locator(f".step-rows tbody tr[data-row] td:nth-child({at + 1})").all_inner_texts()


def open_step(open_page, site, query="", *, path="rollouts/step-0.html", **options):
    page = open_page(site("agentic") + path + query, **options)
    expect(page.locator(".step-rows")).to_be_visible()
    return page


def test_a_header_sorts_and_shift_adds_a_key(open_page, site, samples):
    page = open_step(open_page, site)
    assert shown(page, "row") == [
        str(row)
        for row in samples.sort("mean_abs_lp_diff", descending=True, nulls_last=True)["row"]
    ]
    page.get_by_role("button", name="Reward", exact=True).click()
    page.get_by_role("button", name="Length, tokens").click(modifiers=["Shift"])
    expect(page.locator("th[aria-sort]")).to_have_attribute("data-name", "reward_value")
    expected = samples.sort("reward_value", "response_length", descending=True, nulls_last=True)
    assert shown(page, "row") == [str(row) for row in expected["row"]]


def test_the_filter_narrows_table_count_and_panel(open_page, site, samples):
    page = open_step(open_page, site)
    page.get_by_label("Filter samples").fill("mixed_version response_length >= 300 -status:aborted")
    wanted = samples.filter(
        samples["mixed_version"]
        & (samples["response_length"] >= 300)
        & (samples["status"] != "aborted")
    )
    expect(page.locator(".step-box .field-note")).to_have_text(
        f"{wanted.height} of {samples.height}"
    )
    assert sorted(shown(page, "row")) == sorted(str(row) for row in wanted["row"])
    expect(page.locator(".step-panel h3")).to_have_text(f"{wanted.height} selected, beside all 24")
    expect(page.locator(".step-box-paint .step-mark-column").first).to_have_text("mixed_version")


def test_an_error_names_its_token_and_keeps_all_rows(open_page, site):
    page = open_step(open_page, site)
    page.get_by_label("Filter samples").fill("truncated rewrad_value < 1")
    expect(page.locator(".field-error")).to_have_text(
        re.compile("“rewrad_value” is no column.*did you mean reward_value?")
    )
    expect(page.locator(".step-mark-error")).to_have_text("rewrad_value")
    expect(page.locator(".step-box .field-note")).to_have_text("24 of 24")


def test_text_is_found_in_what_samples_say(open_page, site):
    page = open_step(open_page, site, "?q=text:%22The+ANSWER+is+8%22")
    expect(page.locator(".step-box .field-note")).to_have_text("1 of 24")
    assert shown(page, "row") == ["8"]


def test_columns_are_chosen_in_the_popover(open_page, site, samples):
    page = open_step(open_page, site)
    page.get_by_role("button", name=re.compile("^Columns 13 of")).click()
    chooser = page.locator(".step-chooser")
    expect(chooser.locator("legend")).to_have_count(8)
    chooser.get_by_label("Find a column").fill("total")
    chooser.get_by_label("total_length").check()
    assert shown(page, "total_length")[:1] == [
        str(samples.sort("mean_abs_lp_diff", descending=True)["total_length"][0])
    ]
    chooser.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("button", name=re.compile("^Columns 13 of"))).to_be_visible()
    unrecorded = chooser.locator("label[aria-disabled]").first
    expect(unrecorded).to_contain_text("–")


def test_the_link_brings_the_same_view_back(open_page, site):
    page = open_step(open_page, site)
    page.get_by_label("Filter samples").fill("mixed_version")
    page.get_by_role("button", name="Length, tokens").click()
    page.get_by_role("button", name=re.compile("^Columns")).click()
    page.get_by_label("turns", exact=True).check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="colour mixed_version").click()
    page.get_by_role("option", name="status", exact=True).click()
    box = page.locator(".step-over").bounding_box()
    page.mouse.move(box["x"] + 120, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 190, steps=4)
    page.mouse.up()
    expect(page.locator(".step-chips .chip")).to_have_count(2)
    before = (shown(page, "row"), shown(page, "turns"), page.locator(".step-chips").inner_text())
    again = open_page(page.url)
    expect(again.locator(".step-chips .chip")).to_have_count(2)
    after = (shown(again, "row"), shown(again, "turns"), again.locator(".step-chips").inner_text())
    assert after == before
    assert again.get_by_label("Filter samples").input_value() == "mixed_version"
    expect(again.get_by_role("button", name="colour status")).to_be_visible()


def test_a_brush_selects_chips_remove_and_back_restores(open_page, site, samples):
    page = open_step(open_page, site, "?bx=200,600")
    inside = samples.filter(samples["response_length"].is_between(200, 600))
    assert sorted(shown(page, "row")) == sorted(str(row) for row in inside["row"])
    expect(page.locator(".step-table-head h3").first).to_have_text(f"{inside.height} samples")
    page.get_by_role("button", name=re.compile("^Remove response_length")).click()
    assert len(shown(page, "row")) == 24
    page.go_back()
    assert len(shown(page, "row")) == inside.height
    page.locator(".step-over").dblclick(position={"x": 300, "y": 100})
    assert len(shown(page, "row")) == 24


def test_the_keyboard_walks_pins_and_opens(open_page, site):
    page = open_step(open_page, site)
    page.keyboard.press("/")
    expect(page.get_by_label("Filter samples")).to_be_focused()
    page.locator(".step-rows tbody tr[data-row='0']").focus()
    page.keyboard.press("ArrowDown")
    second = shown(page, "row")[1]
    page.keyboard.press("Space")
    expect(page.locator(".step-rows tr.selected")).to_have_count(1)
    assert shown(page, "row")[0] == second
    page.locator(".step-rows tbody tr[data-row='0']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"sample\.html\?step=0&row={second}$|samples/0/{second}\.html"))


def test_the_csv_is_what_the_table_shows(open_page, site, samples):
    page = open_step(open_page, site, "?q=truncated&cols=row,status,reward_value")
    with page.expect_download() as caught:
        page.get_by_role("button", name="CSV").first.click()
    rows = list(csv.DictReader(io.StringIO(caught.value.path().read_text())))
    wanted = samples.filter(samples["truncated"])
    assert [row["row"] for row in rows] == [str(row) for row in wanted["row"]]
    assert list(rows[0]) == ["row", "status", "reward_value"]
    assert caught.value.suggested_filename == "step-0-samples.csv"


def test_a_group_unfolds_its_siblings_side_by_side(open_page, site):
    page = open_step(open_page, site)
    page.get_by_role("tab", name="Groups").click()
    page.get_by_role("button", name="1", exact=True).click()
    siblings = page.locator(".step-sibling")
    expect(siblings).to_have_count(8)
    expect(siblings.first).to_contain_text("Sample 8")
    expect(siblings.first.locator(".step-answer")).to_contain_text("inline thinking")
    expect(page.locator(".step-prompt")).to_contain_text("<img src=x onerror=alert(2)>")
    assert "group=1" in page.url


def test_the_anatomy_draws_the_batch(open_page, site):
    page = open_page(site("agentic") + "rollouts/step-0.html?tab=anatomy")
    expect(page.locator("#anatomy h3")).to_have_text("24 requests")
    expect(page.locator("canvas.step-lives")).to_be_visible()
    page.locator("canvas.step-lives").hover(position={"x": 20, "y": 4})
    expect(page.locator(".tooltip")).to_contain_text("Generating")


def test_an_evaluation_shows_its_sets_and_the_way_to_train(open_page, site):
    page = open_step(open_page, site, path="rollouts/eval-1.html")
    expect(page.locator(".step-sets tbody tr")).to_have_count(2)
    assert len(shown(page, "row")) == 8
    href = page.locator(".step-rows tbody a").first.get_attribute("href")
    assert href == "../sample.html?step=1&row=0&eval=1"
    page.get_by_role("link", name="Train", exact=True).click()
    expect(page.get_by_role("heading", name="Step 1")).to_be_visible()


def test_without_script_tables_and_charts_are_there(open_page, site):
    page = open_page(site("agentic") + "rollouts/step-0.html", javascript=False)
    expect(page.locator("#samples table.data tbody tr")).to_have_count(24)
    expect(page.locator("#groups table.data tbody tr")).to_have_count(3)
    expect(page.locator("#samples svg").first).to_be_visible()
    expect(page.locator("#distributions svg").first).to_be_visible()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    "path", ["rollouts/index.html", "rollouts/step-0.html", "rollouts/eval-1.html"]
)
def test_nothing_scrolls_sideways_but_tables(open_page, site, path, width):
    page = open_page(site("agentic") + path, width=width)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_list_of_steps_sorts_and_leads_on(open_page, site):
    page = open_page(site("agentic") + "rollouts/index.html")
    page.get_by_role("button", name="|lp diff|, nats").click()
    first = page.locator("[data-part=steps] tbody tr").first
    expect(first.locator("a")).to_have_text("1")
    first.locator("td").nth(4).click()
    expect(page.get_by_role("heading", name="Step 1")).to_be_visible()


def test_a_missing_slice_is_told_and_the_built_table_stays(chromium, site):
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/data/step-0/samples*.parquet", lambda route: route.fulfill(status=404, body=""))
    page.goto(site("agentic") + "rollouts/step-0.html")
    expect(page.locator("[data-part=filter] .error-box")).to_contain_text("data/step-0/samples")
    expect(page.locator("#samples table.data tbody tr")).to_have_count(24)
    context.close()


@pytest.fixture
def hostile_site(tmp_path):
    """One step whose reward keys, statuses, labels and prompts are markup, with rewards that are not finite."""
    root = tmp_path / "dump"
    prompt = [{"role": "user", "content": NASTY}]
    rewards = [math.nan, math.inf, 1.0, -math.inf, None, 2.0]
    rollout_dump(
        root,
        [
            sample(i % 3, reward={NASTY: reward, "a,b": i}, label=NASTY, status=NASTY)
            | {"prompt": prompt}
            for i, reward in enumerate(rewards)
        ],
    )
    build(root, tmp_path / "site", BuildOptions(jobs=1))
    with serve(tmp_path / "site") as url:
        yield url.rstrip("/") + "/"


def test_hostile_names_work_as_columns_filters_and_axes(open_page, hostile_site):
    page = open_page(hostile_site + "rollouts/step-0.html")
    expect(page.locator(".step-rows")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Columns")).click()
    page.get_by_role("button", name="All", exact=True).click()
    page.keyboard.press("Escape")
    name = f"reward.{NASTY}"
    assert sorted(shown(page, name)) == sorted(["not finite"] * 3 + ["–", "1", "2"])
    page.get_by_label("Filter samples").fill(f'"{name}" >= 1')
    expect(page.locator(".step-box .field-note")).to_have_text("3 of 6")
    page.get_by_role("button", name=re.compile("^y ")).click()
    page.get_by_role("option", name=name).click()
    page.get_by_role("tab", name="Groups").click()
    page.locator(".step-unfold").first.click()
    expect(page.locator(".step-prompt")).to_contain_text(NASTY)
    again = open_page(page.url.replace("tab=groups", ""))
    expect(again.locator(".step-box .field-note")).to_have_text("3 of 6")
    expect(again.get_by_role("button", name=f"y {name}")).to_be_visible()
    assert page.locator("main img").count() == 0
