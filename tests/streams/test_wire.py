from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from builders.streams import ONE_OF_EACH, T

from miles_report.schema.streams import (
    STREAMS,
    EngineSample,
    GpuSample,
    HealthEvent,
    MetricsRecord,
    PhaseRecord,
    TopologyRecord,
)
from miles_report.streams.wire import WireError, decode, encode


@pytest.mark.parametrize("stream", STREAMS)
def test_a_record_comes_back(stream):
    record = ONE_OF_EACH[stream]
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line, STREAMS[stream].record) == record


@pytest.mark.parametrize("stream", STREAMS)
def test_lines_written_by_miles_come_back_byte_for_byte(dumps, stream):
    lines = [
        line
        for dump in ("agentic", "basic", "legacy_flat")
        for path in sorted((dumps / dump / "dashboard").glob(f"**/{stream}*/*.jsonl"))
        + sorted((dumps / dump / "dashboard").glob(f"{stream}.jsonl"))
        for line in path.read_bytes().splitlines(keepends=True)
    ]
    assert [encode(decode(line, STREAMS[stream].record)) for line in lines] == lines


def test_a_line_is_compact_ascii_in_field_order():
    sample = GpuSample(T, "nöde", 1, 50, 1024, 300)
    assert encode(sample) == (
        b'{"ts":1770161400.0,"node":"n\\u00f6de","gpu":1,"util":50,"mem_mb":1024,"power_w":300}\n'
    )


def test_line_breaks_in_texts_do_not_break_the_line():
    record = HealthEvent(T, "check_failed", detail="a\nb\u2028c</script>")
    assert encode(record).count(b"\n") == 1
    assert decode(encode(record), HealthEvent) == record


def test_what_is_not_finite_is_written_bare():
    record = MetricsRecord(T, None, None, {"a": math.nan, "b": math.inf, "c": -math.inf})
    line = encode(record)
    assert b'"a":NaN,"b":Infinity,"c":-Infinity' in line
    back = decode(line, MetricsRecord)
    assert math.isnan(back.metrics["a"])
    assert (back.metrics["b"], back.metrics["c"]) == (math.inf, -math.inf)


def test_unknown_fields_are_ignored_and_defaults_filled():
    assert decode('{"ts":1,"event":"monitor_started","colour":"red"}', HealthEvent) == HealthEvent(
        1.0, "monitor_started"
    )


def test_an_integer_counts_as_a_float_but_not_the_other_way_round():
    assert (
        decode('{"ts":1,"addr":"a","metric":"m","labels":{},"value":2}', EngineSample).value == 2.0
    )
    with pytest.raises(WireError, match="gpu is not of type int"):
        decode('{"ts":1,"node":"n","gpu":0.0,"util":1,"mem_mb":1,"power_w":1}', GpuSample)


@pytest.mark.parametrize(
    ("line", "record", "word"),
    [
        (b"", GpuSample, "not JSON"),
        (b"[1]", GpuSample, "not an object"),
        (b'{"ts":1.0,"node":"n"}', GpuSample, "has no gpu, util, mem_mb, power_w"),
        (b'{"ts":true,"event":"x"}', HealthEvent, "ts is not of type float"),
        (b'{"ts":1.0,"event":"x","engine_rank":"0"}', HealthEvent, "engine_rank"),
        (b'{"ts":1.0,"engines":{}}', TopologyRecord, "engines is not a list"),
        (b'{"ts":1.0,"engines":[{"addr":"a"}]}', TopologyRecord, "has no worker_type"),
        (b'{"ts":1.0,"addr":"a","metric":"m","labels":[],"value":1}', EngineSample, "labels"),
        (b'{"ts":1.0,"step_key":null,"step":null,"metrics":{"a":[1]}}', MetricsRecord, "metrics.a"),
        (b"[" * 100_000, GpuSample, "not JSON"),
        (b'{"ts":1.0,"event":"\xff"}', HealthEvent, "not JSON"),
    ],
)
def test_a_line_that_is_no_record_is_refused(line, record, word):
    with pytest.raises(WireError, match=word):
        decode(line, record)


def test_a_gpu_of_an_engine_is_a_pair():
    topology = ONE_OF_EACH["topology"]
    line = encode(topology).replace(b'["fe80::1",0]', b'["fe80::1",0,1]')
    with pytest.raises(WireError, match="2 items"):
        decode(line, TopologyRecord)


def test_an_open_phase_comes_back_open():
    phase = replace(ONE_OF_EACH["phases"], t1=-1.0)
    assert decode(encode(phase), PhaseRecord) == phase


def test_numbers_of_other_libraries_are_written_as_declared():
    sample = GpuSample(np.float64(T), "n", np.int64(1), np.uint8(1), 0, 0)
    assert encode(sample) == (
        b'{"ts":1770161400.0,"node":"n","gpu":1,"util":1,"mem_mb":0,"power_w":0}\n'
    )


@pytest.mark.parametrize(
    "record",
    [
        GpuSample(T, "n", 0.5, 1, 1, 1),
        GpuSample("5", "n", 0, 1, 1, 1),
        GpuSample(T, None, 0, 1, 1, 1),
        GpuSample(None, "n", 0, 1, 1, 1),
    ],
)
def test_what_is_not_of_the_declared_type_is_refused(record):
    with pytest.raises(TypeError):
        encode(record)
