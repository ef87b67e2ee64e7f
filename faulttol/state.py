"""The decisions of the health monitor: (state, event, now, rule) gives (state, effects), and nothing else.

Rules that hold whatever happens: nothing is asked or killed while paused or in the first wait; an engine (a slot and its life) is
condemned once at most; a round that was under way at a pause counts for nothing. Times are monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

TELL_PASSED_EVERY_S = 60.0
"""An engine that goes on passing is told at most this often."""


class Phase(StrEnum):
    """Where the monitor is."""

    NEW = "new"
    PAUSED = "paused"
    FIRST_WAIT = "first_wait"
    CHECKING = "checking"
    RESTING = "resting"
    STOPPED = "stopped"


class Engine(NamedTuple):
    """One engine: its place in the group, and which of the engines that lived there (1 is the first)."""

    rank: int
    life: int


class Outcome(NamedTuple):
    """How a check ended; `error` null: it passed."""

    latency_s: float
    error: str | None = None


@dataclass(frozen=True)
class Rule:
    """What the monitor may do; the defaults are Miles's, with every guard off.

    Attributes:
        interval_s: from the end of a round to the next.
        timeout_s: within which an engine has to answer.
        first_wait_s: after each resume, before the first round.
        shutdown_timeout_s: how long a condemned engine may take to shut down before it is killed.
        failure_threshold: so many failed rounds in a row condemn an engine.
        mass_failure_frac: when more than this share of the asked engines fail in one round, none is killed; null: no such limit.
        first_wait_after_recovery: whether an engine that was replaced while the monitor runs gets a first wait of its own.
    """

    interval_s: float = 30.0
    timeout_s: float = 30.0
    first_wait_s: float = 0.0
    shutdown_timeout_s: float = 10.0
    failure_threshold: int = 1
    mass_failure_frac: float | None = None
    first_wait_after_recovery: bool = False


@dataclass(frozen=True)
class Known:
    """What is remembered of an engine.

    Attributes:
        not_before: it is not asked earlier.
        n_failures: failed rounds in a row.
        is_condemned: whether it was given to the executioner.
        has_passed: how its last check ended; null before the first.
        told_at: when a passed check was told last.
    """

    not_before: float
    n_failures: int = 0
    is_condemned: bool = False
    has_passed: bool | None = None
    told_at: float | None = None


@dataclass(frozen=True)
class State:
    """All that the monitor knows.

    Attributes:
        until: when the phase ends by itself; null: it does not.
        round_id: of the round under way or the last one; a pause ends a round.
        asked: engines of the round under way.
        known: engines that lived at the last look.
    """

    phase: Phase = Phase.NEW
    until: float | None = None
    round_id: int = 0
    asked: tuple[Engine, ...] = ()
    known: Mapping[Engine, Known] = field(default_factory=dict)

    @property
    def is_checking_enabled(self) -> bool:
        """Whether checks happen, now or after a wait."""
        return self.phase in (Phase.FIRST_WAIT, Phase.CHECKING, Phase.RESTING)


@dataclass(frozen=True)
class Start:
    """Begins, paused."""


@dataclass(frozen=True)
class Pause:
    """No checks until a resume."""


@dataclass(frozen=True)
class Resume:
    """Checks after the first wait."""

    alive: tuple[Engine, ...] = ()


@dataclass(frozen=True)
class Stop:
    """The end."""


@dataclass(frozen=True)
class Tick:
    """Time has passed, perhaps."""

    alive: tuple[Engine, ...] = ()


@dataclass(frozen=True)
class Results:
    """A round is over; an engine without an outcome was not waited for."""

    round_id: int
    outcomes: Mapping[Engine, Outcome]


Event = Start | Pause | Resume | Stop | Tick | Results


@dataclass(frozen=True)
class Ask:
    """Check these engines, side by side."""

    round_id: int
    engines: tuple[Engine, ...]


@dataclass(frozen=True)
class Kill:
    """Shut the engine down, kill it, empty its slot."""

    engine: Engine
    reason: str


@dataclass(frozen=True)
class Tell:
    """An event for the health stream."""

    event: str
    engine: Engine | None = None
    latency_s: float | None = None
    detail: str | None = None


Effect = Ask | Kill | Tell


def step(state: State, event: Event, now: float, rule: Rule) -> tuple[State, tuple[Effect, ...]]:
    """One transition; an event that makes no sense in a phase changes nothing."""
    effects: tuple[Effect, ...] = ()
    match event:
        case _ if state.phase is Phase.STOPPED:
            pass
        case Start() if state.phase is Phase.NEW:
            state, effects = replace(state, phase=Phase.PAUSED), (Tell("monitor_started"),)
        case Stop():
            state = State(Phase.STOPPED, round_id=state.round_id)
            effects = (Tell("monitor_stopped"),)
        case Pause() if state.is_checking_enabled:
            state = replace(state, phase=Phase.PAUSED, until=None, asked=())
            effects = (Tell("monitor_paused"),)
        case Resume(alive) if state.phase is Phase.PAUSED:
            state, effects = _resume(state, alive, now, rule)
        case Tick(alive) if _is_due(state, now):
            state, effects = _begin_round(state, alive, now, rule)
        case Results(round_id, outcomes) if (
            state.phase is Phase.CHECKING and round_id == state.round_id
        ):
            state, effects = _judge(state, outcomes, now, rule)
    return state, effects


def _is_due(state: State, now: float) -> bool:
    return (
        state.phase in (Phase.FIRST_WAIT, Phase.RESTING)
        and state.until is not None
        and now >= state.until
    )


def _resume(
    state: State, alive: tuple[Engine, ...], now: float, rule: Rule
) -> tuple[State, tuple[Effect, ...]]:
    known = {engine: replace(one, has_passed=None) for engine, one in state.known.items()}
    known = {engine: known.get(engine, Known(not_before=now)) for engine in alive}
    resumed = replace(state, phase=Phase.FIRST_WAIT, until=now + rule.first_wait_s, known=known)
    effects: tuple[Effect, ...] = (Tell("monitor_resumed"),)
    if rule.first_wait_s > 0:
        effects += (Tell("first_wait", detail=f"{rule.first_wait_s:g} s"),)
    return resumed, effects


def _begin_round(
    state: State, alive: tuple[Engine, ...], now: float, rule: Rule
) -> tuple[State, tuple[Effect, ...]]:
    grace_s = rule.first_wait_s if rule.first_wait_after_recovery else 0.0
    known = {}
    effects: tuple[Effect, ...] = ()
    for engine in alive:
        is_new = engine not in state.known
        wait_s = grace_s if is_new and engine.life > 1 else 0.0
        known[engine] = Known(not_before=now + wait_s) if is_new else state.known[engine]
        if wait_s > 0:
            effects += (Tell("first_wait", engine, detail=f"{wait_s:g} s after its recovery"),)
    asked = tuple(
        engine
        for engine in alive
        if not known[engine].is_condemned and now >= known[engine].not_before
    )
    if not asked:
        resting = replace(
            state, phase=Phase.RESTING, until=now + rule.interval_s, known=known, asked=()
        )
        return resting, effects
    round_id = state.round_id + 1
    checking = replace(
        state, phase=Phase.CHECKING, until=None, round_id=round_id, asked=asked, known=known
    )
    return checking, (*effects, Ask(round_id, asked))


def _judge(
    state: State, outcomes: Mapping[Engine, Outcome], now: float, rule: Rule
) -> tuple[State, tuple[Effect, ...]]:
    known = dict(state.known)
    told: list[Effect] = []
    failed: list[tuple[Engine, str]] = []
    for engine in state.asked:
        outcome = outcomes.get(engine)
        if outcome is None:
            continue
        if outcome.error is None:
            known[engine], effects = _passed(known[engine], engine, outcome, now)
            told += effects
        else:
            n_failures = known[engine].n_failures + 1
            known[engine] = replace(known[engine], n_failures=n_failures, has_passed=False)
            told.append(Tell("check_failed", engine, outcome.latency_s, outcome.error))
            failed.append((engine, outcome.error))
    doomed = [one for one in failed if known[one[0]].n_failures >= rule.failure_threshold]
    limit = rule.mass_failure_frac
    if doomed and limit is not None and len(failed) > limit * len(state.asked):
        told.append(
            Tell(
                "mass_failure_held",
                detail=f"{len(failed)} of {len(state.asked)} engines failed in one round: none was killed",
            )
        )
        doomed = []
    for engine, _ in doomed:
        known[engine] = replace(known[engine], is_condemned=True)
    resting = replace(
        state, phase=Phase.RESTING, until=now + rule.interval_s, asked=(), known=known
    )
    return resting, (*told, *(Kill(engine, reason) for engine, reason in doomed))


def _passed(
    known: Known, engine: Engine, outcome: Outcome, now: float
) -> tuple[Known, list[Effect]]:
    is_news = (
        known.has_passed is not True
        or known.told_at is None
        or now - known.told_at >= TELL_PASSED_EVERY_S
    )
    passed = replace(known, n_failures=0, has_passed=True)
    if not is_news:
        return passed, []
    return replace(passed, told_at=now), [Tell("check_passed", engine, outcome.latency_s)]
