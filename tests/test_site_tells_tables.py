"""The site tells the numbers of the tables: every slice read back equals the table within the stated rounding."""

from __future__ import annotations

import math
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from builders.told import assert_told

import miles_report
from miles_report.run_wide import lifecycles
from miles_report.schema.tables import PER_STEP, TABLES
from miles_report.site.run_output import RUN_TABLES
from miles_report.slices.read import open_catalog, open_step, read_slices, read_table

NAMES = sorted(path.name for path in (Path(__file__).parent / "data" / "dumps").iterdir())


@pytest.fixture(scope="module", params=NAMES)
def pair(request, dumps, built):
    """An opened run and its site: (run, read, root catalogue)."""
    site = built(request.param)
    (root,) = (site / "data").glob("catalog-*.json")
    read = lambda path: (site / path).read_bytes()  # noqa: E731 - the shape that readers take
    return (
        miles_report.open_run(dumps / request.param),
        read,
        open_catalog(read, f"data/{root.name}"),
    )


def test_run_wide_tables(pair):
    run, read, root = pair
    for name in RUN_TABLES:
        assert_told(name, read_table(read, root, name), run.table(name))


def test_series_are_cut_into_files_of_which_nothing_is_lost(pair):
    run, read, root = pair
    true = run.table("gpu_util")
    told = read_table(read, root, "gpu_util").sort("node", "gpu", "ts", maintain_order=True)
    assert_told("gpu_util", told, true)
    metrics = run.table("engine_metrics")["metric"].to_list()
    for entry in root.tables["engine_series"]:
        if entry.rows:
            of_file = read_slices(read, (entry,))
            assert of_file["metric"].unique().to_list() == [metrics[int(entry.keys["metric"][0])]]


def test_tables_of_every_step(pair):
    run, read, root = pair
    keys = [(step, False) for step in run.steps] + [(step, True) for step in run.eval_steps]
    assert [(entry.step, entry.evaluation) for entry in root.steps] == keys
    for step, evaluation in keys:
        if run.outline(step, evaluation=evaluation).state != "ok":
            assert root.step(step, evaluation=evaluation).catalog is None
            continue
        catalog = open_step(read, root, step, evaluation=evaluation)
        for name in PER_STEP:
            told = read_table(read, catalog, name)
            assert_told(name, told, run.table(name, step=step, evaluation=evaluation))
        if not evaluation:
            true = run.table("trajectories", step=step)
            assert true.equals(lifecycles(run, step, run.open_step(step).sample_indices()))
            assert_told("trajectories", read_table(read, catalog, "trajectories"), true)


class Marked(HTMLParser):
    """Gathers the numbers that a page marks: (what number, text)."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.depth = 0

    def handle_starttag(self, tag, attrs):
        if self.depth:
            self.depth += 1
        elif cell := dict(attrs).get("data-cell"):
            self.depth = 1
            self.found.append([cell, ""])

    def handle_endtag(self, _tag):
        self.depth = max(0, self.depth - 1)

    def handle_data(self, data):
        if self.depth:
            self.found[-1][1] += data


def table_of_page(run, path):
    step = re.search(r"rollouts/(eval|step)-(\d+)\.html", path)
    return (
        (lambda name: run.table(name, step=int(step[2]), evaluation=step[1] == "eval"))
        if step
        else run.table
    )


@pytest.mark.parametrize("name", ["agentic", "removed", "basic", "rollout_only", "pp"])
def test_fifty_numbers_of_rendered_pages(name, dumps, built):
    """Numbers picked at random from pages, read as text, are the tables' numbers as LOOK writes them."""
    site = built(name)
    run = miles_report.open_run(dumps / name)
    shown = []
    for page in sorted(site.rglob("*.html")):
        parser = Marked()
        parser.feed(page.read_text())
        path = page.relative_to(site).as_posix()
        shown += [(path, cell, text) for cell, text in parser.found]
    assert len({path for path, _, _ in shown}) >= 3
    keys = {"steps": "step", "samples": "row", "groups": "group_index"}
    for path, cell, text in random.Random(name).sample(shown, 50):
        table, column, key = re.fullmatch(r"(\w+)\.(\w+)@(-?\d+)", cell).groups()
        frame = run.table(table) if table == "steps" else table_of_page(run, path)(table)
        value = frame.filter(pl.col(keys[table]) == int(key))[column].item()
        assert text == as_look_says(table, column, value), (path, cell)


def as_look_says(table, column, value):  # noqa: C901, PLR0911 - one line a rule
    """LOOK's number rules, written down once more for this test."""
    form = TABLES[table].column(column).form
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not math.isfinite(value):
        return "not finite"
    sign = "−" if value < 0 else ""
    size = abs(value)
    if form == "id":
        return f"{sign}{size}"
    if form == "count":
        return sign + f"{math.floor(size + 0.5):,}".replace(",", "\u202f")
    if form == "frac":
        return "0\u202f%" if size == 0 else f"{sign}{size * 100:.1f}\u202f%"
    if form == "logprob":
        return f"{sign}{size:.4f}"
    if form == "seconds":
        return (
            "0\u202fs"
            if size == 0
            else f"{size * 1e3:.0f}\u202fms"
            if size < 1
            else f"{size:.1f}\u202fs"
        )
    if size == int(size) and size < 1000:
        return f"{sign}{int(size)}"
    size = float(f"{size:.2e}")
    digits = max(0, 2 - math.floor(math.log10(size)))
    return sign + f"{size:,.{digits}f}".replace(",", "\u202f")
