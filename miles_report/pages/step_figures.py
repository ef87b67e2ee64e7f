"""The two figures of a step page: a scatter of its samples, and how its columns are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from miles_report.charts import step_charts
from miles_report.charts.render import Figure, figure
from miles_report.pages import format as fmt
from miles_report.pages.step_columns import REWARD_PREFIX, column_of, recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

X_CHOICES = ("response_length", "tool_calls", "total_length", "row")
Y_CHOICES = ("mean_abs_lp_diff", "reward_value", "response_length", "row")
STRONG_CHOICES = ("mixed_version", "truncated", "remove_sample")
COUNTED = (
    "response_length",
    "mean_abs_lp_diff",
    "mean_entropy",
    "staleness",
    "tool_calls",
    "non_generation_time",
)
MAX_COMPONENTS = 4
"""Components of a reward dict that get a histogram."""


@dataclass(frozen=True)
class Axes:
    """What the scatter shows first.

    Attributes:
        x: column across.
        y: column up; another than x where there are two.
        colour: boolean column whose samples stand out; "" if none tells samples apart.
    """

    x: str
    y: str
    colour: str


def default_axes(samples: pl.DataFrame) -> Axes:
    """Disagreement over length, mixed versions standing out; the nearest that the step recorded."""
    has = [*recorded(samples), "row"]
    y = next(name for name in Y_CHOICES if name in has)
    x = next(name for name in X_CHOICES if name in has and (name != y or name == "row"))
    colour = next((name for name in STRONG_CHOICES if _tells_apart(samples[name])), "")
    return Axes(x, y, colour)


def scatter_figure(samples: pl.DataFrame, axes: Axes) -> Figure | None:
    """The samples as a scatter; None without a sample that has both values."""
    strong = pl.col(axes.colour).fill_null(value=False) if axes.colour else pl.lit(value=False)
    points = samples.select(
        "row",
        pl.col(axes.x).cast(pl.Float64).alias("x"),
        pl.col(axes.y).cast(pl.Float64).alias("y"),
        strong.alias("strong"),
        pl.coalesce("sample_index", "row").cast(pl.String).alias("text"),
    )
    placed = points.filter(pl.col("x").is_finite() & pl.col("y").is_finite())
    if not placed.height:
        return None
    x = step_charts.Axis(_title(axes.x), step_charts.spans_decades(placed["x"]))
    y = step_charts.Axis(_title(axes.y), step_charts.spans_decades(placed["y"]))
    drawn = step_charts.thinned(placed)
    mean = _mean(points["y"])
    caption = _scatter_caption(axes, (x, y), (samples.height, placed.height, drawn))
    alt = f"{fmt.plural(samples.height, 'sample')}: {axes.y} over {axes.x}."
    return figure("scatter", step_charts.scatter(drawn, x, y, mean=mean), alt=alt, caption=caption)


def distribution_figure(samples: pl.DataFrame) -> Figure | None:
    """Histograms of reward and its components, lengths and disagreement, apart by outcome."""
    split, words = outcome(samples)
    has = recorded(samples)
    components = [
        name for name in has if name.startswith(REWARD_PREFIX) and samples[name].dtype.is_numeric()
    ][:MAX_COMPONENTS]
    names = [name for name in ("reward_value", *components, *COUNTED) if name in has]
    panels = []
    for name in names:
        values = samples[name].cast(pl.Float64)
        log = step_charts.spans_decades(values)
        bins = step_charts.binned(values, split, log=log)
        if bins.height:
            panels.append(step_charts.Panel(_title(name) + (" (log)" if log else ""), bins, log))
    if not panels:
        return None
    return figure(
        "distributions",
        step_charts.distributions(panels),
        alt=f"Histograms of {len(panels)} columns over {fmt.plural(samples.height, 'sample')}.",
        caption=f"Samples in each bin. {words} What is null or not finite is left out.",
    )


def outcome(samples: pl.DataFrame) -> tuple[pl.Series, str]:
    """Which samples did better: with two rewards the higher one, else the mean and above.

    Returns:
        bool by sample (null rewards: false), and a sentence that explains the two colours.
    """
    reward = samples["reward_value"]
    finite = reward.filter(reward.is_finite())
    kinds = finite.unique().sort().to_list()
    if len(kinds) < 2:
        return pl.Series([True] * samples.height, dtype=pl.Boolean), ""
    limit = kinds[1] if len(kinds) == 2 else float(finite.mean())  # type: ignore[arg-type]  # not empty
    better = (reward >= limit) & reward.is_finite()
    words = (
        f"Blue: reward {fmt.number(kinds[1])}; grey: reward {fmt.number(kinds[0])} or none."
        if len(kinds) == 2
        else f"Blue: reward {fmt.number(limit)} (the mean) and above; grey: below it, or none."
    )
    return better.fill_null(value=False), words


def _mean(values: pl.Series) -> float | None:
    """Mean over the samples that have a value; NaN if one of them is not finite."""
    mean = values.drop_nulls().mean()
    return mean if isinstance(mean, float) else None


def _tells_apart(flags: pl.Series) -> bool:
    return bool(flags.any()) and not bool(flags.all())


def _title(name: str) -> str:
    column = column_of(name)
    label = column.label or name
    return f"{label}, {column.unit}" if column.unit else label


def _scatter_caption(
    axes: Axes, scales: Sequence[step_charts.Axis], counts: tuple[int, int, pl.DataFrame]
) -> str:
    total, placed, drawn = counts
    parts = ["One mark a sample; the dotted line is the mean over all samples."]
    if axes.colour:
        strong = int(drawn["strong"].sum())
        label = column_of(axes.colour).label.lower()
        parts.append(f"Diamonds: {label}, {fmt.count(strong)}; dots: the others, {fmt.count(drawn.height - strong)}.")  # fmt: skip
    if any(axis.log for axis in scales):
        logs = " and ".join(axis.title for axis in scales if axis.log)
        parts.append(f"{logs}: log scale.")
    if placed < total:
        parts.append(f"{fmt.count(total - placed)} without both values are not drawn.")
    if drawn.height < placed:
        parts.append(f"{fmt.count(drawn.height)} of {fmt.count(placed)} are drawn, the highest among them.")  # fmt: skip
    return " ".join(parts)
