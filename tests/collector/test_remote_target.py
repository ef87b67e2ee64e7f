from __future__ import annotations

import pytest

from collector.remote_target import ChannelGoneError, RemoteTarget


class Channel:
    """A collector far away that does what a test wants."""

    def __init__(self):
        self.sent = []
        self.is_full = False
        self.answer = "first"
        self.n_probes = 0
        self.settled = True

    def send(self, method, value):
        if isinstance(self.is_full, Exception):
            raise self.is_full
        if not self.is_full:
            self.sent.append((method, value))
        return not self.is_full

    def probe(self):
        self.n_probes += 1

    def settle(self, timeout_s):
        if isinstance(self.settled, Exception):
            raise self.settled
        return self.settled

    def life(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Places:
    """Where a collector may be found."""

    def __init__(self, channel=None):
        self.channel = channel
        self.n_asked = 0

    def __call__(self):
        self.n_asked += 1
        return self.channel


def push(target, clock, n=1, every_s=1.0):
    for _ in range(n):
        answer = target.push_phases(["p"])
        clock.advance(every_s)
    return answer


def test_it_is_found_at_the_first_push(clock):
    channel = Channel()
    find = Places(channel)
    target = RemoteTarget(clock, find)
    assert find.n_asked == 0
    assert push(target, clock, 3) is True
    assert find.n_asked == 1
    assert channel.sent == [("push_phases", ["p"])] * 3


@pytest.mark.parametrize(
    "method",
    [
        "push_metrics",
        "push_phases",
        "push_trajectories",
        "push_gpu_samples",
        "push_gpu_processes",
        "push_data_buffer",
        "push_health",
        "update_topology",
        "set_router",
    ],
)
def test_every_method_is_sent_as_it_is(clock, method):
    channel = Channel()
    getattr(RemoteTarget(clock, Places(channel)), method)("value")
    assert channel.sent == [(method, "value")]


def test_records_wait_while_it_is_looked_for(clock):
    find = Places()
    target = RemoteTarget(clock, find, resolve_s=30.0)
    assert push(target, clock, 5) is False
    find.channel = Channel()
    assert push(target, clock) is True


def test_without_a_collector_there_is_one_warning_and_then_nothing(clock, caplog):
    find = Places()
    target = RemoteTarget(clock, find, resolve_s=5.0)
    push(target, clock, 20)
    assert target.is_off
    n_asked = find.n_asked
    find.channel = Channel()
    assert push(target, clock, 20) is None
    assert find.n_asked == n_asked <= 7
    assert caplog.text.count("no_collector") == 1


def test_a_full_channel_refuses(clock):
    channel = Channel()
    channel.is_full = True
    assert push(RemoteTarget(clock, Places(channel)), clock) is False


def test_a_channel_that_raises_is_one_warning(clock, caplog):
    channel = Channel()
    channel.is_full = RuntimeError("shutting down")
    assert push(RemoteTarget(clock, Places(channel)), clock, 5) is None
    assert caplog.text.count("send_failed") == 1


def test_a_collector_that_began_anew_is_told_the_state_again(clock):
    channel = Channel()
    target = RemoteTarget(clock, Places(channel))
    target.set_router("http://r:1")
    target.update_topology(["old"])
    target.update_topology(["new"])
    push(target, clock, 15)
    channel.sent.clear()
    push(target, clock, 15)
    assert {method for method, _ in channel.sent} == {"push_phases"}
    channel.answer = "second"
    push(target, clock, 15)
    told = [one for one in channel.sent if one[0] != "push_phases"]
    assert told == [("set_router", "http://r:1"), ("update_topology", ["new"])]
    assert channel.n_probes <= 6


def test_an_answer_that_does_not_come_changes_nothing(clock):
    channel = Channel()
    channel.answer = None
    target = RemoteTarget(clock, Places(channel))
    assert push(target, clock, 100) is True
    assert channel.n_probes == 1


def test_a_dead_collector_is_looked_for_until_it_is_back(clock, caplog):
    first, second = Channel(), Channel()
    find = Places(first)
    target = RemoteTarget(clock, find, resolve_s=5.0)
    target.set_router("http://r:1")
    push(target, clock, 3)
    first.answer, find.channel = ChannelGoneError(), None
    second.answer = "second"
    push(target, clock, 12)
    assert push(target, clock, 60) is False
    assert not target.is_off
    find.channel = second
    assert push(target, clock, 5) is True
    assert ("set_router", "http://r:1") in second.sent
    assert caplog.text.count("collector_died") == 1


@pytest.mark.parametrize(("settled", "told"), [(True, True), (False, False), (OSError(), False)])
def test_at_the_end_it_waits_for_what_is_under_way(clock, settled, told):
    channel = Channel()
    channel.settled = settled
    target = RemoteTarget(clock, Places(channel))
    assert target.settle(5.0)  # nothing was sent: there is nobody to wait for
    push(target, clock)
    assert target.settle(5.0) is told
