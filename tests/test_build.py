"""Builds: what is made anew and what is kept, what stands in the way, and that the old site is never harmed."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest
from builders.dumps import rollout_dump, sample
from builders.sites import published, small_run

from miles_report.build import BuildOptions, build
from miles_report.errors import BuildError, NotFoundError, UsageError
from miles_report.run import open_run
from miles_report.site.generation import GenerationStore
from miles_report.site.lock import build_lock
from miles_report.site.verify import verify_site
from miles_report.slices.slice import content_hash

ONE_JOB = BuildOptions(jobs=1)


@pytest.fixture
def dump(tmp_path):
    return small_run(tmp_path / "dump", steps=3)


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A run of three steps and its site, for copies."""
    folder = tmp_path_factory.mktemp("first")
    build(small_run(folder / "dump", steps=3), folder / "site", ONE_JOB)
    return folder


@pytest.fixture
def built(first, tmp_path):
    """Copies of a run of three steps and of its site: (dump, site)."""
    for name in ("dump", "site"):
        shutil.copytree(first / name, tmp_path / name)
    return tmp_path / "dump", tmp_path / "site"


def current(site):
    """Content of every file of the published generation by path."""
    return {path: (site / path).read_bytes() for path in GenerationStore(site).open().files}


def fresh(dump, tmp_path, options=ONE_JOB):
    """What a build into an empty directory publishes."""
    build(dump, tmp_path / "fresh", options)
    return published(tmp_path / "fresh")


def touched(site):
    return {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}


def test_a_first_build_makes_a_whole_site(dump, site):
    result = build(dump, site, ONE_JOB)
    assert (result.changed, result.steps_built, result.steps_kept) == (True, 3, 0)
    assert result.files == len(published(site))
    assert result.bytes == sum(map(len, published(site).values()))
    assert verify_site(site).problems == ()
    for page in (
        "index",
        "metrics",
        "notices",
        "glossary",
        "sample",
        "rollouts/index",
        "rollouts/step-0",
    ):
        assert (site / f"{page}.html").is_file(), page


def test_nothing_is_written_when_nothing_changed(dump, site):
    first = build(dump, site, ONE_JOB)
    before = touched(site)
    second = build(dump, site, ONE_JOB)
    after = touched(site)
    lock = site / ".miles-report" / "lock"
    assert {**before, lock: 0} == {**after, lock: 0}
    assert (second.changed, second.steps_built, second.steps_kept) == (False, 0, 3)
    assert (second.pages, second.files, second.bytes, second.notices) == (
        first.pages,
        first.files,
        first.bytes,
        first.notices,
    )


def test_a_new_step_leaves_the_others_alone_and_the_site_is_as_if_built_at_once(built, tmp_path):
    dump, site = built
    small_run(dump, steps=1, first=3)
    result = build(dump, site, ONE_JOB)
    assert (result.steps_built, result.steps_kept) == (1, 3)
    assert current(site) == fresh(dump, tmp_path)
    assert verify_site(site).problems == ()


def test_only_pages_that_changed_are_replaced(built):
    dump, site = built
    before = touched(site)
    small_run(dump, steps=1, first=3)
    build(dump, site, ONE_JOB)
    after = touched(site)
    replaced = {
        path.relative_to(site).as_posix()
        for path in before
        if path.suffix == ".html" and after[path] != before[path]
    }
    assert "rollouts/step-2.html" in replaced  # it has a neighbour now
    assert not {"rollouts/step-0.html", "rollouts/step-1.html", "samples/0/0.html"} & replaced


def test_a_rewritten_step_is_made_again(built, tmp_path):
    dump, site = built
    samples = [sample(0, reward=0.25), sample(1, reward=0.75)]
    rollout_dump(dump, samples, step=1, age_s=1800)
    result = build(dump, site, ONE_JOB)
    assert (result.steps_built, result.steps_kept) == (1, 2)
    assert current(site) == fresh(dump, tmp_path)


def test_files_of_the_generation_before_stay_for_one_rebuild(built):
    dump, site = built
    first = set(published(site))
    small_run(dump, steps=1, first=3)
    build(dump, site, ONE_JOB)
    assert first <= set(published(site))
    gone = first - set(current(site))
    assert any(path.startswith("data/catalog-") for path in gone)
    small_run(dump, steps=1, first=4)
    build(dump, site, ONE_JOB)
    assert not gone & set(published(site))


def test_a_step_that_is_gone_goes_with_its_pages(built, tmp_path):
    dump, site = built
    (dump / "rollout_data" / "1.pt").unlink()
    shutil.rmtree(dump / "train_data")
    build(dump, site, ONE_JOB)
    assert current(site) == fresh(dump, tmp_path)
    assert verify_site(site).problems == ()
    (dump / "rollout_data" / "2.pt").unlink()
    build(dump, site, ONE_JOB)
    assert not (site / "rollouts" / "step-1.html").exists()
    assert not (site / "data" / "step-1").exists()


def test_what_is_missing_from_the_site_is_made_again(built):
    dump, site = built
    whole = published(site)
    for path in (
        next((site / "data" / "step-1").glob("tokens-*")),
        site / "rollouts" / "step-0.html",
        site / "robots.txt",
    ):
        path.unlink()
    result = build(dump, site, ONE_JOB)
    assert (result.steps_built, result.steps_kept) == (1, 2)
    assert published(site) == whole


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b'{"format": 1, "files": 3}'])
def test_a_damaged_state_means_building_again(built, damage):
    dump, site = built
    whole = published(site)
    for path in (site / ".miles-report").rglob("*.json"):
        path.write_bytes(damage)
    assert build(dump, site, ONE_JOB).steps_built == 3
    assert published(site) == whole


def test_files_that_are_not_ours_are_never_removed(built):
    dump, site = built
    own = {
        "CNAME": b"report.example",
        "data/notes-0123456789abcdef.parquet": b"named like ours, made by someone else",
        "assets/logo.png": b"png",
    }
    for path, content in own.items():
        (site / path).write_bytes(content)
    for step in (3, 4):
        small_run(dump, steps=1, first=step)
        build(dump, site, ONE_JOB)
    assert {path: (site / path).read_bytes() for path in own} == own


def test_what_a_killed_build_left_behind_is_removed(built):
    dump, site = built
    content = b"tokens as another build had them"
    orphan = site / "data" / "step-1" / f"tokens-0-{content_hash(content)}.parquet"
    orphan.write_bytes(content)
    small_run(dump, steps=1, first=3)
    build(dump, site, ONE_JOB)
    assert not orphan.exists()


def test_options_that_matter_rebuild_pages_and_no_step(built):
    dump, site = built
    result = build(dump, site, BuildOptions(jobs=1, title="A <title> & more"))
    assert (result.changed, result.steps_built) == (True, 0)
    assert "A &lt;title&gt; &amp; more" in (site / "index.html").read_text()
    assert not build(dump, site, BuildOptions(jobs=2, title="A <title> & more")).changed


def test_chosen_steps_only(dump, site, tmp_path):
    build(dump, site, BuildOptions(jobs=1, steps=(0, 2, 9)))
    assert (site / "rollouts" / "step-2.html").is_file()
    assert not (site / "rollouts" / "step-1.html").exists()
    with pytest.raises(NotFoundError, match="none of the chosen steps"):
        build(dump, tmp_path / "other", BuildOptions(steps=(9,)))
    assert not (tmp_path / "other").exists()


def own_pages(site):
    return sorted(path.relative_to(site).as_posix() for path in (site / "samples").rglob("*.html"))


def test_own_pages_by_choice(dump, site):
    build(dump, site, BuildOptions(jobs=1, pages="all"))
    assert own_pages(site) == [
        f"samples/{step}/{row}.html" for step in range(3) for row in range(2)
    ]
    result = build(dump, site, BuildOptions(jobs=1, pages="all", max_pages=3))
    assert result.samples_left_out == 3
    assert sorted(path for path in current(site) if path.startswith("samples/")) == [
        "samples/1/0.html",
        "samples/2/0.html",
        "samples/2/1.html",
    ]
    build(dump, site, BuildOptions(jobs=1, pages="none"))
    build(dump, site, BuildOptions(jobs=1, pages="none", title="again"))
    assert own_pages(site) == []


def test_several_jobs_make_the_same_site(dump, site, tmp_path):
    build(dump, site, BuildOptions(jobs=3, pages="all"))
    assert published(site) == fresh(dump, tmp_path, BuildOptions(jobs=1, pages="all"))


def test_a_broken_step_is_told_and_the_rest_is_built(dump, site):
    (dump / "rollout_data" / "1.pt").write_bytes(b"PK torn")
    os.utime(dump / "rollout_data" / "1.pt", (1e9, 1e9))
    result = build(dump, site, ONE_JOB)
    assert result.notices["error"] == 1
    assert "cannot be read" in (site / "rollouts" / "step-1.html").read_text()
    assert verify_site(site).problems == ()
    assert not build(dump, site, ONE_JOB).changed


def test_a_step_still_being_written_is_looked_at_again(dump, site, tmp_path):
    now = 1_700_000_000.0
    path = dump / "rollout_data" / "1.pt"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    os.utime(path, (now - 30, now - 30))
    build(dump, site, ONE_JOB, clock=lambda: now)
    assert "still being written" in (site / "rollouts" / "step-1.html").read_text()
    later = build(dump, site, ONE_JOB, clock=lambda: now + 600)
    assert later.notices["error"] == 1
    path.write_bytes(whole)
    os.utime(path, (now + 700, now + 700))
    build(dump, site, ONE_JOB, clock=lambda: now + 1200)
    assert current(site) == fresh(dump, tmp_path)


@pytest.mark.parametrize("folder", ["rollout_data", "train_data", "dashboard"])
def test_an_empty_run_builds(tmp_path, site, folder):
    (tmp_path / "empty" / folder).mkdir(parents=True)
    result = build(tmp_path / "empty", site, ONE_JOB)
    assert result.steps_built == 0
    assert verify_site(site).problems == ()


class TestPlaces:
    def test_no_dump_no_site(self, tmp_path, site):
        with pytest.raises(UsageError, match="no directory"):
            build(tmp_path / "missing", site)
        (tmp_path / "other").mkdir()
        with pytest.raises(UsageError, match="not a Miles dump"):
            build(tmp_path / "other", site)
        assert not site.exists()

    @pytest.mark.parametrize(
        "place", ["dump", "dump/site", "dump/rollout_data/x", ".", "link/site"]
    )
    def test_the_dump_and_the_site_stay_apart(self, dump, tmp_path, place):
        (tmp_path / "link").symlink_to(dump)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UsageError, match=r"dump lies in|lies in the dump"):
            build(dump, tmp_path / place)
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_directory_of_someone_else_stays_untouched(self, dump, site):
        site.mkdir()
        (site / "thesis.tex").write_text("years of work")
        with pytest.raises(UsageError, match="was not made by miles-report"):
            build(dump, site)
        assert [path.name for path in site.iterdir()] == ["thesis.tex"]

    def test_an_empty_directory_is_taken_and_a_file_is_not(self, dump, site, tmp_path):
        site.mkdir()
        build(dump, site, ONE_JOB)
        (tmp_path / "file").write_text("text")
        with pytest.raises(UsageError, match="is a file"):
            build(dump, tmp_path / "file")
        assert (tmp_path / "file").read_text() == "text"

    def test_two_builds_at_once_are_refused(self, dump, site):
        build(dump, site, ONE_JOB)
        with build_lock(site), pytest.raises(BuildError, match="Another build"):
            build(dump, site)


def test_a_step_that_was_read_keeps_no_file_mapped(dump):
    gc.disable()  # what only a collection would free counts as kept
    try:
        step = open_run(dump).open_step(0)
        mapped = [
            line for line in Path("/proc/self/maps").read_text().splitlines() if str(dump) in line
        ]
    finally:
        gc.enable()
    assert step.samples.height == 2
    assert mapped == []
