from __future__ import annotations

import json

import pytest
from builders.engines import raw_server, says

from faulttol import SglangRouter
from miles_report.errors import UsageError


def test_an_address_without_http_is_refused():
    with pytest.raises(UsageError, match="http"):
        SglangRouter("file:///etc/passwd")


def test_a_worker_that_the_router_does_not_know_is_no_error():
    body = json.dumps({"workers": [{"id": "1", "url": "http://other"}]}).encode()
    with raw_server(says(200, body, f"Content-Length: {len(body)}")) as address:
        SglangRouter(address).remove("http://gone")


def test_a_refusal_is_raised():
    with (
        raw_server(says(500, b"", "Content-Length: 0")) as address,
        pytest.raises(OSError, match="500"),
    ):
        SglangRouter(address).add("http://a")


def test_a_router_that_is_down_leaves_the_group_as_it_was(make_server, make_group, caplog):
    group = make_group(n_engines=1, router=SglangRouter("http://127.0.0.1:9"))
    server = make_server(group)
    server.start_engines()
    assert len(group.alive()) == 1
    assert "groups.router_not_told" in caplog.text
