"""Figures of the build against their budgets: `python tests/benchmarks/bench_build.py [--steps 4]`.

Every figure is taken in a process of its own. Times are ratios within one run; a machine that does other work at the same time
gives worse ones, so each is the best of a few tries.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import MIB, TRIES, Figure, apart, best, show

WORKER_MIB = 450


def load_files(dump: Path, steps: int) -> dict[str, float]:
    """Seconds of torch.load over all files of the steps but the first, which warms up."""
    import torch

    def load(step: int) -> None:
        for path in _files(dump, step):
            torch.load(path, weights_only=False)

    load(0)
    begun, used = time.perf_counter(), time.process_time()
    for step in range(1, steps):
        load(step)
    return {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - used}


def build_site(dump: Path, site: Path, jobs: int) -> dict[str, float]:
    """Builds a site; the seconds in which steps but the first of each worker were made, and the peak memory of one process."""
    from miles_report.build import BuildOptions, build

    stamps: list[tuple[float, float]] = []

    def tell(stage: str, _done: int, _total: int) -> None:
        if stage == "steps":
            stamps.append((time.perf_counter(), time.process_time()))

    result = build(dump, site, BuildOptions(jobs=jobs, pages="none"), progress=tell)
    first, last = stamps[jobs - 1], stamps[-1]
    usage = resource.getrusage(resource.RUSAGE_SELF if jobs == 1 else resource.RUSAGE_CHILDREN)
    return {
        "seconds": last[0] - first[0],
        "cpu": last[1] - first[1],
        "steps": len(stamps) - jobs,
        "peak_mib": usage.ru_maxrss / 1024,
        "total": result.seconds,
    }


def rebuild(dump: Path, site: Path) -> dict[str, float]:
    """Seconds of the whole command when nothing changed."""
    command = [
        sys.executable,
        "-c",
        "from miles_report.cli import main; main()",
        "build",
        str(dump),
        "-o",
        str(site),
        "--pages",
        "none",
    ]
    subprocess.run(command, check=True, capture_output=True)
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return {"seconds": time.perf_counter() - begun}


def _files(dump: Path, step: int) -> list[Path]:
    return [
        dump / "rollout_data" / f"{step}.pt",
        *sorted((dump / "train_data").glob(f"{step}_*.pt")),
    ]


def measure(root: Path, steps: int) -> list[Figure]:
    """All figures."""
    from builders.sites import large_step, small_run

    dump = root / "large"
    for step in range(steps):
        large_step(dump, step)
    load = best(__file__, "load", dump, steps)
    per_load = load["seconds"] / (steps - 1)
    one, two = (
        min(
            (
                apart(__file__, "build", dump, root / f"site-{jobs}-{number}", jobs)
                for number in range(TRIES)
            ),
            key=lambda found: found["seconds"],
        )
        for jobs in (1, 2)
    )
    per_step = one["seconds"] / one["steps"]
    largest = max(sum(path.stat().st_size for path in _files(dump, step)) for step in range(steps))
    dumped = sum(path.stat().st_size for step in range(steps) for path in _files(dump, step))
    sliced = sum(path.stat().st_size for path in (root / "site-1-0" / "data").rglob("*.parquet"))
    figures = [
        ("torch.load of a step", per_load, "s", float("nan"), False),
        ("a step, one process", per_step, "s", float("nan"), False),
        ("a step over torch.load", per_step / per_load, "x", 1.5, False),
        (
            "the same in processor time",
            one["cpu"] / one["steps"] / (load["cpu"] / (steps - 1)),
            "x",
            1.5,
            False,
        ),
        ("two processes over one", per_step / (two["seconds"] / two["steps"]), "x", 1.7, True),
        ("peak memory, one process", one["peak_mib"], "MiB", 2 * largest / MIB + WORKER_MIB, False),
        ("peak memory of a worker", two["peak_mib"], "MiB", 2 * largest / MIB + WORKER_MIB, False),
        ("slices over rollout and train files", 100 * sliced / dumped, "%", 28, False),
    ]
    for many in (50, 200):
        small_run(root / f"small-{many}", steps=many)
        found = best(__file__, "rebuild", root / f"small-{many}", root / f"site-{many}")
        figures.append((f"nothing changed, {many} steps", found["seconds"], "s", 2.0, False))
    return figures


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        name, *rest = given.task
        tasks = {
            "load": lambda: load_files(Path(rest[0]), int(rest[1])),
            "build": lambda: build_site(Path(rest[0]), Path(rest[1]), int(rest[2])),
            "rebuild": lambda: rebuild(Path(rest[0]), Path(rest[1])),
        }
        print(json.dumps(tasks[name]()))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), given.steps)
    show(figures)


if __name__ == "__main__":
    main()
