"""Tables about the run as a whole: from an opened run to each of them, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.errors import NotFoundError, UsageError
from miles_report.run_timeline import TIMELINE
from miles_report.tables.absences import Recorded, absences
from miles_report.tables.bubbles import bubbles_table
from miles_report.tables.data_buffer import data_buffer_length, data_buffer_table
from miles_report.tables.frames import empty_table, notices_table
from miles_report.tables.incidents import health_table, incidents_table
from miles_report.tables.losses import losses
from miles_report.tables.metrics import metrics_table
from miles_report.tables.mfu import mfu_table
from miles_report.tables.repeated_notices import merge_repeated
from miles_report.tables.run_table import RunParts, run_table
from miles_report.tables.trajectories import step_window, trajectories_table, unplaced_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from miles_report.notices import Notice
    from miles_report.run import Run


def _run(run: Run) -> pl.DataFrame:
    telemetry = run.telemetry
    meta = telemetry.meta
    parts = RunParts(
        run_name=meta.run_name,
        start_ts=meta.start_ts,
        schema_version=meta.schema_version,
        args=meta.args,
        t0=telemetry.first_ts,
        t1=telemetry.last_ts,
        records={stream: bounds.n_records for stream, bounds in telemetry.bounds.items()},
        data_buffer_length=data_buffer_length(telemetry.data_buffer),
        has_tokenizer=bool(run.files.tokenizer),
        n_steps=len(run.steps),
        n_eval_steps=len(run.eval_steps),
    )
    return run_table(parts, telemetry.health)


def _metrics(run: Run, *, step_key: str | None = None, metric: str | None = None) -> pl.DataFrame:
    return metrics_table(
        run.telemetry.metrics.values, _steps(run), run.attempts, step_key=step_key, metric=metric
    )


def _steps(run: Run) -> pl.DataFrame:
    rows = [run.outline(step, evaluation=False).steps for step in run.steps]
    return pl.concat(rows) if rows else empty_table("steps")


def _bubbles(run: Run) -> pl.DataFrame:
    return bubbles_table(run.telemetry.metrics.values)


def _data_buffer(run: Run) -> pl.DataFrame:
    return data_buffer_table(run.telemetry.data_buffer)


def _mfu(run: Run) -> pl.DataFrame:
    return mfu_table(run.telemetry.metrics.values)


def _trajectories(
    run: Run,
    *,
    step: list[int] | None = None,
    row: int | None = None,
    sample: int | None = None,
    t0: float | None = None,
    t1: float | None = None,
) -> pl.DataFrame:
    if step is None:
        if row is not None:
            raise UsageError("A row belongs to a step: give step too.")
        samples = None if sample is None else [sample]
        return trajectories_table(run.telemetry.events, samples=samples, t0=t0, t1=t1)
    if t0 is not None or t1 is not None:
        raise UsageError("Give either step or a window t0, t1; a step has its own window.")
    frames = [
        lifecycles(run, one, run.open_step(one).sample_indices(row=row, sample=sample))
        for one in step
    ]
    return pl.concat(frames) if frames else empty_table("trajectories")


def lifecycles(run: Run, step: int, sample_indices: list[int]) -> pl.DataFrame:
    """Spans of these samples within the 4 h before the step was consumed: rows of `trajectories`."""
    window = step_window(step, _bubbles(run), run.telemetry.last_ts)
    if window is None:
        return empty_table("trajectories")
    return trajectories_table(
        run.telemetry.events, samples=sample_indices, t0=window[0], t1=window[1]
    )


def _notable(run: Run, *, step: list[int] | None = None) -> pl.DataFrame:
    if step is None:
        outlines = run.outlines()
    else:
        for one in step:
            if one not in run.files.rollouts and one not in run.files.eval_rollouts:
                raise NotFoundError(f"There is no step {one} in {run.path}.")
        outlines = [run.outline(one, evaluation=False) for one in step if one in run.files.rollouts]
        outlines += [
            run.outline(one, evaluation=True) for one in step if one in run.files.eval_rollouts
        ]
    frames = [outline.notable for outline in outlines]
    return pl.concat(frames) if frames else empty_table("notable")


def _notices(run: Run) -> pl.DataFrame:
    return notices_table(gather_notices(run))


def _health(run: Run, *, t0: float | None = None, t1: float | None = None) -> pl.DataFrame:
    return health_table(run.telemetry.health, t0=t0, t1=t1)


def _incidents(run: Run) -> pl.DataFrame:
    return incidents_table(health_table(run.telemetry.health))


RUN_WIDE: Mapping[str, Callable[..., pl.DataFrame]] = {
    "run": _run,
    "metrics": _metrics,
    "steps": _steps,
    "bubbles": _bubbles,
    "data_buffer": _data_buffer,
    "mfu": _mfu,
    "trajectories": _trajectories,
    "notable": _notable,
    "health": _health,
    "incidents": _incidents,
    "notices": _notices,
    **TIMELINE,
}
"""Each takes the run and the checked parameters of its table."""


def gather_notices(run: Run) -> tuple[Notice, ...]:
    """Everything that is absent, skipped or broken, each once; reads every stream and every step not known yet."""
    return merge_repeated(_every_notice(run))


def _every_notice(run: Run) -> Iterator[Notice]:
    yield from run.files.notices
    yield from run.telemetry.notices()
    yield from run.attempts.notices
    yield from unplaced_events(run.telemetry.events)
    yield from losses(run.telemetry.health)
    for outline in run.outlines():
        yield from outline.notices
    if run.files.tokenizer and run.tokenizer is None:
        yield from run.tokenizer_notices
    yield from absences(_recorded(run))
    if run.telemetry.bounds:
        yield from run.timeline.notices()


def _recorded(run: Run) -> Recorded:
    bounds = run.telemetry.bounds
    return Recorded(
        telemetry=bool(bounds),
        metrics="metrics" in bounds,
        lifecycles="trajectories" in bounds,
        rollouts=bool(run.files.rollouts or run.files.eval_rollouts),
        train=bool(run.files.train),
        conversations=bool(run.files.conversations),
        tokenizer=bool(run.files.tokenizer),
    )
