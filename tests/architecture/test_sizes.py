"""Modules stay readable: none over 400 lines, and nothing left behind."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
MOST_BYTES = 5_000_000


def tracked() -> list[Path]:
    out = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).exists()]


def test_no_module_is_longer_than_400_lines():
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in tracked()
        if path.suffix in {".py", ".js"}
    }
    assert lines
    assert not {name: n for name, n in lines.items() if n > MOST_LINES}


def test_nothing_is_left_behind():
    mark = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in {".py", ".js", ".j2", ".html", ".css"}
        and "data" not in path.parts
        and mark.search(path.read_text())
    ]
    assert not found


def test_no_file_is_large():
    assert not [path.name for path in tracked() if path.stat().st_size > MOST_BYTES]
