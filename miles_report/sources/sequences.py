"""Per-token sequences of many samples into one flat array with offsets.

Everything per token lives in two frames: the token frame (prompt and response of all samples, one behind the other) and
the response frame (their responses only). A `Series` has one value for every position of a frame and says for which samples
it was recorded; values of other samples are filler and never shown.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miles_report.sources.values import UnfitError

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Series:
    """One value a position of a frame.

    Attributes:
        values: (n_positions,), samples one behind the other.
        present: (n_samples,) bool; False: not recorded for the sample, its values are filler.
    """

    values: Array
    present: Array


def offsets_of(lengths: Array) -> Array:
    """Where each sample begins: (n_samples + 1,) int64, 0 first, the total last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def join_series(pieces: Sequence[Array | None], lengths: Array, dtype: Any) -> Series:
    """Puts the pieces of all samples one behind the other.

    Args:
        pieces: one array a sample, exactly as long as `lengths` says; null where not recorded.
        lengths: (n_samples,) positions of each sample.
        dtype: of the values; floats that do not fit it become infinite.

    Returns:
        The series; filler is 0.
    """
    present = np.fromiter((piece is not None for piece in pieces), dtype=bool, count=len(pieces))
    filled = [
        np.zeros(length, dtype) if piece is None else piece
        for piece, length in zip(pieces, lengths, strict=True)
    ]
    if not filled:
        return Series(np.zeros(0, dtype), present)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.concatenate(filled, dtype=dtype, casting="unsafe")
    return Series(values, present)


def integers(value: Any) -> Array:
    """A list or 1-d array of integers as int64.

    Raises:
        UnfitError: it is something else, or holds integers beyond int64.
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "iub":
            raise UnfitError
        if value.dtype == np.uint64 and value.size and value.max() > np.iinfo(np.int64).max:
            raise UnfitError
        return value.astype(np.int64, copy=False)
    return _packed("q", value)


def floats(value: Any) -> Array:
    """A list or 1-d array of numbers as floats: float64 from lists, else as recorded.

    Raises:
        UnfitError: it is something else.
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "fiub":
            raise UnfitError
        return value
    return _packed("d", value)


def _packed(code: str, value: Any) -> Array:
    if not isinstance(value, list | tuple):
        raise UnfitError
    try:
        packed = array(code, value)
    except (TypeError, ValueError, OverflowError) as cause:
        raise UnfitError from cause
    return np.frombuffer(packed, dtype=np.int64 if code == "q" else np.float64)
