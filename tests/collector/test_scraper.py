from __future__ import annotations

import time

import pytest
from builders.engines import drips, engine, hangs, raw_server, router, says, wait_until
from builders.streams import T

from collector.flags import SGLANG_METRICS
from collector.scrape.fetch import Answer, FetchError, fetch
from collector.scrape.scraper import EngineScraper, ScrapeSettings, Surroundings
from miles_report.runtime.clock import ManualClock, SystemClock

GOOD = b'sglang_num_running_reqs{worker_addr="http://e:1"} 3\n'
R, E1, E2 = "http://r", "http://e:1", "http://e:2"


class Around(Surroundings):
    def __init__(self, router=R, engines=(E1, E2)):
        self.where = router
        self.addrs = list(engines)
        self.samples, self.gaps, self.routed = [], [], []

    def router(self):
        return self.where

    def engine_addrs(self):
        return self.addrs

    def take_samples(self, samples, *, through_router):
        self.samples += samples
        self.routed += [through_router]

    def take_gap(self, addr, why):
        self.gaps.append((addr, why))

    def addrs_seen(self):
        return {sample.addr for sample in self.samples}


class Web:
    """Answers by url: an `Answer`, or an error to raise."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def __call__(self, url, *, timeout_s):
        self.asked.append(url)
        answer = self.answers["router" if url.endswith("/engine_metrics") else "engine"]
        if isinstance(answer, Exception):
            raise answer
        return answer


ENGINE_ANSWER = Answer(200, b"sglang:num_running_reqs 5\n")


@pytest.fixture
def scrape(clock):
    """A scraper over a made-up web; its engine threads end with the test."""
    made = []

    def make(around, web, mode="auto", **settings):
        scraper = EngineScraper(
            ScrapeSettings(mode, settings.pop("use_miles_router", False), SGLANG_METRICS, 2.0),
            around,
            clock,
            get=web,
        )
        made.append(scraper)
        return scraper

    yield make
    for scraper in made:
        assert scraper.stop(5)


# one answer


def test_fetch_reads_whole_answers():
    with raw_server(says(200, b"a\n", "Content-Length: 2")) as addr:
        assert fetch(f"{addr}/metrics", timeout_s=5) == Answer(200, b"a\n")
    with raw_server(says(404, b"no")) as addr:
        assert fetch(addr, timeout_s=5) == Answer(404, b"no")
    with raw_server(says(200, b"2\r\na\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked")) as addr:
        assert fetch(addr, timeout_s=5).body == b"a\n"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (hangs, "did not answer within 0.3 s"),
        (drips, "did not answer within 0.3 s"),
        (says(200, b"sglang:num", "Content-Length: 500"), "only a part"),
        (says(200, b"5\r\na", "Transfer-Encoding: chunked"), "only a part"),
        (lambda connection, _: connection.sendall(b"SSH-2.0\r\n\r\n"), "does not speak HTTP"),
        (lambda connection, _: None, "does not speak HTTP"),
    ],
)
def test_fetch_refuses_what_is_no_whole_answer(answer, words):
    with raw_server(answer) as addr:
        begun = time.monotonic()
        with pytest.raises(FetchError, match=words):
            fetch(addr, timeout_s=0.3)
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize("url", ["", "n:1", "file:///etc/passwd", "http://", "http://127.0.0.1:1"])
def test_fetch_refuses_addresses_that_lead_nowhere(url):
    with pytest.raises(FetchError):
        fetch(url, timeout_s=1)


def test_fetch_stops_at_an_answer_without_end(monkeypatch):
    monkeypatch.setattr("collector.scrape.fetch.MAX_BYTES", 1000)
    with raw_server(says(200, b"x" * 5000)) as addr, pytest.raises(FetchError, match="more than"):
        fetch(addr, timeout_s=5)


# which way


def test_auto_reads_the_router(scrape):
    around, web = Around(), Web(router=Answer(200, GOOD))
    scrape(around, web).tick()
    assert web.asked == ["http://r/engine_metrics"]
    assert [(one.ts, one.addr, one.value) for one in around.samples] == [(T, E1, 3.0)]
    assert around.routed == [True]


def test_auto_reads_engines_under_miles_router(scrape):
    around, web = Around(), Web(engine=ENGINE_ANSWER)
    scrape(around, web, use_miles_router=True).tick()
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")
    assert set(web.asked) == {"http://e:1/metrics", "http://e:2/metrics"}
    assert set(around.routed) == {False}


def test_direct_and_router_are_forced(scrape):
    around, web = Around(), Web(router=Answer(404, b""), engine=ENGINE_ANSWER)
    scrape(around, web, mode="router").tick()
    assert web.asked == ["http://r/engine_metrics"]
    assert around.gaps == [(R, "the router answers 404")]
    scrape(around, web, mode="direct").tick()
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")
    assert web.asked.count("http://r/engine_metrics") == 1


def test_without_a_router_yet_engines_are_read(scrape):
    around, web = Around(router=""), Web(engine=ENGINE_ANSWER)
    scrape(around, web).tick()
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404, b"not found"),
        Answer(200, b"<html>welcome</html>"),
        Answer(200, b"smg_requests_total 5\n"),
        Answer(200, b""),
    ],
)
def test_a_router_without_engine_metrics_is_given_up_with_one_warning(
    scrape, clock, caplog, answer
):
    around, web = Around(), Web(router=answer, engine=ENGINE_ANSWER)
    scraper = scrape(around, web)
    for _ in range(10):
        scraper.tick()
        clock.advance(2.0)
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")
    assert web.asked.count("http://r/engine_metrics") == 1
    assert caplog.text.count("scraper.router_given_up") == 1
    assert around.gaps == []
    clock.advance(600.0)
    scraper.tick()
    assert web.asked.count("http://r/engine_metrics") == 2
    assert caplog.text.count("scraper.router_given_up") == 1


def test_with_no_engine_to_fall_back_to_the_router_is_tried_on(scrape, clock, caplog):
    around, web = Around(engines=()), Web(router=Answer(200, b"smg_up 1\n"))
    scraper = scrape(around, web)
    for _ in range(5):
        scraper.tick()
        clock.advance(2.0)
    web.answers["router"] = Answer(200, GOOD)
    scraper.tick()
    assert len(web.asked) == 6
    assert around.gaps == [(R, "the router answers without engine metrics")]
    assert around.addrs_seen() == {E1}


@pytest.mark.parametrize(
    "trouble",
    [
        FetchError("did not answer within 5 s"),
        Answer(500, b""),
        Answer(200, b"sglang_num_running_reqs 1"),
        Answer(200, b"sglang_num_running_reqs one\n"),
    ],
)
def test_other_trouble_is_a_gap_then_a_way_round(scrape, clock, trouble, caplog):
    around, web = Around(), Web(router=trouble, engine=ENGINE_ANSWER)
    scraper = scrape(around, web)
    scraper.tick()
    scraper.tick()
    assert len(around.gaps) == 1
    assert around.samples == []
    assert caplog.text.count("scraper.gap") == 1
    scraper.tick()
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")
    assert caplog.text.count("scraper.router_given_up") == 1


def test_a_router_that_recovers_is_used_again(scrape, clock):
    around, web = Around(), Web(router=Answer(404, b""), engine=ENGINE_ANSWER)
    scraper = scrape(around, web)
    scraper.tick()
    web.answers["router"] = Answer(200, GOOD)
    clock.advance(301.0)
    scraper.tick()
    scraper.tick()
    assert around.routed.count(True) == 2
    assert scraper._engines == {}


def test_a_new_router_gets_its_own_chance(scrape):
    around, web = Around(), Web(router=Answer(404, b""), engine=ENGINE_ANSWER)
    scraper = scrape(around, web)
    scraper.tick()
    around.where = "http://r2"
    web.answers["router"] = Answer(200, GOOD)
    scraper.tick()
    assert web.asked.count("http://r2/engine_metrics") == 1
    assert around.routed[-1] or True in around.routed


def test_warnings_of_trouble_come_at_most_once_in_five_minutes(scrape, clock, caplog):
    around = Around(engines=())
    scraper = scrape(around, Web(router=FetchError("hangs")), mode="router")
    for _ in range(301):
        scraper.tick()
        clock.advance(2.0)
    assert caplog.text.count("scraper.gap") == 3
    assert len(around.gaps) == 3


def test_engines_that_go_are_asked_no_more_and_their_late_answers_count_for_nothing(scrape):
    around, web = Around(router=""), Web(engine=ENGINE_ANSWER)
    scraper = scrape(around, web)
    scraper.tick()
    wait_until(lambda: around.addrs_seen() == {E1, E2}, "both engines")
    around.addrs = [E2]
    scraper.tick()
    assert set(scraper._engines) == {E2}
    n = len(around.samples)
    scraper.read_engine(E1)
    assert len(around.samples) == n


def test_a_slow_engine_does_not_delay_the_others():
    with engine() as fast, raw_server(hangs) as slow:
        around = Around(router="", engines=[slow, fast])
        scraper = EngineScraper(
            ScrapeSettings("direct", use_miles_router=False, metrics=SGLANG_METRICS, every_s=0.05),
            around,
            SystemClock(),
        )
        begun = time.monotonic()
        scraper.tick()
        wait_until(lambda: len(around.samples) >= 25, "five scrapes of the fast engine", 20)
        assert around.addrs_seen() == {fast}
        assert time.monotonic() - begun < 4.5  # the slow one has five seconds
    assert scraper.stop(10)


def test_the_real_router_before_engines_of_all_kinds(clock):
    with (
        engine("plain") as plain,
        engine("prefill") as prefill,
        engine("dp2") as dp2,
        router(plain, prefill, dp2) as address,
    ):
        around = Around(router=address, engines=[plain])
        scraper = EngineScraper(
            ScrapeSettings("auto", use_miles_router=False, metrics=SGLANG_METRICS, every_s=2.0),
            around,
            ManualClock(wall=T),
        )
        scraper.tick()
        direct = Around(router="", engines=[plain, prefill, dp2])
        reader = EngineScraper(
            ScrapeSettings("direct", use_miles_router=False, metrics=SGLANG_METRICS, every_s=2.0),
            direct,
            ManualClock(wall=T),
        )
        for addr in direct.addrs:
            reader.read_engine(addr)

    def values(samples):
        return {(one.addr, one.metric, *sorted(one.labels.items())): one.value for one in samples}

    assert around.gaps == direct.gaps == []
    assert around.addrs_seen() == {plain, prefill, dp2}
    assert values(around.samples) == values(direct.samples)
    running = {
        one.labels.get("dp_rank"): one.value
        for one in around.samples
        if one.addr == dp2 and one.metric == "sglang_num_running_reqs"
    }
    assert running == {"0": 16.0, "1": 32.0}
