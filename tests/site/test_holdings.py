"""What a site has of each table; and an engine that is written once."""

from __future__ import annotations

from miles_report.site.assets import ENGINE, asset_paths, write_assets
from miles_report.site.holdings import table_sizes
from miles_report.site.writer import MemoryWriter
from miles_report.slices.slice import Slice


def part(path, rows, size, *columns):
    return Slice(path=path, bytes=size, sha256="", rows=rows, columns=columns)


def test_sizes_are_summed_over_the_run_and_its_steps():
    sizes = table_sizes(
        [
            {"run": (part("r", 1, 10, "run_name"),)},
            {"samples": (part("s0", 5, 100, "step", "reward.a"), part("s1", 2, 30, "step"))},
            {"samples": (part("t0", 4, 70, "step", "reward.b"),), "tokens": ()},
        ]
    )
    samples = sizes["samples"]
    assert (samples.rows, samples.bytes, samples.path) == (11, 200, "t0")
    assert samples.columns == ("step", "reward.a", "reward.b")
    assert (sizes["tokens"].rows, sizes["tokens"].path) == (0, "")
    assert sizes["run"].rows == 1


def test_assets_that_are_in_place_are_left_alone():
    first = MemoryWriter()
    entries = write_assets(first)
    assert asset_paths(entries)[ENGINE].startswith("assets/duckdb-eh-")
    assert len(first.files) == len(entries)
    again = MemoryWriter()
    assert write_assets(again, present={entry.path: entry for entry in entries.values()}) == entries
    assert not again.files


def test_the_licences_of_what_is_shipped_go_along():
    writer = MemoryWriter()
    path = write_assets(writer)["licenses.txt"].path
    text = writer.files[path].decode()
    for name in (
        "duckdb-wasm",
        "apache-arrow",
        "flatbuffers",
        "tslib",
        "hyparquet",
        "hyparquet-writer",
        "fzstd",
    ):
        assert f"{name}\n\n" in text
