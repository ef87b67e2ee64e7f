"""The committed recording, its archive and its pages."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import polars as pl
import pytest
from conftest import age

import miles_report
from miles_report.build import BuildOptions, build
from miles_report.demo import ARCHIVE
from miles_report.site.verify import verify_site
from site_example.publish import publish

EXAMPLE = Path(__file__).parents[2] / "site_example"
DUMP, SITE = EXAMPLE / "dump", EXAMPLE / "site"
HASH = re.compile(r"-[0-9a-f]{8,64}(?=\.)")
MOST_BYTES = 8_000_000


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    copy = tmp_path_factory.mktemp("recording") / "dump"
    shutil.copytree(DUMP, copy)
    return miles_report.open_run(age(copy))


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_sizes():
    assert size(DUMP) <= 4_000_000
    assert size(EXAMPLE) <= MOST_BYTES


def test_the_archive_holds_the_dump():
    archive = Path(miles_report.__file__).parent / ARCHIVE
    with tarfile.open(archive) as packed:
        names = {member.name: packed.extractfile(member).read() for member in packed}
    assert names == {
        path.relative_to(DUMP).as_posix(): path.read_bytes()
        for path in DUMP.rglob("*")
        if path.is_file()
    }


def test_nothing_is_wrong_with_the_recording(recording):
    assert {notice.severity for notice in recording.notices} == {"info"}
    assert "no-gpu-samples" in {notice.code for notice in recording.notices}


def test_the_reward_has_risen(recording):
    rewards = (
        recording.table("metrics")
        .filter(pl.col("key") == "rollout/raw_reward")
        .sort("step")["value"]
    )
    first, last = rewards.head(10), rewards.tail(10)
    rise = last.mean() - first.mean()
    assert rise >= 0.2
    assert rise > 3 * max(first.std(), last.std())


def test_samples_are_stale_mixed_and_scored_in_two_precisions(recording):
    samples = pl.concat([recording.table("samples", step=step) for step in recording.steps])
    assert samples["mixed_version"].any()
    assert samples["staleness"].max() == 1
    assert samples["max_abs_lp_diff"].max() > 0
    assert samples["alignment_failed"].any() is False
    assert samples["reward_value"].is_between(0, 1).all()
    assert samples["turns"].max() > 2


def test_two_engines_died_and_came_back():
    health = pl.read_ndjson(DUMP / "dashboard" / "health.jsonl")
    events = health.filter(pl.col("event").is_in(["engine_killed", "engine_recovered"]))
    assert events.select("engine_rank", "event").rows() == [
        (1, "engine_killed"),
        (1, "engine_recovered"),
        (0, "engine_killed"),
        (0, "engine_recovered"),
    ]


def test_the_committed_pages_are_those_of_this_version(tmp_path):
    fresh = tmp_path / "site"
    publish(DUMP, fresh, jobs=1)
    assert verify_site(SITE).problems == ()
    ours, theirs = pages(fresh), pages(SITE)
    assert ours.keys() == theirs.keys()
    stale = [name for name, content in ours.items() if content != theirs[name]]
    assert stale == [], "run: make example-site"


def pages(site):
    """What is compared: text with the hashes in file names taken out, and slices decoded."""
    found = {}
    for path in sorted(site.rglob("*")):
        name = HASH.sub("", path.relative_to(site).as_posix())
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            found[name] = (frame.schema, frame.rows())
        elif path.suffix in (".html", ".svg") or path.parts[-2] == "charts":
            found[name] = HASH.sub("", path.read_text(encoding="utf-8"))
    return found


@pytest.mark.stress
@pytest.mark.timeout(900)
def test_a_few_steps_are_recorded_from_nothing(tmp_path):
    pytest.importorskip("ray")
    import subprocess
    import sys

    dump, site = tmp_path / "dump", tmp_path / "site"
    options = ["--num-rollout", "8", "--warmup-steps", "60", "--eval-interval", "4"]
    command = [sys.executable, "-m", "site_example.record", "-o", str(dump), *options]
    subprocess.run(command, check=True, timeout=280, cwd=EXAMPLE.parent)
    build(age(dump), site, BuildOptions(pages="none"))
    assert verify_site(site).problems == ()
    health = pl.read_ndjson(dump / "dashboard" / "health.jsonl")
    assert (health["event"] == "engine_recovered").sum() == 2
