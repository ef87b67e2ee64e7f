from __future__ import annotations

import json
import math

from builders.streams import T, stamp_of

from miles_report.sources.metrics_stream import read_metrics
from miles_report.tables.bubbles import bubbles_table


def bubbles(path, *records: tuple):
    content = "".join(
        json.dumps({"ts": ts, "step_key": key, "step": step, "metrics": metrics}) + "\n"
        for ts, key, step, metrics in records
    )
    values = read_metrics([stamp_of(path / "m.jsonl", content.encode())], notices=[]).values
    return bubbles_table(values)


def test_one_row_a_record_with_either_timing(tmp_path):
    table = bubbles(
        tmp_path,
        (T, "rollout/step", 0, {"perf/step_time": 95.0, "perf/wait_time_ratio": 0.4, "x": 1}),
        (T + 1, "rollout/step", 0, {"x": 1}),
        (T + 2, "rollout/step", 1, {"perf/wait_time_ratio": 0.3}),
        (T + 3, "rollout/step", 1, {"perf/step_time": 94}),
        (T + 4, "train/step", 2, {"perf/step_time": 93.0}),
        (T + 5, "rollout/step", None, {"perf/step_time": 92.0}),
    )
    assert table.columns == ["step", "ts", "step_time", "wait_ratio"]
    assert table.rows() == [
        (0, T, 95.0, 0.4),
        (1, T + 2, None, 0.3),
        (1, T + 3, 94.0, None),
        (None, T + 5, 92.0, None),
    ]


def test_what_is_not_finite_is_nan_and_what_is_text_is_nothing(tmp_path):
    table = bubbles(
        tmp_path,
        (T, "rollout/step", 0, {"perf/step_time": math.inf, "perf/wait_time_ratio": "high"}),
    )
    (row,) = table.rows()
    assert math.isnan(row[2])
    assert row[3] is None


def test_without_metrics_no_rows():
    table = bubbles_table(read_metrics([], notices=[]).values)
    assert table.height == 0
    assert table.columns == ["step", "ts", "step_time", "wait_ratio"]
