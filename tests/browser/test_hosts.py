"""The report at home on every host: drawn from real data, or saying in words what is wrong where it would stand."""

from __future__ import annotations

import json
import re

import pytest
from builders.dumps import rollout_dump, sample, train_dump
from builders.hosts import Host, has_nginx, serve, serve_nginx, serve_python
from builders.sites import small_run
from playwright.sync_api import expect

from miles_report.build import BuildOptions, build
from miles_report.run import open_run
from miles_report.site.verify import parse_page

HOSTS = {
    "sub-path": Host(prefix="/reports/run 7/"),
    "no index documents": Host(has_index=False),
    "HEAD refused": Host(head="refused"),
    "HEAD of a wrong length": Host(head="wrong"),
    "gzip on the fly": Host(compresses=True),
    "all is text": Host(plain=("parquet", "wasm", "json")),
    "fails first": Host(failing=("data/*",)),
}
BOTHERED = {
    "sub-path, no index documents, no HEAD, all is text": Host(
        prefix="/reports/run 7/",
        has_index=False,
        head="refused",
        plain=("parquet", "wasm", "json"),
    ),
    "HEAD of a wrong length, gzip on the fly, fails first": Host(
        head="wrong", compresses=True, failing=("data/*",)
    ),
}
"""What hosts do, several at once; one by one in `make stress`."""

OPTIONS = BuildOptions(pages="none", jobs=1)


@pytest.fixture(scope="module")
def report(dumps, tmp_path_factory):
    """A built site with own sample pages, as a folder."""
    folder = tmp_path_factory.mktemp("report") / "agentic"
    build(dumps / "agentic", folder, BuildOptions(jobs=1))
    return folder


@pytest.fixture
def read(chromium):
    """Opens a page that may have troubles: `read(url)`; foreign requests and page errors fail the test at its end."""
    contexts, wrong = [], []

    def open_url(url, *, script=""):
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        origin = "/".join(url.split("/")[:3]) + "/"
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: origin in request.url or wrong.append(request.url))
        if script:
            page.add_init_script(script)
        page.goto(url)
        return page

    yield open_url
    for context in contexts:
        context.close()
    assert not wrong, wrong


def walk(page, run):
    """From the first page by its links to a sample, each page drawn from its data."""
    rail = page.get_by_role("navigation", name="Pages", exact=True)
    tile = page.locator(".tile", has_text="|lp diff|")
    tile.hover()
    expect(tile.locator("[data-alive] svg").first).to_be_visible()
    rail.get_by_role("link", name="Metrics").click()
    expect(page.locator(".metric-card svg.metric-plot").first).to_be_visible()
    rail.get_by_role("link", name="Rollouts").click()
    page.locator("[data-part=steps] tbody a").first.click()
    expect(page.locator(".step-rows tbody tr[data-row]")).to_have_count(
        run.table("samples", step=0).height
    )
    page.get_by_role("tab", name="Groups").click()
    expect(page.locator(".step-unfold").first).to_be_visible()
    page.get_by_role("tab", name="Anatomy").click()
    expect(page.locator("canvas.step-lives")).to_be_visible()
    root = page.url.partition("rollouts/")[0]
    page.goto(
        root + "query.html?sql=SELECT count(*) AS n FROM samples WHERE step = 0 AND NOT evaluation"
    )
    expect(page.locator("[data-part=output] tr[data-row]")).to_contain_text(
        str(run.table("samples", step=0).height), timeout=60_000
    )
    page.goto(root + "sample.html?step=0&row=8")
    expect(page.locator(".sample-conversation .message").first).to_be_visible()
    page.get_by_role("tab", name="Tokens").click()
    expect(page.locator(".sample-tokens [data-i]").first).to_be_visible()
    page.get_by_role("link", name="Rollouts").first.click()
    expect(page.locator("[data-part=steps] tbody tr").first).to_be_visible()


@pytest.mark.parametrize(
    "host",
    [
        *BOTHERED.values(),
        *(pytest.param(host, marks=pytest.mark.stress) for host in HOSTS.values()),
    ],
    ids=[*BOTHERED, *HOSTS],
)
def test_it_is_at_home(read, report, dumps, host):
    with serve(report, host) as served:
        page = read(served.url.replace(" ", "%20") + "index.html")
        walk(page, open_run(dumps / "agentic"))
        assert {method for method, _ in served.asked} == {"GET"}


def test_it_is_at_home_with_python(open_page, report, dumps):
    with serve_python(report) as url:
        walk(open_page(url), open_run(dumps / "agentic"))


@pytest.mark.skipif(not has_nginx(), reason="nginx is not on the PATH: make browser installs it")
@pytest.mark.parametrize("prefix", ["/", "/reports/run-7/"])
def test_it_is_at_home_with_nginx(open_page, report, dumps, tmp_path, prefix):
    with serve_nginx(report, tmp_path, prefix=prefix) as url:
        page = open_page(url + "index.html")
        packed = []
        page.on("response", lambda r: packed.append((r.url, r.headers.get("content-encoding"))))
        walk(page, open_run(dumps / "agentic"))
        assert {coding for address, coding in packed if address.endswith(".parquet")} == {"gzip"}
        own = min((report / "samples" / "0").glob("*.html"))
        page.goto(f"{url}samples/0/{own.name}")
        expect(page.locator(".sample-conversation .message").first).to_be_visible()


def test_every_link_names_a_file(report):
    pages = sorted(report.rglob("*.html"))
    links = {
        link
        for path in pages
        for link in parse_page(path.relative_to(report).as_posix(), path.read_text()).links
    }
    assert len(pages) > 10
    assert not [link for link in links if not re.search(r"\.(html|js|css|svg|json)$", link)]


def test_without_the_browsers_hash_the_same_is_drawn_and_found(read, report):
    insecure = "Object.defineProperty(crypto, 'subtle', { value: undefined });"
    with serve(report, Host(altered=("data/step-0/groups-*",))) as served:
        page = read(served.url + "rollouts/step-0.html", script=insecure)
        expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()
        page.get_by_role("tab", name="Groups").click()
        expect(page.locator("#groups .error-box")).to_contain_text("was altered")


@pytest.mark.parametrize(
    ("path", "waits", "drawn"),
    [
        ("metrics.html", ".metrics-static svg", ".metric-card svg.metric-plot"),
        ("rollouts/step-0.html", "#samples table.data tbody tr", ".step-rows tbody tr[data-row]"),
        ("sample.html?step=0&row=8", ".sample-loading .skeleton", ".sample-conversation .message"),
    ],
)
def test_a_slow_host_shows_what_there_is_until_the_data_come(read, report, path, waits, drawn):
    with serve(report, Host(held=("data/*",))) as served:
        page = read(served.url + path)
        expect(page.locator(waits).first).to_be_visible()
        assert page.locator(drawn).count() == 0
        served.release()
        expect(page.locator(drawn).first).to_be_visible()
        assert page.locator(".error-box").count() == 0


TROUBLES = {"missing": "is missing from this site (the server answered 404)", "altered": "was altered"}  # fmt: skip


PLACES = [
    ("metrics.html", "data/metrics-*", "[data-metrics]", ".metrics-static svg"),
    ("metrics.html", "data/catalog-*", "[data-metrics]", ".metrics-static svg"),
    ("rollouts/step-0.html", "data/step-0/samples-*", "[data-part=filter]", "#samples table.data tbody tr"),
    ("rollouts/step-0.html", "data/step-0/catalog-*", "[data-part=filter]", "#samples table.data tbody tr"),
    ("rollouts/step-0.html?tab=groups", "data/step-0/groups-*", "[data-part=groups-head]", "#groups table.data tbody tr"),
    ("rollouts/step-0.html?tab=anatomy", "data/step-0/trajectories-*", "[data-part=anatomy]", "h1"),
    ("rollouts/step-0.html?tab=anatomy", "data/step-0/samples-*", "[data-part=anatomy]", "h1"),
    ("rollouts/step-0.html?tab=groups&group=1", "data/step-0/texts-*", ".step-siblings-row", ".step-unfold"),
    ("rollouts/step-0.html?q=text:x", "data/step-0/texts-*", "[data-part=table]", ".step-rows tbody tr[data-row]"),
    ("sample.html?step=0&row=8", "data/step-0/samples-*", "main", "h1"),
    ("sample.html?step=0&row=8", "data/step-0/catalog-*", "main", "h1"),
    ("sample.html?step=0&row=8", "data/step-0/conversations-*", ".sample-conversation", ".facts"),
    ("sample.html?step=0&row=8", "data/step-0/trajectories-*", "main", ".sample-conversation .message"),
    ("sample.html?step=0&row=8", "data/step-0/groups-*", "main", ".sample-conversation .message"),
    ("sample.html?step=0&row=8&tab=tokens", "data/step-0/tokens-*", ".sample-tokens", ".facts"),
    ("sample.html?step=0&row=8&tab=tokens", "data/step-0/token_texts-*", ".sample-tokens", ".facts"),
    ("sample.html?step=0&row=8&tab=raw", "data/step-0/texts-*", ".sample-raw", ".facts"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "path", "file", "place", "stays"),
    [
        *(("missing", *place) for place in PLACES),
        *(("altered", *place) for place in PLACES[::6]),
        *(pytest.param("altered", *place, marks=pytest.mark.stress) for place in PLACES),
    ],
)
def test_one_file_that_is_not_right_is_named_where_it_would_stand(
    read, report, kind, path, file, place, stays
):
    with serve(report, Host(**{kind: (file,)})) as served:
        page = read(served.url + path)
        told = page.locator(place).locator(".error-box, .field-error").first
        expect(told).to_be_visible()
        expect(told).to_contain_text(file.removesuffix("*"))
        expect(told).to_contain_text(TROUBLES[kind])
        expect(page.locator(stays).first).to_be_visible()


def test_what_could_be_had_of_a_sample_is_true(read, report, dumps):
    row = open_run(dumps / "agentic").table("samples", step=0).row(8, named=True)
    prompt = row["total_length"] - row["response_length"]
    with serve(report, Host(missing=("data/step-0/tokens-*",))) as served:
        page = read(served.url + "sample.html?step=0&row=8")
        expect(page.locator(".sample-conversation .message").first).to_be_visible()
        expect(page.locator(".facts")).to_contain_text(f"{prompt} prompt + {row['response_length']} response")  # fmt: skip
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as caught:
            page.get_by_role("menuitem", name="Sample as JSON").click()
        saved = json.loads(caught.value.path().read_text())
        assert "is missing from this site" in saved["not_read"]["tokens"]


def test_a_retry_draws_what_failed(read, report):
    with serve(report, Host(cut=("data/step-0/samples-*", "data/step-0/groups-*"))) as served:
        page = read(served.url + "rollouts/step-0.html?tab=groups")
        expect(page.locator(".step-unfold").first).to_be_visible()
        assert page.locator(".error-box").count() == 0
    with serve(report, Host(held=("nothing",))) as served:
        page = read(served.url + "index.html")
        page.route("**/data/step-0/samples-*", lambda route: route.abort())
        page.goto(served.url + "rollouts/step-0.html")
        box = page.locator("[data-part=filter] .error-box")
        expect(box).to_contain_text("the connection failed")
        page.unroute("**/data/step-0/samples-*")
        box.get_by_role("button", name="Try again").click()
        expect(page.locator(".step-rows tbody tr[data-row]").first).to_be_visible()


def test_without_its_script_a_page_is_what_it_is_without_script(read, report):
    with serve(report, Host(missing=("assets/report-*.js", "assets/sample-*.js"))) as served:
        page = read(served.url + "sample.html?step=0&row=8")
        expect(page.get_by_text("This page needs script")).to_be_visible()
        assert not page.locator(".sample-loading").is_visible()
        page.goto(served.url + "metrics.html")
        expect(page.locator(".metrics-static svg").first).to_be_visible()
        page.goto(served.url + "rollouts/step-0.html")
        expect(page.locator("#samples table.data tbody tr").first).to_be_visible()
        expect(page.locator("#groups table.data tbody tr").first).to_be_visible()


@pytest.fixture
def growing(tmp_path):
    """A site that is built anew, another step each time: (folder, build)."""
    dump, folder = tmp_path / "dump", tmp_path / "site"
    small_run(dump, steps=1)
    built = iter(range(1, 9))

    def rebuild():
        number = next(built)
        small_run(dump, steps=1, first=number)
        # the first step changes too: one more sample each time, with a train row
        samples = [sample(i, group_index=0, reward=float(i), response=[7, 8, 9]) for i in range(2 + number)]  # fmt: skip
        rollout_dump(dump, samples, step=0)
        train_dump(dump, samples, step=0)
        build(dump, folder, OPTIONS, clock=lambda: 4e9)

    rebuild()
    return folder, rebuild


PAGES = [
    ("metrics.html", ".metric-card svg.metric-plot"),
    ("rollouts/step-0.html", ".step-rows tbody tr[data-row]"),
    ("sample.html?step=0&row=1", ".sample-conversation .message"),
]


def test_pages_that_were_open_before_a_rebuild_still_find_their_data(read, growing):
    folder, rebuild = growing
    with serve(folder, Host(held=("data/*",))) as served:
        pages = [(read(served.url + path), drawn) for path, drawn in PAGES]
        rebuild()
        served.release()
        for page, drawn in pages:
            expect(page.locator(drawn).first).to_be_visible()
            assert page.locator(".error-box").count() == 0


def test_after_two_rebuilds_they_say_so_and_a_reload_is_enough(read, growing):
    folder, rebuild = growing
    with serve(folder, Host(held=("data/*",))) as served:
        pages = [(read(served.url + path), drawn) for path, drawn in PAGES]
        rebuild()
        rebuild()
        served.release()
        for page, drawn in pages:
            box = page.locator(".error-box").first
            expect(box).to_contain_text("The report was rebuilt")
            expect(box).to_contain_text("since this page was opened")
            box.get_by_role("button", name="Reload").click()
            expect(page.locator(drawn).first).to_be_visible()
            assert page.locator(".error-box").count() == 0


def test_a_file_lost_without_a_rebuild_is_not_called_one(read, growing):
    folder, _ = growing
    with serve(folder, Host(missing=("data/metrics-*",))) as served:
        page = read(served.url + "metrics.html")
        box = page.locator(".error-box")
        expect(box).to_contain_text("is missing from this site")
        expect(box).not_to_contain_text("rebuilt")
