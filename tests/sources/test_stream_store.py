from __future__ import annotations

import polars as pl
import pytest
from builders.streams import T, write_stream
from builders.timeline import open_telemetry, phase, readings, scrape

from miles_report.schema.streams import GpuSample
from miles_report.sources.files import list_dump
from miles_report.sources.partition_span import partition_span
from miles_report.sources.stream_store import StreamStore
from miles_report.streams.wire import encode

HOUR = 3600.0
MIDNIGHT = T + 1800


def three_hours(dump):
    """One sample at the middle of each of three hours: 23:30, 0:30, 1:30."""
    samples = [GpuSample(T + k * HOUR, "a", 0, 10 * k, 1, 1) for k in range(3)]
    write_stream(dump, "gpu_util", samples)
    return list_dump(dump, now=2e9)


def store_of(files, **options):
    notices = []
    return StreamStore(files.streams, notices=notices, **options), notices


def utils(store, t0=None, t1=None):
    return [value for frame in store.between("gpu_util", t0, t1) for value in frame["util"]]


@pytest.mark.parametrize(
    ("t0", "t1", "opened"),
    [
        (T, T + 10, "23"),
        (MIDNIGHT, MIDNIGHT + 10, "00"),
        (MIDNIGHT - 1, MIDNIGHT, "23 00"),
        (T + HOUR, None, "00 01"),
        (None, T + HOUR, "23 00"),
        (None, None, "23 00 01"),
        (T + 9 * HOUR, None, ""),
    ],
)
def test_only_partitions_that_can_overlap_a_window_are_read(tmp_path, t0, t1, opened):
    files = three_hours(tmp_path)
    names = {stamp.path.stem[-2:]: stamp.path for stamp in files.streams["gpu_util"]}
    expected = [
        value for hour, value in (("23", 0), ("00", 10), ("01", 20)) if hour in opened.split()
    ]
    for hour, path in names.items():
        if hour not in opened.split():  # its edges stay, so that only reading it whole would show
            path.write_bytes(path.read_bytes().replace(b'"util"', b'"uuuu"'))
    store, _ = store_of(files)
    assert [
        value for frame in store.frames("gpu_util", t0=t0, t1=t1) for value in frame["util"]
    ] == expected


def test_a_partition_whose_name_is_not_true_is_read_all_the_same(tmp_path):
    folder = tmp_path / "dashboard" / "gpu_util"
    folder.mkdir(parents=True)
    lines = b"".join(encode(sample) for sample in readings("a", 0, [1, 2, 3], t0=HOUR))
    (folder / "20260203_23.jsonl").write_bytes(lines)
    (folder / "20261399_77.jsonl").write_bytes(lines)
    files = list_dump(tmp_path, now=2e9)
    assert [partition_span(stamp) for stamp in files.streams["gpu_util"]] == [None, None]
    store, _ = store_of(files)
    assert utils(store, T + HOUR, T + HOUR + 1) == [1, 2, 1, 2]


def test_a_torn_tail_does_not_hide_the_hour(tmp_path):
    (stamp, *_) = three_hours(tmp_path).streams["gpu_util"]
    with stamp.path.open("ab") as file:
        file.write(b'{"ts":1,"no')
    (longer, *_) = list_dump(tmp_path, now=2e9).streams["gpu_util"]
    assert partition_span(longer) == (MIDNIGHT - HOUR, MIDNIGHT)


@pytest.mark.parametrize("content", [b"", b"\n", b"x\n", b'{"ts":1', b'{"ts":"x"}\n', b"{}\n"])
def test_a_file_without_a_whole_record_at_its_edges_is_not_judged_by_its_name(tmp_path, content):
    folder = tmp_path / "dashboard" / "gpu_util"
    folder.mkdir(parents=True)
    (folder / "20260203_23.jsonl").write_bytes(content)
    (stamp,) = list_dump(tmp_path, now=2e9).streams["gpu_util"]
    assert partition_span(stamp) is None


def test_once_read_a_file_is_judged_by_its_true_extremes(tmp_path):
    store, _ = store_of(three_hours(tmp_path), store_bytes=0)
    assert utils(store) == [0, 10, 20]
    assert utils(store, T + 1, T + HOUR - 1) == []
    assert store.bounds("gpu_util").last_ts == T + 2 * HOUR


@pytest.mark.parametrize("store_bytes", [0, 60, 1 << 20])
def test_whatever_is_kept_the_answers_are_the_same(tmp_path, store_bytes):
    write_stream(tmp_path, "gpu_util", [*readings("b", 1, [5]), *readings("a", 0, [1], t0=HOUR)])
    (tmp_path / "dashboard" / "gpu_util.jsonl").write_bytes(
        b"x\n" + encode(readings("a", 0, [9])[0])
    )
    store, notices = store_of(list_dump(tmp_path, now=2e9), store_bytes=store_bytes)
    for _ in range(3):
        frames = list(store.frames("gpu_util"))
        rows = (
            pl.concat(frames)
            .join(store.lanes.lanes, on="lane")
            .select("node", "gpu", "util")
            .rows()
        )
        assert sorted(rows) == [("a", 0, 1), ("a", 0, 9), ("b", 1, 5)]
        assert [value for frame in frames for value in frame["util"]] == [9, 5, 1]
    assert [notice.code for notice in notices] == ["bad-line"]


def test_a_reader_that_stops_early_leaves_the_store_whole(tmp_path):
    store, _ = store_of(three_hours(tmp_path))
    next(iter(store.frames("gpu_util")))
    assert utils(store) == [0, 10, 20]


def test_one_pass_sees_lanes_metrics_and_extremes(tmp_path):
    run = open_telemetry(
        tmp_path,
        phases=[phase("train", 0, 50, rank=3, node="b"), phase("train", 1, 2, rank=3, node="b")],
        gpu_util=[GpuSample(T, "a", 0, 5, 5, 0), GpuSample(T + 9, "a", 0, 5, 5, 70)],
        engine_series=[*scrape("x", (0, 1), (60, 2)), *scrape("y", (1, 1), addr="b")],
    )
    survey = run.telemetry.survey
    assert survey.phase_lanes.rows() == [("b", 3, 3, "train")]
    assert survey.gpu_lanes.rows() == [("a", 0, 2, 2, 70)]
    assert survey.engine_metrics.rows() == [("x", "http://a:1"), ("y", "b")]
    assert {name: (b.first_ts - T, b.last_ts - T) for name, b in survey.bounds.items()} == {
        "phases": (0, 50),
        "gpu_util": (0, 9),
        "engine_series": (0, 60),
    }
