"""Catalogues, and tables read back through them."""

from __future__ import annotations

import json

import polars as pl
import pytest

from miles_report.errors import NotFoundError, SourceError
from miles_report.site.step_output import write_table
from miles_report.site.writer import MemoryWriter
from miles_report.slices.catalog import (
    FileEntry,
    StepEntry,
    json_bytes,
    parse_catalog,
    root_catalog,
    step_catalog,
)
from miles_report.slices.read import open_catalog, open_step, read_table
from miles_report.slices.slice import content_hash
from miles_report.tables.frames import conform, empty_table, table_schema


def texts(rows):
    return conform("texts", pl.DataFrame({"step": [3] * rows, "evaluation": [False] * rows, "row": range(rows), "response": ["x"] * rows}))  # fmt: skip


def tokens():
    columns = {
        "step": [3, 3, 3],
        "evaluation": [False] * 3,
        "row": [0, 0, 1],
        "position": [0, 1, 0],
        "token_id": [7, 8, 7],
        "in_response": [False, True, True],
        "lp_diff": [None, 0.5, -0.25],
    }
    return conform("tokens", pl.DataFrame(columns))


@pytest.fixture
def written():
    """A writer with the catalogue of step 3, and the entry of that."""
    writer = MemoryWriter()
    token_texts = pl.DataFrame({"token_id": [7, 8], "token_text": ["a", "</b>"]})
    tables = {
        name: write_table(name, frame, "data/step-3", writer)
        for name, frame in (("texts", texts(4)), ("tokens", tokens()), ("token_texts", token_texts))
    }
    entry, content = step_catalog(3, evaluation=False, facts={"run_name": "r"}, tables=tables)
    writer.write(entry.path, content)
    return writer, entry


def test_a_step_catalogue_is_named_by_its_content(written):
    writer, entry = written
    assert entry.path == f"data/step-3/catalog-{content_hash(writer.files[entry.path])}.json"
    value = json.loads(writer.files[entry.path])
    assert (value["version"], value["step"], value["evaluation"]) == (1, 3, False)
    assert value["facts"] == {"run_name": "r"}
    assert value["tables"]["texts"][0]["keys"] == {"step": [3, 3], "row": [0, 3]}


def test_tables_come_back_with_their_declared_columns_and_types(written):
    writer, entry = written
    catalog = open_catalog(writer.files.__getitem__, entry.path)
    back = read_table(writer.files.__getitem__, catalog, "texts")
    assert dict(back.schema) == table_schema("texts")
    assert back.equals(texts(4))


def test_tokens_get_their_text_and_ratio_back(written):
    writer, entry = written
    catalog = open_catalog(writer.files.__getitem__, entry.path)
    back = read_table(writer.files.__getitem__, catalog, "tokens")
    assert list(back.columns) == list(table_schema("tokens"))
    assert back["token_text"].to_list() == ["a", "</b>", "a"]
    assert back["imp_ratio"].to_list() == pytest.approx([None, 1.6487212, 0.7788008])
    one = read_table(writer.files.__getitem__, catalog, "tokens", row=1, text=False)
    assert one["position"].to_list() == [0]
    assert one["token_text"].to_list() == [None]


def test_only_slices_that_can_hold_a_row_are_opened():
    writer = MemoryWriter()
    slices = [
        write_table("texts", texts(10)[start : start + 5], "data/step-3", writer)
        for start in (0, 5)
    ]
    entry, content = step_catalog(
        3, evaluation=False, facts={}, tables={"texts": (*slices[0], *slices[1])}
    )
    opened = []

    def read(path):
        opened.append(path)
        return content if path == entry.path else writer.files[path]

    catalog = open_catalog(read, entry.path)
    assert read_table(read, catalog, "texts", row=7)["row"].to_list() == [7]
    assert opened == [entry.path, slices[1][0].path]
    assert read_table(read, catalog, "texts", row=99).height == 0


def test_the_root_catalogue_leads_to_the_steps(written):
    writer, entry = written
    steps = (
        StepEntry(3, evaluation=False, state="ok", catalog=entry),
        StepEntry(4, evaluation=False, state="broken", catalog=None),
    )
    root, content = root_catalog(run={"run_name": "r"}, tables={}, steps=steps)
    catalog = parse_catalog(root.path, content)
    assert catalog.steps == steps
    assert open_step(writer.files.__getitem__, catalog, 3, evaluation=False).path == entry.path
    with pytest.raises(SourceError, match="step 4: it was broken when the report was built"):
        open_step(writer.files.__getitem__, catalog, 4, evaluation=False)
    with pytest.raises(NotFoundError, match="no evaluation 3 in this report"):
        open_step(writer.files.__getitem__, catalog, 3, evaluation=True)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"version": 1}', b'{"version":1,"tables":{"a":[1]},"facts":{}}', b"\xff"],
)
def test_a_damaged_catalogue_is_told_by_name(content):
    with pytest.raises(ValueError, match=r"data/catalog-x.json is damaged"):
        parse_catalog("data/catalog-x.json", content)


def test_another_version_is_told():
    with pytest.raises(ValueError, match="another version"):
        parse_catalog("c", b'{"version": 2}')


def test_a_table_that_is_not_there_is_not_found(written):
    writer, entry = written
    catalog = open_catalog(writer.files.__getitem__, entry.path)
    with pytest.raises(NotFoundError, match="no table samples"):
        read_table(writer.files.__getitem__, catalog, "samples")


def test_json_has_no_nan_and_keeps_lone_surrogates_escaped():
    assert (
        json_bytes({"b": float("nan"), "a": ["\ud800", float("inf")]})
        == b'{"a":["\\ud800",null],"b":null}'
    )


def test_an_empty_run_wide_table_comes_back_empty():
    writer = MemoryWriter()
    slices = write_table("metrics", empty_table("metrics"), "data", writer)
    entry, content = root_catalog(run={}, tables={"metrics": slices}, steps=())
    catalog = parse_catalog(entry.path, content)
    back = read_table(writer.files.__getitem__, catalog, "metrics")
    assert back.equals(empty_table("metrics"))
    assert FileEntry.of(entry.path, content) == entry
