"""One step's per-token data -> the `tokens` table, for one sample or for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from miles_report.schema.tables import TABLES
from miles_report.sources.sequences import Series
from miles_report.tables.frames import conform
from miles_report.tables.selection import check_row, check_span_has_row, clipped_span
from miles_report.tables.statistics import nullable, validity, with_validity

if TYPE_CHECKING:
    from miles_report.sources.sequences import Array
    from miles_report.sources.step_data import StepData, TrainRows
    from miles_report.sources.tokenizer import TokenTexts

NAMES = {
    "train_log_probs": "log_probs",
    "entropy": "entropy",
    "ref_entropy": "ref_entropy",
    "ref_log_probs": "ref_log_probs",
    "advantages": "advantages",
    "returns": "returns",
}
"""Declared column -> Miles's column of the train file."""

TRAIN_PREFIX = "train."
"""Before a run's own column whose name the table uses already."""


def tokens_table(
    data: StepData,
    tokenizer: TokenTexts | None,
    *,
    row: int | None = None,
    rows: range | None = None,
    start: int | None = None,
    end: int | None = None,
    ratio: bool = True,
) -> pl.DataFrame:
    """One row a token, by (row, position).

    Series are null in the prompt, where the train row masks the token (in a step without train files: where the rollout
    does), and where not recorded. `rollout_log_probs` is the rollout file's value as float32, the train file's where
    that has none; `lp_diff` and `imp_ratio` compare the two columns of the train file.

    Args:
        data: the step.
        tokenizer: null leaves token_text null.
        row: one sample; null: all.
        rows: these consecutive samples instead, all of which exist.
        start: first position, with `row` only.
        end: position after the last, clipped to the sample's length.
        ratio: whether imp_ratio is computed; else it is null.

    Raises:
        NotFoundError: no such row.
        UsageError: the positions are none, or given without a row.

    Source: rollout_data/ and train_data/ of the step.
    """
    window = _Window(data, rows, 0, None) if rows is not None else _window(data, row, start, end)
    ids = window.tokens(data.rollout.tokens)
    n_tokens = len(ids)
    columns: dict[str, pl.Series] = {
        "step": pl.repeat(data.step, n_tokens, dtype=pl.Int64, eager=True),
        "evaluation": pl.repeat(data.evaluation, n_tokens, dtype=pl.Boolean, eager=True),
        "row": pl.Series(window.of_samples(np.arange(data.rollout.n_samples))),
        "sample_index": window.sample_index(data.rollout.sample_index),
        "position": pl.Series(window.positions),
        "token_id": pl.Series(ids),
        "in_response": pl.Series(window.in_response),
    }
    if tokenizer is not None:
        columns["token_text"] = _texts(ids, tokenizer)
    mask = _mask(data)
    columns["loss_mask"] = window.spread(mask).cast(pl.Int64)
    for name, series in _series(data).items():
        if name == "imp_ratio" and not ratio:
            continue
        shown = series if name != "imp_ratio" else _ratio(series)
        columns[name] = window.spread(shown, mask)
    return conform("tokens", pl.DataFrame(columns))


def token_texts_table(data: StepData, tokenizer: TokenTexts | None) -> pl.DataFrame:
    """Text of every token id that occurs in the step, by id.

    Returns:
        token_id (Int64) and token_text; no row without a tokenizer.
    """
    ids = np.unique(data.rollout.tokens) if tokenizer else np.zeros(0, dtype=np.int64)
    texts = tokenizer(ids) if tokenizer else []
    return pl.DataFrame(
        {"token_id": ids, "token_text": texts},
        schema={"token_id": pl.Int64, "token_text": pl.String},
    )


class _Window:
    """The tokens of consecutive samples, or some of one sample's, and their places in the frames."""

    def __init__(self, data: StepData, rows: range, start: int, end: int | None) -> None:
        rollout = data.rollout
        bounds = rollout.token_offsets[rows.start : rows.stop + 1]
        first = int(bounds[0]) + start
        last = int(bounds[-1]) if end is None else int(bounds[0]) + end
        self._token_slice = slice(first, last)
        lengths = np.diff(bounds)
        response = rollout.response_lengths[rows.start : rows.stop]
        self._rows = rows
        self._all_counts = lengths
        counts = lengths if len(rows) != 1 else np.array([last - first])
        self._counts = counts
        starts = np.zeros(len(counts), dtype=np.int64)
        np.cumsum(counts[:-1], out=starts[1:])
        self.positions = np.arange(last - first, dtype=np.int64) - np.repeat(starts, counts) + start
        prompts = lengths - response
        self.in_response = self.positions >= np.repeat(prompts, counts)
        first_response = int(rollout.response_offsets[rows.start])
        if len(rows) == 1:
            prompt = int(prompts[0])
            begin = first_response + max(start - prompt, 0)
            stop = first_response + max(start + last - first - prompt, 0)
        else:
            begin, stop = first_response, int(rollout.response_offsets[rows.stop])
        self._response_slice = slice(begin, stop)
        self._response_counts = response if len(rows) != 1 else np.array([stop - begin])
        self._bitmaps: dict[tuple[bytes, int], Any] = {}

    def tokens(self, values: Array) -> Array:
        """The window of a series of the token frame."""
        return values[self._token_slice]

    def of_samples(self, values: Array) -> Array:
        """One value a sample repeated for its tokens."""
        return np.repeat(values[self._rows.start : self._rows.stop], self._counts)

    def sample_index(self, indices: list[int | None]) -> pl.Series:
        """Sample index of every token."""
        known = np.array([index is not None for index in indices], dtype=bool)
        values = np.array([index or 0 for index in indices], dtype=np.int64)
        return nullable(self.of_samples(values), self.of_samples(known))

    def spread(self, series: Series, mask: Series | None = None) -> pl.Series:
        """A series of the response frame as a column: null in the prompt, where absent, and where the mask is off.

        A sample without a recorded mask masks nothing.
        """
        kind = np.dtype(np.int8) if series.values.dtype == bool else series.values.dtype
        values = np.zeros(len(self.positions), dtype=kind)
        values[self.in_response] = series.values[self._response_slice]
        key = (series.present.tobytes(), id(mask))
        if key not in self._bitmaps:
            self._bitmaps[key] = validity(self._valid(series, mask))
        return with_validity(values, self._bitmaps[key])

    def _valid(self, series: Series, mask: Series | None) -> Array:
        chosen = slice(self._rows.start, self._rows.stop)
        own = np.repeat(series.present[chosen], self._response_counts)
        if mask is not None:
            unmasked = np.repeat(~mask.present[chosen], self._response_counts)
            own &= mask.values[self._response_slice] | unmasked
        valid = np.zeros(len(self.positions), dtype=bool)
        valid[self.in_response] = own
        return valid


def _window(data: StepData, row: int | None, start: int | None, end: int | None) -> _Window:
    n_samples = data.rollout.n_samples
    if row is None:
        check_span_has_row(start, end)
        return _Window(data, range(n_samples), 0, None)
    check_row(row, n_samples, data.step)
    length = int(np.diff(data.rollout.token_offsets[row : row + 2])[0])
    return _Window(data, range(row, row + 1), *clipped_span(start, end, length))


def _mask(data: StepData) -> Series:
    """The trainer's mask; in a step without train files the rollout's own."""
    return data.rollout.mask if data.train is None else data.train.mask


def _series(data: StepData) -> dict[str, Series]:
    """Columns by their names in the table; imp_ratio still as lp_diff."""
    train = data.train
    if train is None:
        return {"rollout_log_probs": data.rollout.log_probs}
    found = {"rollout_log_probs": _engine_log_probs(data, train)}
    for name, recorded in NAMES.items():
        if recorded in train.series:
            found[name] = train.series[recorded]
    if train.lp_diff is not None:
        found["lp_diff"] = found["imp_ratio"] = train.lp_diff
    declared = {column.name for column in TABLES["tokens"].columns}
    own = {
        name: series
        for name, series in train.series.items()
        if name not in {"rollout_log_probs", *NAMES.values()}
    }
    for name, series in (own | dict(train.further)).items():
        found[TRAIN_PREFIX + name if name in declared else name] = series
    return found


def _engine_log_probs(data: StepData, train: TrainRows) -> Series:
    own, recorded = data.rollout.log_probs, train.series.get("rollout_log_probs")
    if recorded is None or own.present.all():
        return own
    lengths = data.rollout.response_lengths
    values = np.where(np.repeat(own.present, lengths), own.values, recorded.values)
    return Series(values, own.present | recorded.present)


def _ratio(lp_diff: Series) -> Series:
    with np.errstate(over="ignore"):
        return Series(np.exp(lp_diff.values), lp_diff.present)


def _texts(ids: Array, tokenizer: TokenTexts) -> pl.Series:
    """Text of every token, each id decoded once."""
    column = pl.DataFrame({"token_id": ids})
    known = np.unique(ids)
    names = pl.DataFrame({"token_id": known, "token_text": tokenizer(known)})
    return column.join(names, on="token_id", how="left", maintain_order="left")["token_text"]
