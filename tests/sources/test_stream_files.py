from __future__ import annotations

import json
import math

import polars as pl
import pytest
from builders.streams import ONE_OF_EACH, T, stamp, stamp_of

from miles_report.schema.streams import GpuSample, PhaseRecord
from miles_report.sources.complete_lines import LineFile
from miles_report.sources.files import list_dump
from miles_report.sources.folders import FileStamp
from miles_report.sources.stream_files import TimeBounds, read_stream, stream_frames
from miles_report.sources.stream_store import StreamStore
from miles_report.streams.wire import encode

FRAMED = [name for name in ONE_OF_EACH if name != "metrics"]


def stream_bounds(files, stream: str):
    """What the store tells of a stream that was read to its end."""
    store = StreamStore({stream: tuple(files)}, notices=[])
    assert all(frame.height for frame in store.frames(stream))
    return store.bounds(stream)


def gpu(ts: float = T, util: int = 50) -> bytes:
    return encode(GpuSample(ts, "n", 0, util, 1024, 300))


def read(path, content: bytes, stream: str = "gpu_util"):
    notices = []
    frame = read_stream([stamp_of(path / "s.jsonl", content)], stream, notices=notices)
    return frame, [(notice.code, notice.severity, notice.source) for notice in notices], notices


@pytest.mark.parametrize("stream", FRAMED)
def test_what_the_appender_writes_is_read(tmp_path, stream):
    record = ONE_OF_EACH[stream]
    frame, codes, _ = read(tmp_path, encode(record) * 2, stream)
    assert codes == []
    row = frame.row(1, named=True)
    wanted = json.loads(encode(record))
    if stream == "topology":  # (node, gpu) pairs are read as texts
        wanted["engines"][0]["gpus"] = [["fe80::1", "0"], ["fe80::1", "1"]]
    if stream == "engine_series":
        wanted["labels"] = {"engine_type": None, "dp_rank": "0"}
    assert row == wanted
    assert frame.height == 2


@pytest.mark.parametrize("stream", FRAMED)
def test_both_ways_to_read_a_line_agree(tmp_path, stream):
    line = encode(ONE_OF_EACH[stream])
    fast, _, _ = read(tmp_path, line, stream)
    slow, codes, _ = read(tmp_path, line + b"broken\n", stream)
    assert codes == [("bad-line", "warning", "s.jsonl:2")]
    assert slow.equals(fast)
    assert slow.schema == fast.schema


@pytest.mark.parametrize("stream", FRAMED)
def test_without_files_there_are_no_rows_but_all_columns(stream):
    frame = read_stream([], stream, notices=[])
    assert frame.height == 0
    assert frame.columns == list(json.loads(encode(ONE_OF_EACH[stream])))
    assert stream_bounds([], stream) is None


def test_a_file_cut_at_every_byte_of_its_last_line_gives_its_whole_lines(tmp_path):
    whole, last = gpu(util=1) + gpu(util=2), gpu(util=3)
    for kept in range(1, len(last)):
        frame, codes, notices = read(tmp_path, whole + last[:kept])
        assert frame["util"].to_list() == [1, 2]
        assert codes == [("torn-tail", "info", "s.jsonl")]
        assert f"last {kept} bytes" in notices[0].message
    assert read(tmp_path, whole + last)[0]["util"].to_list() == [1, 2, 3]


BAD = {
    b"{": "is not JSON",
    b"[1, 2]": "is not a JSON object",
    b"null": "is not a JSON object",
    b'{"node":"n","gpu":0,"util":1}': "has no ts",
    b'{"ts":null,"node":"n","gpu":0,"util":1}': "has no ts",
    b'{"ts":NaN,"node":"n","gpu":0,"util":1}': "has a ts that is not finite",
    b'{"ts":1e400,"node":"n","gpu":0,"util":1}': "has a ts that is not finite",
    b'{"ts":"1","node":"n","gpu":0,"util":1}': "has a ts that is not a number",
    b'{"ts":1.0,"node":"n","gpu":true,"util":1}': "has a gpu that is not a number",
    b'{"ts":1.0,"node":"n","gpu":0.5,"util":1}': "has a gpu that is not a whole number",
    b'{"ts":1.0,"node":"n","gpu":99999999999999999999,"util":1}': "has a gpu that is too large",
    b'{"ts":1.0,"node":"n","util":1}': "has no gpu",
    b'{"ts":1.0,"node":"n","gpu":0,"util":[1]}': "has a util that is not a number",
    b'{"ts":1.0,"node":"\xff","gpu":0,"util":1}': "is not UTF-8",
    b"\x00\x00\x00": "is not JSON",
    b'{"a":' * 100_000: "is not JSON",
    b'{"ts":1.0}{"ts":2.0}': "is not JSON",
    b"9" * 5000: "is not JSON",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items())
def test_a_bad_line_is_told_and_its_neighbours_count(tmp_path, line, reason):
    frame, codes, notices = read(tmp_path, gpu(util=1) + line + b"\n" + gpu(util=2))
    assert frame["util"].to_list() == [1, 2]
    assert codes == [("bad-line", "warning", "s.jsonl:2")]
    assert notices[0].message == f"Line 2 {reason}; it is left out, its neighbours count."


def test_many_bad_lines_are_one_notice(tmp_path):
    content = b"".join(b"x\n" + gpu(util=i) for i in range(20)) + b"{"
    frame, codes, notices = read(tmp_path, content)
    assert frame["util"].to_list() == list(range(20))
    assert codes == [("bad-line", "warning", "s.jsonl:1"), ("torn-tail", "info", "s.jsonl")]
    assert "20 lines are left out (1, 3, 5, 7, 9 and 15 more)" in notices[0].message


def test_line_numbers_hold_across_blocks_and_blank_lines(tmp_path):
    content = gpu() + b"\n  \n" + gpu() * 9 + b"bad\n" + gpu()
    source = LineFile(stamp_of(tmp_path / "s.jsonl", content), block_bytes=100)
    lines = [numbered for block in source.blocks() for numbered in block.lines()]
    assert [number for number, _ in lines] == [1, *range(4, 15)]
    assert lines[-2] == (13, b"bad")
    assert [line for _, line in lines] == [line for line in content.split(b"\n") if line.strip()]


def test_unknown_fields_and_missing_optional_ones_are_fine(tmp_path):
    frame, codes, _ = read(tmp_path, b'{"ts":1.0,"node":"n","gpu":0,"util":7,"new":{"a":[1]}}\n')
    assert codes == []
    assert frame.row(0) == (1.0, "n", 0, 7, None, None)


def test_a_whole_float_counts_as_an_integer_and_a_number_as_text(tmp_path):
    line = b'{"ts":1,"node":10,"gpu":0.0,"util":7.0,"mem_mb":null,"power_w":3}\n'
    assert read(tmp_path, line)[0].row(0) == (1.0, "10", 0, 7, None, 3)


def test_values_that_are_not_finite_keep_their_place_among_others(tmp_path):
    usual = encode(ONE_OF_EACH["engine_series"])
    odd = [usual.replace(b"0.75", word) for word in (b"NaN", b"Infinity", b"-Infinity", b"1e400")]
    frame, codes, _ = read(tmp_path, usual + b"".join(odd) + usual, "engine_series")
    assert codes == []
    values = frame["value"].to_list()
    assert math.isnan(values[1])
    assert [*values[:1], *values[2:]] == [0.75, math.inf, -math.inf, math.inf, 0.75]


def test_a_nan_does_not_hide_a_bad_line_of_its_block(tmp_path):
    usual = encode(ONE_OF_EACH["engine_series"])
    content = usual + usual.replace(b"0.75", b"NaN") + b"bad\n" + usual
    frame, codes, _ = read(tmp_path, content, "engine_series")
    assert frame.height == 3
    assert math.isnan(frame["value"][1])
    assert codes == [("bad-line", "warning", "s.jsonl:3")]


def test_the_word_nan_in_a_text_is_text(tmp_path):
    line = encode(ONE_OF_EACH["health"]).replace(b"no </script>", b"loss:NaN,Infinity")
    frame, codes, _ = read(tmp_path, line, "health")
    assert (frame["detail"][0], codes) == ("loss:NaN,Infinity", [])


def test_half_a_surrogate_pair_can_be_written_again(tmp_path):
    line = encode(ONE_OF_EACH["health"]).replace(b"no </script>", b"\\ud800x")
    frame, codes, _ = read(tmp_path, line + b"bad\n", "health")
    assert frame["detail"][0] == "?x"
    assert codes == [("bad-line", "warning", "s.jsonl:2")]


def test_a_huge_line_is_passed_over_in_bounded_memory(tmp_path):
    content = gpu(util=1) + b"x" * 50_000 + b"\n" + gpu(util=2) + b"y" * 5000
    source = LineFile(
        stamp_of(tmp_path / "s.jsonl", content), block_bytes=1000, max_line_bytes=2000
    )
    blocks = list(source.blocks())
    assert b"".join(block.data for block in blocks) == gpu(util=1) + gpu(util=2)
    assert max(len(block.data) for block in blocks) <= 3000
    bad, torn = source.notices()
    assert (bad.code, bad.source) == ("bad-line", "s.jsonl:2")
    assert "longer than 2000 bytes" in bad.message
    assert "last 5000 bytes" in torn.message


def test_lines_after_a_huge_line_keep_their_numbers(tmp_path):
    content = b"x" * 5000 + b"\n" + gpu() + b"bad\n"
    source = LineFile(stamp_of(tmp_path / "s.jsonl", content), block_bytes=64, max_line_bytes=1000)
    numbers = [number for block in source.blocks() for number, _ in block.lines()]
    assert numbers == [2, 3]


def test_a_file_is_read_to_its_listed_size_only(tmp_path):
    path = tmp_path / "s.jsonl"
    listed = stamp_of(path, gpu(util=1))
    path.write_bytes(gpu(util=1) + gpu(util=2))
    assert read_stream([listed], "gpu_util", notices=[])["util"].to_list() == [1]
    cut = FileStamp(path, "s.jsonl", len(gpu(util=1)) + 10, 0)
    notices = []
    assert read_stream([cut], "gpu_util", notices=notices)["util"].to_list() == [1]
    assert [notice.code for notice in notices] == ["torn-tail"]


def test_files_that_shrank_or_vanished_or_cannot_be_read_are_told(tmp_path):
    shrunk = tmp_path / "shrunk.jsonl"
    listed = stamp_of(shrunk, gpu() * 3, "shrunk.jsonl")
    shrunk.write_bytes(gpu())
    gone = stamp_of(tmp_path / "gone.jsonl", gpu(), "gone.jsonl")
    gone.path.unlink()
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    notices = []
    frame = read_stream([listed, gone, stamp(folder, "folder.jsonl")], "gpu_util", notices=notices)
    assert frame.height == 1
    assert [(notice.code, notice.severity, notice.source) for notice in notices] == [
        ("file-shrunk", "warning", "shrunk.jsonl"),
        ("unreadable-file", "error", "gone.jsonl"),
        ("unreadable-file", "error", "folder.jsonl"),
    ]


def test_an_empty_file_is_nothing_special(tmp_path):
    frame, codes, _ = read(tmp_path, b"")
    assert (frame.height, codes) == (0, [])


def test_rows_come_in_the_order_of_files_and_lines(tmp_path):
    files = [
        stamp_of(tmp_path / f"{name}.jsonl", gpu(util=first) + gpu(util=first - 1))
        for name, first in (("flat", 9), ("a", 3), ("b", 7))
    ]
    assert read_stream(files, "gpu_util", notices=[])["util"].to_list() == [9, 8, 3, 2, 7, 6]


def test_bounds_are_true_extremes_not_first_and_last_lines(tmp_path):
    files = [
        stamp_of(tmp_path / "a", gpu(T + 5) + gpu(T - 70) + gpu(T + 1), "a"),
        stamp_of(tmp_path / "b", gpu(T + 900) + gpu(T + 2), "b"),
    ]
    assert stream_bounds(files, "gpu_util") == TimeBounds(T - 70, T + 900, 5)


def test_bounds_of_phases_take_both_ends_and_skip_open_ones(tmp_path):
    def phase(t0, t1):
        return encode(PhaseRecord("train", t0, t1, "n", (0,), 0, "train"))

    files = [
        stamp_of(tmp_path / "a", phase(T, -1.0) + phase(T + 10, T + 500) + phase(T + 90, -1.0))
    ]
    assert stream_bounds(files, "phases") == TimeBounds(T, T + 500, 3)
    still_open = [stamp_of(tmp_path / "b", phase(T + 3, -1.0))]
    assert stream_bounds(still_open, "phases") == TimeBounds(T + 3, T + 3, 1)


def test_bad_lines_count_for_no_bounds(tmp_path):
    content = gpu(T) + b'{"ts":9e9,"node":"n"}\n' + gpu(T + 1)
    files = [stamp_of(tmp_path / "a", content)]
    assert stream_bounds(files, "gpu_util") == TimeBounds(T, T + 1, 2)


def test_a_large_file_is_read_in_blocks(tmp_path):
    files = [stamp_of(tmp_path / "a", gpu() * 450_000)]
    frames = list(stream_frames(files, "gpu_util", notices=[]))
    assert len(frames) > 1
    assert sum(frame.height for frame in frames) == 450_000


def test_recorded_streams_are_read_whole(dumps):
    files = list_dump(dumps / "agentic", now=2e9)
    counts = {
        stream: read_stream(stamps, stream, notices=[]).height
        for stream, stamps in files.streams.items()
        if stream != "metrics"
    }
    lines = {
        stream: sum(stamp.path.read_bytes().count(b"\n") for stamp in stamps)
        for stream, stamps in files.streams.items()
        if stream != "metrics"
    }
    assert counts == lines
    assert counts["trajectories"] == 452


def test_flat_and_partitioned_layouts_give_the_same_records(dumps):
    flat, parts = (list_dump(dumps / name, now=2e9) for name in ("legacy_flat", "telemetry_only"))
    for stream in ("phases", "gpu_util", "engine_series", "trajectories"):
        a = read_stream(flat.streams[stream], stream, notices=[])
        b = read_stream(parts.streams[stream], stream, notices=[])
        assert isinstance(a, pl.DataFrame)
        assert a.equals(b)
