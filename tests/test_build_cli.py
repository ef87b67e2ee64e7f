"""The commands: closing lines, exit codes, one sentence for each mistake."""

from __future__ import annotations

import pytest
from builders.dumps import aged, rollout_dump, sample
from builders.sites import published, small_run
from click.testing import CliRunner

from miles_report.cli import main
from miles_report.site.lock import build_lock


def invoke(*arguments):
    return CliRunner().invoke(
        main, [str(argument) for argument in arguments], catch_exceptions=False
    )


@pytest.fixture
def dump(tmp_path):
    return small_run(tmp_path / "dump", steps=2)


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


def test_a_build_ends_with_one_line(dump, site):
    done = invoke("build", dump, "-o", site, "--jobs", 1)
    assert done.exit_code == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"Wrote {site}: ")
    assert "2 steps read" in line
    again = invoke("build", dump, "-o", site)
    assert again.stdout.startswith(f"Nothing changed in {site}: ")
    assert "2 kept" in again.stdout


def test_strict_builds_and_exits_with_1(dump, site):
    (dump / "rollout_data" / "stray.txt").write_text("")
    done = invoke("build", dump, "-o", site, "--strict", "--pages", "none")
    assert done.exit_code == 1
    assert "warning" in done.stdout
    assert (site / "index.html").is_file()
    assert invoke("build", dump, "-o", site, "--strict", "--pages", "none").exit_code == 1
    assert invoke("build", dump, "-o", site, "--pages", "none").exit_code == 0


def test_left_out_pages_are_told(dump, site):
    done = invoke("build", dump, "-o", site, "--pages", "all", "--max-pages", 1, "--steps", "0-7")
    assert "3 own pages left out by --max-pages" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "x"], "is no step"),
        (["--steps", "5-3"], "ends before it begins"),
        (["--steps", "70"], "none of the chosen steps"),
        (["--pages", "some"], "Invalid value"),
        (["--max-pages", "-1"], "Invalid value"),
        (["--jobs", "0"], "Invalid value"),
        (["--every", "0"], "Invalid value"),
    ],
)
def test_bad_use_is_one_sentence_and_exit_2(dump, site, arguments, words):
    done = invoke("build", dump, "-o", site, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not site.exists()


def test_a_second_build_is_one_sentence_and_exit_1(dump, site):
    invoke("build", dump, "-o", site)
    with build_lock(site):
        done = invoke("build", dump, "-o", site)
    assert done.exit_code == 1
    assert (
        done.stderr
        == "miles-report: Another build is writing to this site; try again when it is done.\n"
    )


def test_check_passes_a_whole_site_and_names_what_is_damaged(dump, site):
    invoke("build", dump, "-o", site)
    done = invoke("check", site)
    assert (done.exit_code, "no problem" in done.stdout) == (0, True)
    next((site / "data" / "step-0").glob("samples-*")).write_bytes(b"PAR1 altered PAR1")
    (site / "glossary.html").unlink()
    done = invoke("check", site)
    assert done.exit_code == 1
    assert "damaged: glossary.html is missing" in done.stdout
    assert "samples-0-" in done.stdout


def test_check_of_a_dump_lists_notices(dump):
    (dump / "rollout_data" / "notes").mkdir()
    done = invoke("check", dump)
    assert done.exit_code == 0
    assert "warning: rollout_data/notes: " in done.stdout
    assert f"{dump}: 2 steps, 0 evaluations, " in done.stdout


def test_check_of_a_dump_with_a_broken_file_exits_with_1(dump):
    torn = rollout_dump(dump, [sample(0)], step=2)
    torn.write_bytes(b"torn")
    aged(torn)
    done = invoke("check", dump)
    assert done.exit_code == 1
    assert "error: rollout_data/2.pt" in done.stdout


def test_the_demo_is_a_whole_site_each_time_the_same(site):
    done = invoke("demo", "-o", site)
    assert done.exit_code == 0
    assert invoke("check", site).exit_code == 0
    first = published(site)
    assert any(path.startswith("samples/22/") for path in first)
    assert invoke("demo", "-o", site).stdout.startswith("Nothing changed")
    assert published(site) == first


def test_preview_needs_a_site(tmp_path):
    done = invoke("preview", tmp_path)
    assert done.exit_code == 2
    assert "holds no site" in done.stderr
