"""`check` on a site finds every kind of damage, and says nothing of a whole one."""

from __future__ import annotations

import json
import shutil

import pytest
from builders.sites import small_run

from miles_report.build import BuildOptions, build
from miles_report.site.verify import parse_page, verify_site


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    build(small_run(folder / "dump", steps=2), folder / "site", BuildOptions(jobs=1, pages="all"))
    return folder / "site"


@pytest.fixture
def site(built, tmp_path):
    return shutil.copytree(built, tmp_path / "site")


def one(site, pattern):
    (path,) = site.glob(pattern)
    return path


def problems(site):
    return "\n".join(verify_site(site).problems)


def test_a_whole_site_has_no_problem_also_without_its_state(site):
    assert verify_site(site).problems == ()
    shutil.rmtree(site / ".miles-report")
    report = verify_site(site)
    assert report.problems == ()
    assert report.summary.startswith("site: ")


def test_a_directory_without_an_index_is_no_site(tmp_path):
    assert verify_site(tmp_path).problems == ("index.html is missing.",)


@pytest.mark.parametrize(
    "pattern",
    [
        "glossary.html",
        "rollouts/step-1.html",
        "assets/report-*.js",
        "assets/report-*.css",
        "data/catalog-*.json",
        "data/step-0/catalog-*.json",
        "data/step-1/tokens-0-*.parquet",
        "data/metrics-0-*.parquet",
    ],
)
def test_a_missing_file_is_named(site, pattern):
    path = one(site, pattern)
    path.unlink()
    assert f"{path.relative_to(site).as_posix()} is missing" in problems(site)


def test_a_missing_chart_is_named(site):
    path = next((site / "charts").iterdir())
    path.unlink()
    assert f"charts/{path.name} is missing" in problems(site)


def test_altered_and_shortened_slices_are_named(site):
    altered = one(site, "data/step-0/samples-0-*.parquet")
    content = bytearray(altered.read_bytes())
    content[40] ^= 1
    altered.write_bytes(content)
    shortened = one(site, "data/step-1/samples-0-*.parquet")
    shortened.write_bytes(shortened.read_bytes()[:-1])
    found = problems(site)
    assert f"{altered.name} was altered" in found
    assert f"{shortened.name} has {shortened.stat().st_size} bytes instead of" in found


def test_an_altered_catalogue_is_named(site):
    path = one(site, "data/step-0/catalog-*.json")
    value = json.loads(path.read_bytes())
    path.write_text(json.dumps(value | {"facts": {}}))
    assert f"{path.name} does not have the content its name promises" in problems(site)
    path.write_text("[")
    assert f"{path.name} is damaged" in problems(site)


def test_a_link_that_leads_nowhere_or_out_of_the_site_is_named(site):
    page = site / "rollouts" / "step-0.html"
    text = page.read_text()
    page.write_text(
        text.replace(
            "</main>", '<a href="step-9.html#x">x</a><a href="../../secret.html">y</a></main>'
        )
    )
    (site.parent / "secret.html").write_text("")
    found = problems(site)
    assert "rollouts/step-9.html is missing (named by rollouts/step-0.html)" in found
    assert "../../secret.html is missing" in found


def test_a_number_that_its_table_does_not_have_is_named(site):
    page = site / "rollouts" / "index.html"
    text = page.read_text()
    right, wrong = (
        '<b data-cell="steps.reward_mean@0">0.500</b>',
        '<b data-cell="steps.reward_mean@1">0.7</b>',
    )
    page.write_text(text.replace("</main>", f"{right}{wrong}</main>"))
    report = verify_site(site)
    assert report.problems == (
        "rollouts/index.html shows '0.7' for steps.reward_mean@1; its table says '0.500'.",
    )


def test_leftovers_of_an_older_generation_do_no_harm(site):
    (site / "data" / "step-0" / "tokens-0-0123456789abcdef.parquet").write_bytes(b"torn")
    assert verify_site(site).problems == ()


def test_a_page_tells_its_links_catalogue_and_numbers():
    page = parse_page(
        "rollouts/step-0.html",
        '<body data-catalog="data/c.json"><a href="../index.html?x=1#y">i</a><a href="#here">h</a>'
        '<a href="https://example.org/">e</a><img src="data:image/png;base64,AA"><script src="../assets/a%20b.js"></script>'
        '<figure data-spec="charts/a.json"></figure><td data-cell="steps.n@0"> 1<br><i>2</i> </td></body>',
    )
    assert page.links == ("index.html", "assets/a b.js", "charts/a.json")
    assert page.catalog == "data/c.json"
    assert [(shown.cell, shown.text) for shown in page.shown] == [("steps.n@0", "12")]


def test_scripts_may_be_left_out_if_the_site_says_so(site):
    script = one(site, "assets/report-*.js")
    name = script.relative_to(site).as_posix()
    script.unlink()
    assert f"{name} is missing" in problems(site)
    (site / "omitted.txt").write_text(f"{name}\n")
    report = verify_site(site)
    assert report.problems == ()
    assert "1 file left out on purpose" in report.summary


def test_only_assets_may_be_left_out(site):
    slice_ = min(site.glob("data/*.parquet"))
    name = slice_.relative_to(site).as_posix()
    slice_.unlink()
    (site / "omitted.txt").write_text(f"{name}\n")
    assert f"{name} is missing" in problems(site)
