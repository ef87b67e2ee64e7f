from __future__ import annotations

import json
import math

import polars as pl
from builders.streams import T, stamp_of

from miles_report.schema.sample_columns import STEP_AGGREGATES
from miles_report.sources.metrics_stream import read_metrics
from miles_report.tables.attempts import Attempts
from miles_report.tables.metrics import metrics_table

COLUMNS = ["ts", "attempt", "step_key", "step", "key", "value", "nonfinite", "text"]


def logged(path, *records: tuple) -> pl.DataFrame:
    """Values of (ts, step_key, step, metrics) records, through the stream's own reader."""
    lines = [
        json.dumps({"ts": ts, "step_key": key, "step": step, "metrics": metrics})
        for ts, key, step, metrics in records
    ]
    content = "".join(line + "\n" for line in lines).encode()
    return read_metrics([stamp_of(path / "m.jsonl", content)], notices=[]).values


def steps(**columns: list) -> pl.DataFrame:
    """A `steps` table of the given aggregates; the others are null."""
    n = len(columns["step"])
    frame = {"step": columns["step"]}
    frame |= {name: columns.get(name, [None] * n) for name in STEP_AGGREGATES}
    schema = {"step": pl.Int64} | dict.fromkeys(STEP_AGGREGATES, pl.Float64)
    return pl.DataFrame(frame, schema=schema)


def test_what_was_logged_comes_out_as_logged_in_file_order(tmp_path):
    values = logged(
        tmp_path,
        (T + 9, "rollout/step", 0, {"b": 1.5, "a": True, "name": "x"}),
        (T, "rollout/step", 0, {"b": math.nan}),
        (T + 1, None, None, {"b": 2}),
    )
    table = metrics_table(values, None, Attempts())
    assert table.columns == COLUMNS
    assert table.rows() == [
        (T + 9, 0, "rollout/step", 0, "b", 1.5, False, None),
        (T + 9, 0, "rollout/step", 0, "a", 1.0, False, None),
        (T + 9, 0, "rollout/step", 0, "name", None, False, "x"),
        (T, 0, "rollout/step", 0, "b", None, True, None),
        (T + 1, 0, None, None, "b", 2.0, False, None),
    ]


def test_aggregates_of_the_dumps_follow_without_their_nulls(tmp_path):
    values = logged(tmp_path, (T, "rollout/step", 4, {"a": 1}))
    table = metrics_table(
        values,
        steps(step=[4, 5], reward_mean=[0.5, math.nan], mean_entropy=[None, 0.25]),
        Attempts(),
    )
    assert table.rows()[1:] == [
        (None, None, "rollout/step", 4, "dump/reward_mean", 0.5, False, None),
        (None, None, "rollout/step", 5, "dump/reward_mean", None, True, None),
        (None, None, "rollout/step", 5, "dump/mean_entropy", 0.25, False, None),
    ]
    assert table.schema["step"] == pl.Int64


def test_all_eight_aggregates_appear_without_a_collector():
    values = read_metrics([], notices=[]).values
    table = metrics_table(
        values, steps(step=[0], **{name: [1.0] for name in STEP_AGGREGATES}), Attempts()
    )
    assert table["key"].to_list() == [f"dump/{name}" for name in STEP_AGGREGATES]
    assert len(STEP_AGGREGATES) == 8
    assert table.columns == COLUMNS


def test_axis_and_key_select(tmp_path):
    values = logged(
        tmp_path,
        (T, "rollout/step", 0, {"a": 1, "b": 2}),
        (T, "train/step", 0, {"a": 3}),
        (T, None, None, {"a": 4}),
    )
    both = steps(step=[0], reward_mean=[0.5])
    by_axis = metrics_table(values, both, Attempts(), step_key="rollout/step")
    assert by_axis["key"].to_list() == ["a", "b", "dump/reward_mean"]
    by_key = metrics_table(values, both, Attempts(), metric="a")
    assert by_key["value"].to_list() == [1.0, 3.0, 4.0]
    assert metrics_table(values, both, Attempts(), step_key="train/step", metric="a").height == 1
    assert metrics_table(values, both, Attempts(), metric="nope").height == 0


def test_attempts_number_what_was_logged(tmp_path):
    values = logged(
        tmp_path,
        (T, "rollout/step", 0, {"a": 1}),
        (T + 10, "rollout/step", 1, {"a": 2}),
        (T + 20, "rollout/step", 1, {"a": 3}),
        (T + 19.9, "rollout/step", 2, {"a": 4}),
    )
    table = metrics_table(values, steps(step=[0], reward_mean=[1.0]), Attempts((T + 10, T + 20)))
    assert table["attempt"].to_list() == [0, 1, 2, 1, None]
    assert table.schema["attempt"] == pl.Int64
