"""Figures of the telemetry against their budgets: `python tests/benchmarks/bench_telemetry.py`.

128 GPUs for two hours as recorded, and 2,048 GPUs for one hour made here. Times are ratios to polars.read_ndjson over the same
files in the same run; what the Compute page takes is measured in Chromium from loopback.
"""

from __future__ import annotations

import argparse
import json
import resource
import tarfile
import tempfile
import time
from pathlib import Path

from benchmarks.figures import MIB, NONE, TESTS, Figure, apart, best, show

STREAMS = ("phases", "gpu_util", "gpu_processes", "engine_series")
BUILD_MIB = 900


def stream_files(dump: Path) -> list[Path]:
    """The files of the partitioned streams."""
    return [
        path for name in STREAMS for path in sorted((dump / "dashboard" / name).glob("*.jsonl"))
    ]


def plain(dump: Path) -> dict[str, float]:
    """Seconds of polars alone."""
    import polars as pl

    begun = time.perf_counter()
    for path in stream_files(dump):
        pl.read_ndjson(path)
    return {"seconds": time.perf_counter() - begun}


def frames(dump: Path) -> dict[str, float]:
    """Seconds until every record has been in a frame of ours."""
    from miles_report import open_run, run_wide  # noqa: F401 - imported before the clock starts, as polars is

    begun = time.perf_counter()
    run = open_run(dump)
    for name in STREAMS:
        for _ in run.telemetry.store.frames(name):
            pass
    return {"seconds": time.perf_counter() - begun}


def slices(dump: Path, site: Path) -> dict[str, float]:
    """Seconds until all slices are written, and what they weigh."""
    from miles_report import open_run, run_wide  # noqa: F401 - imported before the clock starts, as polars is
    from miles_report.site.telemetry_output import write_telemetry

    class Folder:
        def write(self, path: str, content: bytes) -> None:
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(content)

    begun = time.perf_counter()
    run = open_run(dump)
    tables = {
        name: run.table(name) for name in ("lanes", "engine_metrics", "phases", "gpu_processes")
    }
    made = write_telemetry(run, tables, Folder())
    seconds = time.perf_counter() - begun
    sizes = [entry.bytes for parts in made.values() for entry in parts]
    return {"seconds": seconds, "bytes": sum(sizes), "largest": max(sizes), "files": len(sizes)}


def whole(dump: Path, site: Path) -> dict[str, float]:
    """Seconds and peak memory of a build."""
    from miles_report.build import BuildOptions, build

    begun = time.perf_counter()
    build(dump, site, BuildOptions())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": time.perf_counter() - begun,
        "peak_mib": peak,
        "page": (site / "compute.html").stat().st_size,
    }


def viewed(site: Path) -> dict[str, float]:
    """What the Compute page takes: to be drawn, and to zoom to two minutes of eight lanes."""
    import shutil

    from playwright.sync_api import sync_playwright

    from miles_report.site.preview import serve

    fetched: list[int] = []
    with serve(site) as url, sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on(
            "response", lambda answer: fetched.append(int(answer.headers.get("content-length", 0)))
        )
        page.goto(url.rstrip("/") + "/glossary.html")  # the browser itself has started
        fetched.clear()
        begun = time.perf_counter()
        page.goto(url.rstrip("/") + "/compute.html")
        page.wait_for_selector("[data-drawn]")
        drawn = time.perf_counter() - begun
        page.wait_for_timeout(300)
        weight = sum(fetched)
        fetched.clear()
        zoom = page.evaluate(ZOOM)
        page.wait_for_timeout(300)
        browser.close()
    return {"seconds": drawn, "bytes": weight, "zoom_ms": zoom, "zoom_bytes": sum(fetched)}


ZOOM = """async () => {
  const board = document.querySelector('[data-drawn]');
  const begun = performance.now();
  const drawn = new Promise(done => new MutationObserver(done).observe(board, { attributes: true, attributeFilter: ['data-drawn'] }));
  history.pushState(null, '', '?t=1800,1920&lanes=g:0-7');
  dispatchEvent(new PopStateEvent('popstate'));
  await drawn;
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""


def measure(name: str, dump: Path, root: Path) -> list[Figure]:
    """All figures of one run."""
    floor = best(__file__, "plain", dump)["seconds"]
    framed = best(__file__, "frames", dump)
    sliced = best(__file__, "slices", dump, root / f"{name}-slices")
    built = apart(__file__, "whole", dump, root / name)
    seen = best(__file__, "viewed", root / name)
    streamed = sum(path.stat().st_size for path in stream_files(dump))
    return [
        (f"{name}: JSON lines", streamed / MIB, "MiB", NONE, False),
        (f"{name}: polars.read_ndjson", floor, "s", NONE, False),
        (f"{name}: frames over that", framed["seconds"] / floor, "x", 1.5, False),
        (f"{name}: slices over that", sliced["seconds"] / floor, "x", 3.5, False),
        (f"{name}: slices over JSON lines", 100 * sliced["bytes"] / streamed, "%", 8, False),
        (f"{name}: largest slice", sliced["largest"] / MIB, "MiB", 1, False),
        (f"{name}: build", built["seconds"], "s", NONE, False),
        (f"{name}: peak memory of the build", built["peak_mib"], "MiB", BUILD_MIB, False),
        (f"{name}: Compute, HTML", built["page"] / 1024, "KiB", NONE, False),
        (f"{name}: Compute drawn", seen["seconds"], "s", 1, False),
        (f"{name}: Compute, fetched", seen["bytes"] / MIB, "MiB", NONE, False),
        (f"{name}: zoom to samples", seen["zoom_ms"], "ms", 500, False),
        (f"{name}: zoom, fetched", seen["zoom_bytes"] / MIB, "MiB", 2, False),
    ]


def main() -> None:
    """Prints the table."""
    from builders.fleet import fleet_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=2048, help="of the made run")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        name, *rest = given.task
        tasks = {"plain": plain, "frames": frames, "slices": slices, "whole": whole, "viewed": viewed}  # fmt: skip
        print(json.dumps(tasks[name](*map(Path, rest))))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with tarfile.open(TESTS / "data" / "many_gpu.tar.xz") as archive:
            archive.extractall(root, filter="data")
        figures = measure("128 GPUs, 2 h", root / "many_gpu", root)
        fleet = fleet_run(root / "fleet", gpus=given.gpus, seconds=3600)
        figures += measure(f"{given.gpus:,} GPUs, 1 h", fleet, root)
    show(figures)


if __name__ == "__main__":
    main()
