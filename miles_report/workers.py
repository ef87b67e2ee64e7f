"""The same tasks in this process or over several: results do not depend on how many.

A worker is a process of its own (spawned, so that no lock or thread is inherited) that keeps what it opened between tasks and
does one task at a time, so that memory is bounded by the number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from miles_report.errors import BuildError, MilesReportError
from miles_report.run import Run
from miles_report.site.sample_output import make_samples
from miles_report.site.step_output import make_step
from miles_report.site.writer import DirectoryWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from miles_report.facts import RunFacts
    from miles_report.site.records import StepRecord
    from miles_report.site.sample_output import SampleTask
    from miles_report.site.step_output import StepTask
    from miles_report.sources.files import DumpFiles

Task = TypeVar("Task")
Result = TypeVar("Result")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

STOP_S = 5.0
"""How long a worker may take to end before it is killed."""


class Workshop(Protocol[Task_contra, Result_co]):
    """Makes the function that does tasks; sent to each worker, so it must be picklable."""

    def open(self) -> Callable[[Task_contra], Result_co]:
        """Called once a worker; what it opens serves all tasks of that worker."""


@dataclass(frozen=True)
class StepWorkshop:
    """Makes steps.

    Attributes:
        files: listing of the dump.
        facts: what pages of steps may know of the run.
        site: directory that takes the files.
        now: Unix seconds of the build, against which unreadable files are judged.
        alone: whether no other worker wants the processors, so that a second thread may help.
    """

    files: DumpFiles
    facts: RunFacts
    site: Path
    now: float
    alone: bool

    def open(self) -> Callable[[StepTask], StepRecord]:
        """One run and one writer for all steps of a worker."""
        run = Run(self.files, clock=lambda: self.now, kept_steps=0)
        writer = DirectoryWriter(self.site)
        encoder = ThreadPoolExecutor(1) if self.alone else AtOnce()
        return lambda task: make_step(run, task, self.facts, writer, encoder)


class AtOnce(Executor):
    """Runs what it is given before `submit` returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs it; an error is kept in the future, as a thread would do."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class SampleWorkshop:
    """Makes own pages of samples from slices that are in place.

    Attributes:
        facts: what the pages may know of the run.
        site: directory that holds the slices.
    """

    facts: RunFacts
    site: Path

    def open(self) -> Callable[[SampleTask], list[tuple[str, bytes]]]:
        """Reads slices by path."""
        return lambda task: list(make_samples(task, self.facts, self._read))

    def _read(self, path: str) -> bytes:
        return (self.site / path).read_bytes()


def default_jobs() -> int:
    """As many workers as this process may use processors, at most 8: more only wait for the disk."""
    return min(8, len(os.sched_getaffinity(0)))


def perform(
    tasks: Sequence[Task], workshop: Workshop[Task, Result], *, jobs: int
) -> Iterator[tuple[Task, Result]]:
    """Does all tasks, in the given order with one job, as they get done with several.

    Args:
        tasks: what to do.
        workshop: how.
        jobs: worker processes; with one, or one task, everything happens here.

    Yields:
        Each task and its result.

    Raises:
        MilesReportError: a task raised one.
        BuildError: a worker died, or a task failed in a way nobody foresaw.
    """
    jobs = min(jobs, len(tasks))
    if jobs > 1:
        pool = _Pool(tasks, workshop, jobs)
        try:
            yield from pool.results()
        finally:
            pool.close()
    elif tasks:
        do = workshop.open()
        for task in tasks:
            yield task, do(task)


class _Pool(Generic[Task, Result]):
    """Worker processes, each with a pipe of its own; the next task goes to whoever is done."""

    def __init__(self, tasks: Sequence[Task], workshop: Workshop[Task, Result], jobs: int) -> None:
        self._waiting = list(reversed(tasks))
        self._busy: dict[Connection, Task] = {}
        self._workers: list[tuple[BaseProcess, Connection]] = []
        context = multiprocessing.get_context("spawn")
        for number in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(workshop, theirs), daemon=True, name=f"miles-report-{number}"
            )
            process.start()
            theirs.close()
            self._workers.append((process, ours))
            self._hand_out(ours)

    def results(self) -> Iterator[tuple[Task, Result]]:
        """Results as they come."""
        while self._busy:
            for ready in wait(list(self._busy)):
                pipe: Connection = ready  # type: ignore[assignment]
                task = self._busy.pop(pipe)
                result = self._receive(pipe, task)
                self._hand_out(pipe)
                yield task, result

    def close(self) -> None:
        """Ends all workers."""
        for process, pipe in self._workers:
            pipe.close()
            if self._busy:
                process.terminate()
        for process, _ in self._workers:
            process.join(STOP_S)
            if process.is_alive():
                process.kill()
                process.join()

    def _hand_out(self, pipe: Connection) -> None:
        if self._waiting:
            task = self._waiting.pop()
            self._busy[pipe] = task
            pipe.send(task)

    def _receive(self, pipe: Connection, task: Task) -> Result:
        try:
            succeeded, value = pipe.recv()
        except (EOFError, OSError) as cause:
            raise BuildError(
                f"A worker ended without a result at {task}, most likely for lack of memory. "
                "Give the build more memory or fewer --jobs."
            ) from cause
        if succeeded:
            result: Result = value
            return result
        if isinstance(value, MilesReportError):
            raise value
        raise BuildError(f"{task} failed: {value}")


def _work(workshop: Workshop[Any, Any], pipe: Connection) -> None:
    """Life of a worker: until its pipe is closed, by the build or by its death."""
    try:
        do = None
        while True:
            task = pipe.recv()
            try:
                do = do or workshop.open()
                answer = (True, do(task))
            except MilesReportError as error:
                answer = (False, error)
            except Exception as error:  # noqa: BLE001 - told to the build, which stops with it
                answer = (False, f"{type(error).__name__}: {error}")
            pipe.send(answer)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
