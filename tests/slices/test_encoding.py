"""Slices: what is read back is what was written, in pieces that a page can fetch whole."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from miles_report.slices.encoding import MAX_BYTES, TARGET_BYTES, encode_table
from miles_report.slices.parquet import decode
from miles_report.slices.slice import Slice
from miles_report.tables.frames import conform, empty_table

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def tokens(lengths, *, prompt=2, seed=0, **columns):
    """A tokens table of samples of those lengths with random series, null in the prompt."""
    rng = np.random.default_rng(seed)
    total = sum(lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    positions = np.concatenate([np.arange(length) for length in lengths])
    series = pl.Series(rng.normal(0, 1, total).astype(np.float32))
    frame = pl.DataFrame(
        {
            "step": np.zeros(total, np.int64),
            "evaluation": np.zeros(total, bool),
            "row": rows,
            "sample_index": rows + 100,
            "position": positions,
            "token_id": rng.integers(0, 150_000, total),
            "in_response": positions >= prompt,
        }
    ).with_columns(
        pl.when(pl.col("in_response")).then(series).alias(name)
        for name in ("rollout_log_probs", "train_log_probs", "lp_diff", "entropy", "advantages")
    )
    return conform("tokens", frame.with_columns(**columns))


def encoded(name, frame):
    return list(encode_table(name, [frame], folder="data/step-0"))


def read_back(slices):
    return pl.concat([decode(content) for _, content in slices])


def test_rows_come_back_in_order_with_rounded_series():
    frame = tokens([5, 3])
    back = read_back(encoded("tokens", frame))
    same = ["step", "evaluation", "row", "sample_index", "position", "token_id", "in_response"]
    assert back.select(same).cast(dict(frame.select(same).schema)).equals(frame.select(same))
    error = (back["entropy"] - frame["entropy"]).abs()
    assert error.null_count() == 4  # two prompt tokens a sample
    assert error.max() <= 2.0**-15
    assert back["lp_diff"].null_count() == 4


def test_text_and_ratio_of_tokens_are_not_stored():
    (first, _), *_ = encoded("tokens", tokens([4]))
    assert "token_text" not in first.columns
    assert "imp_ratio" not in first.columns
    assert first.columns[:5] == ("step", "evaluation", "row", "sample_index", "position")


def test_a_slice_states_its_size_hash_rows_and_keys():
    ((entry, content),) = encoded("tokens", tokens([4, 6]))
    assert entry.bytes == len(content)
    assert entry.path == f"data/step-0/tokens-0-{entry.sha256}.parquet"
    assert entry.rows == 10
    assert entry.keys == {"step": (0, 0), "row": (0, 1), "position": (0, 5)}
    assert Slice.from_json(json.loads(json.dumps(entry.to_json()))) == entry


def test_no_number_has_a_dictionary_and_columns_without_null_are_required():
    ((_, content),) = encoded("tokens", tokens([50, 60]))
    file = pq.ParquetFile(io.BytesIO(content))
    group = file.metadata.row_group(0)
    for index in range(group.num_columns):
        assert not group.column(index).has_dictionary_page, group.column(index).path_in_schema
    required = {field.name for field in file.schema_arrow if not field.nullable}
    assert {"step", "row", "position", "token_id"} <= required
    assert "entropy" not in required
    assert file.schema_arrow.field("token_id").type == "int32"


def test_samples_stay_whole_where_they_fit_in_a_slice():
    lengths = [20_000] * 20
    slices = encoded("tokens", tokens(lengths))
    assert len(slices) > 1
    assert max(entry.bytes for entry, _ in slices) <= 1.25 * MIB
    ranges = [entry.keys["row"] for entry, _ in slices]
    assert all(last < first for (_, last), (first, _) in itertools.pairwise(ranges))
    assert read_back(slices)["position"].to_list() == tokens(lengths)["position"].to_list()


def test_pieces_of_a_table_are_numbered_through():
    frame = tokens([40, 30, 20])
    pieces = [frame.filter(pl.col("row") == row) for row in range(3)]
    slices = list(encode_table("tokens", pieces, folder="data/step-0"))
    assert [entry.path.split("-")[2] for entry, _ in slices] == ["0", "1", "2"]
    assert [entry.keys["row"] for entry, _ in slices] == [(0, 0), (1, 1), (2, 2)]
    assert read_back(slices)["position"].to_list() == frame["position"].to_list()


def test_a_giant_sample_is_split_by_position():
    slices = encoded("tokens", tokens([400_000]))
    assert len(slices) > 2
    spans = [entry.keys["position"] for entry, _ in slices]
    assert spans[0][0] == 0
    assert spans[-1][1] == 399_999
    assert all(last + 1 == first for (_, last), (first, _) in itertools.pairwise(spans))
    assert max(entry.bytes for entry, _ in slices) <= 1.25 * MIB


def test_long_texts_are_split_by_row_and_a_single_huge_one_stays_whole():
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(33, 0xD000, 300_000))) for _ in range(4)]
    frame = conform(
        "texts",
        pl.DataFrame(
            {
                "step": [0] * 5,
                "evaluation": [False] * 5,
                "row": range(5),
                "response": [*texts, texts[0] * 12],
            }
        ),
    )
    slices = encoded("texts", frame)
    assert read_back(slices)["response"].to_list() == frame["response"].to_list()
    assert all(entry.bytes <= MAX_BYTES or entry.rows == 1 for entry, _ in slices)
    assert len(slices) == 4  # about a mebibyte each, and the huge one


def test_an_empty_table_is_one_slice_without_rows():
    for name in ("samples", "tokens", "metrics", "notices", "texts"):
        ((entry, content),) = encoded(name, empty_table(name))
        assert entry.rows == 0
        assert entry.keys == {}
        assert decode(content).height == 0


def test_hostile_text_comes_back_as_it_was():
    hostile = ["</script>", "\u2028\u2029", "\x00\x01", "\ufffd", "a'\"<b>", "", None]
    frame = conform(
        "texts",
        pl.DataFrame(
            {"step": [0] * 7, "evaluation": [False] * 7, "row": range(7), "response": hostile}
        ),
    )
    assert read_back(encoded("texts", frame))["response"].to_list() == hostile


def test_integers_too_large_for_32_bits_keep_64():
    frame = conform("data_buffer", pl.DataFrame({"ts": [1.0, 2.0], "length": [1, 2**40]}))
    assert read_back(encoded("data_buffer", frame))["length"].to_list() == [1, 2**40]


def test_the_bytes_depend_on_the_rows_alone():
    frame = tokens([300, 700])
    rebuilt = pl.concat([frame[:100], frame[100:]], rechunk=False)
    assert encoded("tokens", frame) == encoded("tokens", rebuilt)


def test_series_of_the_run_itself_are_rounded_and_none_beside_tokens():
    frame = tokens([6], values=pl.Series([0.1] * 6, dtype=pl.Float32))
    back = read_back(encoded("tokens", frame))["values"].to_list()
    assert back == pytest.approx([0.1] * 6, rel=2.0**-14)
    assert back[0] != np.float32(0.1)
    metrics = conform("metrics", pl.DataFrame({"key": ["loss"], "value": [0.1]}))
    assert read_back(encoded("metrics", metrics))["value"].to_list() == [0.1]


def test_slices_are_near_the_target_once_the_table_is_known():
    slices = encoded("tokens", tokens([1000] * 600))
    inner = [entry.bytes for entry, _ in slices[1:-1]]
    assert inner
    assert all(0.85 * TARGET_BYTES < size <= MIB for size in inner)


SCRIPT = """
import { readFileSync } from 'node:fs';
import { parquetRead } from 'hyparquet';
import { decompress } from 'fzstd';
const bytes = readFileSync(process.argv[2]);
const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const found = {};
await parquetRead({ file, compressors: { ZSTD: (input, size) => decompress(input, new Uint8Array(size)) },
  onChunk: chunk => { found[chunk.columnName] = { kind: chunk.columnData.constructor.name,
    values: Array.from(chunk.columnData, value => value === undefined ? null : value) }; } });
console.log(JSON.stringify(found));
"""


@pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / "node_modules" / "hyparquet").is_dir(),
    reason="needs node and the packages that hatch_build.py installs",
)
def test_the_reader_of_the_browser_decodes_every_kind_of_column(tmp_path):
    frame = tokens([40, 30])
    ((entry, content),) = encoded("tokens", frame)
    path = tmp_path / "slice.parquet"
    path.write_bytes(content)
    script = ROOT / "node_modules" / ".slice_test.mjs"
    script.write_text(SCRIPT)
    try:
        done = subprocess.run(
            ["node", script, path], capture_output=True, check=True, text=True, timeout=60
        )
    finally:
        script.unlink()
    found = json.loads(done.stdout)
    back = decode(content)
    assert list(found) == list(entry.columns)
    assert found["token_id"]["kind"] == "Int32Array"
    assert found["position"]["kind"] == "Int32Array"
    for name, column in found.items():
        assert column["values"] == pytest.approx(back[name].to_list(), nan_ok=True), name
