"""Builds as whole processes: reproducible, cheap when nothing changed, killed at any moment, on a full disk."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from builders.sites import published, small_run

from miles_report.site.generation import GenerationStore
from miles_report.site.verify import verify_site

ROOT = Path(__file__).parents[1]
MAIN = "from miles_report.cli import main; main()"


def command(*arguments):
    return [sys.executable, "-c", MAIN, *map(str, arguments)]


def run(*arguments, **environment):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, env=env, check=False, timeout=300
    )


def python(script, *arguments):
    """Runs a script; what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shift_times(directory, seconds):
    for path in directory.rglob("*"):
        os.utime(path, (path.stat().st_atime - seconds, path.stat().st_mtime - seconds))


@pytest.mark.parametrize("name", ["agentic", "rollout_only"])
def test_builds_are_identical_whatever_surrounds_them(dumps, tmp_path, name):
    there = tmp_path / "elsewhere" / "by another name"
    shutil.copytree(dumps / name, there)
    shift_times(there, 86_400)
    one = run(
        "build",
        dumps / name,
        "-o",
        tmp_path / "one",
        "--jobs",
        1,
        TZ="UTC",
        LC_ALL="C",
        PYTHONHASHSEED="1",
    )
    two = run(
        "build",
        there,
        "-o",
        tmp_path / "two",
        "--jobs",
        2,
        TZ="Asia/Kolkata",
        LC_ALL="C.UTF-8",
        PYTHONHASHSEED="7",
    )
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    first, second = published(tmp_path / "one"), published(tmp_path / "two")
    assert sorted(first) == sorted(second)
    assert [path for path in first if first[path] != second[path]] == []


COUNTED = """
    import json, sys, time
    from pathlib import Path
    opened = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    begun = time.perf_counter()
    from miles_report.build import BuildOptions, build
    result = build(Path(sys.argv[1]), Path(sys.argv[2]), BuildOptions(jobs=1, pages="none"))
    print(json.dumps({
        "steps": sorted({Path(path).stem for path in opened if path.endswith(".pt")}),
        "seconds": time.perf_counter() - begun,
        "changed": result.changed,
        "charts": "altair" in sys.modules or "vl_convert" in sys.modules,
    }))
"""


def counted(dump, site):
    return json.loads(python(COUNTED, dump, site))


def test_a_build_without_changes_opens_no_dump_file_and_no_chart_library(tmp_path):
    dump, site = small_run(tmp_path / "dump", steps=50), tmp_path / "site"
    first = counted(dump, site)
    assert len(first["steps"]) == 100  # rollout and train file of each step
    again = min((counted(dump, site) for _ in range(3)), key=lambda found: found["seconds"])
    assert again["steps"] == []
    assert not again["changed"]
    assert not again["charts"]
    assert again["seconds"] < 2.0
    small_run(dump, steps=1, first=50)
    assert counted(dump, site)["steps"] == ["50", "50_0"]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from miles_report.build import BuildOptions, build

    touched = 0
    last = int(sys.argv[3])

    def count(event, args):
        global touched
        if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.utime"}:
            touched += 1
            if touched == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    build(Path(sys.argv[1]), Path(sys.argv[2]), BuildOptions(jobs=1, pages="all"))
    print(touched)
"""


def touch_files(dump, site, last=0):
    """Builds, killed at the file operation numbered `last`; the exit code and what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(dump), str(site), str(last)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, done.stdout


def kill_rebuilds(tmp_path, rounds):
    """Kills rebuilds of a growing run; after each the site is whole, and at the end as if built at once."""
    chance = random.Random(rounds)
    dump, site = small_run(tmp_path / "dump", steps=1), tmp_path / "site"
    touch_files(dump, site)
    small_run(dump, steps=1, first=1)
    operations = int(touch_files(dump, site)[1])
    for number in range(rounds):
        small_run(dump, steps=1, first=2 + number)
        moment = chance.randint(1, operations)
        assert touch_files(dump, site, moment)[0] == -signal.SIGKILL, f"kill {number} at {moment}"
        assert verify_site(site).problems == (), f"after kill {number} at {moment}"
    done = run("build", dump, "-o", site, "--jobs", "2", "--pages", "all")
    assert done.returncode == 0, done.stderr
    assert verify_site(site).problems == ()
    assert run("build", dump, "-o", tmp_path / "fresh", "--pages", "all").returncode == 0
    built = {path: (site / path).read_bytes() for path in GenerationStore(site).open().files}
    assert built == published(tmp_path / "fresh")
    assert list((site / ".miles-report" / "unfinished").glob("*")) == []


def test_a_rebuild_killed_at_any_moment_leaves_a_whole_site(tmp_path):
    kill_rebuilds(tmp_path, 5)


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_a_rebuild_killed_fifty_times_leaves_a_whole_site(tmp_path):
    kill_rebuilds(tmp_path, 50)


FULL = """
    import resource, signal, sys
    from pathlib import Path
    from miles_report.build import BuildOptions, build
    from miles_report.errors import BuildError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    try:
        build(Path(sys.argv[1]), Path(sys.argv[2]), BuildOptions(jobs=1, title="other"))
    except BuildError as error:
        print(error)
"""


@pytest.mark.parametrize("limit", [100, 2_000, 20_000])
def test_a_full_disk_leaves_the_old_site(tmp_path, limit):
    dump, site = small_run(tmp_path / "dump", steps=2), tmp_path / "site"
    assert run("build", dump, "-o", site).returncode == 0
    before = published(site)
    small_run(dump, steps=1, first=2)
    assert "could not be written: File too large. The site is as it was before." in python(
        FULL, dump, site, limit
    )
    after = published(site)
    assert {path: after[path] for path in before} == before
    assert verify_site(site).problems == ()
    assert run("build", dump, "-o", site).returncode == 0
    assert (site / "rollouts" / "step-2.html").is_file()


def test_every_so_often_until_interrupted(tmp_path):
    dump, site = small_run(tmp_path / "dump", steps=1), tmp_path / "site"
    with subprocess.Popen(
        command("build", dump, "-o", site, "--every", "1", "--pages", "none"),
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline().startswith("Wrote ")
        assert process.stdout.readline().startswith("Nothing changed in ")
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(timeout=30) == 0
