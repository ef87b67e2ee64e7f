"""Photographs every kind of page: `make screenshots` writes them into a folder, to be held beside each other.

Each page of the recorded example at 1440 and 390 px, light and dark; files are named page-theme-width.png.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from miles_report.build import BuildOptions, build
from miles_report.demo import unpacked_demo
from miles_report.site.preview import serve

PAGES = {
    "index": "index.html",
    "metrics": "metrics.html",
    "rollouts": "rollouts/index.html",
    "step": "rollouts/step-0.html",
    "groups": "rollouts/step-0.html?tab=groups",
    "anatomy": "rollouts/step-0.html?tab=anatomy",
    "distributions": "rollouts/step-0.html?tab=distributions",
    "eval": "rollouts/eval-0.html",
    "conversation": "sample.html?step=0&row=1",
    "tokens": "sample.html?step=0&row=2&tab=tokens",
    "raw": "sample.html?step=0&row=1&tab=raw",
    "compute": "compute.html",
    "faults": "faults.html",
    "query": "query.html?sql=SELECT status, count(*) AS n, avg(reward_value) AS reward FROM samples GROUP BY status ORDER BY n DESC",
    "search": "query.html?search=reward_value < 0.5",
    "notices": "notices.html",
    "glossary": "glossary.html",
}
ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
READY = {"query": "[data-part=output] tr[data-row]", "search": "[data-part=search] a[href]"}
"""What to wait for where an engine has to start."""

SETTLE_MS = 800


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as scratch, unpacked_demo() as dump:
        site = Path(scratch) / "site"
        build(dump, site, BuildOptions(jobs=1))
        with serve(site) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=list(ARGS))
            for theme in ("light", "dark"):
                for width in (1440, 390):
                    context = browser.new_context(
                        viewport={"width": width, "height": 1000}, color_scheme=theme
                    )
                    for name, path in PAGES.items():
                        page = context.new_page()
                        page.goto(f"{url.rstrip('/')}/{path}")
                        page.wait_for_selector(READY.get(name, "h1"), state="attached")
                        page.wait_for_timeout(SETTLE_MS)
                        target = folder / f"{name}-{theme}-{width}.png"
                        page.screenshot(path=str(target), full_page=True)
                        page.close()
                    context.close()
            browser.close()
    print(f"{len(PAGES) * 4} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
