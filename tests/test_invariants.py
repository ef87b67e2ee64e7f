"""What must hold between the tables of any dump: the recorded ones, and a real one named by the environment."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import miles_report
from miles_report.cli import main
from miles_report.schema.tables import TABLES
from miles_report.tables.frames import table_schema

REAL = os.environ.get("MILES_REPORT_REALDATA_DIR") or os.environ.get("MILES_DASHBOARD_REALDATA_DIR")
NAMES = sorted(path.name for path in (Path(__file__).parent / "data" / "dumps").iterdir())
MOST_STEPS = 3
NEEDED = {"engine_series": {"metric": "sglang_num_running_reqs"}, "outliers": {"by": "lowest_util"}}


@pytest.fixture(scope="module", params=[*NAMES, *([REAL] if REAL else [])])
def run(request, dumps):
    return miles_report.open_run(request.param if request.param == REAL else dumps / request.param)


def steps_of(run):
    chosen = [(step, False) for step in run.steps[:MOST_STEPS]]
    return chosen + [(step, True) for step in run.eval_steps[:MOST_STEPS]]


def readable(run):
    return [key for key in steps_of(run) if run.outline(key[0], evaluation=key[1]).state == "ok"]


def close(a, b):
    if a is None or b is None:
        return a is b
    return (
        math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-6)
        or (math.isnan(a) and math.isnan(b))
        or a == b
    )


@pytest.mark.parametrize("name", TABLES)
def test_declared_columns_come_first_and_have_their_types(run, name):
    steps = [step for step, evaluation in readable(run) if not evaluation][:1]
    parameters = {"step": steps} if steps and "step" in TABLES[name].parameters else {}
    parameters |= NEEDED.get(name, {})
    frame = run.table(name, **parameters)
    declared = table_schema(name)
    assert list(frame.columns)[: len(declared)] == list(declared)
    assert {column: frame.schema[column] for column in declared} == declared
    if not TABLES[name].open_ended:
        assert len(frame.columns) == len(declared)


def test_groups_count_every_sample(run):
    for step, evaluation in readable(run):
        samples = run.table("samples", step=step, evaluation=evaluation)
        groups = run.table("groups", step=step, evaluation=evaluation)
        assert groups["n"].sum() == samples.height
        assert samples["row"].to_list() == list(range(samples.height))


def test_tokens_agree_with_their_sample(run):
    for step, evaluation in readable(run):
        tables = run.open_step(step, evaluation=evaluation)
        tokens = tables.tokens(text=False)
        counted = dict(
            tokens.group_by("row")
            .agg(pl.len(), pl.col("in_response").sum())
            .select("row", pl.struct("len", "in_response"))
            .rows()
        )
        for sample in tables.samples.iter_rows(named=True):
            have = counted.get(sample["row"], {"len": 0, "in_response": 0})
            assert have["len"] == sample["total_length"]
            assert have["in_response"] == sample["response_length"]


def test_statistics_are_those_of_the_tokens(run):
    for step, evaluation in readable(run):
        tables = run.open_step(step, evaluation=evaluation)
        tokens = tables.tokens(text=False).filter(pl.col("in_response"), pl.col("loss_mask") > 0)
        for sample in tables.samples.iter_rows(named=True):
            mine = (
                tokens.filter(pl.col("row") == sample["row"])["lp_diff"]
                .drop_nulls()
                .cast(pl.Float64)
                .abs()
            )
            expected = mine.mean() if mine.len() else None
            if sample["mean_abs_lp_diff"] is not None:
                assert close(sample["mean_abs_lp_diff"], expected)


def test_one_sample_alone_equals_its_part_of_the_step(run):
    for step, evaluation in readable(run)[:2]:
        tables = run.open_step(step, evaluation=evaluation)
        whole = tables.tokens()
        for row in tables.samples["row"].to_list()[:3]:
            alone = run.table("tokens", step=step, evaluation=evaluation, row=row)
            assert alone.equals(whole.filter(pl.col("row") == row), null_equal=True)


def test_export_writes_what_the_table_holds(run):
    for name in ("run", "steps", "notices", "bubbles"):
        done = CliRunner().invoke(main, ["export", str(run.path), name])
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)
        frame = run.table(name)
        assert len(rows) == frame.height
        for row, want in zip(rows, frame.iter_rows(named=True), strict=True):
            finite = {
                k: None if isinstance(v, float) and not math.isfinite(v) else v
                for k, v in want.items()
            }
            assert row == finite
