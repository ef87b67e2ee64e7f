"""The monitor of one engine group: a daemon thread that asks every engine whether it is well and kills those that are not.

It decides nothing itself (`state.step` does). Control calls change the state at once, whatever the thread is doing, and ring a bell
that ends its waits; a kill that was decided before is brought to its end first, without waiting for the engine any longer.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from faulttol.backend import error_of
from faulttol.state import (
    Ask,
    Engine,
    Kill,
    Outcome,
    Pause,
    Phase,
    Results,
    Resume,
    Rule,
    Start,
    State,
    Stop,
    Tell,
    Tick,
    step,
)
from faulttol.waiting import wait_all, wait_for_bell
from miles_report.runtime.clock import SystemClock
from miles_report.runtime.periodic import Periodic
from miles_report.runtime.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from faulttol.groups import EngineGroup
    from faulttol.state import Effect, Event
    from faulttol.waiting import Wait
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

BETWEEN_TURNS_S = 0.02
"""Turns wait by themselves; this only keeps a turn that fails at once from spinning."""
WARN_EVERY_S = 60.0
STOP_S = 5.0


class RolloutHealthMonitor:
    """Watches one group. `start` once, `resume` and `pause` as engines come and go, `stop` at the end."""

    def __init__(
        self,
        group: EngineGroup,
        rule: Rule | None = None,
        *,
        clock: Clock | None = None,
        wait: Wait = wait_for_bell,
    ) -> None:
        """Prepares; no thread runs before `start`.

        Args:
            group: whose engines are watched.
            rule: null: Miles's defaults.
            clock: the host's, if null.
            wait: how to wait for a bell or until some seconds are over.
        """
        self._group = group
        self._rule = Rule() if rule is None else rule
        self._clock = SystemClock() if clock is None else clock
        self._wait = wait
        self._lock = threading.Lock()  # guards the state
        self._acting = threading.Lock()  # held while a round is judged and its kills are done
        self._bell = threading.Event()
        self._state = State()
        self._thread = Periodic(
            self.turn,
            every_s=BETWEEN_TURNS_S,
            clock=self._clock,
            name=f"faulttol-{group.name}",
            throttle=Throttle(every_s=WARN_EVERY_S, clock=self._clock),
        )

    @property
    def state(self) -> State:
        """All that it knows."""
        return self._state

    def start(self) -> bool:
        """Starts the thread, paused; False without engines, or when it was started before."""
        if not self._group.slots():
            return False
        if self._state.phase is not Phase.NEW:
            return False
        self._advance(Start())
        self._thread.start()
        return True

    def resume(self) -> None:
        """Checks again, after the first wait."""
        self._advance(Resume(self._group.alive()))

    def pause(self) -> None:
        """No checks until `resume`; returns when no engine is being killed any more."""
        self._advance(Pause())
        self._settle()

    def stop(self, timeout_s: float = STOP_S) -> bool:
        """Ends the thread; False if it did not end in time."""
        self._advance(Stop())
        self._settle()
        return self._thread.stop(timeout_s)

    def is_checking_enabled(self) -> bool:
        """Whether checks happen, now or after a wait."""
        return self._state.is_checking_enabled

    def turn(self) -> None:
        """One turn of the thread: a round with its kills, or a wait for what comes next."""
        self._bell.clear()
        asks = [one for one in self._advance(Tick(self._group.alive())) if isinstance(one, Ask)]
        if asks:
            outcomes: dict[Engine, Outcome] = {}
            try:
                outcomes = self._ask_all(asks[0])
            finally:  # a round that raised found out nothing, but it is over
                with self._acting:
                    effects = self._advance(Results(asks[0].round_id, outcomes))
                    self._kill([one for one in effects if isinstance(one, Kill)])
            return
        until = self._state.until
        if self._state.phase is not Phase.STOPPED:
            self._wait(
                self._bell, None if until is None else max(0.0, until - self._clock.monotonic())
            )

    def _advance(self, event: Event) -> tuple[Effect, ...]:
        """Does what the state machine says, tells what there is to tell, and rings the bell if the phase changed."""
        with self._lock:
            before = self._state
            self._state, effects = step(before, event, self._clock.monotonic(), self._rule)
            after = self._state
        for effect in effects:
            if isinstance(effect, Tell):
                self._group.tell(
                    effect.event,
                    effect.engine,
                    latency_s=effect.latency_s,
                    detail=effect.detail,
                )
                if effect.event in ("check_failed", "mass_failure_held"):
                    logger.warning(
                        "monitor.%s: group %s, engine %s: %s",
                        effect.event,
                        self._group.name,
                        effect.engine,
                        effect.detail,
                    )
        if after.phase is not before.phase and not isinstance(event, Tick | Results):
            self._bell.set()
        return effects

    def _settle(self) -> None:
        """Waits for the end of kills that are under way; they do not wait for their engines after a pause."""
        with self._acting:
            pass

    def _is_current(self, round_id: int) -> bool:
        state = self._state
        return state.phase is Phase.CHECKING and state.round_id == round_id

    def _ask_all(self, ask: Ask) -> dict[Engine, Outcome]:
        """All engines side by side; one that did not answer within the timeout failed."""
        began = self._clock.monotonic()
        calls: dict[Engine, Future[Any]] = {}
        latencies: dict[Engine, float] = {}

        def noter(engine: Engine) -> Callable[[Future[Any]], None]:
            def note(_: Future[Any]) -> None:
                latencies[engine] = self._clock.monotonic() - began

            return note

        for engine in ask.engines:
            call = self._group.ask(engine, "health_generate", timeout=self._rule.timeout_s)
            if call is not None:  # else it was stopped by somebody else: nothing to find out
                call.add_done_callback(noter(engine))
                calls[engine] = call
        wait_all(
            calls.values(),
            self._rule.timeout_s,
            clock=self._clock,
            bell=self._bell,
            is_wanted=lambda: self._is_current(ask.round_id),
            wait=self._wait,
        )
        took_s = self._clock.monotonic() - began
        outcomes = {}
        for engine, call in calls.items():
            error = error_of(call)
            if error is not None and not call.done():
                error = f"no answer within {self._rule.timeout_s:g} s"
            outcomes[engine] = Outcome(latencies.get(engine, took_s), error)
        return outcomes

    def _kill(self, kills: list[Kill]) -> None:
        """Shuts engines down side by side, within a bound, then kills what is left of them."""
        answers = {kill: self._group.shut_down(kill.engine) for kill in kills}
        wait_all(
            [one for several in answers.values() for one in several],
            self._rule.shutdown_timeout_s,
            clock=self._clock,
            bell=self._bell,
            is_wanted=lambda: self._state.phase is Phase.RESTING,
            wait=self._wait,
        )
        for kill, several in answers.items():
            errors = [error for one in several if (error := error_of(one)) is not None]
            error = self._group.release(kill.engine)
            detail = kill.reason if not errors else f"{kill.reason}; shutdown: {errors[0]}"
            if error is None:
                self._group.tell("engine_killed", kill.engine, detail=detail)
            else:
                self._group.tell("kill_failed", kill.engine, detail=error)
            logger.warning(
                "monitor.%s: group %s, engine %d: %s",
                "engine_killed" if error is None else "kill_failed",
                self._group.name,
                kill.engine.rank,
                detail if error is None else error,
            )
