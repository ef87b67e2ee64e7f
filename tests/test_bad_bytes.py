"""Recorded dumps with bytes flipped, cut, added and removed anywhere: every table is made or refused in words."""

from __future__ import annotations

import os
import random
import shutil

import pytest

import miles_report
from miles_report.errors import MilesReportError

NAMES = ("agentic", "cp2", "objects", "removed", "torn")
RUN_WIDE = ("run", "metrics", "steps", "bubbles", "data_buffer", "mfu", "notable", "notices")
PER_STEP = ("samples", "groups", "conversations", "texts")
LONG_AGO = (1e9, 1e9)


def damage(content, chance):
    """The content with one kind of damage."""
    place = chance.randrange(len(content))
    kind = chance.choice(("cut", "insert", "delete", "flip", "flip", "flip head"))
    if kind == "cut":
        return content[:place]
    if kind == "insert":
        return content[:place] + chance.randbytes(chance.randrange(1, 50)) + content[place:]
    if kind == "delete":
        return content[:place] + content[place + chance.randrange(1, 200) :]
    damaged = bytearray(content)
    reach = len(content) if kind == "flip" else min(4000, len(content))
    for _ in range(chance.choice((1, 3, 30))):
        damaged[chance.randrange(reach)] = chance.randrange(256)
    return bytes(damaged)


def read_all(root):
    """Makes every table of a dump; what is refused is refused with an error of ours."""
    run = miles_report.open_run(root)
    for name in RUN_WIDE:
        run.table(name).to_arrow()
    for evaluation, steps in ((False, run.steps), (True, run.eval_steps)):
        for step in steps:
            try:
                tables = run.open_step(step, evaluation=evaluation)
            except MilesReportError:
                continue
            for name in PER_STEP:
                getattr(tables, name).to_arrow()
            tables.tokens().to_arrow()


def damage_and_read(source, root, rounds):
    for seed in range(rounds):
        chance = random.Random(seed)
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(source, root)
        files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
        for path in chance.sample(files, min(len(files), 6)):
            path.write_bytes(damage(path.read_bytes(), chance))
        for path in files:
            os.utime(path, LONG_AGO)
        read_all(root)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_dumps_are_read_or_refused(dumps, tmp_path, name):
    damage_and_read(dumps / name, tmp_path / "dump", 4)


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_dumps_are_read_or_refused(dumps, tmp_path, name):
    damage_and_read(dumps / name, tmp_path / "dump", 200)
