"""Everything one sample page shows, as one JSON-ready value.

The same shape is put together by the browser from slices (`js/sample/payload.js`) for the page of
any sample; so a name or a null changed here is changed there.
JSON has no NaN: numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity",
which the browser turns back; null stays what it is in the tables, not recorded or not defined.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.facts import RunFacts

VERSION = 1
NOT_CARRIED = frozenset(
    {
        "step",
        "evaluation",
        "row",
        "sample_index",
        "position",
        "token_text",
        "in_response",
        "imp_ratio",
    }
)
"""Columns of `tokens` that the payload states once, or that the browser derives."""

SIBLING_COLUMNS = ("row", "sample_index", "reward_value", "response_length", "status")
SPAN_COLUMNS = ("kind", "t0", "t1", "turn", "weight_version", "status")
ARGS_SHOWN = ("eps_clip", "eps_clip_high", "reward_key", "eval_reward_key", "use_rollout_entropy")
"""Arguments of the run that a sample page needs; the others stay on the index."""


class SampleSource(Protocol):
    """The tables that a payload is made from, of one step."""

    @property
    def step(self) -> int:
        """Its number."""

    @property
    def samples(self) -> pl.DataFrame:
        """Of the whole step."""

    @property
    def groups(self) -> pl.DataFrame:
        """Of the whole step."""

    @property
    def tokens(self) -> pl.DataFrame:
        """At least of the sample; rows of one sample together and ascending, rounded as in slices."""

    @property
    def token_texts(self) -> pl.DataFrame:
        """At least the ids of the sample."""

    @property
    def conversations(self) -> pl.DataFrame:
        """At least of the sample."""

    @property
    def texts(self) -> pl.DataFrame:
        """At least of the sample."""


def payload(
    step: SampleSource,
    row: int,
    facts: RunFacts,
    *,
    trajectories: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """What a sample's own page holds: tables narrowed to one row, tokens as column arrays.

    Args:
        step: the tables of the sample's step.
        row: position of the sample in the rollout file.
        facts: of the run.
        trajectories: spans of the step's samples; None when no collector ran.

    Returns:
        `version, facts, sample, group, group_row, neighbours, response_offset, tokens, token_texts,
        conversation, texts, spans`. `response_offset` is the index of the first response token in
        the arrays of `tokens` (their length when there is none).

    Raises:
        LookupError: the step has no such row.
    """
    samples = step.samples
    mine = samples.filter(pl.col("row") == row)
    if mine.is_empty():
        raise LookupError(f"step {step.step} has no row {row}")
    sample = mine.row(0, named=True)
    tokens = _rows_of(step.tokens, row)
    return {
        "version": VERSION,
        "facts": {
            "run_name": plain(facts.run_name),
            "start_ts": plain(facts.start_ts),
            "has_tokenizer": facts.has_tokenizer,
            "args": {name: plain(facts.args.get(name)) for name in ARGS_SHOWN},
        },
        "sample": plain(sample),
        "group": _siblings(samples, sample),
        "group_row": _group_row(step.groups, sample),
        "neighbours": _neighbours(samples, row),
        "response_offset": _response_offset(tokens),
        "tokens": _columns(tokens),
        "token_texts": _texts_by_id(step.token_texts, tokens),
        "conversation": _conversation(step.conversations, row),
        "texts": _texts(step.texts, row),
        "spans": _spans(trajectories, sample),
    }


def plain(value: Any) -> Any:
    """The value as JSON can hold it: floats that are not finite as words, text without lone surrogates."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def whole_text(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced, so that it can be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def parse_json(text: str | None) -> Any:
    """A JSON column's value; bare NaN and infinities become their names.

    Text that is no JSON (a broken record) comes back as it is.
    """
    if text is None:
        return None
    try:
        return plain(json.loads(text, parse_constant=str))
    except (ValueError, RecursionError):
        return plain(text)


def _rows_of(tokens: pl.DataFrame, row: int) -> pl.DataFrame:
    start = tokens["row"].search_sorted(row, side="left")
    stop = tokens["row"].search_sorted(row, side="right")
    return tokens.slice(start, stop - start)


def _response_offset(tokens: pl.DataFrame) -> int:
    first = tokens["in_response"].arg_max() if tokens["in_response"].any() else None
    return len(tokens) if first is None else int(first)


def _columns(tokens: pl.DataFrame) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for series in tokens:
        name = series.name
        required = name in {"token_id", "loss_mask"}
        if name in NOT_CARRIED or (series.null_count() == len(series) and not required):
            continue
        columns[name] = _numbers(series)
    return columns


def _numbers(series: pl.Series) -> list[Any]:
    if series.dtype == pl.Float32:
        # through text, so that JSON carries the few digits that name a float32
        series = series.cast(pl.String).cast(pl.Float64)
    values = series.to_list()
    if series.dtype.is_float() and not (series.is_finite() | series.is_null()).all():
        return [plain(value) for value in values]
    return values


def _texts_by_id(token_texts: pl.DataFrame, tokens: pl.DataFrame) -> dict[str, str]:
    wanted = tokens["token_id"].unique()
    mine = token_texts.filter(pl.col("token_id").is_in(wanted.implode())).sort("token_id")
    return {
        str(identifier): whole_text(text)
        for identifier, text in mine.select("token_id", "token_text").iter_rows()
        if text is not None
    }


def _siblings(samples: pl.DataFrame, sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    if sample["group_index"] is None:
        return []
    same = samples.filter(
        (pl.col("group_index") == sample["group_index"])
        & pl.col("eval_set").eq_missing(pl.lit(sample["eval_set"], dtype=pl.Int64))
    )
    return [plain(sibling) for sibling in same.select(SIBLING_COLUMNS).to_dicts()]


def _group_row(groups: pl.DataFrame, sample: Mapping[str, Any]) -> dict[str, Any] | None:
    if sample["group_index"] is None:
        return None
    mine = groups.filter(pl.col("group_index") == sample["group_index"])
    return plain(mine.row(0, named=True)) if len(mine) else None


def _neighbours(samples: pl.DataFrame, row: int) -> dict[str, int | None]:
    rows = samples["row"]
    return {
        "previous": rows.filter(rows < row).max(),  # type: ignore[dict-item]  # ints or None
        "next": rows.filter(rows > row).min(),  # type: ignore[dict-item]  # ints or None
    }


def _conversation(conversations: pl.DataFrame, row: int) -> dict[str, Any] | None:
    mine = conversations.filter(pl.col("row") == row)
    if mine.is_empty():
        return None
    recorded = mine.row(-1, named=True)
    return {
        "messages": parse_json(recorded["messages"]),
        "prompt": parse_json(recorded["prompt"]),
    }


def _texts(texts: pl.DataFrame, row: int) -> dict[str, Any]:
    mine = texts.filter(pl.col("row") == row)
    if mine.is_empty():
        return {"prompt": None, "response": None}
    recorded = mine.row(0, named=True)
    return {"prompt": parse_json(recorded["prompt"]), "response": plain(recorded["response"])}


def _spans(trajectories: pl.DataFrame | None, sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    if trajectories is None or sample["sample_index"] is None:
        return []
    mine = trajectories.filter(pl.col("sample_index") == sample["sample_index"])
    if sample["group_index"] is not None:
        mine = mine.filter(
            (pl.col("group_index") == sample["group_index"]) | (pl.col("group_index") < 0)
        )
    return [plain(span) for span in mine.select(SPAN_COLUMNS).to_dicts()]
