"""docs/published.md: what it shows runs, what it tells is so."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from builders.hosts import serve
from builders.told import assert_told

import miles_report
from miles_report.schema.tables import TABLES
from miles_report.site.preview import serve as preview

BLOCKS = re.findall(
    r"```python\n(.*?)```",
    (Path(__file__).parents[1] / "docs" / "published.md").read_text(),
    re.DOTALL,
)
FOREIGN = re.compile(r"import (duckdb|pandas)")
EXAMPLE = "https://reports.example/run-7/"


def run_block(block, place):
    """Runs a block of the documentation against another report; gives its names."""
    names = {}
    exec(compile(block.replace(EXAMPLE, place).replace("step=3", "step=0"), "docs", "exec"), names)
    return names


def test_what_the_documentation_shows_runs(dumps, built):
    run = miles_report.open_run(dumps / "agentic")
    ours = [block for block in BLOCKS if not FOREIGN.search(block)]
    assert (len(BLOCKS), len(ours)) == (6, 4)
    with preview(built("agentic")) as url:
        notebook, lazy, whole, bare = (run_block(block, url) for block in ours)
    assert notebook["samples"].equals(run.table("samples", step=0))
    told, true = notebook["tokens"], run.table("tokens", step=0, row=notebook["worst"], end=500)
    assert_told("tokens", told, true)
    assert lazy["samples"].height == run.table("samples").height
    strong = run.table("tokens", step=0).filter(pl.col("lp_diff").abs() > 0.5)
    assert lazy["lazy"]["position"].to_list() == strong["position"].to_list()
    assert whole["samples"].height == run.table("samples", step=0).height
    assert bare["files"] == notebook["site"].files("metrics")
    assert bare["tokens"] == notebook["site"].files("tokens", step=0)
    with serve(built("agentic")) as served:  # a host without ranges
        assert run_block(ours[2], served.url)["samples"].height == 24


@pytest.mark.parametrize("block", [block for block in BLOCKS if FOREIGN.search(block)])
def test_what_it_shows_of_other_packages_is_python(block):
    compile(block, "docs", "exec")


def test_the_documentation_tells_the_rounding_of_the_schema():
    text = (Path(__file__).parents[1] / "docs" / "published.md").read_text()
    rows = {line.split("|")[2].strip(): set(re.findall(r"`(\w+)`", line)) for line in text.splitlines() if line.startswith("| `") and "at most" in line}  # fmt: skip
    declared = {column.name: column.rounding for column in TABLES["tokens"].columns}
    for words, rounding in (("multiples of 2⁻¹⁴", "2^-14"), ("13 bits of mantissa", "13 bits")):
        told = rows[words]
        assert told == {name for name, kind in declared.items() if kind == rounding} - {"imp_ratio"}
