"""What importing costs, and who may import whom."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "polars",
    "pyarrow",
    "torch",
    "altair",
    "ray",
    "vl_convert",
    "numpy",
    "tokenizers",
    "jinja2",
}


def modules_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {name.split(".")[0] for name in out.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import collector",
        "import faulttol",
        "import miles_report",
        "import miles_report.schema.tables, miles_report.schema.streams, miles_report.streams, miles_report.runtime",
        "from click.testing import CliRunner\nfrom miles_report.cli import main\nr = CliRunner().invoke(main, ['--help'])\nassert r.exit_code == 0, r.output",
        "from click.testing import CliRunner\nfrom miles_report.cli import main\nr = CliRunner().invoke(main, ['build', '--help'])\nassert r.exit_code == 0, r.output",
    ],
)
def test_loads_nothing_heavy(code):
    assert not modules_after(code) & HEAVY


def test_reading_needs_no_torch():
    """Every module of the product imports in an interpreter in which torch and ray do not exist."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "miles_report").rglob("*.py"))
        if "_assets" not in path.parts and path.name != "__main__.py"
    ]
    code = (
        "import sys, importlib\n"
        "sys.modules.update(torch=None, ray=None)\n"
        f"for name in {names!r}: importlib.import_module(name.removesuffix('.__init__'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_layers():
    lint = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_bundle_and_specs_speak_one_vega_lite():
    hook = (ROOT / "hatch_build.py").read_text()
    render = (ROOT / "miles_report" / "charts" / "render.py").read_text()
    version = re.compile(r'^VL_VERSION = "([0-9.]+)"$', re.MULTILINE)
    assert version.findall(hook) == version.findall(render) != []
