"""Dumps made to do harm, limits of the machine, and sizes nobody tries: nothing is executed, memory stays bounded, the old
site stays.
"""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import struct
import subprocess
import zipfile

import numpy as np
import pytest
from builders import hostile
from builders.dumps import aged, columns_file, rollout_dump, sample, train_columns, train_pack
from builders.reports import Report, apart, invoke, peak_mib, refusal, report_of
from builders.sites import published, small_run

MEMORY_MIB = 450
"""What a build may take besides twice the files of its largest step."""


@pytest.fixture
def dump(tmp_path):
    return tmp_path / "dump"


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


def test_pickles_that_run_commands_run_nothing(dump, site, tmp_path):
    small_run(dump, steps=1)
    sentinel = tmp_path / "executed"
    attacks = hostile.commands(sentinel)
    for number, content in enumerate(attacks.values(), 1):
        aged(hostile.write_container(dump / "rollout_data" / f"{number}.pt", content))
        aged(hostile.write_container(dump / "train_data" / f"0_{number}.pt", content))
    report = report_of(dump, site)
    assert not sentinel.exists()
    assert report.steps == {"step-0": "ok"} | {
        f"step-{number}": "broken" for number in range(1, len(attacks) + 1)
    }
    assert report.table("samples", 0)["mean_entropy"].to_list() == [1.0, 1.0]


def test_strides_that_leave_their_storage(dump, site):
    small_run(dump, steps=1)
    views = [
        (0, (3,), (1 << 40,), "reaches outside its storage"),
        (1 << 62, (3,), (1,), "reaches outside its storage"),
        (2, (3,), (1,), "reaches outside its storage"),
        (0, (3,), (-1,), "makes no sense"),
        (0, (1 << 20, 1 << 20), (0, 0), "made to exhaust memory"),
    ]
    for rank, (offset, size, stride, _) in enumerate(views, 1):
        view = hostile.tensor(hostile.storage("FloatStorage", "0", 4), offset, size, stride)
        columns = (
            hostile.text("sample_indices")
            + b"](K\x00K\x01e"
            + hostile.text("entropy")
            + b"]("
            + view
            + view
            + b"e"
        )
        body = hostile.pickled(b"}" + hostile.text("rollout_data") + b"}(" + columns + b"us")
        path = dump / "train_data" / f"0_{rank}.pt"
        aged(hostile.write_container(path, body, {"0": struct.pack("<4f", 1, 2, 3, 4)}))
    report = report_of(dump, site)
    told = {
        row["source"].partition(",")[0]: row for row in report.notices if row["severity"] == "error"
    }
    for rank, (*_, words) in enumerate(views, 1):
        row = told[f"train_data/0_{rank}.pt"]
        assert words in row["message"]
        assert ", data.pkl byte " in row["source"]
    assert report.table("samples", 0)["mean_entropy"].to_list() == [1.0, 1.0]


def test_codecs_memo_and_zip_bombs(dump, site):
    small_run(dump, steps=1)
    laughs = b"".join(
        b"(" + b"h" + bytes([i]) + b"h" + bytes([i]) + b"lq" + bytes([i + 1]) for i in range(60)
    )
    encode = hostile.name("_codecs", "encode")
    bombs = {
        "memo": hostile.PROTO + b"]q\x00" + laughs + b".",
        "integer": hostile.pickled(b"\x8b" + struct.pack("<i", 2**31 - 1)),
        "rot13": hostile.pickled(hostile.call(encode, hostile.text("x"), hostile.text("rot13"))),
        "zlib": hostile.pickled(
            hostile.call(encode, hostile.text("x"), hostile.text("zlib_codec"))
        ),
    }
    for number, content in enumerate(bombs.values(), 1):
        aged(hostile.write_container(dump / "rollout_data" / f"{number}.pt", content))
    aged(
        hostile.write_container(
            dump / "rollout_data" / "9.pt",
            b"\x80\x02" + b"(" * 30_000_000,
            method=zipfile.ZIP_DEFLATED,
        )
    )
    report = report_of(dump, site)
    assert report.steps == {"step-0": "ok"} | {
        f"step-{number}": "broken" for number in (1, 2, 3, 4, 9)
    }
    assert "zip bomb" in report.notice("step-broken", "rollout_data/9.pt, data.pkl")["message"]


def drop_privileges():
    """Makes modes count for root too: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH go; others never had them."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)


def test_files_without_permission(dump, site):
    small_run(dump, steps=3)
    (dump / "dashboard").mkdir()
    locked = [
        dump / name for name in ("rollout_data/1.pt", "train_data/2_0.pt", "dashboard/metrics.jsonl", "dashboard/meta.json", "tokenizer")
    ]  # fmt: skip
    for path in locked[2:4]:
        path.write_text("{}\n")
    locked[4].mkdir()
    for path in locked:
        path.chmod(0)
    try:
        done = apart("build", dump, "-o", site, "--jobs", 1, preexec_fn=drop_privileges)
    finally:
        for path in locked:
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    report = Report(site)
    assert report.steps == {"step-0": "ok", "step-1": "broken", "step-2": "ok"}
    told = {row["source"]: row for row in report.notices if row["severity"] == "error"}
    assert set(told) == {path.relative_to(dump).as_posix() for path in locked}
    assert [row for row in told.values() if "ermission" not in row["message"]] == []
    assert invoke("check", site).exit_code == 0


def test_an_output_directory_without_permission(dump, tmp_path):
    small_run(dump, steps=1)
    (tmp_path / "locked").mkdir(mode=0o555)
    done = apart("build", dump, "-o", tmp_path / "locked" / "site", preexec_fn=drop_privileges)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "miles-report: The output directory cannot be written to: Permission denied."
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 20 MB, where this machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", place], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place, *, left):
    """Leaves so many bytes free."""
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    (place / "ballast").write_bytes(bytes(free - left))


@pytest.mark.parametrize("left", [0, 4096, 40_960, 163_840])
def test_a_disk_that_fills_up_while_building(dump, small_disk, left):
    small_run(dump, steps=1)
    site = small_disk / "site"
    report_of(dump, site)
    before = published(site)
    small_run(dump, steps=2, first=1)
    fill(small_disk, left=left)
    sentence = refusal("build", dump, "-o", site, "--jobs", 1, "--title", "other", code=1)
    assert "No space left on device" in sentence
    after = published(site)
    assert {path: after[path] for path in before} == before
    assert invoke("check", site).exit_code == 0
    (small_disk / "ballast").unlink()
    assert report_of(dump, site, "--title", "other").steps == dict.fromkeys(
        ("step-0", "step-1", "step-2"), "ok"
    )


def step_mib(dump):
    return sum(path.stat().st_size for path in dump.rglob("*") if path.is_file()) / 2**20


def test_ten_thousand_samples_in_a_step(dump, site):
    samples = [
        sample(row, group_index=row // 8, reward=float(row % 3 == 0)) for row in range(10_000)
    ]
    rollout_dump(dump, samples)
    train_pack(dump, train_columns(samples))
    done = apart("build", dump, "-o", site, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    report = Report(site)
    assert report.table("samples", 0).height == 10_000
    assert report.table("groups", 0).height == 1250
    (step,) = report.table("steps").to_dicts()
    assert math.isclose(step["reward_mean"], 3334 / 10_000)
    assert len(report.page("rollouts/step-0.html")) < 1_500_000
    assert peak_mib(done) < MEMORY_MIB + 2 * step_mib(dump)


def test_a_response_of_100_000_tokens(dump, site):
    length = 100_000
    values = np.linspace(-8, 0, length).tolist()
    samples = [
        sample(
            row,
            group_index=0,
            response=range(3, 3 + size),
            rollout_log_probs=values[:size],
            reward=float(row),
        )
        for row, size in enumerate((length, 3))
    ]
    rollout_dump(dump, samples)
    columns_file(dump, samples)
    train_pack(dump, train_columns(samples))
    done = apart("build", dump, "-o", site, "--jobs", 1, "--pages", "all")
    assert done.returncode == 0, done.stderr
    report = Report(site)
    tokens = report.table("tokens", 0)
    assert tokens.height == length + 7
    assert tokens["token_id"][length + 1] == length + 2
    page_mib = len(report.read("samples/0/0.html")) / 2**20
    assert page_mib < 12
    assert peak_mib(done) < MEMORY_MIB + 2 * step_mib(dump) + 10 * page_mib
    assert invoke("check", site).exit_code == 0


def test_a_dump_whose_folder_is_a_link_to_elsewhere(dump, site, tmp_path):
    small_run(tmp_path / "elsewhere", steps=1)
    dump.mkdir()
    (dump / "rollout_data").symlink_to(tmp_path / "elsewhere" / "rollout_data")
    sentence = refusal("build", dump, "-o", site, code=2)
    assert "rollout_data: It is a link to a place outside the dump and is not followed." in sentence
    (dump / "dashboard").mkdir()
    assert report_of(dump, site).notice("link-out-of-dump")["source"] == "rollout_data"
    assert f"{dump}: 0 steps, 0 evaluations, 3 notices" in invoke("check", dump).stdout
