"""The Compute page in a browser: lanes by words and picks, zoom, overlay across a restart, links, numbers under the pointer."""

from __future__ import annotations

import tarfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

import miles_report
from miles_report.build import BuildOptions, build
from miles_report.site.preview import serve

ARCHIVE = Path(__file__).parents[1] / "data" / "many_gpu.tar.xz"
START = 1770157200.0
NARROW = "\u202f"


@pytest.fixture(scope="module")
def many_gpu(tmp_path_factory):
    """128 GPUs for two hours: rank 37 is slow, one engine restarts on another port."""
    folder = tmp_path_factory.mktemp("many")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    build(folder / "many_gpu", folder / "site", BuildOptions())
    with serve(folder / "site") as url:
        yield folder / "many_gpu", url.rstrip("/") + "/compute.html"


@pytest.fixture
def compute(many_gpu, open_page):
    def open_compute(query="", **options):
        page = open_page(many_gpu[1] + query, **options)
        drawn(page)
        return page

    return open_compute


def drawn(page, after=0):
    """Waits until the lanes are painted with what was read; answers how often that was."""
    page.wait_for_function("n => Number(document.querySelector('[data-drawn]')?.dataset.drawn) > n", arg=after)  # fmt: skip
    return int(page.locator("[data-drawn]").get_attribute("data-drawn"))


def query(page):
    return {key: values[0] for key, values in parse_qs(urlsplit(page.url).query).items()}


def titles(page):
    return page.locator(".compute-row .compute-head b").all_inner_texts()


def point(page, row, share):
    canvas = page.locator(f'[data-row="{row}"] canvas')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 30)
    page.locator(".tooltip:not([hidden])").wait_for()


def told(page):
    """The rows of the tooltip: label to value."""
    rows = page.locator(".tooltip .tooltip-row").all()
    return {row.locator("> span").first.inner_text(): row.locator("> span").last.inner_text() for row in rows}  # fmt: skip


def test_lanes_are_chosen_by_words_and_a_wrong_one_is_named(compute):
    page = compute()
    expect(page.locator("[data-lanes-note]")).to_contain_text("of 128 lanes")
    box = page.get_by_label("Lanes to show")
    for word, first, count in [("rank:37", "rank 37", 1), ("node:10.2.0.1", "rank 37", 9), ("every:64", "rank 37", 10)]:  # fmt: skip
        box.fill(word)
        box.press("Enter")
        expect(page.locator(".compute-row")).to_have_count(count)
        assert titles(page)[0] == first
    assert query(page)["lanes"] == "rank:37,node:10.2.0.1,every:64"
    box.fill("rank:x")
    box.press("Enter")
    expect(page.locator("#compute-lane-error")).to_contain_text("“rank:x” needs a number")
    expect(page.locator(".compute-row")).to_have_count(10)
    page.get_by_label("Remove every:64").click()
    expect(page.locator(".compute-row")).to_have_count(9)
    expect(page.locator("#compute-lane-error")).to_be_visible()


def test_picks_find_the_straggler_by_duration_and_by_late_start(compute):
    page = compute()
    rows = page.locator("table", has_text="Slowest actor train").locator("tbody tr")
    for why in ("Slowest actor train", "Latest start of actor train"):
        expect(rows.filter(has_text=why).first).to_contain_text("10.2.0.5 gpu 5")
    rows.filter(has_text="Slowest actor train").first.locator("a").click()
    expect(page.locator(".compute-row")).to_have_count(1)
    assert titles(page) == ["rank 37"]
    page.go_back()
    expect(page.locator("[data-lanes-note]")).to_contain_text("24 of 128 lanes")


def test_a_link_restores_window_lanes_and_overlay(compute):
    link = "?t=3040,3160&lanes=gpu:10.2.0.14:0&overlay=sglang_token_usage&show=util,power_w&clock=utc"  # fmt: skip
    page = compute(link)
    assert titles(page) == ["engine 1"]
    expect(page.locator(".compute-window")).to_contain_text("2026-02-03 23:10:40")
    expect(page.get_by_label("Engine metric over the lanes")).to_have_value("sglang_token_usage")
    pressed = page.locator(".compute-toolbar [aria-pressed='true']").all_inner_texts()
    assert pressed == ["UTC", "Util", "Power"]
    assert page.url.endswith(link)


def test_numbers_under_the_pointer_are_those_of_the_tables_on_both_sides_of_a_restart(
    compute, many_gpu
):
    run = miles_report.open_run(many_gpu[0])
    lane = "10.2.0.14:0"
    for window, addr in (
        ("2880,2900", "http://10.2.0.14:15000"),
        ("3060,3080", "http://10.2.0.14:15010"),
    ):
        page = compute(f"?t={window}&lanes=gpu:{lane}")
        point(page, lane, 0.5)
        time = START + sum(float(part) for part in window.split(",")) / 2
        gpu = run.table("gpu_util", lanes=f"gpu:{lane}", t0=time - 5, t1=time).row(-1, named=True)
        engine = run.table("engine_series", metric="sglang_num_running_reqs", t0=time - 30, t1=time)
        value = engine.filter(engine["addr"] == addr)["value"][-1]
        found = told(page)
        assert found["GPU utilization"] == f"{gpu['util']} %"
        assert found["GPU memory"].replace(NARROW, "") == f"{gpu['mem_mb']} MiB"
        assert found["Engine"].startswith(addr.removeprefix("http://"))
        assert float(found["sglang_num_running_reqs"].replace(NARROW, "")) == value
        assert "python" in " ".join(found) or "sglang" in " ".join(found)


def test_wheel_drag_keys_and_brush_move_the_window(compute):
    page = compute("?lanes=rank:37")
    count = drawn(page)
    canvas = page.locator('[data-row="10.2.0.5:5"] canvas')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    count = drawn(page, count)
    from_s, to_s = (float(part) for part in query(page)["t"].split(","))
    assert to_s - from_s < 7200
    assert from_s < 3600 < to_s
    page.mouse.down()
    page.mouse.move(middle[0] + 100, middle[1], steps=4)
    page.mouse.up()
    count = drawn(page, count)
    moved = [float(part) for part in query(page)["t"].split(",")]
    assert moved[0] < from_s
    assert moved[1] - moved[0] == pytest.approx(to_s - from_s, abs=1)
    page.mouse.dblclick(*middle)
    expect(page.get_by_role("button", name="Whole run")).to_be_hidden()
    assert "t" not in query(page)
    page.locator(".compute-stack").focus()
    page.keyboard.press("]")
    assert query(page)["t"] == "87,265"  # step 0
    page.keyboard.press("0")
    brush = page.locator(".compute-brush svg").bounding_box()
    page.mouse.move(brush["x"] + brush["width"] * 0.25, brush["y"] + 40)
    page.mouse.down()
    page.mouse.move(brush["x"] + brush["width"] * 0.5, brush["y"] + 40, steps=4)
    page.mouse.up()
    chosen = [float(part) for part in query(page)["t"].split(",")]
    assert chosen == pytest.approx([1800, 3600], abs=30)
    page.locator(".compute-strip button").nth(3).click()
    expect(page.locator(".compute-strip button").nth(3)).to_have_attribute("aria-pressed", "true")


def test_a_bar_of_a_step_on_the_overview_leads_to_its_time(many_gpu, open_page):
    page = open_page(many_gpu[1].replace("compute.html", "index.html"))
    chart = page.locator('figure[data-figure="index-steps"] svg').first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 60)
    page.wait_for_url("**/compute.html?t=*")
    drawn(page)
    expect(page.locator(".compute-strip button").last).to_have_attribute("aria-pressed", "true")


def test_requests_of_the_window_stand_below_the_lanes(site, open_page):
    page = open_page(site("agentic") + "compute.html")
    drawn(page)
    expect(page.locator('[data-row="requests"]')).to_contain_text("48 samples of 2 steps")
    point(page, "requests", 0.05)
    assert told(page)["Step"] == "0"
