"""The site tells the numbers of the tables: every slice read back equals the table within the stated rounding."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import miles_report
from miles_report.build import BuildOptions, build
from miles_report.run_wide import lifecycles
from miles_report.schema.tables import PER_STEP, TABLES
from miles_report.site.read import open_catalog, open_step, read_table

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
