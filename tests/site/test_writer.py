"""Writers: whole files under their names, conflicts and full disks told, the old file intact."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from miles_report.errors import BuildError
from miles_report.site.writer import TEMPORARY, DirectoryWriter, MemoryWriter


def test_a_file_is_written_under_its_path(tmp_path):
    DirectoryWriter(tmp_path).write("data/step-0/a.json", b"{}")
    assert (tmp_path / "data" / "step-0" / "a.json").read_bytes() == b"{}"
    assert list((tmp_path / TEMPORARY).iterdir()) == []


@pytest.mark.parametrize("make", [MemoryWriter, None])
def test_the_same_path_with_other_content_is_a_conflict(make, tmp_path):
    writer = make() if make else DirectoryWriter(tmp_path)
    writer.write("a", b"one")
    writer.write("a", b"one")
    with pytest.raises(BuildError, match="a was written twice"):
        writer.write("a", b"two")


def test_prepared_files_appear_when_they_are_committed(tmp_path):
    (tmp_path / "index.html").write_bytes(b"old")
    writer = DirectoryWriter(tmp_path)
    writer.prepare("index.html", b"new")
    writer.prepare("rollouts/step-0.html", b"page")
    assert (tmp_path / "index.html").read_bytes() == b"old"
    assert not (tmp_path / "rollouts" / "step-0.html").exists()
    writer.commit(["rollouts/step-0.html", "index.html"])
    assert (tmp_path / "index.html").read_bytes() == b"new"
    assert (tmp_path / "rollouts" / "step-0.html").read_bytes() == b"page"


def test_files_can_be_read_by_a_web_server(tmp_path):
    DirectoryWriter(tmp_path).write("a", b"")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_a_path_taken_by_a_directory_is_an_error_in_words(tmp_path):
    (tmp_path / "index.html").mkdir()
    writer = DirectoryWriter(tmp_path)
    writer.prepare("index.html", b"new")
    with pytest.raises(BuildError, match=r"index.html could not be written: .*directory"):
        writer.commit(["index.html"])


FULL = """
    import resource, signal, sys
    from pathlib import Path
    from miles_report.errors import BuildError
    from miles_report.site.writer import DirectoryWriter, TEMPORARY
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    root = Path(sys.argv[1])
    writer = DirectoryWriter(root)
    try:
        writer.prepare("index.html", b"x" * 5000)
    except BuildError as error:
        print(error)
    print((root / "index.html").read_text(), len(list((root / TEMPORARY).iterdir())))
"""


def test_a_disk_that_takes_no_more_leaves_the_old_file(tmp_path):
    (tmp_path / "index.html").write_bytes(b"old")
    script = textwrap.dedent(FULL)
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    message, rest = done.stdout.splitlines()
    assert message.startswith("index.html could not be written: File too large.")
    assert rest == "old 0"
