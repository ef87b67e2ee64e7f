from __future__ import annotations

import math

import pytest
from builders.engines import engine_registry
from builders.streams import T
from prometheus_client import generate_latest

from collector.flags import SGLANG_METRICS
from collector.scrape.exposition import ExpositionError, engine_addr, read_exposition, wanted_names
from miles_report.schema.streams import EngineSample

WANTED = wanted_names(SGLANG_METRICS)


def read(body, addr="http://n:1", wanted=WANTED):
    return read_exposition(body, wanted=wanted, ts=T, addr=addr)


def values(scrape):
    return {(one.addr, one.metric, *one.labels.items()): one.value for one in scrape.samples}


def test_a_plain_engine():
    scrape = read(generate_latest(engine_registry("plain")))
    label = ("engine_type", "unified")
    assert values(scrape) == {
        ("http://n:1", "sglang_num_running_reqs", label): 16.0,
        ("http://n:1", "sglang_token_usage", label): 0.25,
        ("http://n:1", "sglang_generation_tokens_total", label): 1000.0,
        ("http://n:1", "sglang_e2e_request_latency_seconds_sum", label): 2.5,
        ("http://n:1", "sglang_e2e_request_latency_seconds_count", label): 1.0,
    }
    assert {one.ts for one in scrape.samples} == {T}


def test_data_parallel_ranks_keep_their_label():
    found = values(read(generate_latest(engine_registry("dp2"))))
    kept = {key[1:]: value for key, value in found.items() if key[1] == "sglang_num_running_reqs"}
    assert kept == {
        ("sglang_num_running_reqs", ("engine_type", "unified"), ("dp_rank", "0")): 16.0,
        ("sglang_num_running_reqs", ("engine_type", "unified"), ("dp_rank", "1")): 32.0,
    }


def test_a_value_that_is_not_finite_is_a_gap():
    found = values(read(generate_latest(engine_registry("decode"))))
    assert ("http://n:1", "sglang_kv_transfer_speed_gb_s", ("engine_type", "decode")) in found
    assert not [key for key in found if key[1] == "sglang_cache_hit_rate"]
    assert all(math.isfinite(value) for value in found.values())


def test_labels_that_are_not_kept_fold_by_sum_or_mean():
    scrape = read(
        b'sglang:num_running_reqs{tp_rank="0"} 3\nsglang:num_running_reqs{tp_rank="1"} 4\n'
        b'sglang:token_usage{tp_rank="0"} 0.2\nsglang:token_usage{tp_rank="1"} 0.4\n'
    )
    assert values(scrape) == pytest.approx(
        {("http://n:1", "sglang_num_running_reqs"): 7.0, ("http://n:1", "sglang_token_usage"): 0.3}
    )


def test_the_router_says_whose_a_line_is():
    scrape = read(
        b'sglang_num_running_reqs{worker_addr="http://a:1"} 1\n'
        b'sglang_num_running_reqs{worker_addr="b:2/"} 2\n'
        b'sglang_num_running_reqs{worker_addr="http://c:3@0",dp_rank="0"} 3\n'
        b'sglang_num_running_reqs{worker_addr="http://c:3@1",dp_rank="0"} 3\n'
        b"sglang_num_running_reqs 4\n"
        b'smg_router_requests_total{worker_addr="http://a:1"} 5\n',
        addr=None,
    )
    assert values(scrape) == {
        ("http://a:1", "sglang_num_running_reqs"): 1.0,
        ("http://b:2", "sglang_num_running_reqs"): 2.0,
        ("http://c:3", "sglang_num_running_reqs", ("dp_rank", "0")): 3.0,
    }
    assert scrape.addrs == ("http://a:1", "http://b:2", "http://c:3")
    assert scrape.samples[0].labels == {"dp_rank": "0"}  # those with labels first


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"# HELP x y\n",
        b"smg_requests_total 5\n",
        b"<html><body>welcome</body></html>",
        b"<!doctype html>\n<html>\n",
        b"  <html>",
    ],
)
def test_a_text_without_engine_metrics(body):
    scrape = read(body)
    assert not scrape.has_engine_metrics
    assert scrape.samples == ()


def test_engine_metrics_that_nobody_wants_are_engine_metrics():
    assert read(b"sglang:something_new 1\n").has_engine_metrics
    assert read(b"vllm:x 1\n", wanted=wanted_names(["vllm:x"])).samples == (
        EngineSample(T, "http://n:1", "vllm_x", {}, 1.0),
    )


def test_a_text_cut_anywhere_gives_all_of_it_or_nothing():
    whole = b"sglang:num_running_reqs 12\nsglang:token_usage 0.75\n"
    for cut in range(1, len(whole)):
        part = whole[:cut]
        if part.endswith(b"\n"):
            assert values(read(part)) == {("http://n:1", "sglang_num_running_reqs"): 12.0}
        else:
            with pytest.raises(ExpositionError, match="break off"):
                read(part)


@pytest.mark.parametrize(
    "line",
    [
        b"sglang:token_usage zero\n",
        b'sglang:token_usage{a="b 1\n',
        b"sglang:token_usage\n",
        b"\xff\xfe\n",
    ],
)
def test_a_line_that_cannot_be_read_refuses_the_text(line):
    with pytest.raises(ExpositionError):
        read(b"sglang:num_running_reqs 12\n" + line)


def test_the_base_name_of_a_histogram_stands_for_its_sum_and_count():
    names = wanted_names(["sglang:ttft"])
    assert {"sglang_ttft", "sglang_ttft_sum", "sglang_ttft_count"} <= names


def test_addresses_of_workers():
    assert engine_addr("http://[fe80::1]:30000@3") == "http://[fe80::1]:30000"
    assert engine_addr("n:1") == "http://n:1"
    assert engine_addr("") == ""
