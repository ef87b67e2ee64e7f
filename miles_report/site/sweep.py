"""Removes what no page of this and of the last generation needs; nothing that is not ours is ever touched.

Ours is what a generation listed, and a file in a data folder whose name holds the hash of its content: what a killed build
left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from miles_report.slices.slice import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

HASHED_FOLDERS = ("data", "charts", "assets")
HASHED_NAME = re.compile(r".*-([0-9a-f]{16})(?:\.[a-z]+)+")


def sweep(root: Path, *, listed: Iterable[str], kept: set[str]) -> None:
    """Removes old files of the site and the folders they leave empty.

    Args:
        root: the site.
        listed: paths of older generations.
        kept: paths that stay.
    """
    for path in dict.fromkeys([*_inside(listed), *_left_behind(root, kept)]):
        if path not in kept:
            with contextlib.suppress(OSError):
                (root / path).unlink()
                _drop_empty(root, root / path)


def _inside(paths: Iterable[str]) -> Iterator[str]:
    """Without paths that would lead out of the site, should the state have been tampered with."""
    for path in paths:
        if ".." not in path.split("/") and not path.startswith("/"):
            yield path


def _left_behind(root: Path, kept: set[str]) -> Iterator[str]:
    """Files in our folders that no generation lists and that their own content proves to be ours."""
    for name in HASHED_FOLDERS:
        for folder, _, files in os.walk(root / name):
            for file in files:
                match = HASHED_NAME.fullmatch(file)
                path = f"{os.path.relpath(folder, root)}/{file}"
                if match and path not in kept and _has_hash(root / path, match[1]):
                    yield path


def _has_hash(path: Path, digest: str) -> bool:
    try:
        return content_hash(path.read_bytes()) == digest
    except OSError:
        return False


def _drop_empty(root: Path, path: Path) -> None:
    for folder in path.parents:
        if folder == root:
            return
        folder.rmdir()
