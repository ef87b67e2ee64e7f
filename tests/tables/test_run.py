from __future__ import annotations

import json
import math
from dataclasses import replace

import polars as pl
import pytest
from builders.streams import T

from miles_report.schema.streams import HealthEvent
from miles_report.schema.tables import TABLES
from miles_report.sources.stream_shapes import shape_of
from miles_report.tables.attempts import Attempts, find_attempts
from miles_report.tables.data_buffer import data_buffer_length, data_buffer_table
from miles_report.tables.run_table import RunParts, run_state, run_table, wandb_url

PARTS = RunParts(
    run_name='a "b"',
    start_ts=T,
    schema_version=1,
    args={"lr": 1e-6, "name": "</script>", "clip": math.inf, "nested": [{"x": math.nan}]},
    t0=T + 1,
    t1=T + 9,
    records={"metrics": 3, "gpu_util": 5},
    data_buffer_length=7,
    has_tokenizer=True,
    n_steps=2,
    n_eval_steps=1,
)
NO_HEALTH = shape_of("health").empty()


def health(*events: tuple[float, str]) -> pl.DataFrame:
    rows = [vars_of(HealthEvent(ts, event)) for ts, event in events]
    return pl.DataFrame(rows, schema=NO_HEALTH.schema)


def vars_of(event: HealthEvent) -> dict[str, object]:
    return {name: getattr(event, name) for name in NO_HEALTH.columns}


def test_the_row_of_a_run():
    table = run_table(PARTS, NO_HEALTH)
    assert table.height == 1
    assert table.columns == [column.name for column in TABLES["run"].columns]
    row = table.row(0, named=True)
    assert json.loads(row.pop("args")) == {
        "lr": 1e-6,
        "name": "</script>",
        "clip": None,
        "nested": [{"x": None}],
    }
    assert row == {
        "run_name": 'a "b"',
        "start_ts": T,
        "t0": T + 1,
        "t1": T + 9,
        "state": "unknown",
        "schema_version": 1,
        "wandb_url": None,
        "data_buffer_length": 7,
        "has_metrics": True,
        "has_timeline": True,
        "has_engine_series": False,
        "has_tokenizer": True,
        "n_steps": 2,
        "n_eval_steps": 1,
    }


def test_a_run_of_nothing_is_a_row_of_nulls():
    empty = RunParts(
        None, None, None, {}, None, None, {}, None, has_tokenizer=False, n_steps=0, n_eval_steps=0
    )
    row = run_table(empty, NO_HEALTH).row(0, named=True)
    assert [row[name] for name in ("run_name", "start_ts", "t0", "t1", "wandb_url")] == [None] * 5
    assert (row["args"], row["state"], row["has_timeline"]) == ("{}", "unknown", False)


def test_phases_alone_are_a_timeline():
    table = run_table(replace(PARTS, records={"phases": 1, "engine_series": 2}), NO_HEALTH)
    row = table.row(0, named=True)
    assert (row["has_timeline"], row["has_engine_series"], row["has_metrics"]) == (
        True,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("events", "t1", "state"),
    [
        ([], T, "unknown"),
        ([], None, "unknown"),
        ([(T, "collector_started"), (T + 9, "collector_stopped")], T + 9, "finished"),
        ([(T, "collector_started"), (T + 9, "collector_stopped")], T + 9.5, "unknown"),
        ([(T + 9, "collector_stopped"), (T + 9, "collector_started")], T + 9, "unknown"),
        ([(T, "collector_started")], T, "unknown"),
    ],
)
def test_finished_only_after_a_stop_that_nothing_follows(events, t1, state):
    assert run_state(health(*events), t1) == state


PLACE = {"wandb_team": "lab", "wandb_project": "rl", "wandb_run_id": "abc"}


@pytest.mark.parametrize(
    ("args", "url"),
    [
        (PLACE, "https://wandb.ai/lab/rl/runs/abc"),
        (PLACE | {"wandb_host": None}, "https://wandb.ai/lab/rl/runs/abc"),
        (PLACE | {"wandb_host": "https://w.example/"}, "https://w.example/lab/rl/runs/abc"),
        (PLACE | {"wandb_host": "http://w.example"}, "http://w.example/lab/rl/runs/abc"),
        (PLACE | {"wandb_host": "javascript:x()//"}, "https://javascript:x()/lab/rl/runs/abc"),
        (PLACE | {"wandb_team": None}, None),
        (PLACE | {"wandb_project": ""}, None),
        (PLACE | {"wandb_run_id": 5}, None),
        ({}, None),
    ],
)
def test_wandb_url(args, url):
    assert wandb_url(args) == url


def test_the_buffer_s_length_is_the_last_line_of_the_file():
    reports = pl.DataFrame({"ts": [T + 5, T], "length": [9, 3]})
    assert data_buffer_length(reports) == 3
    assert data_buffer_table(reports).rows() == [(T + 5, 9), (T, 3)]
    assert data_buffer_length(reports.clear()) is None


def steps(*rows: tuple[float, str | None, int | None, str]) -> pl.DataFrame:
    schema = {"ts": pl.Float64, "step_key": pl.String, "step": pl.Int64, "key": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def starts(values, *, start_ts=None, started=(), first_ts=T):
    return find_attempts(values, start_ts=start_ts, collector_started=started, first_ts=first_ts)


AGAIN = steps(
    (T, "rollout/step", 0, "a"),
    (T + 10, "rollout/step", 1, "a"),
    (T + 11, "rollout/step", 1, "rollout/step"),
    (T + 20, "rollout/step", 2, "a"),
    (T + 300, "rollout/step", 1, "a"),
    (T + 310, "train/step", 1, "loss"),
    (T + 320, "rollout/step", 2, "a"),
    (T + 1000, "rollout/step", 2, "a"),
    (T + 1100, "rollout/step", 0, "a"),
)


def test_one_attempt_if_the_run_began_at_its_start():
    assert starts(AGAIN, start_ts=T) == Attempts()
    assert starts(AGAIN, start_ts=T - 50) == Attempts()
    assert starts(AGAIN) == Attempts()
    assert starts(AGAIN.clear(), start_ts=T, first_ts=None) == Attempts()


def test_before_the_last_start_attempts_are_guessed_from_steps_and_that_is_told():
    found = starts(AGAIN, start_ts=T + 1000)
    assert found.starts == (T + 300, T + 1000)
    (notice,) = found.notices
    assert (notice.code, notice.severity) == ("attempts-guessed", "info")
    assert "2 found there" in notice.message


def test_a_resume_after_which_no_step_went_backwards_is_one_attempt_before_the_last():
    found = starts(
        steps((T, "rollout/step", 5, "a"), (T + 900, "rollout/step", 6, "a")), start_ts=T + 500
    )
    assert found.starts == (T + 500,)
    assert len(found.notices) == 1


def test_records_of_other_axes_do_not_begin_another_attempt():
    values = steps(
        (T, "rollout/step", 0, "a"),
        (T + 1, "train/step", 8, "loss"),
        (T + 2, "rollout/step", 1, "a"),
        (T + 100, "rollout/step", 0, "a"),
        (T + 101, "train/step", 0, "loss"),
        (T + 102, None, None, "x"),
    )
    assert starts(values, start_ts=T + 500).starts == (T + 100, T + 500)


def test_records_of_a_step_that_come_late_begin_no_attempt():
    values = steps(
        (T, "rollout/step", 0, "rollout/raw_reward"),
        (T, "rollout/step", 0, "rollout/step"),
        (T + 10, "rollout/step", 1, "rollout/raw_reward"),
        (T + 10, "rollout/step", 1, "rollout/step"),
        (T + 11, "rollout/step", 0, "perf/step_time"),
        (T + 11, "rollout/step", 0, "rollout/step"),
    )
    assert starts(values, start_ts=T + 500).starts == (T + 500,)


def test_recorded_starts_need_no_guess():
    found = starts(AGAIN, start_ts=T + 1000, started=[T, T + 250, T + 1001])
    assert found == Attempts((T + 250, T + 1000))


def test_before_the_first_recorded_start_steps_are_all_there_is():
    found = starts(AGAIN, start_ts=T + 1000, started=[T + 600, T + 999])
    assert found.starts == (T + 300, T + 600, T + 1000)
    assert len(found.notices) == 1
