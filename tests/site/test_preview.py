"""The preview server: ranges, types, and nothing outside the site."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from miles_report.errors import UsageError
from miles_report.site.preview import serve


@pytest.fixture
def url(tmp_path):
    site = tmp_path / "site"
    (site / "rollouts").mkdir(parents=True)
    (site / ".miles-report").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (site / ".miles-report" / "state.json").write_text("{}")
    (site / "index.html").write_text("<p>index")
    (site / "rollouts" / "index.html").write_text("<p>rollouts")
    (site / "a-0123456789abcdef.parquet").write_bytes(bytes(range(10)))
    (site / "link").symlink_to(tmp_path / "secret.txt")
    with serve(site) as address:
        yield address


def get(url, path, method="GET", **headers):
    """(status, headers, body), with the path sent as it is."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_pages_have_their_types(url):
    for path, text in (
        ("/", b"<p>index"),
        ("/rollouts/", b"<p>rollouts"),
        ("/rollouts/index.html?x=1", b"<p>rollouts"),
    ):
        status, headers, body = get(url, path)
        assert (status, headers["Content-Type"], body) == (200, "text/html; charset=utf-8", text)


def test_files_named_by_content_may_be_kept_for_ever(url):
    assert "immutable" in get(url, "/a-0123456789abcdef.parquet")[1]["Cache-Control"]
    assert get(url, "/index.html")[1]["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    ("asked", "expected", "shown"),
    [
        ("bytes=2-4", bytes([2, 3, 4]), "bytes 2-4/10"),
        ("bytes=7-", bytes([7, 8, 9]), "bytes 7-9/10"),
        ("bytes=-2", bytes([8, 9]), "bytes 8-9/10"),
        ("bytes=8-99", bytes([8, 9]), "bytes 8-9/10"),
        ("bytes=0-9", bytes(range(10)), "bytes 0-9/10"),
    ],
)
def test_ranges(url, asked, expected, shown):
    status, headers, body = get(url, "/a-0123456789abcdef.parquet", Range=asked)
    assert (status, body, headers["Content-Range"]) == (206, expected, shown)


def test_a_range_behind_the_end_is_refused_and_a_strange_one_ignored(url):
    assert get(url, "/a-0123456789abcdef.parquet", Range="bytes=10-")[0] == 416
    status, _, body = get(url, "/a-0123456789abcdef.parquet", Range="bytes=1-2,4-5")
    assert (status, len(body)) == (200, 10)


def test_head_has_the_length_and_no_body(url):
    status, headers, body = get(url, "/a-0123456789abcdef.parquet", "HEAD")
    assert (status, headers["Content-Length"], body) == (200, "10", b"")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/link",
        "/.miles-report/state.json",
        "/rollouts/../.miles-report/state.json",
        "/%ff",
        "/a%00b",
        "/missing.html",
        "//etc/passwd",
    ],
)
def test_nothing_outside_the_site_is_shown(url, path):
    status, _, body = get(url, path)
    assert status == 404
    assert body == b""


def test_other_methods_are_refused(url):
    request = urllib.request.Request(url + "index.html", data=b"x", method="POST")
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=10)


def test_a_directory_without_a_site_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no index.html"), serve(tmp_path):
        pass


def test_a_port_that_is_taken_is_told(url, tmp_path):
    (tmp_path / "index.html").write_text("")
    port = urlsplit(url).port
    with pytest.raises(UsageError, match=f"Port {port}"), serve(tmp_path, port=port):
        pass
