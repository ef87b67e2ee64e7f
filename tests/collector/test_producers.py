from __future__ import annotations

import enum
import math
from types import SimpleNamespace

import numpy as np
import pytest
from builders.streams import T

from collector.lifecycles import TrajectorySink
from collector.logged import metrics_record
from collector.outbox import Queue
from collector.phases import PhaseSink, PhaseTimer
from miles_report.runtime.clock import ManualClock
from miles_report.schema.streams import PhaseRecord

# phases


def test_an_interval_is_told_when_it_begins_and_when_it_ends():
    queue = Queue(10)
    sink = PhaseSink(queue, node="n", gpus=(1,), rank=3)
    sink.begin("train", T)
    assert queue.take(5) == [PhaseRecord("train", T, -1.0, "n", (1,), 3, "train")]
    sink("train", T, T + 2.0)
    assert queue.take(5) == [PhaseRecord("train", T, T + 2.0, "n", (1,), 3, "train")]


def test_a_timer_that_tells_only_ends_works():
    queue = Queue(10)
    PhaseSink(queue, node="n", role="rollout_manager")("rollout", T, T + 1.0)
    assert queue.take(5) == [PhaseRecord("rollout", T, T + 1.0, "n", (), -1, "rollout_manager")]


def test_both_ends_of_an_interval_have_one_rank_also_when_it_is_learnt_meanwhile():
    rank = [-1]
    queue = Queue(10)
    sink = PhaseSink(queue, node="n", rank=lambda: rank[0])
    sink.begin("initialize", T)
    rank[0] = 5
    sink.begin("train", T + 1)
    sink("train", T + 1, T + 2)
    sink("initialize", T, T + 3)
    assert [(one.name, one.rank) for one in queue.take(9)] == [
        ("initialize", -1),
        ("train", 5),
        ("train", 5),
        ("initialize", -1),
    ]


def test_a_hook_never_raises():
    def no_rank():
        raise RuntimeError("not up")

    sink = PhaseSink(Queue(10), node="n", rank=no_rank)
    sink.begin("train", T)
    sink("train", T, T + 1)
    sink([], None, object())
    trajectories = TrajectorySink(Queue(10), ManualClock())
    for hook in (trajectories.attempt_start, trajectories.gen_start, trajectories.attempt_end):
        hook(None)
        hook(SimpleNamespace(index="x", metadata={"lifecycle": {"t0": "x", "t1": None}}))
    trajectories.gen_span(SimpleNamespace(index=1), "x", None, turn="y")


def test_the_timer_uses_one_start_and_a_monotonic_length():
    clock = ManualClock(wall=T)
    queue = Queue(10)
    timer = PhaseTimer(clock)
    timer.event_sinks.append(PhaseSink(queue, node="n"))

    @timer.timed
    def actor_train():
        clock.advance(2.0)
        clock.set_wall(T - 1000.0)
        raise ValueError("over")

    with pytest.raises(ValueError, match="over"):
        actor_train()
    begun, ended = queue.take(5)
    assert (begun.name, begun.t0, begun.t1) == ("actor_train", T, -1.0)
    assert (ended.t0, ended.t1) == (T, T + 2.0)


def test_phases_nest_and_repeat():
    clock = ManualClock(wall=T)
    queue = Queue(20)
    timer = PhaseTimer(clock)
    timer.event_sinks.append(PhaseSink(queue, node="n"))
    with timer.phase("train"):
        for _ in range(2):
            clock.advance(1.0)
            with timer.phase("train"):
                clock.advance(1.0)
    assert [(one.t0 - T, one.t1 - T) for one in queue.take(20) if one.t1 > 0] == [
        (1.0, 2.0),
        (3.0, 4.0),
        (0.0, 4.0),
    ]


# lifecycles


class Status(enum.Enum):
    COMPLETED = "completed"


def sample(index=7, group=2, versions=("3", "4"), **more):
    return SimpleNamespace(
        index=index,
        group_index=group,
        weight_versions=list(versions),
        status=Status.COMPLETED,
        **more,
    )


def told(act):
    clock = ManualClock(wall=T)
    queue = Queue(100)
    act(TrajectorySink(queue, clock), clock)
    return [
        (one.kind, one.ts - T, one.turn, one.weight_version, one.detail) for one in queue.take(100)
    ]


def test_an_attempt_with_a_coarse_generation():
    def act(sink, clock):
        sink.attempt_start(sample(versions=()))
        clock.advance(1.0)
        sink.gen_start(sample(versions=()))
        clock.advance(2.0)
        sink.attempt_end(sample())

    assert told(act) == [
        ("attempt_start", 0.0, -1, "", ""),
        ("gen_start", 1.0, -1, "", ""),
        ("attempt_end", 3.0, -1, "4", "completed"),
    ]


def test_spans_carry_their_own_times_and_turns():
    def act(sink, _):
        sink.gen_span(sample(), T + 1.0, T + 4.5, turn=3, detail="120")
        sink.tool_span(sample(), T + 4.5, T + 6.0, turn=3, detail="2 calls")

    assert told(act) == [
        ("gen_start", 1.0, 3, "4", "120"),
        ("gen_end", 4.5, 3, "4", "120"),
        ("tool_start", 4.5, 3, "4", "2 calls"),
        ("tool_end", 6.0, 3, "4", "2 calls"),
    ]


def test_the_segments_of_turns_come_from_the_metadata_and_the_attempt_ends_once():
    turns = [
        sample(response_length=50, metadata={"lifecycle": {"t0": T + 1, "t1": T + 3, "turn": 1}}),
        sample(
            response_length=60,
            metadata={
                "lifecycle": {
                    "t0": T + 9,
                    "t1": T + 12,
                    "turn": 2,
                    "req_ts": T + 8,
                    "prev_t1": T + 3,
                }
            },
        ),
        sample(
            response_length=70,
            metadata={"lifecycle": {"t0": None, "t1": T + 20, "turn": 3, "prev_t1": T + 12}},
        ),
    ]

    def act(sink, clock):
        clock.advance(21.0)
        sink.attempt_end(turns)

    assert told(act) == [
        ("gen_start", 1.0, 1, "4", ""),
        ("gen_end", 3.0, 1, "4", "50"),
        ("tool_start", 3.0, 1, "4", "agent gap"),
        ("tool_end", 8.0, 1, "4", "agent gap"),
        ("gen_start", 9.0, 2, "4", ""),
        ("gen_end", 12.0, 2, "4", "60"),
        ("gen_end", 20.0, 3, "4", "70"),
        ("attempt_end", 21.0, -1, "4", "completed"),
    ]


def test_what_a_sample_lacks_is_unknown():
    queue = Queue(5)
    TrajectorySink(queue, ManualClock()).attempt_end(SimpleNamespace())
    (event,) = queue.take(5)
    assert (event.sample_index, event.group_index, event.weight_version, event.detail) == (
        -1,
        -1,
        "",
        "",
    )


# metrics


class Tensor:
    """Answers like torch's."""

    def __init__(self, *values):
        self._values = values

    def numel(self):
        return len(self._values)

    def item(self):
        (value,) = self._values
        return value


def test_tensors_and_numpy_scalars_become_floats_and_the_rest_is_dropped():
    record = metrics_record(
        {
            "float": 0.5,
            "int": 3,
            "bool": True,
            "text": "x",
            "nan": math.nan,
            "tensor": Tensor(2),
            "np64": np.float64(1.5),
            "np32": np.float32(0.25),
            "npint": np.int64(7),
            "npbool": np.bool_(1),
            "array": np.array([4.0]),
            "tensors": Tensor(1, 2),
            "arrays": np.zeros(3),
            "none": None,
            "list": [1],
            "dict": {"a": 1},
            "object": object(),
            "complex": np.complex64(1j),
            5: 1.0,
            "train/step": 12,
        },
        ts=T,
        step_key="train/step",
    )
    assert math.isnan(record.metrics["nan"])
    rest = {key: value for key, value in record.metrics.items() if key != "nan"}
    assert rest == {
        "float": 0.5,
        "int": 3,
        "bool": True,
        "text": "x",
        "tensor": 2.0,
        "np64": 1.5,
        "np32": 0.25,
        "npint": 7.0,
        "npbool": 1.0,
        "array": 4.0,
        "5": 1.0,
        "train/step": 12,
    }
    assert type(record.metrics["np64"]) is float
    assert (record.step_key, record.step) == ("train/step", 12)


@pytest.mark.parametrize(
    ("step", "kept"), [(np.int64(4), 4), (4.0, 4), (Tensor(4), None), (4.5, None), ("x", None)]
)
def test_a_step_is_whole_or_unknown(step, kept):
    assert metrics_record({}, ts=T, step=step).step == kept
