"""One build at a time; a killed one leaves no lock behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from miles_report.errors import BuildError
from miles_report.site.lock import build_lock

HOLD = """
import sys
from pathlib import Path
from miles_report.site.lock import build_lock
with build_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_build_is_refused_until_the_first_is_done(tmp_path):
    with (
        build_lock(tmp_path),
        pytest.raises(BuildError, match="Another build"),
        build_lock(tmp_path),
    ):
        pass
    with build_lock(tmp_path):
        pass


def test_a_killed_holder_frees_the_site(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BuildError, match="Another build"), build_lock(tmp_path):
            pass
        holder.kill()
        holder.wait()
        with build_lock(tmp_path):
            pass


def test_a_place_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(BuildError, match="cannot be written to"),
        build_lock(tmp_path / "file" / "site"),
    ):
        pass
