from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from builders.streams import set_age

from miles_report.errors import UsageError
from miles_report.sources.files import list_dump
from miles_report.sources.folders import MAX_MISFITS_TOLD, printable

NOW = 1_770_000_000.0


@pytest.fixture
def dump(tmp_path):
    """Makes files (empty, an hour old) below a fresh dump; a name that ends in / is a folder."""
    root = tmp_path / "dump"

    def make(*names: str, age_s: float = 3600.0) -> Path:
        for name in names:
            path = root / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"")
                set_age(path, age_s, now=NOW)
        return root

    return make


def told(files):
    return {(notice.code, notice.source) for notice in files.notices}


def test_a_dump_is_listed_by_number(dump):
    root = dump(
        "rollout_data/10.pt",
        "rollout_data/9.pt",
        "rollout_data/eval_9.pt",
        "train_data/9_10.pt",
        "train_data/9_9.pt",
        "train_data/10_0.pt",
        "dashboard_columns/rollout_9.parquet",
        "dashboard_columns/rollout_eval_9.parquet",
        "trajectory/9.jsonl",
        "trajectory/eval_9.jsonl",
        "tokenizer/tokenizer.json",
        "processor/x",
        "policy_loss_debug/rank_0_call_1.pt",
        "events/e",
        "dashboard/cache/rollout_9.parquet",
    )
    files = list_dump(root, now=NOW)
    assert list(files.rollouts) == [9, 10]
    assert list(files.eval_rollouts) == [9]
    assert {step: list(ranks) for step, ranks in files.train.items()} == {9: [9, 10], 10: [0]}
    assert list(files.columns) == [(9, False), (9, True)]
    assert list(files.conversations) == [(9, False), (9, True)]
    assert list(files.tokenizer) == ["tokenizer.json"]
    assert files.tokenizer_dir == root / "tokenizer"
    assert files.notices == ()
    stamp = files.rollouts[10]
    assert (stamp.name, stamp.size) == ("rollout_data/10.pt", 0)
    assert stamp.path == root / "rollout_data" / "10.pt"
    assert stamp.mtime_ns == int((NOW - 3600) * 1e9)


def test_streams_are_read_flat_file_first_then_by_name(dump):
    root = dump(
        "dashboard/meta.json",
        "dashboard/lane_catalog.json",
        "dashboard/metrics.jsonl",
        "dashboard/phases/20260204_00.jsonl",
        "dashboard/phases/20260203_23.jsonl",
        "dashboard/phases.jsonl",
    )
    files = list_dump(root, now=NOW)
    assert [stamp.name for stamp in files.streams["phases"]] == [
        "dashboard/phases.jsonl",
        "dashboard/phases/20260203_23.jsonl",
        "dashboard/phases/20260204_00.jsonl",
    ]
    assert sorted(files.streams) == ["metrics", "phases"]
    assert files.meta.name == "dashboard/meta.json"
    assert files.lane_catalog.name == "dashboard/lane_catalog.json"
    assert files.notices == ()


@pytest.mark.parametrize("folder", ["rollout_data/", "train_data/", "dashboard/"])
def test_one_empty_folder_is_an_empty_dump(dump, folder):
    files = list_dump(dump(folder), now=NOW)
    assert (files.rollouts, files.train, files.streams, files.notices) == ({}, {}, {}, ())
    assert files.tokenizer_dir is None


def test_what_is_no_dump_is_refused_in_a_sentence(dump, tmp_path):
    with pytest.raises(UsageError, match=r"^There is no directory .*absent\.$"):
        list_dump(tmp_path / "absent", now=NOW)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file is not a directory\.$"):
        list_dump(tmp_path / "file", now=NOW)
    with pytest.raises(UsageError, match="holds none of rollout_data, train_data, dashboard"):
        list_dump(dump("trajectory/", "rollout_data"), now=NOW)
    with pytest.raises(UsageError, match="no directory"):
        list_dump(Path("a\0b"), now=NOW)


def test_a_fresh_rollout_is_hidden_until_a_train_file_proves_it_complete(dump):
    dump("rollout_data/", "train_data/")
    dump("rollout_data/0.pt", "rollout_data/1.pt", "rollout_data/eval_1.pt", age_s=9.9)
    root = dump("rollout_data/2.pt", "rollout_data/eval_2.pt", age_s=10.0)
    dump("train_data/1_3.pt", age_s=0.0)
    files = list_dump(root, now=NOW)
    assert list(files.rollouts) == [1, 2]
    assert list(files.eval_rollouts) == [2]
    assert list(files.fresh) == [(0, False), (1, True)]
    assert files.rollout(0, evaluation=False).name == "rollout_data/0.pt"
    assert files.rollout(2, evaluation=True).name == "rollout_data/eval_2.pt"
    assert files.rollout(7, evaluation=False) is None
    assert told(files) == {
        ("still-writing", "rollout_data/0.pt"),
        ("still-writing", "rollout_data/eval_1.pt"),
    }
    assert {notice.severity for notice in files.notices} == {"info"}


def test_stray_entries_are_told_and_left_out(dump):
    root = dump(
        "rollout_data/0.pt",
        "rollout_data/x.pt",
        "rollout_data/01.pt",
        "rollout_data/-1.pt",
        "rollout_data/٣.pt",
        "rollout_data/99999999999999999999.pt",
        "rollout_data/0.pt.tmp",
        "rollout_data/7.pt/",
        "train_data/0.pt",
        "train_data/0_0_0.pt",
        "train_data/0_1.pt/inside",
        "dashboard/metrics.jsonl/",
        "dashboard/trajectory/",
        "dashboard/gpu_util/20260203.jsonl",
        "dashboard/gpu_util/20260203_23.jsonl/",
        "dashboard/odd.jsonl",
        "dashboard/metrics/20260203_23.jsonl",
        "notes.txt",
        "tokenizer",
    )
    files = list_dump(root, now=NOW)
    assert list(files.rollouts) == [0]
    assert (files.train, files.streams, files.tokenizer) == ({}, {}, {})
    assert told(files) == {
        ("stray-file", "rollout_data/x.pt"),
        ("stray-file", "rollout_data/01.pt"),
        ("stray-file", "rollout_data/-1.pt"),
        ("stray-file", "rollout_data/٣.pt"),
        ("stray-file", "rollout_data/99999999999999999999.pt"),
        ("stray-file", "rollout_data/0.pt.tmp"),
        ("stray-folder", "rollout_data/7.pt"),
        ("stray-file", "train_data/0.pt"),
        ("stray-file", "train_data/0_0_0.pt"),
        ("stray-folder", "train_data/0_1.pt"),
        ("stray-folder", "dashboard/metrics.jsonl"),
        ("stray-file", "dashboard/gpu_util/20260203.jsonl"),
        ("stray-folder", "dashboard/gpu_util/20260203_23.jsonl"),
        ("unknown-entry", "dashboard/trajectory"),
        ("unknown-entry", "dashboard/odd.jsonl"),
        ("unknown-entry", "dashboard/metrics"),
        ("unknown-entry", "notes.txt"),
        ("stray-file", "tokenizer"),
    }


def test_a_thousand_strays_do_not_bury_the_rest(dump):
    files = list_dump(dump(*(f"rollout_data/x{i}.pt" for i in range(1000))), now=NOW)
    assert len(files.notices) == MAX_MISFITS_TOLD + 1
    (summary,) = (notice for notice in files.notices if notice.source == "rollout_data")
    assert str(1000 - MAX_MISFITS_TOLD) in summary.message


def test_train_files_without_rollout_are_told(dump):
    files = list_dump(dump("rollout_data/0.pt", "train_data/0_0.pt", "train_data/3_0.pt"), now=NOW)
    assert told(files) == {("train-without-rollout", "train_data/3_*.pt")}


def test_links_are_followed_inside_the_dump_only(dump, tmp_path):
    root = dump("rollout_data/0.pt", "trajectory/0.jsonl", "dashboard/")
    (tmp_path / "secret").write_text("root:x:0:0\n")
    (tmp_path / "elsewhere").mkdir()
    (root / "rollout_data/1.pt").symlink_to("0.pt")
    (root / "trajectory/1.jsonl").symlink_to(tmp_path / "secret")
    (root / "trajectory/2.jsonl").symlink_to("../../secret")
    (root / "dashboard/metrics.jsonl").symlink_to("/etc/passwd")
    (root / "dashboard/phases").symlink_to(tmp_path / "elsewhere")
    (root / "train_data").symlink_to(tmp_path / "elsewhere")
    (root / "trajectory/3.jsonl").symlink_to("absent")
    (root / "trajectory/4.jsonl").symlink_to("4.jsonl")
    set_age(root / "rollout_data/0.pt", 3600, now=NOW)
    files = list_dump(root, now=NOW)
    assert list(files.rollouts) == [0, 1]
    assert list(files.conversations) == [(0, False)]
    assert files.streams == {}
    assert told(files) == {
        ("link-out-of-dump", "trajectory/1.jsonl"),
        ("link-out-of-dump", "trajectory/2.jsonl"),
        ("link-out-of-dump", "dashboard/metrics.jsonl"),
        ("link-out-of-dump", "dashboard/phases"),
        ("link-out-of-dump", "train_data"),
        ("unreadable-file", "trajectory/3.jsonl"),
        ("unreadable-file", "trajectory/4.jsonl"),
    }


def test_a_sibling_whose_path_begins_alike_is_outside(dump, tmp_path):
    root = dump("rollout_data/")
    (tmp_path / "dump-secret").write_text("x")
    (root / "rollout_data/0.pt").symlink_to("../../dump-secret")
    assert list_dump(root, now=NOW).rollouts == {}


def test_the_dump_itself_may_be_a_link(dump, tmp_path):
    (tmp_path / "link").symlink_to(dump("rollout_data/0.pt"))
    files = list_dump(tmp_path / "link", now=NOW)
    assert files.rollouts[0].path == tmp_path / "link/rollout_data/0.pt"
    assert files.notices == ()


def test_a_pipe_is_not_opened(dump):
    root = dump("rollout_data/", "dashboard/")
    os.mkfifo(root / "rollout_data/0.pt")
    os.mkfifo(root / "dashboard/metrics.jsonl")
    files = list_dump(root, now=NOW)
    assert told(files) == {
        ("not-a-file", "rollout_data/0.pt"),
        ("not-a-file", "dashboard/metrics.jsonl"),
    }


def test_hostile_names_are_told_readably(dump):
    root = dump("rollout_data/<b>&\"'.pt", "rollout_data/a\nb\u2028c.pt", "rollout_data/<!--</")
    Path(os.fsdecode(os.fsencode(root) + b"/rollout_data/\xff\xfe.pt")).write_bytes(b"")
    files = list_dump(root, now=NOW)
    assert {notice.source for notice in files.notices} == {
        "rollout_data/a\\nb\\u2028c.pt",
        "rollout_data/\\xff\\xfe.pt",
        "rollout_data/<b>&\"'.pt",
        "rollout_data/<!--<",
    }
    assert all(notice.message.isprintable() for notice in files.notices)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain ünicode.pt", "plain ünicode.pt"),
        ("a\tb\x00\x7f\x1b[31m", "a\\tb\\x00\\x7f\\x1b[31m"),
        ("\udcff", "\\xff"),
        ("\u202egnp", "\\u202egnp"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_printable(name, shown):
    assert printable(name) == shown
    printable(name).encode()


def test_listing_opens_no_file(dump):
    root = dump("rollout_data/0.pt", "train_data/0_0.pt", "dashboard/metrics.jsonl")
    opened = []
    watching = [True]

    def watch(event, arguments):
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    list_dump(root, now=NOW)
    watching.clear()
    assert [path for path in opened if path.startswith(str(root))] == []
