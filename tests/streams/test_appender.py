from __future__ import annotations

import errno
import os
import resource
import signal
from dataclasses import replace

import pytest
from builders.streams import ONE_OF_EACH, T

from miles_report.schema.streams import STREAMS, DataBufferRecord
from miles_report.streams import appender as appender_module
from miles_report.streams.appender import BLOCK_BYTES, StreamAppender, append_lines
from miles_report.streams.wire import decode, encode


def test_records_land_in_their_files_in_order(tmp_path):
    appender = StreamAppender(tmp_path / "dashboard")
    for stream, record in ONE_OF_EACH.items():
        appender.append(stream, [record, record])
    found = {
        path.relative_to(tmp_path / "dashboard").as_posix(): path.read_bytes()
        for path in (tmp_path / "dashboard").rglob("*.jsonl")
    }
    assert sorted(found) == [
        "data_buffer.jsonl",
        "engine_series/20260203_23.jsonl",
        "gpu_processes/20260203_23.jsonl",
        "gpu_util/20260203_23.jsonl",
        "health.jsonl",
        "metrics.jsonl",
        "phases/20260204_01.jsonl",
        "topology.jsonl",
        "trajectories/20260203_23.jsonl",
    ]
    for name, content in found.items():
        stream = name.split("/")[0].removesuffix(".jsonl")
        lines = content.splitlines(keepends=True)
        assert [decode(line, STREAMS[stream].record) for line in lines] == [ONE_OF_EACH[stream]] * 2


def test_one_batch_may_span_partitions(tmp_path):
    sample = ONE_OF_EACH["gpu_util"]
    late = replace(sample, ts=T + 1800.0)
    written = StreamAppender(tmp_path).append("gpu_util", [sample, late, sample])
    assert (tmp_path / "gpu_util/20260203_23.jsonl").read_bytes() == encode(sample) * 2
    assert (tmp_path / "gpu_util/20260204_00.jsonl").read_bytes() == encode(late)
    assert written == len(encode(sample)) * 2 + len(encode(late))


def test_nothing_to_append_makes_no_file(tmp_path):
    assert StreamAppender(tmp_path / "dashboard").append("metrics", []) == 0
    assert not (tmp_path / "dashboard").exists()


def test_a_torn_line_is_cut_off_first_whatever_its_length(tmp_path):
    record = DataBufferRecord(T, 1)
    line = encode(record)
    for kept in range(1, len(line)):
        path = tmp_path / f"{kept}.jsonl"
        path.write_bytes(line + line[:kept])
        torn = []
        append_lines(path, line, on_torn=lambda *told: torn.append(told))  # noqa: B023
        assert path.read_bytes() == line * 2
        assert torn == [(path, kept)]


def test_a_file_of_one_torn_line_longer_than_a_block_starts_afresh(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * (3 * BLOCK_BYTES + 7))
    append_lines(path, b"1\n")
    assert path.read_bytes() == b"1\n"


def test_a_long_torn_tail_is_cut_at_the_last_newline(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"1\n2\n" + b"x" * (2 * BLOCK_BYTES))
    append_lines(path, b"3\n")
    assert path.read_bytes() == b"1\n2\n3\n"


def test_what_could_not_be_cut_off_is_cut_off_before_the_next_lines(tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"
    appender = StreamAppender(tmp_path)
    appender.append_lines("s.jsonl", b"1\n")

    def half_a_batch(descriptor, data):
        os.write(descriptor, data[: len(data) // 2])
        raise OSError(errno.EIO, "gone")

    def no_cut(path, size):
        raise OSError(errno.EIO, "gone")

    with monkeypatch.context() as broken:
        broken.setattr(appender_module, "_write_all", half_a_batch)
        broken.setattr(appender_module.os, "truncate", no_cut)
        with pytest.raises(OSError, match="gone"):
            appender.append_lines("s.jsonl", b"2\n3\n4\n5\n")
    assert path.read_bytes() == b"1\n2\n3\n"
    appender.append_lines("s.jsonl", b"2\n3\n4\n5\n")
    assert path.read_bytes() == b"1\n2\n3\n4\n5\n"


def test_only_whole_lines_are_appended(tmp_path):
    with pytest.raises(ValueError, match="whole lines"):
        append_lines(tmp_path / "s.jsonl", b"{}")
    assert not (tmp_path / "s.jsonl").exists()


def test_a_write_that_stops_half_way_is_cut_off_again(tmp_path):
    path = tmp_path / "s.jsonl"
    append_lines(path, b"1\n")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            append_lines(path, b"x" * 5000 + b"\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"1\n"


def test_a_timestamp_without_partition_writes_nothing(tmp_path):
    good, bad = ONE_OF_EACH["gpu_util"], replace(ONE_OF_EACH["gpu_util"], ts=float("nan"))
    with pytest.raises(ValueError, match="NaN"):
        StreamAppender(tmp_path).append("gpu_util", [good, bad])
    assert list(tmp_path.iterdir()) == []
