"""The site tells the numbers of the tables: every slice read back equals the table within the stated rounding."""

from __future__ import annotations

import math
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import miles_report
from miles_report.build import BuildOptions, build
from miles_report.run_wide import lifecycles
from miles_report.schema.tables import PER_STEP, TABLES
from miles_report.slices.read import open_catalog, open_step, read_table

NAMES = sorted(path.name for path in (Path(__file__).parent / "data" / "dumps").iterdir())
RUN_WIDE = ("run", "metrics", "steps", "bubbles", "data_buffer", "mfu", "notable", "notices")
HALF_STEP = 2.0**-15
HALF_BIT = 2.0**-14
ROUNDING = {column.name: column.rounding for table in TABLES.values() for column in table.columns}


@pytest.fixture(scope="module", params=NAMES)
def pair(request, dumps, tmp_path_factory):
    """An opened run and its site: (run, read, root catalogue)."""
    site = tmp_path_factory.mktemp("site") / request.param
    build(dumps / request.param, site, BuildOptions(pages="none", jobs=1))
    (root,) = (site / "data").glob("catalog-*.json")
    read = lambda path: (site / path).read_bytes()  # noqa: E731 - the shape that readers take
    return (
        miles_report.open_run(dumps / request.param),
        read,
        open_catalog(read, f"data/{root.name}"),
    )


def is_told(column, told, true):
    if told is None or true is None or not isinstance(true, float) or not math.isfinite(true):
        return told == true or (
            isinstance(true, float)
            and isinstance(told, float)
            and math.isnan(told) == math.isnan(true)
            and (math.isnan(true) or told == true)
        )
    rounding = ROUNDING.get(column, "2^-14" if column not in ROUNDING else "none")
    if rounding == "2^-14":
        return abs(told - true) <= HALF_STEP * (1 + 1e-6) + abs(true) * 2.0**-23
    if rounding == "13 bits":
        return abs(told - true) <= abs(true) * HALF_BIT * (1 + 1e-6)
    return told == true


def assert_told(name, told, true):
    assert told.columns == true.columns
    assert told.height == true.height
    for column in true.columns:
        a, b = told[column], true[column]
        assert a.dtype == b.dtype, (name, column)
        if a.equals(b, null_equal=True):
            continue
        if column == "imp_ratio":
            continue  # follows from lp_diff, checked apart
        bad = [
            i
            for i, (x, y) in enumerate(zip(a.to_list(), b.to_list(), strict=True))
            if not is_told(column, x, y)
        ]
        assert not bad, (name, column, bad[:3], a[bad[0]], b[bad[0]])


def test_run_wide_tables(pair):
    run, read, root = pair
    for name in RUN_WIDE:
        assert_told(name, read_table(read, root, name), run.table(name))


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
            if name == "tokens":
                ratio = told.select(
                    (pl.col("imp_ratio").log() - pl.col("lp_diff")).abs().max()
                ).item()
                assert ratio is None or not math.isfinite(ratio) or ratio < 1e-4
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
def test_fifty_numbers_of_rendered_pages(name, dumps, tmp_path):
    """Numbers picked at random from pages, read as text, are the tables' numbers as LOOK writes them."""
    build(dumps / name, tmp_path / "site", BuildOptions(pages="none", jobs=1))
    run = miles_report.open_run(dumps / name)
    shown = []
    for page in sorted((tmp_path / "site").rglob("*.html")):
        parser = Marked()
        parser.feed(page.read_text())
        path = page.relative_to(tmp_path / "site").as_posix()
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
