"""The `trajectories` table: lifecycle events paired into spans.

Everything is one pass over sorted columns, so that a million events stay cheap. The unit of pairing is a round: the events of
a sample up to and including an attempt_end. Nothing stays open across it, because an attempt's end closes what it left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.notices import Notice
from miles_report.schema.streams import COARSE_TURN
from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

STEP_WINDOW_S = 4 * 3600.0
"""How far before its consumption a step's samples are looked for; older events are of another run of the index."""

ROUND = ("sample_index", "round")


def step_window(step: int, bubbles: pl.DataFrame, t1: float | None) -> tuple[float, float] | None:
    """The window in which a step's samples lived.

    Args:
        step: train step, or the step at which an evaluation ran.
        bubbles: the `bubbles` table.
        t1: latest record of the run.

    Returns:
        (first, last), both inclusive, Unix seconds; the last is when the step was consumed: its first row in `bubbles`, else the
        end of the run. Null if neither is known.
    """
    stamps = bubbles.filter(pl.col("step") == step)["ts"]
    consumed = float(stamps[0]) if stamps.len() else t1
    return None if consumed is None else (consumed - STEP_WINDOW_S, consumed)


def trajectories_table(
    events: pl.DataFrame,
    *,
    samples: Iterable[int] | None = None,
    t0: float | None = None,
    t1: float | None = None,
) -> pl.DataFrame:
    """Spans of the selected samples, by sample and time.

    Args:
        events: the trajectories stream in file order.
        samples: sample indices to show; null: all.
        t0: events before it are not looked at; null: from the first.
        t1: events after it are not looked at; null: to the last.

    Returns:
        Columns of the `trajectories` table. t0 null: an end without a start; t1 null: not ended. Texts that were not recorded are "".
        first_ts and last_ts are the sample's first and last selected event.
    """
    chosen = events.filter(pl.col("sample_index") >= 0)
    if samples is not None:
        chosen = chosen.filter(pl.col("sample_index").is_in(sorted(set(samples))))
    ordered = _rounds(events_between(chosen, t0, t1))
    ends = _ends(ordered)
    spans = _in_order(pl.concat([_attempts(ordered, ends), _turns(ordered, ends)]))
    return spans.join(
        _samples(ordered), on="sample_index", how="left", maintain_order="left"
    ).select(list(table_schema("trajectories")))


def window_spans(events: pl.DataFrame) -> pl.DataFrame:
    """Spans of the events of a window, for pictures of it: sample_index, kind, t0, t1, in the order of `trajectories`.

    Unlike there, an attempt whose end alone lies in the window is a span too, with t0 null, and events that name no sample are
    paired as those of one sample, -1.
    """
    ordered = _rounds(events)
    ends = _ends(ordered)
    columns = ("sample_index", "kind", "t0", "t1", "turn")
    started = _attempts(ordered, ends).select(columns)
    starts = ordered.filter(pl.col("kind") == "attempt_start")
    ended = ends.join(starts, on=ROUND, how="anti").select(
        "sample_index",
        pl.lit("attempt").alias("kind"),
        pl.lit(None, dtype=pl.Float64).alias("t0"),
        pl.col("end").alias("t1"),
        pl.lit(COARSE_TURN, dtype=pl.Int64).alias("turn"),
    )
    return _in_order(pl.concat([started, ended, _turns(ordered, ends).select(columns)])).drop(
        "turn"
    )


def events_between(events: pl.DataFrame, t0: float | None, t1: float | None) -> pl.DataFrame:
    """Events with t0 <= ts <= t1; a null edge is open."""
    if t0 is not None:
        events = events.filter(pl.col("ts") >= t0)
    if t1 is not None:
        events = events.filter(pl.col("ts") <= t1)
    return events


def unplaced_events(events: pl.DataFrame) -> list[Notice]:
    """Tells of events that belong to no sample and are in no span."""
    n_unplaced = events.height - events.filter(pl.col("sample_index") >= 0).height
    if not n_unplaced:
        return []
    return [
        Notice(
            "events-without-sample",
            "info",
            "dashboard/trajectories",
            f"{n_unplaced} lifecycle events carry no sample index and are in no span.",
            "None: the rollout function did not tell the sample.",
        )
    ]


def _rounds(events: pl.DataFrame) -> pl.DataFrame:
    """Events by sample and time, ties in file order, with texts filled and the number of their round."""
    ended = (pl.col("kind") == "attempt_end").cast(pl.Int64)
    return (
        events.with_columns(
            pl.col("group_index").fill_null(-1),
            pl.col("turn").fill_null(COARSE_TURN),
            pl.col("weight_version").fill_null(""),
            pl.col("detail").fill_null(""),
        )
        .sort("sample_index", "ts", maintain_order=True)
        .with_columns((ended.cum_sum() - ended).over("sample_index").alias("round"))
    )


def _ends(ordered: pl.DataFrame) -> pl.DataFrame:
    """The end of each round that has one."""
    return (
        ordered.filter(pl.col("kind") == "attempt_end")
        .group_by(ROUND)
        .agg(pl.col("ts").last().alias("end"), pl.col("weight_version").last().alias("end_version"))
    )


def _in_order(spans: pl.DataFrame) -> pl.DataFrame:
    """Spans by sample and time."""
    rank = pl.col("kind").replace_strict({"attempt": 0, "gen": 1, "tool": 2}, return_dtype=pl.Int8)
    begun = pl.coalesce("t0", "t1")
    return spans.sort(
        "sample_index", begun, "t1", rank, "turn", nulls_last=True, maintain_order=True
    )


def _samples(ordered: pl.DataFrame) -> pl.DataFrame:
    """What all spans of a sample share: group, status of its last ended attempt, first and last event."""
    group = pl.col("group_index").filter(pl.col("group_index") >= 0)
    status = pl.col("detail").filter(pl.col("kind") == "attempt_end")
    return ordered.group_by("sample_index").agg(
        group.first(),
        status.last().fill_null("").alias("status"),
        pl.col("ts").min().alias("first_ts"),
        pl.col("ts").max().alias("last_ts"),
    )


def _attempts(ordered: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """One span a round that has a start: a second start without an end replaces the first."""
    starts = (
        ordered.filter(pl.col("kind") == "attempt_start")
        .group_by(ROUND)
        .agg(pl.col("ts").last().alias("t0"), pl.col("weight_version").last())
    )
    return starts.join(ends, on=ROUND, how="left").select(
        "sample_index",
        pl.lit("attempt").alias("kind"),
        "t0",
        pl.col("end").alias("t1"),
        pl.lit(COARSE_TURN, dtype=pl.Int64).alias("turn"),
        _known("end_version", "weight_version"),
    )


def _turns(ordered: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Generating and tool spans: within a round a start pairs with the next event of its kind and turn if that is an end."""
    names = {
        "gen_start": ("gen", True),
        "gen_end": ("gen", False),
        "tool_start": ("tool", True),
        "tool_end": ("tool", False),
    }
    turns = ordered.filter(pl.col("kind").is_in(list(names))).with_columns(
        pl.col("kind").replace_strict({name: kind for name, (kind, _) in names.items()}),
        pl.col("kind")
        .replace_strict(
            {name: starts for name, (_, starts) in names.items()}, return_dtype=pl.Boolean
        )
        .alias("starts"),
    )
    key = (*ROUND, "kind", "turn")
    turns = turns.with_columns(
        pl.col("starts").shift(1).over(key).alias("after_start"),
        pl.col("starts").shift(-1).over(key).alias("before_start"),
        pl.col("ts").shift(-1).over(key).alias("next_ts"),
        pl.col("weight_version").shift(-1).over(key).alias("next_version"),
    ).join(ends, on=ROUND, how="left")
    is_paired = pl.col("starts") & ~pl.col("before_start")
    is_left_open = pl.col("starts") & pl.col("before_start").is_null()
    is_end_alone = ~pl.col("starts") & ~pl.col("after_start").fill_null(value=False)
    # a start before another start is in neither: the second replaced it
    common = ("sample_index", "kind", "turn")
    ts, version = pl.col("ts"), pl.col("weight_version")
    spans = pl.concat(
        [
            turns.filter(is_paired).select(
                *common,
                ts.alias("t0"),
                t1="next_ts",
                weight_version=_known("weight_version", "next_version"),
            ),
            turns.filter(is_left_open).select(
                *common,
                ts.alias("t0"),
                t1="end",
                weight_version=_known("weight_version", "end_version"),
            ),
            turns.filter(is_end_alone).select(
                *common, pl.lit(None, dtype=pl.Float64).alias("t0"), t1=ts, weight_version=version
            ),
        ]
    )
    is_gen = pl.col("kind") == "gen"
    has_turns = (is_gen & (pl.col("turn") > 0)).any().over("sample_index")
    is_coarse = is_gen & (pl.col("turn") == COARSE_TURN)
    return spans.filter(~(is_coarse & has_turns)).select(
        "sample_index", "kind", "t0", "t1", "turn", "weight_version"
    )


def _known(first: str, second: str) -> pl.Expr:
    """The first of two versions unless it is unknown, then the second, else ""."""
    return pl.when(pl.col(first) != "").then(pl.col(first)).otherwise(pl.col(second)).fill_null("").alias("weight_version")  # fmt: skip
