from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "collector.md"


def examples():
    return re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)


def test_the_example_for_another_trainer_is_short_and_runs(tmp_path):
    _, code = examples()
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    stubs = "generate = lambda: []\ntrain = lambda samples: 0.5\n"
    subprocess.run(
        [
            sys.executable,
            "-c",
            stubs + code.replace("range(1000)", "range(3)"),
            "--dump-details",
            tmp_path,
            "--use-miles-dashboard",
        ],
        check=True,
        timeout=100,
        capture_output=True,
    )
    lines = (tmp_path / "dashboard/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 1, 2]
    phases = (tmp_path / "dashboard/phases").iterdir()
    assert sum(len(path.read_text().splitlines()) for path in phases) == 12


def test_the_same_example_does_nothing_without_the_flag(tmp_path):
    _, code = examples()
    stubs = "generate = lambda: []\ntrain = lambda samples: 0.5\n"
    subprocess.run(
        [
            sys.executable,
            "-c",
            stubs + code.replace("range(1000)", "range(3)"),
            "--dump-details",
            tmp_path,
        ],
        check=True,
        timeout=100,
    )
    assert list(tmp_path.iterdir()) == []


def test_only_one_module_imports_ray():
    importers = set()
    for path in (ROOT / "collector").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            if any(name.split(".")[0] == "ray" for name in names):
                importers.add(path.name)
    assert importers == {"ray_backend.py"}
