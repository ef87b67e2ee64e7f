"""A real Chromium whose page fails the test on console errors, page errors and foreign requests."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


PATIENCE_MS = 60_000
"""How long a page may take on a machine that does other work; nothing waits so long on an idle one."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    assert executable, "the browser tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


class Watched:
    """What a page did that it must not do."""

    def __init__(self, page, origin):
        self.troubles = []
        page.on(
            "console",
            lambda m: (
                m.type in {"error", "warning"}
                and self.troubles.append(f"console {m.type}: {m.text}")
            ),
        )
        page.on("pageerror", lambda e: self.troubles.append(f"page error: {e}"))
        page.on("request", lambda r: self.check(r.url, origin))
        page.on("requestfailed", self.failed)

    def failed(self, request):
        # What is still on its way when a page is left is given up by the browser.
        if request.failure != "net::ERR_ABORTED":
            self.troubles.append(f"failed: {request.url} {request.failure}")

    def check(self, url, origin):
        if not url.startswith((origin, "data:", "blob:")):
            self.troubles.append(f"foreign request: {url}")


@pytest.fixture
def open_page(chromium):
    """Opens a watched page: `open_page(url, width=1440, javascript=True)`; troubles fail the test at its end."""
    contexts = []
    watched = []

    def open_url(url, *, width=1440, height=1000, javascript=True, dark=False, origin=None):
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            java_script_enabled=javascript,
            color_scheme="dark" if dark else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        start = origin or (url.split("/", 3)[:3] if url.startswith("http") else ["file:", "", ""])
        watched.append(Watched(page, start if isinstance(start, str) else "/".join(start)))
        page.goto(url)
        return page

    yield open_url
    troubles = [trouble for one in watched for trouble in one.troubles]
    for context in contexts:
        context.close()
    assert not troubles, troubles


@pytest.fixture(scope="session")
def site(dumps, tmp_path_factory):
    """Builds a recorded dump once a session and serves it: `site("agentic")` is a URL ending in /."""
    from contextlib import ExitStack

    from miles_report.build import BuildOptions, build
    from miles_report.site.preview import serve

    urls = {}
    with ExitStack() as stack:

        def serve_site(name: str, **options) -> str:
            key = (name, tuple(sorted(options.items())))
            if key not in urls:
                out = tmp_path_factory.mktemp("sites") / name
                build(dumps / name, out, BuildOptions(**options))
                urls[key] = stack.enter_context(serve(out))
            url = urls[key]
            return url if url.endswith("/") else url + "/"

        yield serve_site
