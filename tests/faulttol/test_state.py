from __future__ import annotations

import inspect
import sys
import types

import pytest

from faulttol import state as machine


def table_failures(m):
    """Runs the table against a state machine; names of the rows that it breaks."""
    a, b, c = (m.Engine(rank, 1) for rank in range(3))
    a2 = m.Engine(0, 2)
    good, bad = m.Outcome(0.1), m.Outcome(2.0, "ill")
    rule = m.Rule(interval_s=10.0, timeout_s=5.0, first_wait_s=7.0)
    twice = m.Rule(interval_s=10.0, failure_threshold=2)
    held = m.Rule(interval_s=10.0, mass_failure_frac=0.5)
    grace = m.Rule(interval_s=10.0, first_wait_s=7.0, first_wait_after_recovery=True)
    kn = m.Known
    new = m.State()
    paused = m.State(m.Phase.PAUSED)
    known = {a: kn(0.0), b: kn(0.0)}
    first = m.State(m.Phase.FIRST_WAIT, until=107.0, known=known)
    checking = m.State(m.Phase.CHECKING, round_id=4, asked=(a, b), known=known)
    resting = m.State(m.Phase.RESTING, until=110.0, round_id=4, known=known)
    stopped = m.State(m.Phase.STOPPED)
    checking3 = m.State(m.Phase.CHECKING, round_id=4, asked=(a, b, c), known=known | {c: kn(0.0)})

    def tell(event, *more):
        return m.Tell(event, *more)

    rows = [
        ("start", new, m.Start(), 100.0, rule, ("paused", None), (tell("monitor_started"),)),
        ("start twice", paused, m.Start(), 100.0, rule, ("paused", None), ()),
        ("resume before start", new, m.Resume((a,)), 100.0, rule, ("new", None), ()),
        (
            "resume",
            paused,
            m.Resume((a,)),
            100.0,
            rule,
            ("first_wait", 107.0),
            (tell("monitor_resumed"), tell("first_wait", None, None, "7 s")),
        ),
        (
            "resume without first wait",
            paused,
            m.Resume((a,)),
            100.0,
            m.Rule(),
            ("first_wait", 100.0),
            (tell("monitor_resumed"),),
        ),
        ("resume twice", first, m.Resume((a,)), 101.0, rule, ("first_wait", 107.0), ()),
        ("resume while resting", resting, m.Resume((a,)), 101.0, rule, ("resting", 110.0), ()),
        ("resume while checking", checking, m.Resume((a,)), 101.0, rule, ("checking", None), ()),
        ("too early", first, m.Tick((a, b)), 106.9, rule, ("first_wait", 107.0), ()),
        ("due", first, m.Tick((a, b)), 107.0, rule, ("checking", None), (m.Ask(1, (a, b)),)),
        ("rest", resting, m.Tick((a, b)), 109.9, rule, ("resting", 110.0), ()),
        ("rested", resting, m.Tick((b,)), 110.0, rule, ("checking", None), (m.Ask(5, (b,)),)),
        ("nobody", resting, m.Tick(()), 110.0, rule, ("resting", 120.0), ()),
        ("paused tick", paused, m.Tick((a,)), 999.0, rule, ("paused", None), ()),
        ("tick in a round", checking, m.Tick((a,)), 999.0, rule, ("checking", None), ()),
        ("pause", first, m.Pause(), 101.0, rule, ("paused", None), (tell("monitor_paused"),)),
        (
            "pause a round",
            checking,
            m.Pause(),
            1.0,
            rule,
            ("paused", None),
            (tell("monitor_paused"),),
        ),
        (
            "pause a rest",
            resting,
            m.Pause(),
            1.0,
            rule,
            ("paused", None),
            (tell("monitor_paused"),),
        ),
        ("pause twice", paused, m.Pause(), 1.0, rule, ("paused", None), ()),
        ("pause before start", new, m.Pause(), 1.0, rule, ("new", None), ()),
        (
            "one ill",
            checking,
            m.Results(4, {a: bad, b: good}),
            100.0,
            rule,
            ("resting", 110.0),
            (tell("check_failed", a, 2.0, "ill"), tell("check_passed", b, 0.1), m.Kill(a, "ill")),
        ),
        ("old round", checking, m.Results(3, {a: bad}), 100.0, rule, ("checking", None), ()),
        ("late results", paused, m.Results(0, {a: bad}), 100.0, rule, ("paused", None), ()),
        ("results at rest", resting, m.Results(4, {a: bad}), 1.0, rule, ("resting", 110.0), ()),
        (
            "first of two",
            checking,
            m.Results(4, {a: bad}),
            100.0,
            twice,
            ("resting", 110.0),
            (tell("check_failed", a, 2.0, "ill"),),
        ),
        (
            "second of two",
            m.State(m.Phase.CHECKING, round_id=4, asked=(a,), known={a: kn(0.0, n_failures=1)}),
            m.Results(4, {a: bad}),
            100.0,
            twice,
            ("resting", 110.0),
            (tell("check_failed", a, 2.0, "ill"), m.Kill(a, "ill")),
        ),
        (
            "half is not a mass",
            checking,
            m.Results(4, {a: bad, b: good}),
            100.0,
            held,
            ("resting", 110.0),
            (tell("check_failed", a, 2.0, "ill"), tell("check_passed", b, 0.1), m.Kill(a, "ill")),
        ),
        (
            "a mass is held",
            checking3,
            m.Results(4, {a: bad, b: bad, c: good}),
            100.0,
            held,
            ("resting", 110.0),
            (
                tell("check_failed", a, 2.0, "ill"),
                tell("check_failed", b, 2.0, "ill"),
                tell("check_passed", c, 0.1),
                tell(
                    "mass_failure_held",
                    None,
                    None,
                    "2 of 3 engines failed in one round: none was killed",
                ),
            ),
        ),
        (
            "told within a minute",
            m.State(
                m.Phase.CHECKING,
                round_id=4,
                asked=(a,),
                known={a: kn(0.0, has_passed=True, told_at=50.0)},
            ),
            m.Results(4, {a: good}),
            109.9,
            rule,
            ("resting", 119.9),
            (),
        ),
        (
            "told again after a minute",
            m.State(
                m.Phase.CHECKING,
                round_id=4,
                asked=(a,),
                known={a: kn(0.0, has_passed=True, told_at=50.0)},
            ),
            m.Results(4, {a: good}),
            110.0,
            rule,
            ("resting", 120.0),
            (tell("check_passed", a, 0.1),),
        ),
        (
            "the condemned are not asked",
            m.State(
                m.Phase.RESTING,
                until=1.0,
                round_id=4,
                known=known | {a: kn(0.0, is_condemned=True)},
            ),
            m.Tick((a, b)),
            110.0,
            rule,
            ("checking", None),
            (m.Ask(5, (b,)),),
        ),
        (
            "a successor is asked",
            m.State(m.Phase.RESTING, until=1.0, round_id=4, known={a: kn(0.0, is_condemned=True)}),
            m.Tick((a2,)),
            110.0,
            rule,
            ("checking", None),
            (m.Ask(5, (a2,)),),
        ),
        (
            "a successor has its grace",
            resting,
            m.Tick((a2, b)),
            110.0,
            grace,
            ("checking", None),
            (tell("first_wait", a2, None, "7 s after its recovery"), m.Ask(5, (b,))),
        ),
        (
            "a first engine has no grace",
            m.State(m.Phase.RESTING, until=1.0, round_id=4),
            m.Tick((a,)),
            110.0,
            grace,
            ("checking", None),
            (m.Ask(5, (a,)),),
        ),
        (
            "grace is over",
            m.State(m.Phase.RESTING, until=1.0, round_id=4, known={a2: kn(117.0)}),
            m.Tick((a2,)),
            117.0,
            grace,
            ("checking", None),
            (m.Ask(5, (a2,)),),
        ),
        ("stop", checking, m.Stop(), 1.0, rule, ("stopped", None), (tell("monitor_stopped"),)),
        (
            "stop before start",
            new,
            m.Stop(),
            1.0,
            rule,
            ("stopped", None),
            (tell("monitor_stopped"),),
        ),
        ("stop twice", stopped, m.Stop(), 1.0, rule, ("stopped", None), ()),
        ("resume after stop", stopped, m.Resume((a,)), 1.0, rule, ("stopped", None), ()),
        ("start after stop", stopped, m.Start(), 1.0, rule, ("stopped", None), ()),
    ]
    broken = []
    for name, state, event, now, one_rule, (phase, until), effects in rows:
        try:
            after, found = m.step(state, event, now, one_rule)
        except Exception:  # noqa: BLE001 - a mutant may raise anything
            broken.append(name)
            continue
        if (after.phase.value, after.until, found) != (phase, until, effects):
            broken.append(name)
    after, _ = m.step(checking, m.Results(4, {a: bad, b: good}), 100.0, rule)
    if not after.known[a].is_condemned or after.known[b].is_condemned:
        broken.append("who is condemned")
    after, _ = m.step(
        m.State(m.Phase.CHECKING, round_id=4, asked=(a,), known={a: kn(0.0, n_failures=1)}),
        m.Results(4, {a: good}),
        100.0,
        twice,
    )
    if after.known[a].n_failures:
        broken.append("a pass forgives")
    return broken


def test_the_table():
    assert table_failures(machine) == []


MUTATIONS = [
    ("case _ if state.phase is Phase.STOPPED", "case _ if state.phase is Phase.NEW"),
    ("case Start() if state.phase is Phase.NEW", "case Start()"),
    ("replace(state, phase=Phase.PAUSED), (Tell", "replace(state, phase=Phase.RESTING), (Tell"),
    ("case Pause() if state.is_checking_enabled", "case Pause()"),
    ("phase=Phase.PAUSED, until=None, asked=()", "phase=Phase.PAUSED, asked=()"),
    ("case Resume(alive) if state.phase is Phase.PAUSED", "case Resume(alive)"),
    ("case Tick(alive) if _is_due(state, now)", "case Tick(alive) if state.until is not None"),
    (
        "state.phase is Phase.CHECKING and round_id == state.round_id",
        "state.phase is Phase.CHECKING",
    ),
    ("state.phase is Phase.CHECKING and round_id == state.round_id", "round_id == state.round_id"),
    ("(Phase.FIRST_WAIT, Phase.RESTING)", "(Phase.RESTING,)"),
    ("(Phase.FIRST_WAIT, Phase.RESTING)", "(Phase.FIRST_WAIT,)"),
    ("and now >= state.until", "and now > state.until"),
    ("until=now + rule.first_wait_s", "until=now"),
    ("phase=Phase.FIRST_WAIT, until", "phase=Phase.CHECKING, until"),
    ("if is_new and engine.life > 1", "if is_new"),
    ("not known[engine].is_condemned and", ""),
    ("and now >= known[engine].not_before", ""),
    ("round_id = state.round_id + 1", "round_id = state.round_id"),
    ("known[engine].n_failures + 1", "1"),
    (">= rule.failure_threshold", "> rule.failure_threshold"),
    ("len(failed) > limit", "len(failed) >= limit"),
    ("        doomed = []", "        pass"),
    ("is_condemned=True)", "is_condemned=False)"),
    ("passed = replace(known, n_failures=0,", "passed = replace(known,"),
    (">= TELL_PASSED_EVERY_S", "> TELL_PASSED_EVERY_S"),
    ("State(Phase.STOPPED, round", "State(Phase.PAUSED, round"),
]


@pytest.mark.parametrize(("sound", "broken"), MUTATIONS)
def test_a_mutated_transition_is_caught(sound, broken):
    source = inspect.getsource(machine)
    assert source.count(sound) >= 1
    mutant = types.ModuleType("mutant_of_state")
    sys.modules[mutant.__name__] = mutant  # dataclasses look their module up
    try:
        exec(source.replace(sound, broken, 1), mutant.__dict__)
        assert table_failures(mutant)
    finally:
        del sys.modules[mutant.__name__]
