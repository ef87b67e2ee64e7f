"""Random lives of a monitor, judged by a second telling of its rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faulttol import state as machine

GOOD = machine.Outcome(0.1)
BAD = machine.Outcome(2.0, "ill")
N_ENGINES = 4
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.floats(0.0, 12.0)),
        st.sampled_from([("pause",), ("resume",), ("tick",), ("start",)]),
        st.tuples(st.just("recover"), st.integers(0, N_ENGINES - 1)),
        st.tuples(
            st.just("results"),
            st.lists(st.sampled_from(["good", "bad", "none"]), min_size=4, max_size=4),
            st.integers(-1, 1),
        ),
    ),
    max_size=60,
)
RULES = st.builds(
    machine.Rule,
    interval_s=st.sampled_from([0.0, 5.0]),
    first_wait_s=st.sampled_from([0.0, 6.0]),
    failure_threshold=st.integers(1, 3),
    mass_failure_frac=st.sampled_from([None, 0.0, 0.5, 1.0]),
    first_wait_after_recovery=st.booleans(),
)


def check_sequence(moves, rule, stop_at):  # noqa: C901, PLR0912 - a second telling of the rules, in one piece
    """A model beside the machine: what may be asked and killed is known from the history alone."""
    state, now = machine.State(), 0.0
    lives = dict.fromkeys(range(N_ENGINES), 1)
    killed, streaks = set(), {}
    is_running, resumed_at, is_over = False, None, False
    asked, round_id = (), None
    for place, planned in enumerate([("start",), ("resume",), *moves]):
        move = ("stop",) if place == stop_at else planned
        alive = tuple(
            machine.Engine(rank, life)
            for rank, life in lives.items()
            if machine.Engine(rank, life) not in killed
        )
        outcomes = {}
        match move:
            case ("wait", seconds):
                now += seconds
                event = machine.Tick(alive)
            case ("tick",):
                event = machine.Tick(alive)
            case ("start",):
                event = machine.Start()
            case ("pause",):
                event = machine.Pause()
            case ("resume",):
                event = machine.Resume(alive)
            case ("stop",):
                event = machine.Stop()
            case ("recover", rank):
                if machine.Engine(rank, lives[rank]) in killed:
                    lives[rank] += 1
                continue
            case ("results", kinds, offset):
                outcomes = {
                    engine: GOOD if kind == "good" else BAD
                    for engine, kind in zip(asked, kinds, strict=False)
                    if kind != "none"
                }
                event = machine.Results((round_id or 0) + offset, outcomes)
        was_running = is_running
        before = state
        state, effects = machine.step(state, event, now, rule)
        if (
            isinstance(event, machine.Resume)
            and not is_over
            and not is_running
            and before.phase is machine.Phase.PAUSED
        ):
            is_running, resumed_at = True, now
        if isinstance(event, machine.Pause):
            is_running, asked = False, ()
        if isinstance(event, machine.Stop):
            is_running, is_over, asked = False, True, ()
        kills = [one for one in effects if isinstance(one, machine.Kill)]
        for one in effects:
            if isinstance(one, machine.Ask):
                assert is_running
                assert now >= resumed_at + rule.first_wait_s
                assert set(one.engines) <= set(alive)
                assert not asked
                asked, round_id = one.engines, one.round_id
        if kills:
            assert was_running
            assert isinstance(event, machine.Results)
            assert event.round_id == round_id
            assert asked
        if isinstance(event, machine.Results) and asked and event.round_id == round_id:
            for engine, outcome in outcomes.items():
                streaks[engine] = 0 if outcome.error is None else streaks.get(engine, 0) + 1
            n_bad = sum(outcome.error is not None for outcome in outcomes.values())
            due = {
                engine
                for engine, outcome in outcomes.items()
                if outcome.error is not None and streaks[engine] >= rule.failure_threshold
            }
            if rule.mass_failure_frac is not None and n_bad > rule.mass_failure_frac * len(asked):
                due = set()
            assert {one.engine for one in kills} == due
            asked = ()
        for one in kills:
            assert one.engine not in killed
            killed.add(one.engine)
        if is_over:
            assert state.phase is machine.Phase.STOPPED
        assert state.is_checking_enabled == is_running


SEQUENCES = given(moves=MOVES, rule=RULES, stop_at=st.integers(2, 120))


@settings(max_examples=200, deadline=None)
@SEQUENCES
def test_random_sequences(moves, rule, stop_at):
    check_sequence(moves, rule, stop_at)


@pytest.mark.stress
@settings(max_examples=5000, deadline=None)
@SEQUENCES
def test_many_random_sequences(moves, rule, stop_at):
    check_sequence(moves, rule, stop_at)
