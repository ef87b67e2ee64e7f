"""The twelve tiles of the index: where each takes its line from, its value, change and range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import polars as pl

from miles_report.charts import render, series
from miles_report.pages import format as shown
from miles_report.pages.metric_summary import last_per_step, metric_points
from miles_report.pages.page import mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from miles_report.charts.render import Figure

MOST_TILES = 12
"""Two rows of six; of more the data buffer, which is among the metrics too, gives way."""

BUFFER = "Data buffer, samples"

FEW_EVALS = 5
"""Up to so many steps of evaluations are listed by number."""


NO_TRAIN = "no train rows with log probs of both sides"
NO_ENTROPY = "the run was started without --use-rollout-entropy"
NOT_LOGGED = "not logged"


@dataclass(frozen=True)
class Tile:
    """One small multiple, ready to show.

    Attributes:
        label: name and unit.
        value: at the last step that has one.
        change: since the first step that has one; "" with a single value.
        below: range of the values, and the step of the value where it is not the last.
        href: where the numbers are, from the site root.
        figure: the line.
        mark: what number the value is, see `page.mark`; "" if no table with steps holds it.
    """

    label: str
    value: str
    change: str
    below: str
    href: str
    figure: Figure
    mark: str = ""


@dataclass(frozen=True)
class Source:
    """Where a tile finds its values: a column of `steps` or `bubbles`, else the first logged key.

    Attributes:
        label: name and unit of the tile.
        table: steps, bubbles, step_times or "" for logged keys only.
        column: of that table.
        keys: logged keys in order of preference, also the address on the metrics page; none: the number is in a table alone.
        show: how a value is written.
        step_key: axis of the keys.
        absent: why it may be missing, in words.
        href: where the numbers are if no key is logged.
    """

    label: str
    keys: tuple[str, ...]
    show: Callable[[float | None], str] = shown.number
    table: Literal["steps", "bubbles", "step_times", ""] = ""
    column: str = ""
    step_key: str = "rollout/step"
    absent: str = NOT_LOGGED
    href: str = "rollouts/index.html"


LEARNING = (
    Source("Reward, mean", ("dump/reward_mean", "rollout/raw_reward", "rollout/rewards_mean"), table="steps", column="reward_mean", absent="no rewards were dumped"),
    Source("Response length, tokens", ("dump/response_length_mean", "rollout/response_len/mean", "rollout/response_lengths"), shown.count, table="steps", column="response_length_mean", absent="no rollouts were dumped"),
    Source("Truncated", ("dump/truncated_frac", "rollout/truncated_ratio", "rollout/truncated"), shown.frac, "steps", "truncated_frac", absent="no rollouts were dumped"),
    Source("|lp diff|, mean", ("dump/mean_abs_lp_diff",), shown.logprob, "steps", "mean_abs_lp_diff", absent=NO_TRAIN),
    Source("Entropy, nats", ("dump/mean_entropy", "rollout/entropy"), table="steps", column="mean_entropy", absent=NO_ENTROPY),
    Source("Zero-std groups", ("dump/zero_std_group_frac",), shown.frac, "steps", "zero_std_group_frac", absent="no groups were dumped"),
)  # fmt: skip
SYSTEM = (
    Source("Staleness, versions", (), table="steps", column="staleness_mean", absent="no numeric weight versions were dumped"),
    Source("Step time", ("perf/step_time",), shown.seconds, "bubbles", "step_time"),
    Source("Train wait, of step", ("perf/wait_time_ratio",), shown.frac, "bubbles", "wait_ratio"),
    Source("MFU, actor train", ("perf/actor_train_mfu",), shown.frac),
    Source("GPU utilization, all GPUs", (), shown.frac, "step_times", "util_mean", absent="no GPU reading within a step", href="compute.html#util"),
)  # fmt: skip


def index_tiles(
    tables: Mapping[str, pl.DataFrame], evals: pl.DataFrame | None = None
) -> tuple[list[Tile], list[str]]:
    """The tiles that have values, in reading order, and for the others a few words each why not.

    Args:
        tables: run-wide tables: steps, bubbles, metrics, data_buffer; step_times, see `run_timeline`.
        evals: step, eval_set, reward_mean of the dumped evaluations, ascending by step.
    """
    tiles: list[Tile | None] = []
    missing: dict[str, list[str]] = {}
    for source in (*LEARNING, *SYSTEM):
        tile = _tile(source, tables)
        tiles.append(tile)
        if tile is None:
            name = source.label.partition(",")[0]
            missing.setdefault(_why(source, tables["steps"]), []).append(name)
    for label, tile in (
        ("Data buffer", _buffer_tile(tables["data_buffer"])),
        ("Eval", _eval_tile(tables["metrics"], evals)),
    ):
        tiles.append(tile)
        if tile is None:
            missing.setdefault(NOT_LOGGED, []).append(label)
    known = [tile for tile in tiles if tile]
    if len(known) > MOST_TILES:
        known = [tile for tile in known if tile.label != BUFFER]
    reasons = [f"{', '.join(names)} ({reason})" for reason, names in missing.items()]
    return known, reasons


def _why(source: Source, steps: pl.DataFrame) -> str:
    """Why the values of a tile are missing."""
    if source.table == "steps" and steps.is_empty():
        return "no rollouts were dumped"
    if source.absent in {NO_TRAIN, NO_ENTROPY} and not steps.get_column("n_trained").sum():
        return "no train rows were dumped"
    return source.absent


@dataclass(frozen=True)
class Points:
    """The values of a tile.

    Attributes:
        line: x, y by step.
        href: where they are, from the site root.
        column: of `steps` that they are; "" if of another table.
    """

    line: pl.DataFrame
    href: str
    column: str = ""


def _points(source: Source, tables: Mapping[str, pl.DataFrame]) -> Points | None:
    """The place with the most finite values, the first of those that have as many; null where none has any value.

    A dump that kept few of its steps may have logged all of them.
    """
    places = [place for place in _places(source, tables) if place.line["y"].is_not_null().any()]
    return max(places, key=lambda place: int(place.line["y"].is_finite().sum()), default=None)


def _places(source: Source, tables: Mapping[str, pl.DataFrame]) -> Iterator[Points]:
    if source.table:
        rows = tables[source.table].filter(pl.col("step").is_not_null())
        points = rows.select(pl.col("step").alias("x"), pl.col(source.column).alias("y"))
        href = metric_href(source.keys[0]) if source.keys else source.href
        column = source.column if source.table == "steps" else ""
        yield Points(last_per_step(points), href, column)
    for key in source.keys:
        points = metric_points(tables["metrics"], key, source.step_key)
        yield Points(last_per_step(points), metric_href(key))


def _tile(source: Source, tables: Mapping[str, pl.DataFrame]) -> Tile | None:
    found = _points(source, tables)
    if found is None:
        return None
    points = found.line
    finite = points.filter(pl.col("y").is_finite())
    shown_points = points if finite.is_empty() else finite
    first, last = shown_points.row(0, named=True), shown_points.row(-1, named=True)
    ends = points.get_column("x")
    n_strange = points.filter(~pl.col("y").is_finite()).height
    below = [
        _range(finite, source.show) if finite.height else "",
        f"step {last['x']}" if last["x"] != ends[-1] else "",
        f"{n_strange} not finite" if n_strange else "",
    ]
    drawn = points.with_columns(
        pl.Series("text", [source.show(y) for y in points["y"]], dtype=pl.String)
    )
    return Tile(
        label=source.label,
        value=source.show(last["y"]),
        change=_change(last["y"] - first["y"], source.show) if finite.height > 1 else "",
        below=" · ".join(words for words in below if words),
        href=found.href,
        mark=mark("steps", found.column, int(last["x"])) if found.column else "",
        figure=render.figure(
            f"tile {source.label}",
            series.sparkline(drawn),
            alt=f"{source.label}, steps {ends[0]} to {ends[-1]}: from {source.show(first['y'])} to {source.show(last['y'])}",
        ),
    )


def _buffer_tile(buffer: pl.DataFrame) -> Tile | None:
    if buffer.is_empty():
        return None
    ordered = buffer.sort("ts")
    start = ordered.get_column("ts")[0]
    drawn = ordered.select(
        (pl.col("ts") - start).alias("x"), pl.col("length").cast(pl.Float64).alias("y")
    )
    texts = [
        f"{shown.count(y)} at {shown.elapsed(x)}" for x, y in drawn.select("x", "y").iter_rows()
    ]
    first, last = drawn["y"][0], drawn["y"][-1]
    return Tile(
        label=BUFFER,
        value=shown.count(last),
        change=_change(last - first, shown.count) if drawn.height > 1 else "",
        below=_range(drawn, shown.count),
        href="metrics.html?category=data_buffer",
        figure=render.figure(
            "tile data buffer",
            series.sparkline(drawn.with_columns(pl.Series("text", texts))),
            alt=f"Samples queued over time: from {shown.count(first)} to {shown.count(last)}",
        ),
    )


def _eval_tile(metrics: pl.DataFrame, evals: pl.DataFrame | None) -> Tile | None:
    """Mean reward on the first evaluation set, as logged, else of the dumped samples."""
    keys = eval_keys(metrics)
    if keys:
        name, href, n_sets = keys[0].removeprefix("eval/"), metric_href(keys[0]), len(keys)
        points = last_per_step(metric_points(metrics, keys[0], "eval/step"))
    elif evals is not None and evals.height:
        sets = evals.get_column("eval_set").unique(maintain_order=True)
        name, href, n_sets = "reward", "rollouts/index.html", len(sets)
        points = evals.filter(pl.col("eval_set").eq_missing(pl.lit(sets[0]))).select(
            pl.col("step").alias("x"), pl.col("reward_mean").alias("y")
        )
    else:
        return None
    finite = points.filter(pl.col("y").is_finite())
    if finite.is_empty():
        return None
    first, last = finite["y"][0], finite["y"][-1]
    texts = pl.Series("text", [shown.number(y) for y in finite["y"]])
    return Tile(
        label=f"Eval, {name}" + (f" (1 of {n_sets} sets)" if n_sets > 1 else ""),
        value=shown.number(last),
        change=_change(last - first, shown.number) if finite.height > 1 else "",
        below=_eval_steps(finite["x"].to_list()),
        href=href,
        figure=render.figure(
            "tile eval",
            series.sparkline(finite.with_columns(texts), style="points"),
            alt=f"Mean reward in evaluation {name}: from {shown.number(first)} to {shown.number(last)}",
        ),
    )


def eval_keys(metrics: pl.DataFrame) -> list[str]:
    """Keys of `eval/step` that are the mean reward of an evaluation set."""
    key = pl.col("key")
    rewards = metrics.filter(
        (pl.col("step_key") == "eval/step")
        & key.str.contains(r"^eval/[^/]+$")
        & (key != "eval/step")
        & ~key.str.contains(r"[-_](?:truncated|response_len|pass@)")
        & pl.col("value").is_finite()
    )
    return rewards.get_column("key").unique(maintain_order=True).to_list()


def metric_href(key: str) -> str:
    """The metrics page, filtered to one key."""
    return f"metrics.html?filter={quote(key, safe='/')}"


def _eval_steps(steps: list[int]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    if len(steps) <= FEW_EVALS:
        return f"steps {', '.join(map(str, steps))}"
    return f"{len(steps)} evals, steps {steps[0]} – {steps[-1]}"


def _range(finite: pl.DataFrame, show: Callable[[float | None], str]) -> str:
    low, high = finite["y"].min(), finite["y"].max()
    if low == high:
        return (
            f"constant, {shown.plural(finite.height, 'value')}" if finite.height > 1 else "one step"
        )
    return f"{show(low)} – {show(high)}"  # type: ignore[arg-type]  # polars' min is typed for every dtype


def _change(difference: float, show: Callable[[float | None], str]) -> str:
    text = shown.points(difference) if show is shown.frac else shown.signed(difference, show)
    return text if any(digit in "123456789" for digit in text) else ""
