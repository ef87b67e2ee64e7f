"""Floats shortened for slices: digits below what a reader can use cost most of the bytes of a token slice.

Both ways keep zero, NaN, infinities and values too large to shorten exactly as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from miles_report.schema.columns import Rounding

    Floats = npt.NDArray[np.float32]

STEP = np.float32(2.0**-14)
COARSE = np.float32(2.0**9)  # from here on float32 is no finer than 2^-14
HUGE = np.float32(2.0**127)  # from here on rounding up could reach infinity
DROPPED_BITS = 10  # of the 23 stored bits of a float32 mantissa, 13 stay


def shorten(values: Floats, rounding: Rounding) -> Floats:
    """The values with fewer digits, in a new array.

    Args:
        values: (n,) float32.
        rounding: "2^-14": to the nearest multiple of 2^-14, an error of at most 2^-15; "13 bits": to 13 stored bits
            of mantissa, a relative error of at most 2^-14; "none": as they are.
    """
    if rounding == "none":
        return values
    limit = COARSE if rounding == "2^-14" else HUGE
    with np.errstate(invalid="ignore", over="ignore"):
        shortened = _to_multiples(values) if rounding == "2^-14" else _to_bits(values)
        kept = ~(np.abs(values) < limit)
    if kept.any():
        shortened[kept] = values[kept]
    return shortened


def _to_multiples(values: Floats) -> Floats:
    scaled = values / STEP
    np.rint(scaled, out=scaled)
    scaled *= STEP
    scaled += np.float32(0.0)  # a value just below zero must not become -0.0
    return scaled


def _to_bits(values: Floats) -> Floats:
    """Rounds half to even on the bits: a carry out of the mantissa correctly raises the exponent."""
    bits = values.view(np.uint32)
    even = (bits >> np.uint32(DROPPED_BITS)) & np.uint32(1)
    rounded = bits + np.uint32(2 ** (DROPPED_BITS - 1) - 1) + even
    rounded &= np.uint32(2**32 - 2**DROPPED_BITS)
    return rounded.view(np.float32)
