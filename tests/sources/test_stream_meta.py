from __future__ import annotations

import json

import pytest
from builders.streams import stamp_of

from miles_report.sources.meta import CatalogLane, RunMeta, read_lane_catalog, read_meta


def meta(path, content: str):
    notices = []
    found = read_meta(stamp_of(path / "meta.json", content.encode(), "meta.json"), notices=notices)
    return found, [(notice.code, notice.severity) for notice in notices]


def test_meta_is_read_as_it_stands(tmp_path):
    found, notices = meta(
        tmp_path,
        '{"run_name":"a \\"b\\" </script>","start_ts":5,"args":{"lr":1e-6},"schema_version":1}',
    )
    assert found == RunMeta('a "b" </script>', 5.0, {"lr": 1e-6}, 1)
    assert notices == []


def test_a_run_without_telemetry_has_no_name():
    assert read_meta(None, notices=[]) == RunMeta(None, None, {}, None)


def test_what_is_absent_in_meta(tmp_path):
    assert meta(tmp_path, "{}") == (RunMeta("miles-run", None, {}, None), [])
    assert meta(tmp_path, '{"start_ts":null,"schema_version":null}')[1] == []


@pytest.mark.parametrize(
    ("content", "notice"),
    [
        ("", ("broken-json", "error")),
        ('{"run_name":', ("broken-json", "error")),
        ("[1]", ("broken-json", "error")),
        ("[" * 100_000, ("broken-json", "error")),
        ('{"schema_version":2}', ("newer-schema", "warning")),
        ('{"schema_version":"1"}', ("bad-meta", "warning")),
        ('{"schema_version":true}', ("bad-meta", "warning")),
        ('{"run_name":5}', ("bad-meta", "warning")),
        ('{"run_name":null}', ("bad-meta", "warning")),
        ('{"start_ts":"now"}', ("bad-meta", "warning")),
        ('{"start_ts":NaN}', ("bad-meta", "warning")),
        ('{"start_ts":1' + "0" * 400 + "}", ("bad-meta", "warning")),
        ('{"args":[1]}', ("bad-meta", "warning")),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path, content, notice):
    found, notices = meta(tmp_path, content)
    assert notices == [notice]
    assert found.start_ts is None
    assert found.args == {}


def test_a_newer_version_is_read_all_the_same(tmp_path):
    found, _ = meta(tmp_path, '{"run_name":"new","schema_version":7,"start_ts":1.5}')
    assert found == RunMeta("new", 1.5, {}, 7)


def test_texts_of_meta_can_be_written_again(tmp_path):
    found, _ = meta(tmp_path, '{"run_name":"\\ud800","args":{"\\udfff":["\\ud800"]}}')
    found.run_name.encode()
    json.dumps(found.args, ensure_ascii=False).encode()


def test_a_meta_that_vanished_is_told(tmp_path):
    listed = stamp_of(tmp_path / "meta.json", b"{}", "dashboard/meta.json")
    listed.path.unlink()
    notices = []
    assert read_meta(listed, notices=notices) == RunMeta()
    assert [(notice.code, notice.source) for notice in notices] == [
        ("unreadable-file", "dashboard/meta.json")
    ]


def test_a_lane_is_split_at_the_last_colon(tmp_path):
    lanes = {
        "fe80::1:3": {"ranks": [5, 1, 5, "x"], "engine_addrs": ["b", "a"], "roles": ["train"]},
        "10.0.0.1:0": {},
        "no-colon": {},
        ":1": {},
        "n:x": {},
        "n:-1": {},
        "n:1": [],
    }
    content = json.dumps({"version": 1, "lanes": lanes}).encode()
    notices = []
    catalog = read_lane_catalog(stamp_of(tmp_path / "c", content), notices=notices)
    assert catalog == (
        CatalogLane("fe80::1", 3, (1, 5), ("a", "b"), ("train",)),
        CatalogLane("10.0.0.1", 0, (), (), ()),
    )
    (notice,) = notices
    assert notice.code == "bad-lane"
    assert "5 of its entries" in notice.message


def test_a_catalogue_that_is_none_is_told(tmp_path):
    notices = []
    assert read_lane_catalog(stamp_of(tmp_path / "c", b'{"lanes":[]}'), notices=notices) == ()
    assert read_lane_catalog(None, notices=notices) == ()
    assert [notice.code for notice in notices] == ["bad-meta"]
