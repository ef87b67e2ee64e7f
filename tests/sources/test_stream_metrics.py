from __future__ import annotations

import json

import pytest
from builders.streams import T, stamp_of

from miles_report.sources.metrics_stream import VALUE_COLUMNS, read_metrics
from miles_report.sources.stream_files import TimeBounds


def read(path, *lines: object):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    notices = []
    metrics = read_metrics([stamp_of(path / "metrics.jsonl", text.encode())], notices=notices)
    return metrics, [(notice.code, notice.source, notice.message) for notice in notices]


def record(ts=T, step_key="rollout/step", step=0, **metrics):
    return {"ts": ts, "step_key": step_key, "step": step, "metrics": metrics}


def test_values_keep_file_order_and_their_record(tmp_path):
    metrics, notices = read(
        tmp_path,
        record(b=1.5, a=2),
        record(ts=T - 9, step_key="lora_a/step", step=7),
        record(ts=T + 3, step_key=None, step=None, b=0),
    )
    assert notices == []
    assert metrics.values.select("record", "ts", "step_key", "step", "key", "value").rows() == [
        (0, T, "rollout/step", 0, "b", 1.5),
        (0, T, "rollout/step", 0, "a", 2.0),
        (2, T + 3, None, None, "b", 0.0),
    ]
    assert metrics.bounds == TimeBounds(T - 9, T + 3, 3)
    assert metrics.values.schema == VALUE_COLUMNS


@pytest.mark.parametrize(
    ("logged", "value", "nonfinite", "text"),
    [
        ("0.25", 0.25, False, None),
        ("-3", -3.0, False, None),
        ("true", 1.0, False, None),
        ("false", 0.0, False, None),
        ("NaN", None, True, None),
        ("Infinity", None, True, None),
        ("-Infinity", None, True, None),
        ("1e999", None, True, None),
        ("1" + "0" * 400, None, True, None),
        ("null", None, False, None),
        ('"</script>"', None, False, "</script>"),
        ('"\\ud800"', None, False, "?"),
        ('[1,"ü",NaN]', None, False, '[1, "ü", NaN]'),
        ('{"a":{"b":1}}', None, False, '{"a": {"b": 1}}'),
    ],
)
def test_each_kind_of_value(tmp_path, logged, value, nonfinite, text):
    metrics, notices = read(
        tmp_path, f'{{"ts":1,"step_key":"s","step":1,"metrics":{{"k":{logged}}}}}'
    )
    assert notices == []
    assert metrics.values.select("value", "nonfinite", "text").rows() == [(value, nonfinite, text)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x", "is not JSON"),
        ('{"ts":1}', "has no metrics"),
        ('{"ts":1,"metrics":[1]}', "has no metrics"),
        ('{"metrics":{}}', "has no finite ts"),
        ('{"ts":NaN,"metrics":{}}', "has no finite ts"),
        ('{"ts":true,"metrics":{}}', "has no finite ts"),
        ('{"ts":1' + "0" * 400 + ',"metrics":{}}', "has no finite ts"),
        ('{"ts":1,"step_key":5,"metrics":{}}', "has a step_key that is not text"),
        ('{"ts":1,"step":"5","metrics":{}}', "has a step that is not a whole number"),
        ('{"ts":1,"step":0.5,"metrics":{}}', "has a step that is not a whole number"),
        ('{"ts":1,"step":NaN,"metrics":{}}', "has a step that is not a whole number"),
        ('{"ts":1,"step":9223372036854775808,"metrics":{}}', "has a step that is too large"),
    ],
)
def test_a_bad_record_is_told_and_its_neighbours_count(tmp_path, line, reason):
    metrics, notices = read(tmp_path, record(a=1), line, record(a=2))
    assert metrics.values["value"].to_list() == [1.0, 2.0]
    assert metrics.values["record"].to_list() == [0, 1]
    assert notices == [
        (
            "bad-line",
            "s.jsonl:2",
            f"Line 2 {reason}; it is left out, its neighbours count.",
        )
    ]


def test_missing_axes_are_null_and_a_whole_float_is_a_step(tmp_path):
    metrics, notices = read(tmp_path, '{"ts":1,"step":3.0,"metrics":{"a":1},"new":1}')
    assert notices == []
    assert metrics.values.row(0, named=True)["step_key"] is None
    assert metrics.values.row(0, named=True)["step"] == 3


def test_without_the_stream_there_are_no_rows():
    metrics = read_metrics([], notices=[])
    assert metrics.values.schema == VALUE_COLUMNS
    assert (metrics.values.height, metrics.bounds) == (0, None)


def test_records_without_values_still_have_a_time(tmp_path):
    metrics, _ = read(tmp_path, record(), record(ts=T + 1))
    assert (metrics.values.height, metrics.bounds) == (0, TimeBounds(T, T + 1, 2))
    assert metrics.values.schema == VALUE_COLUMNS
