"""Fixtures shared by all tests: aged copies of the recorded dumps, built sites, a watched browser page."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
AN_HOUR_S = 3600.0


def age(directory: Path, seconds: float = AN_HOUR_S) -> Path:
    """Sets every mtime back, so that nothing counts as still being written."""
    then = time.time() - seconds
    for path in directory.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (then, then))
    return directory


def snapshot(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="session")
def dumps(tmp_path_factory):
    """An aged copy of tests/data/dumps; at the end nothing in it may have changed."""
    copy = tmp_path_factory.mktemp("dumps") / "dumps"
    shutil.copytree(DATA / "dumps", copy)
    age(copy)
    before = snapshot(copy)
    yield copy
    assert snapshot(copy) == before, "a test or the product wrote into a dump"


@pytest.fixture
def dump_copy(dumps, tmp_path):
    """Copies one recorded dump for a test that changes it: `dump_copy("agentic")`."""

    def copy(name: str) -> Path:
        target = tmp_path / name
        shutil.copytree(dumps / name, target)
        return age(target)

    return copy


@pytest.fixture(scope="session")
def built(dumps, tmp_path_factory):
    """Sites of recorded dumps without own sample pages, each built once a session: `built("agentic")` is its folder."""
    from miles_report.build import BuildOptions, build

    sites = {}

    def site(name: str) -> Path:
        if name not in sites:
            sites[name] = tmp_path_factory.mktemp("built") / name
            build(dumps / name, sites[name], BuildOptions(pages="none", jobs=1))
        return sites[name]

    return site
