from __future__ import annotations

from dataclasses import fields

import pytest
from builders.streams import ONE_OF_EACH

from miles_report.schema.streams import STREAMS, EngineRecord

# the wire format as FORMATS tells it: names and order
FIELDS = {
    "metrics": "ts step_key step metrics",
    "topology": "ts engines",
    "data_buffer": "ts length",
    "health": "ts event group engine_rank addr node latency_s detail",
    "phases": "name t0 t1 node gpus rank role",
    "gpu_util": "ts node gpu util mem_mb power_w",
    "gpu_processes": "ts node gpu pid name mem_mb",
    "engine_series": "ts addr metric labels value",
    "trajectories": "ts kind sample_index group_index turn weight_version detail",
}


def test_records_have_the_fields_of_the_wire_format_in_order():
    found = {
        name: " ".join(field.name for field in fields(stream.record))
        for name, stream in STREAMS.items()
    }
    assert found == FIELDS
    assert [field.name for field in fields(EngineRecord)] == [
        "addr",
        "worker_type",
        "engine_rank",
        "gpus",
        "gpu_uuids",
    ]


def test_five_streams_are_partitioned():
    assert {name for name, stream in STREAMS.items() if stream.partitioned} == {
        "gpu_util",
        "engine_series",
        "phases",
        "trajectories",
        "gpu_processes",
    }


@pytest.mark.parametrize("name", STREAMS)
def test_timestamps_are_fields_of_the_record(name):
    names = {field.name for field in fields(STREAMS[name].record)}
    assert set(STREAMS[name].ts_fields) <= names
    assert isinstance(ONE_OF_EACH[name], STREAMS[name].record)
