"""Trims a recording to what is committed: `python -m site_example.trim RECORDING DUMP`.

Every metric, phase, engine series and health event stays. Samples, and their lifecycles, stay for some steps only: the first,
those whose rollouts met a broken engine, and the last.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from site_example.faults import FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable

DATED_S = 1_700_000_000
"""Modification time in the archive: long ago, so that nothing counts as still being written."""


def trim(source: Path, target: Path, *, steps: Iterable[int], evaluations: Iterable[int]) -> None:
    """Copies a dump with the samples of some steps only.

    Args:
        source: a recording of this example.
        target: is made anew.
        steps: rollout ids to keep.
        evaluations: rollout ids of evaluations to keep.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source / "tokenizer", target / "tokenizer")
    shutil.copytree(source / "dashboard", target / "dashboard")
    kept: set[int] = set()
    for step in steps:
        kept.update(
            pl.read_parquet(source / "dashboard_columns" / f"rollout_{step}.parquet")[
                "sample_index"
            ]
        )
        _copy(source, target, str(step))
        for path in sorted((source / "train_data").glob(f"{step}_*.pt")):
            _copy_file(source, target, path)
    for step in evaluations:
        _copy(source, target, f"eval_{step}")
    for path in sorted((target / "dashboard" / "trajectories").glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text(
            "".join(line for line in lines if json.loads(line)["sample_index"] in kept),
            encoding="utf-8",
        )


def pack(dump: Path, archive: Path) -> None:
    """Packs a dump for `miles-report demo`, each time into the same bytes."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for path in sorted(dump.rglob("*")):
            if path.is_file():
                member = tarfile.TarInfo(path.relative_to(dump).as_posix())
                member.size, member.mtime, member.mode = path.stat().st_size, DATED_S, 0o644
                with path.open("rb") as content:
                    packed.addfile(member, content)


def kept_steps(dump: Path) -> tuple[list[int], list[int]]:
    """Steps and evaluations of a recording that are worth keeping."""
    steps = sorted(int(path.stem) for path in (dump / "rollout_data").glob("[0-9]*.pt"))
    evaluations = sorted(
        int(path.stem.removeprefix("eval_")) for path in (dump / "rollout_data").glob("eval_*.pt")
    )
    broken = {min(round(share * len(steps)) + 1, steps[-1]) for share in FAULTS}
    chosen = {steps[0], steps[-1], *broken}
    return sorted(chosen), [evaluations[0], evaluations[-1]]


def _copy(source: Path, target: Path, stem: str) -> None:
    for name in (
        f"rollout_data/{stem}.pt",
        f"trajectory/{stem}.jsonl",
        f"dashboard_columns/rollout_{stem}.parquet",
    ):
        _copy_file(source, target, source / name)


def _copy_file(source: Path, target: Path, path: Path) -> None:
    place = target / path.relative_to(source)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, place)


def main() -> None:
    """Trims and, if asked, packs."""
    parser = argparse.ArgumentParser(description="Trims a recording of the example.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--archive", type=Path, help="also pack the dump here")
    options = parser.parse_args()
    steps, evaluations = kept_steps(options.recording)
    trim(options.recording, options.dump, steps=steps, evaluations=evaluations)
    if options.archive is not None:
        pack(options.dump, options.archive)


if __name__ == "__main__":
    main()
