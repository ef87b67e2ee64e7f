"""The metrics page: every logged key, by category; pinned ones drawn, all of them in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from miles_report.charts import render, series
from miles_report.pages import format as shown
from miles_report.pages.copy_as import CopyAs, Slot, copy_as
from miles_report.pages.metric_summary import MetricSummary, metric_points, metric_summaries
from miles_report.pages.metric_words import UNKNOWN, MetricWords, metric_words
from miles_report.pages.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from miles_report.charts.render import Figure

PINNED = 6
"""Charts that are drawn without script, and first with it."""

PREFERRED = (
    "dump/reward_mean",
    "rollout/raw_reward",
    "train/train_rollout_logprob_abs_diff",
    "dump/mean_abs_lp_diff",
    "dump/response_length_mean",
    "rollout/response_len/mean",
    "perf/step_time",
    "perf/wait_time_ratio",
    "dump/zero_std_group_frac",
    "dump/truncated_frac",
    "dump/mean_entropy",
    "train/grad_norm",
    "train/loss",
    "perf/actor_train_mfu",
)
"""What to pin where it was logged, most telling first; of a pair that says the same only one."""

SAME = {
    "rollout/raw_reward": "dump/reward_mean",
    "dump/mean_abs_lp_diff": "train/train_rollout_logprob_abs_diff",
    "rollout/response_len/mean": "dump/response_length_mean",
}
"""Keys that repeat another: not pinned beside it."""

BUFFER = "data_buffer"
"""Category of the queue between rollout and training; no logged key can be named so with a slash."""

PLAIN_AXES = ("rollout/step", "train/step", "eval/step")
"""Axes of every run; others belong to an adapter and get sections of their own."""

_ORDER = ("rollout", "train", "dump", "perf", "eval")


@dataclass(frozen=True)
class Row:
    """One line of the table of all keys, ready to show."""

    key: str
    axis: str
    text: str
    last: str
    low: str
    high: str
    n: str


@dataclass(frozen=True)
class Category:
    """Keys with one prefix on one kind of axis.

    Attributes:
        anchor: id of its section.
        name: prefix of the keys, with the adapter before it where the axis is one's own.
        n: how many keys.
        rows: one a key.
    """

    anchor: str
    name: str
    n: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Pinned:
    """One chart that stands without script."""

    key: str
    value: str
    unit: str
    text: str
    figure: Figure
    copy_as: CopyAs


@dataclass(frozen=True)
class EngineRow:
    """One scraped engine metric, ready to show; href leads to its line over the lanes."""

    metric: str
    kind: str
    engines: str
    href: str


def metrics_page(
    metrics: pl.DataFrame,
    data_buffer: pl.DataFrame,
    engine_metrics: pl.DataFrame | None = None,
    span: tuple[float, float] | None = None,
) -> Page:
    """The value of metrics.html.

    Args:
        metrics: the `metrics` table: everything logged, and the aggregates of steps as `dump/*`.
        data_buffer: the `data_buffer` table.
        engine_metrics: the `engine_metrics` table; null or empty for no section of the engines.
        span: first and last record of the run, Unix seconds; needed for the engines.
    """
    engines = [] if engine_metrics is None or span is None else _engines(engine_metrics)
    summaries = metric_summaries(metrics)
    pins = default_pins(summaries)
    pinned = [_pinned(metrics, summary) for summary in pins]
    categories = _categories(summaries)
    charts = [card.figure for card in pinned]
    buffer = _buffer(data_buffer)
    return Page(
        path="metrics.html",
        template="metrics.html",
        title="Metrics",
        subtitle=_subtitle(metrics, len(summaries)),
        section="metrics",
        view="metrics",
        values={
            "pinned": pinned,
            "categories": categories,
            "buffer": buffer,
            "engines": engines,
            "has_keys": bool(summaries),
            "copy_metrics": copy_as("metrics"),
        },
        data={
            "pins": [[summary.step_key, summary.key] for summary in pins],
            "words": {
                summary.key: [words.text, words.unit, words.form]
                for summary in summaries
                if (words := metric_words(summary.key)) is not UNKNOWN
            },
            "order": list(_ORDER),
            "plain_axes": list(PLAIN_AXES),
            "start": _start(metrics, data_buffer),
            "copies": {
                "axis": copy_as("metrics", metric=Slot("key"), step_key=Slot("step_key")).to_json(),
                "no_axis": copy_as("metrics", metric=Slot("key")).to_json(),
                "buffer": copy_as("data_buffer").to_json(),
            },
            **({"engines": _engine_data(engines, span)} if engines and span else {}),
        },
        figures=tuple(charts + ([buffer["figure"]] if buffer else [])),
    )


def _engines(engine_metrics: pl.DataFrame) -> list[EngineRow]:
    return [
        EngineRow(metric, kind, shown.count(n), f"compute.html?overlay={quote(metric)}#lanes")
        for metric, kind, n in engine_metrics.select("metric", "kind", "engines").iter_rows()
    ]


def _engine_data(engines: list[EngineRow], span: tuple[float, float]) -> dict[str, Any]:
    """What the script needs for the charts of the engines."""
    copy = copy_as("engine_series", metric=Slot("metric"))
    ends = [span[0], max(span[1], span[0] + 1.0)]
    return {"n": len(engines), "span": ends, "copy": copy.to_json()}


def default_pins(summaries: list[MetricSummary]) -> list[MetricSummary]:
    """What is shown first: known telling keys, then the first others that vary."""
    by_key = {summary.key: summary for summary in reversed(summaries) if summary.n_finite}
    chosen: dict[str, MetricSummary] = {}
    for key in PREFERRED:
        if key in by_key and SAME.get(key) not in chosen:
            chosen[key] = by_key[key]
    for key in sorted(by_key):
        if len(chosen) >= PINNED:
            break
        if by_key[key].low != by_key[key].high and SAME.get(key) not in chosen:
            chosen.setdefault(key, by_key[key])
    return list(chosen.values())[:PINNED]


def category_of(key: str, step_key: str) -> str:
    """The section a key stands in: its prefix, "other" without one; behind the adapter where the axis is one's own."""
    prefix = key.rpartition("/")[0].partition("/")[0].strip() or "other"
    if not step_key or step_key in PLAIN_AXES:
        return prefix
    return f"{step_key.removesuffix('/step')} · {prefix}"


def _categories(summaries: list[MetricSummary]) -> list[Category]:
    sections: dict[str, list[Row]] = {}
    for summary in summaries:
        sections.setdefault(category_of(summary.key, summary.step_key), []).append(_row(summary))
    names = sorted(sections, key=_section_order)
    return [
        Category(f"keys-{place}", name, len(sections[name]), tuple(sections[name]))
        for place, name in enumerate(names)
    ]


def _section_order(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER) + (" · " in name), name)


def _row(summary: MetricSummary) -> Row:
    words = metric_words(summary.key)
    show = _show(words)
    last = summary.last_text if summary.last_text is not None else show(summary.last)
    if summary.last is None and summary.last_text is None:
        last = shown.NOT_FINITE
    return Row(
        key=summary.key,
        axis=summary.step_key or "no step",
        text=words.text + (f", {words.unit}" if words.unit else ""),
        last=last,
        low=show(summary.low),
        high=show(summary.high),
        n=shown.count(summary.n),
    )


def _pinned(metrics: pl.DataFrame, summary: MetricSummary) -> Pinned:
    words = metric_words(summary.key)
    show = _show(words)
    points = metric_points(metrics, summary.key, summary.step_key)
    texts = pl.Series("text", [show(y) for y in points["y"]], dtype=pl.String)
    factor, unit = axis_unit(words, summary.low, summary.high)
    scaled = points.with_columns(pl.col("y") * factor, texts)
    value = show(summary.last) if summary.last is not None else shown.NOT_FINITE
    span = ""
    if summary.first_step is not None:
        span = f" from step {summary.first_step} to {summary.last_step}"
    return Pinned(
        key=summary.key,
        value=value,
        unit="" if words.form in {"frac", "seconds"} else words.unit,
        text=", ".join(part for part in (words.text or "logged as recorded", unit) if part),
        figure=render.figure(
            f"metric {summary.step_key} {summary.key}",
            series.metric_line(scaled),
            alt=f"{summary.key}{span}; last {value}",
        ),
        copy_as=copy_as("metrics", metric=summary.key, step_key=summary.step_key or None),
    )


def axis_unit(words: MetricWords, low: float | None, high: float | None) -> tuple[float, str]:
    """Factor from value to axis, and the unit of the axis; the browser has the same rule."""
    if words.form == "frac":
        return 100.0, "%"
    if words.form != "seconds" or low is None or high is None:
        return 1.0, "s" if words.form == "seconds" else words.unit
    largest = max(abs(low), abs(high))
    spread = high - low or largest
    if largest >= 7200 and spread >= 1200:
        return 1 / 3600, "h"
    if largest >= 120 and spread >= 20:
        return 1 / 60, "min"
    return 1.0, "s"


def _show(words: MetricWords) -> Callable[[Any], str]:
    return lambda value: shown.value(value, words.form)


def _buffer(data_buffer: pl.DataFrame) -> dict[str, Any] | None:
    """The queue over time: chart, last, smallest and largest length."""
    if data_buffer.is_empty():
        return None
    ordered = data_buffer.sort("ts")
    lengths = ordered.get_column("length")
    points = ordered.select(
        ((pl.col("ts") - pl.col("ts").first()) / 60).alias("x"),
        pl.col("length").cast(pl.Float64).alias("y"),
        pl.lit(0).alias("attempt"),
    )
    texts = [f"{shown.count(y)} at {shown.elapsed(x * 60)}" for x, y, _ in points.iter_rows()]
    chart = series.metric_line(
        points.with_columns(pl.Series("text", texts)), word="minute", size=(1016, 118)
    )
    return {
        "last": shown.count(lengths[-1]),
        "low": shown.count(lengths.min()),  # type: ignore[arg-type]  # polars types min for every dtype
        "high": shown.count(lengths.max()),  # type: ignore[arg-type]
        "n": shown.plural(len(lengths), "report"),
        "copy_as": copy_as("data_buffer"),
        "figure": render.figure(
            "data buffer",
            chart,
            alt=f"Samples queued between rollout and training; last {lengths[-1]}",
        ),
    }


def _subtitle(metrics: pl.DataFrame, n_keys: int) -> str:
    of_rollouts = metrics.filter(pl.col("step_key") == "rollout/step")
    n_steps = of_rollouts.get_column("step").drop_nulls().n_unique()
    steps = f", {shown.plural(n_steps, 'step')}" if n_steps else ""
    return (
        f"{shown.plural(n_keys, 'key')}{steps}; logged as recorded, dump/* computed from the dumps"
    )


def _start(metrics: pl.DataFrame, data_buffer: pl.DataFrame) -> float | None:
    """First time of both tables: zero of the time axis."""
    times = [frame.get_column("ts").min() for frame in (metrics, data_buffer)]
    known = [float(ts) for ts in times if isinstance(ts, (int, float))]
    return min(known, default=None)
