"""The `step_phases` table: where the time of each step went, and how much of the rollout ran beside training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from miles_report.tables.frames import conform, empty_table
from miles_report.tables.lane_grid import painting_order
from miles_report.tables.paint import UNPAINTED, paint
from miles_report.tables.phases import MANAGER

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from miles_report.tables.attempts import Attempts

    Floats = npt.NDArray[np.float64]

ROLLOUT = ("rollout",)
TRAINING = (
    "train",
    "actor_train",
    "critic_train",
    "data_preprocess",
    "log_probs",
    "ref_log_probs",
    "train_log_probs",
)
"""Phases in which a rank works on the samples of a step; waiting, sleeping and moving weights are not among them."""


def step_windows(bubbles: pl.DataFrame, attempts: Attempts, first_ts: float | None) -> pl.DataFrame:
    """When each step ran: step, t0, t1, by time and without overlap.

    Args:
        bubbles: the `bubbles` table. Of a step logged in several attempts the last counts; in it the first row with a step time.
        attempts: beginnings of the run's attempts.
        first_ts: earliest record of the run.

    Returns:
        t1 is when the timing was logged; t0 is the step time before it, but not before the step before it ended nor its attempt
        began; without a step time it is the later of these two.
    """
    time = pl.col("step_time")
    timed = bubbles.filter(pl.col("step").is_not_null()).with_columns(
        attempts.number(pl.col("ts")).alias("attempt"),
        pl.when(time.is_finite() & (time > 0)).then(time),
    )
    rows = (
        timed.sort("attempt", time.is_null(), descending=[True, False], maintain_order=True)
        .unique("step", keep="first", maintain_order=True)
        .sort("ts", maintain_order=True)
    )
    if not rows.height:
        return pl.DataFrame(schema={"step": pl.Int64, "t0": pl.Float64, "t1": pl.Float64})
    begins = pl.Series("begin", [first_ts, *attempts.starts], dtype=pl.Float64)
    floor = pl.max_horizontal(pl.col("ts").shift(1), begins.gather(rows["attempt"]))
    windows = rows.select(
        "step",
        pl.coalesce(pl.max_horizontal(floor, pl.col("ts") - time), floor, "ts").alias("t0"),
        pl.col("ts").alias("t1"),
    )
    return windows.filter(pl.col("t1") > pl.col("t0"))


def step_phases_table(
    phases: pl.DataFrame, records: pl.DataFrame, lanes: pl.DataFrame, steps: pl.DataFrame
) -> pl.DataFrame:
    """One row a phase that any lane was in during a step, by step and phase.

    Args:
        phases: rows of the `phases` table.
        records: `phase_records`: rollouts and training count for the overlap also where no lane shows them.
        lanes: all lanes.
        steps: `step_windows`.

    Returns:
        Columns of the `step_phases` table. Where phases nest, a moment of a lane belongs to the one that shows in the carpet.
    """
    if not (steps.height and lanes.height):
        return empty_table("step_phases")
    seconds = _lane_seconds(phases, lanes, steps)
    told = steps.with_columns(pl.Series("overlap_fraction", overlap(records, steps)).fill_nan(None))
    length = pl.col("t1") - pl.col("t0")
    return conform(
        "step_phases",
        seconds.join(told, on="step")
        .with_columns((pl.col("lane_seconds") / (length * lanes.height)).alias("fraction"))
        .sort("step", "phase"),
    )


def overlap(records: pl.DataFrame, steps: pl.DataFrame) -> Floats:
    """(n_steps,) share of each step's rollout time in which any rank trained; NaN without rollout.

    By the clock: how many lanes did so does not count.
    """
    is_manager = (pl.col("role") == MANAGER).fill_null(value=False)
    rollout = records.filter(pl.col("name").is_in(ROLLOUT))
    training = records.filter(pl.col("name").is_in(TRAINING) & ~is_manager)
    in_rollout, in_training, in_either = (
        _seconds_within(part, steps) for part in (rollout, training, pl.concat([rollout, training]))
    )
    both = in_rollout + in_training - in_either
    with np.errstate(invalid="ignore"):
        return np.where(in_rollout > 0, np.clip(both / in_rollout, 0, 1), np.nan)


def mean_util(samples: Iterable[pl.DataFrame], steps: pl.DataFrame) -> Floats:
    """(n_steps,) mean utilization of all GPUs during each step, 0 to 1; NaN without a reading.

    Args:
        samples: ts and util (percent) of all GPUs, block by block.
        steps: `step_windows`.
    """
    t0, t1 = steps["t0"].to_numpy(), steps["t1"].to_numpy()
    sums, counts = np.zeros(steps.height), np.zeros(steps.height)
    for block in samples if steps.height else ():
        known = block.filter(pl.col("util").is_not_null())
        ts = known["ts"].to_numpy()
        place = np.searchsorted(t0, ts, "right") - 1
        inside = (place >= 0) & (ts < t1[place])
        place = place[inside]
        sums += np.bincount(place, known["util"].to_numpy()[inside], steps.height)
        counts += np.bincount(place, minlength=steps.height)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts / 100, np.nan)


def _seconds_within(intervals: pl.DataFrame, steps: pl.DataFrame) -> Floats:
    """Seconds of each step that lie in any of the intervals."""
    ordered = intervals.filter(pl.col("t1") > pl.col("t0")).sort("t0")
    if not ordered.height:
        return np.zeros(steps.height)
    starts = ordered["t0"].to_numpy()
    reach = np.maximum.accumulate(ordered["t1"].to_numpy())
    is_first = np.append(True, starts[1:] > reach[:-1])
    first = np.flatnonzero(is_first)
    begins, ends = starts[first], reach[np.append(first[1:], len(starts)) - 1]
    lengths = np.cumsum(ends - begins)
    edges = np.stack([begins, ends], axis=1).ravel()
    until = np.stack([lengths - (ends - begins), lengths], axis=1).ravel()
    at_end, at_start = (np.interp(steps[name].to_numpy(), edges, until) for name in ("t1", "t0"))
    return np.asarray(at_end - at_start)


def _lane_seconds(phases: pl.DataFrame, lanes: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """step, phase, lane_seconds: lanes are cut wherever a phase or step begins or ends, and each piece is painted."""
    rows = lanes.select("node", "gpu").with_row_index("row")
    first, last = steps["t0"].min(), steps["t1"].max()
    placed = painting_order(
        phases.filter(
            (pl.col("t1") > first) & (pl.col("t0") < last) & (pl.col("t1") > pl.col("t0"))
        )
    ).join(rows, on=["node", "gpu"], how="inner", maintain_order="left")
    edges = pl.concat([steps["t0"], steps["t1"]]).unique().to_frame("ts")
    cuts = (
        pl.concat(
            [
                placed.select("row", pl.col("t0").alias("ts")),
                placed.select("row", pl.col("t1").alias("ts")),
                rows.select("row").join(edges, how="cross"),
            ]
        )
        .unique()
        .sort("row", "ts")
        .with_row_index("cell")
    )
    ends = [
        placed.join(
            cuts, left_on=["row", edge], right_on=["row", "ts"], how="left", maintain_order="left"
        )["cell"]
        .cast(pl.Int64)
        .to_numpy()
        for edge in ("t0", "t1")
    ]
    shown = paint(cuts.height, ends[0], ends[1] - 1)
    step = np.searchsorted(steps["t0"].to_numpy(), cuts["ts"].to_numpy(), "right") - 1
    inside = (step >= 0) & (cuts["ts"].to_numpy() < steps["t1"].to_numpy()[step])
    told = np.flatnonzero((shown != UNPAINTED) & inside)
    return (
        pl.DataFrame(
            {
                "step": steps["step"].gather(step[told]),
                "phase": placed["name"].gather(shown[told]),
                "lane_seconds": cuts["ts"].gather(told + 1) - cuts["ts"].gather(told),
            }
        )
        .group_by("step", "phase")
        .agg(pl.col("lane_seconds").sum())
    )
