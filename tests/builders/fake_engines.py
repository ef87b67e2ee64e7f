"""A backend whose engines do at once what a test says, for everything that needs no processes."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

from miles_report.schema.streams import HEALTH_EVENTS


@dataclass
class Part:
    """One node of one engine; `answers` maps a method to a value, an exception, or HANGS."""

    group: str
    engine_rank: int
    node_rank: int
    answers: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    is_killed: bool = False
    hanging: list = field(default_factory=list)


HANGS = object()


class FakeBackend:
    def __init__(self, **answers):
        self.answers = answers
        self.parts: list[Part] = []
        self.log: list[tuple] = []

    def create(self, *, group, engine_rank, node_rank):
        part = Part(group, engine_rank, node_rank, dict(self.answers))
        self.parts.append(part)
        self.log.append(("create", engine_rank, node_rank))
        return part

    def call(self, handle, method, **arguments):
        handle.calls.append((method, arguments))
        self.log.append((method, handle.engine_rank, handle.node_rank))
        defaults = {
            "node_address": "n0",
            "find_ports": arguments.get("start"),
            "init": f"http://n0:{arguments.get('port')}",
        }
        answer = handle.answers.get(method, defaults.get(method))
        future: Future = Future()
        if answer is HANGS:
            handle.hanging.append(future)
        elif isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future

    def kill(self, handle):
        self.log.append(("kill", handle.engine_rank, handle.node_rank))
        handle.is_killed = True
        if isinstance(handle.answers.get("kill"), Exception):
            raise handle.answers["kill"]

    def of(self, rank):
        """Newest first part of an engine."""
        return [p for p in self.parts if p.engine_rank == rank and p.node_rank == 0][-1]


class Sink:
    def __init__(self):
        self.records = []

    def push_health(self, records):
        assert {one.event for one in records} <= set(HEALTH_EVENTS)
        self.records += records
        return True

    def events(self, *without):
        return [one.event for one in self.records if one.event not in without]
