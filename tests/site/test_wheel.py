"""The wheel, installed where there is no checkout: scripts, styles and templates go along."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pathlib import Path
import miles_report
from miles_report.pages.glossary import glossary_page
from miles_report.site import html

package = Path(miles_report.__file__).parent
assert Path(sys.argv[1]) not in package.parents, package
assert package in html.templates_folder().parents
assets = {path.name: f"assets/{path.name}" for path in (package / "_assets").iterdir()}
page = glossary_page()
text = html.render_page(page, html.render_body(page), html.Shell("a run", assets=assets))
print(len(text), "samples.reward" in text)
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, cwd=ROOT)
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_assets_and_templates_and_nothing_of_the_workshop(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "report.js",
        "sample.js",
        "query.js",
        "duckdb-worker.js",
        "duckdb-eh.wasm.gz",
        "theme.js",
        "report.css",
        "favicon.svg",
        "licenses.txt",
    ):
        assert f"miles_report/_assets/{name}" in names
    assert "miles_report/_templates/pages/base.html" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "miles_report",
        "collector",
        "faulttol",
    }
    assert not [name for name in names if "node_modules" in name or name.endswith((".ts", ".pyc"))]


@pytest.mark.slow
def test_a_page_is_rendered_from_the_installed_wheel(wheel, tmp_path):
    """Its dependencies come from the environment of the tests, through a path file."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    (site,) = home.glob("lib/python*/site-packages")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--quiet",
        "--target",
        site,
        wheel,
        cwd=tmp_path,
    )
    packages = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{packages}\n")
    out = run(home / "bin" / "python", "-c", SCRIPT, ROOT, cwd=tmp_path)
    size, found = out.split()
    assert int(size) > 10_000
    assert found == "True"
