"""Tables of the live telemetry: from an opened run to each of them, by name.

A window is read block by block, and only from partitions that can overlap it. Missing edges of a window are the run's
extremes; phases and series need no edge, so that for them a missing one is open.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.tables.advisories import advisories_table
from miles_report.tables.advisory_inputs import AdvisoryInputs, view_engines
from miles_report.tables.bubbles import bubbles_table
from miles_report.tables.carpet import BUCKETS as CARPET_BUCKETS
from miles_report.tables.carpet import gpu_carpet, lifecycle_carpet, phase_carpet
from miles_report.tables.clock_skew import clock_skew
from miles_report.tables.engine_catalog import engine_metrics_table, inputs_of
from miles_report.tables.engine_series import engine_samples, engine_series_table, fold
from miles_report.tables.fleet import BUCKETS as FLEET_BUCKETS
from miles_report.tables.fleet import fleet_table
from miles_report.tables.frames import empty_table
from miles_report.tables.gpu_series import gpu_processes_table, gpu_util_table
from miles_report.tables.lane_grammar import select_lanes
from miles_report.tables.lanes import lanes_table
from miles_report.tables.mfu import mfu_table
from miles_report.tables.outliers import TOP, latest_start, lowest_util, slowest_phase
from miles_report.tables.phase_records import Window, phase_records
from miles_report.tables.phases import MANAGER, phases_table
from miles_report.tables.step_phases import mean_util, overlap, step_phases_table, step_windows
from miles_report.tables.telemetry_absences import Recorded, telemetry_absences
from miles_report.tables.thinning import PER_BUCKET
from miles_report.tables.time_grid import TimeGrid
from miles_report.tables.topology import topology_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from miles_report.notices import Notice
    from miles_report.run import Run
    from miles_report.sources.telemetry import Telemetry
    from miles_report.tables.attempts import Attempts
    from miles_report.tables.criteria import Criterion
    from miles_report.tables.lane_grammar import Selector

    Selectors = Sequence[Selector] | None


class Timeline:
    """What happened on the GPUs and engines of a run, by window.

    Args:
        telemetry: the streams.
        attempts: gives the beginnings of the run's attempts.
    """

    def __init__(self, telemetry: Telemetry, attempts: Callable[[], Attempts]) -> None:
        self._telemetry = telemetry
        self._attempts = attempts

    @cached_property
    def topology(self) -> pl.DataFrame:
        """The `topology` table."""
        return topology_table(self._telemetry.topology)

    @cached_property
    def lanes(self) -> pl.DataFrame:
        """All lanes; reads every stream once."""
        survey = self._telemetry.survey
        return lanes_table(
            self._telemetry.lane_catalog,
            phase_lanes=survey.phase_lanes,
            topology=self.topology,
            gpu_lanes=survey.gpu_lanes,
        )

    def grid(self, t0: float | None, t1: float | None, buckets: int) -> TimeGrid | None:
        """Buckets over a window whose missing edges are the run's extremes; null for a run without records."""
        first = self._telemetry.first_ts if t0 is None else t0
        last = self._telemetry.last_ts if t1 is None else t1
        if first is None or last is None:
            return None
        return TimeGrid.over(first if t0 is not None else min(first, last), last, buckets)

    def records(self, window: Window) -> pl.DataFrame:
        """`phase_records` of a window."""
        telemetry = self._telemetry
        return phase_records(
            lambda: telemetry.store.frames("phases"), window, lambda: telemetry.last_ts
        )

    def phases(self, window: Window) -> pl.DataFrame:
        """Rows of the `phases` table that overlap a window, of all lanes."""
        return phases_table(
            self.records(window),
            self.topology,
            lambda: self.lanes,
            window=window,
            start_ts=self._telemetry.meta.start_ts,
            attempts=self._attempts(),
        )

    def gpu_samples(self, t0: float | None, t1: float | None) -> Iterator[pl.DataFrame]:
        """GPU samples with t0 <= ts <= t1, block by block, with the lane numbers of `coded`."""
        return self._telemetry.store.between("gpu_util", t0, t1)

    def coded(self) -> pl.DataFrame:
        """node, gpu and lane of the lane numbers handed out so far: of all blocks read, and of all once `lanes` is known."""
        return self._telemetry.store.lanes.lanes

    def engine_blocks(self, t0: float | None, t1: float | None) -> Iterator[pl.DataFrame]:
        """The engine_series stream with t0 <= ts <= t1, block by block."""
        return self._telemetry.store.between("engine_series", t0, t1)

    def notices(self) -> list[Notice]:
        """What the telemetry does not hold, and nodes whose clocks seem to differ; reads every stream."""
        telemetry = self._telemetry
        recorded = Recorded(
            records=self.records(Window()),
            topology=self.topology,
            gpu_lanes=telemetry.survey.gpu_lanes,
            metrics=engine_metrics_table(telemetry.survey.engine_metrics),
            start_ts=telemetry.meta.start_ts,
        )
        return [*telemetry_absences(recorded), *clock_skew(self.phases(Window()))]


def _lanes(run: Run, *, lanes: Selectors = None) -> pl.DataFrame:
    return select_lanes(run.timeline.lanes, lanes)


def _topology(run: Run) -> pl.DataFrame:
    return run.timeline.topology


def _phases(
    run: Run, *, t0: float | None = None, t1: float | None = None, lanes: Selectors = None
) -> pl.DataFrame:
    phases = run.timeline.phases(Window(t0, t1))
    if lanes is None:
        return phases
    chosen = select_lanes(run.timeline.lanes, lanes)
    return phases.join(chosen, on=["node", "gpu"], how="semi", maintain_order="left")


def step_times(run: Run) -> pl.DataFrame:
    """When each step ran, by time, whether or not the dump still holds it.

    Returns:
        step, t0, t1 (Unix seconds), wait_ratio (null: not logged, or not finite), overlap_fraction (of the rollout with
        training; null: no rollout in the step), util_mean (fraction, over all readings of all GPUs; null: no reading).
    """
    bubbles = bubbles_table(run.telemetry.metrics.values)
    steps = step_windows(bubbles, run.attempts, run.telemetry.first_ts)
    waits = bubbles.filter(pl.col("wait_ratio").is_finite())
    told = steps.with_columns(
        pl.Series("overlap_fraction", overlap(run.timeline.records(Window()), steps)).fill_nan(
            None
        ),
        pl.Series("util_mean", mean_util(run.timeline.gpu_samples(None, None), steps)).fill_nan(
            None
        ),
    )
    return told.join(
        waits.select("step", "wait_ratio").unique("step", keep="last"),
        on="step",
        how="left",
        maintain_order="left",
    )


def process_phases(run: Run) -> pl.DataFrame:
    """Phases that no lane shows, since the process that reported them named no GPU.

    Returns:
        name, t0, t1, node, rank (-1: none), role, open; by role (trainers first), rank, node and t0. The rollout manager's stand on
        the GPUs of its engines where there are any, and here where no GPU is known at all.
    """
    timeline = run.timeline
    records = timeline.records(Window()).filter(pl.col("gpus").list.len() == 0)
    if timeline.lanes.height:
        records = records.filter((pl.col("role") != MANAGER).fill_null(value=True))
    is_manager = (pl.col("role") == MANAGER).fill_null(value=False)
    ordered = records.sort(is_manager, "role", "rank", "node", "t0", "order")
    return ordered.select("name", "t0", "t1", "node", "rank", "role", "open")


def _step_phases(run: Run) -> pl.DataFrame:
    timeline = run.timeline
    bubbles = bubbles_table(run.telemetry.metrics.values)
    steps = step_windows(bubbles, run.attempts, run.telemetry.first_ts)
    return step_phases_table(
        timeline.phases(Window()), timeline.records(Window()), timeline.lanes, steps
    )


def _gpu_util(
    run: Run,
    *,
    t0: float | None = None,
    t1: float | None = None,
    lanes: Selectors = None,
    points: int | None = None,
) -> pl.DataFrame:
    timeline = run.timeline
    grid = None if points is None else timeline.grid(t0, t1, points // PER_BUCKET)
    chosen = None if lanes is None else select_lanes(timeline.lanes, lanes)
    return gpu_util_table(timeline.gpu_samples(t0, t1), timeline.coded, chosen, grid=grid)


def _gpu_processes(
    run: Run, *, t0: float | None = None, t1: float | None = None, lanes: Selectors = None
) -> pl.DataFrame:
    chosen = None if lanes is None else select_lanes(run.timeline.lanes, lanes)
    return gpu_processes_table(run.telemetry.store.between("gpu_processes", t0, t1), chosen)


def _engine_series(
    run: Run,
    *,
    metric: str,
    t0: float | None = None,
    t1: float | None = None,
    per_dp_rank: bool = False,
    points: int | None = None,
) -> pl.DataFrame:
    timeline = run.timeline
    samples = engine_samples(timeline.engine_blocks(t0, t1), inputs_of(metric))
    grid = None if points is None else timeline.grid(t0, t1, points // PER_BUCKET)
    return engine_series_table(fold(samples, per_dp_rank=per_dp_rank), metric, grid=grid)


def _engine_metrics(run: Run) -> pl.DataFrame:
    return engine_metrics_table(run.telemetry.survey.engine_metrics)


def _fleet(
    run: Run,
    *,
    t0: float | None = None,
    t1: float | None = None,
    buckets: int = FLEET_BUCKETS,
) -> pl.DataFrame:
    timeline = run.timeline
    grid = timeline.grid(t0, t1, buckets)
    if grid is None:
        return empty_table("fleet")
    lanes = timeline.lanes
    return fleet_table(
        timeline.phases(Window(grid.t0, grid.t1)),
        timeline.gpu_samples(grid.t0, grid.t1),
        timeline.coded(),
        lanes,
        grid,
    )


def _carpet(
    run: Run,
    *,
    metric: str = "phase",
    t0: float | None = None,
    t1: float | None = None,
    buckets: int = CARPET_BUCKETS,
    lanes: Selectors = None,
) -> pl.DataFrame:
    timeline = run.timeline
    grid = timeline.grid(t0, t1, buckets)
    if grid is None:
        return empty_table("carpet")
    if metric == "lifecycle":
        return lifecycle_carpet(run.telemetry.events, grid)
    chosen = select_lanes(timeline.lanes, lanes)
    if metric == "phase":
        return phase_carpet(timeline.phases(Window(grid.t0, grid.t1)), chosen, grid)
    samples = timeline.gpu_samples(grid.t0, grid.t1)
    return gpu_carpet(samples, timeline.coded(), chosen, grid, metric)


def _outliers(
    run: Run,
    *,
    by: Criterion,
    t0: float | None = None,
    t1: float | None = None,
    top: int = TOP,
) -> pl.DataFrame:
    timeline = run.timeline
    window = Window(t0, t1)
    if by.rule == "lowest_util":
        ranked = lowest_util(timeline.gpu_samples(t0, t1), timeline.coded)
    elif by.rule == "slowest_phase":
        ranked = slowest_phase(timeline.phases(window), by.phase)
    else:
        ranked = latest_start(timeline.phases(Window()), by.phase, window)
    return ranked.head(top)


def _advisories(run: Run, *, t0: float | None = None, t1: float | None = None) -> pl.DataFrame:
    timeline = run.timeline
    telemetry = run.telemetry
    last_ts = telemetry.last_ts
    health = telemetry.health
    if t0 is not None:
        health = health.filter(pl.col("ts") >= t0)
    if t1 is not None:
        health = health.filter(pl.col("ts") <= t1)
    return advisories_table(
        AdvisoryInputs(
            args=telemetry.meta.args,
            start_ts=telemetry.meta.start_ts,
            last_ts=last_ts,
            records=timeline.records(Window()),
            engines=view_engines(timeline.engine_blocks(t0, t1)),
            health=health,
            step=_newest_step(run),
            mfu=mfu_table(telemetry.metrics.values),
        )
    )


def _newest_step(run: Run) -> dict[str, Any] | None:
    """The row of `steps` of the newest step that can be read."""
    for step in reversed(run.steps):
        outline = run.outline(step, evaluation=False)
        if outline.state == "ok":
            return outline.steps.row(0, named=True)
    return None


TIMELINE: Mapping[str, Callable[..., pl.DataFrame]] = {
    "lanes": _lanes,
    "topology": _topology,
    "phases": _phases,
    "step_phases": _step_phases,
    "gpu_util": _gpu_util,
    "gpu_processes": _gpu_processes,
    "engine_series": _engine_series,
    "engine_metrics": _engine_metrics,
    "fleet": _fleet,
    "carpet": _carpet,
    "outliers": _outliers,
    "advisories": _advisories,
}
"""Each takes the run and the checked parameters of its table."""
