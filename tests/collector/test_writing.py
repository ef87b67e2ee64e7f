from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
from dataclasses import replace

import pytest
from builders.streams import ONE_OF_EACH, T

from collector import writing
from miles_report.schema.streams import DataBufferRecord, GpuSample, MetricsRecord
from miles_report.streams.appender import StreamAppender

DISK_KIB = 64
HOUR_S = 3600.0


def lines_of(path):
    content = path.read_bytes() if path.exists() else b""
    assert content.endswith(b"\n") or not content
    return [json.loads(line) for line in content.splitlines()]


def lengths(dump):
    return [line["length"] for line in lines_of(dump / "dashboard/data_buffer.jsonl")]


def losses(dump):
    events = lines_of(dump / "dashboard/health.jsonl")
    return [one["detail"] for one in events if one["event"] == "records_dropped"]


def buffer_records(start, stop):
    return [DataBufferRecord(T + n, n) for n in range(start, stop)]


def break_disk(monkeypatch, *broken):
    """Appends to files with one of these words in their names fail."""
    append = StreamAppender.append_lines

    def append_or_fail(self, place, lines):
        if any(word in str(place) for word in broken):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return append(self, place, lines)

    monkeypatch.setattr(StreamAppender, "append_lines", append_or_fail)


def test_a_failing_write_keeps_the_records_in_order(make, tmp_path, monkeypatch, caplog):
    collector = make()
    with monkeypatch.context() as disk:
        break_disk(disk, "data_buffer")
        for n in range(3):
            collector.push_data_buffer(buffer_records(10 * n, 10 * n + 10))
            with caplog.at_level(logging.ERROR):
                assert not collector.flush().is_clean
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3
    assert "30 records wait in memory; data_buffer.jsonl: [Errno 28]" in caplog.records[-1].message
    collector.push_data_buffer(buffer_records(30, 35))
    assert collector.flush().is_clean
    assert lengths(tmp_path) == list(range(35))
    assert losses(tmp_path) == []


def test_one_failing_hour_does_not_hold_the_others_back_nor_double_them(
    make, tmp_path, monkeypatch
):
    collector = make()
    sample = ONE_OF_EACH["gpu_util"]
    mixed = [replace(sample, ts=T + HOUR_S * (n % 2), util=n) for n in range(6)]
    with monkeypatch.context() as disk:
        break_disk(disk, "20260203_23")
        collector.push_gpu_samples(mixed)
        collector.flush()
        collector.flush()
    folder = tmp_path / "dashboard/gpu_util"
    assert [line["util"] for line in lines_of(folder / "20260204_00.jsonl")] == [1, 3, 5]
    assert not (folder / "20260203_23.jsonl").exists()
    assert collector.flush().is_clean
    assert [line["util"] for line in lines_of(folder / "20260203_23.jsonl")] == [0, 2, 4]
    assert [line["util"] for line in lines_of(folder / "20260204_00.jsonl")] == [1, 3, 5]


def test_batches_of_a_large_flush_keep_their_order(make, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH_LINES", 7)
    collector = make()
    collector.push_data_buffer(buffer_records(0, 100))
    with monkeypatch.context() as disk:
        break_disk(disk, "data_buffer")
        assert collector.flush().n_waiting == 100
    assert collector.flush().n_written == 100
    assert lengths(tmp_path) == list(range(100))


def test_drops_are_told_once_when_the_disk_is_back(make, tmp_path, monkeypatch):
    collector = make(buffer_records=10)
    with monkeypatch.context() as disk:
        break_disk(disk, "jsonl")
        for n in range(4):
            collector.push_data_buffer(buffer_records(8 * n, 8 * n + 8))
            collector.flush()
    assert collector.ping().n_lost["data_buffer"] == 22
    collector.flush()
    collector.flush()
    assert lengths(tmp_path) == list(range(22, 32))
    (detail,) = losses(tmp_path)
    assert detail == (
        "data_buffer: 22 records were lost: the disk did not take them and memory is bounded; "
        f"they were of {T:.3f} to {T + 21:.3f}"
    )


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "text",
        ONE_OF_EACH["health"],
        GpuSample(float("nan"), "n", 0, 1, 1, 1),
        GpuSample(float("inf"), "n", 0, 1, 1, 1),
        GpuSample(1e30, "n", 0, 1, 1, 1),
        GpuSample(None, "n", 0, 1, 1, 1),
        GpuSample(T, "n", 0, None, 1, 1),
        GpuSample(T, 5, 0, 1, 1, 1),
    ],
)
def test_a_record_that_cannot_be_written_is_refused_alone(make, tmp_path, bad, caplog):
    collector = make()
    good = ONE_OF_EACH["gpu_util"]
    collector.push_gpu_samples([good, bad, good])
    assert collector.flush().is_clean
    assert len(lines_of(tmp_path / "dashboard/gpu_util/20260203_23.jsonl")) == 2
    assert losses(tmp_path) == ["gpu_util: 1 records were lost: they were malformed"]
    assert "collector.malformed_records" in caplog.text


def test_a_record_of_hostile_size_is_dropped_not_kept(make, tmp_path):
    collector = make(buffer_bytes=1000)
    collector.push_metrics([MetricsRecord(T, None, None, {"a": "x" * 5000})])
    collector.push_metrics([MetricsRecord(T, None, None, {"a": 1.0})])
    collector.flush()
    (line,) = lines_of(tmp_path / "dashboard/metrics.jsonl")
    assert line["metrics"] == {"a": 1.0}
    assert collector.ping().n_lost["metrics"] == 1


@pytest.fixture
def small_disk(tmp_path):
    """A real filesystem of 64 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", mount],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr}")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


def test_a_disk_that_fills_up_and_is_emptied_again(small_disk, clock, caplog):
    """Real ENOSPC, in the middle of lines: nothing torn, nothing doubled, an error at each attempt, drops counted."""
    from collector.collector import DashboardCollector
    from collector.config import CollectorConfig

    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 24 * 1024)
    collector = DashboardCollector(
        CollectorConfig(small_disk, start_ts=T, buffer_records=2000), clock=clock
    )
    n, n_attempts, n_failed = 0, 40, 0
    with caplog.at_level(logging.ERROR):
        for _ in range(n_attempts):
            collector.push_data_buffer(buffer_records(n, n + 100))
            collector.push_gpu_samples(
                [replace(ONE_OF_EACH["gpu_util"], ts=T + k, util=k) for k in range(n, n + 100)]
            )
            n += 100
            n_failed += not collector.flush().is_clean
            for path in small_disk.rglob("*.jsonl"):
                lines_of(path)
    errors = [one for one in caplog.records if "collector.flush_failed" in one.message]
    assert len(errors) == n_failed >= 20

    ballast.unlink()
    for path in (small_disk / "dashboard").rglob("*.jsonl"):
        assert path.stat().st_size
    assert lengths(small_disk)
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    assert collector.flush().is_clean
    assert collector.flush().is_clean

    n_lost = collector.ping().n_lost
    gpu = small_disk / "dashboard/gpu_util"
    utils = [line["util"] for path in sorted(gpu.iterdir()) for line in lines_of(path)]
    for found, lost in ((lengths(small_disk), n_lost["data_buffer"]), (utils, n_lost["gpu_util"])):
        assert len(set(found)) == len(found) == n - lost
    told = [detail for detail in losses(small_disk) if detail.startswith("data_buffer: ")]
    assert len(told) == 1
    assert told[0].startswith(f"data_buffer: {n_lost['data_buffer']} records were lost")
    assert n_lost["data_buffer"] > 0
