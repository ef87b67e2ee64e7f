"""Shortened floats: error bounds by construction, and what must stay exactly as it is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from miles_report.slices.rounding import shorten

finite_floats = st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50
)


def floats(*values):
    return np.array(values, np.float32)


def test_multiples_of_2_to_minus_14_are_the_nearest():
    eps = 2.0**-14
    got = shorten(floats(eps * 3, eps * 3.4, eps * 3.6, -eps * 2.6), "2^-14")
    assert got.tolist() == [eps * 3, eps * 3, eps * 4, -eps * 3]


def test_thirteen_bits_of_mantissa_stay():
    kept, dropped = 1 + 2.0**-13, 1 + 2.0**-15
    got = shorten(floats(kept, dropped, -kept, 1 + 2.0**-13 + 2.0**-15), "13 bits")
    assert got.tolist() == [kept, 1.0, -kept, kept]


def test_a_carry_raises_the_exponent():
    just_below_two = 2 - 2.0**-23
    assert shorten(floats(just_below_two), "13 bits").tolist() == [2.0]


@given(finite_floats)
def test_the_error_of_multiples_is_at_most_half_a_step(values):
    given_values = np.array(values, np.float32)
    error = np.abs(shorten(given_values, "2^-14").astype(np.float64) - given_values)
    assert (error <= 2.0**-15).all()


@given(finite_floats)
def test_the_relative_error_of_bits_is_at_most_2_to_minus_14(values):
    given_values = np.array(values, np.float32).astype(np.float64)
    got = shorten(np.array(values, np.float32), "13 bits").astype(np.float64)
    smallest_normal = 2.0**-126  # below it a float32 has fewer bits to begin with
    assert (
        np.abs(got - given_values) <= np.maximum(np.abs(given_values), smallest_normal) * 2.0**-14
    ).all()


def test_zero_nan_and_infinities_stay():
    for rounding in ("2^-14", "13 bits"):
        got = shorten(floats(0.0, np.nan, np.inf, -np.inf), rounding)
        assert got[0] == 0.0
        assert np.isnan(got[1])
        assert got[2:].tolist() == [np.inf, -np.inf]


def test_nan_of_any_payload_stays_nan():
    payloads = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(shorten(payloads, "13 bits")).all()


def test_the_largest_floats_do_not_become_infinite():
    largest = float(np.finfo(np.float32).max)
    for rounding in ("2^-14", "13 bits"):
        assert shorten(floats(largest, -largest), rounding).tolist() == [largest, -largest]


def test_tiny_values_become_zero_without_a_sign():
    got = shorten(floats(-(2.0**-20)), "2^-14")
    assert got[0] == 0.0
    assert not np.signbit(got[0])


def test_no_rounding_gives_the_values_themselves():
    values = floats(0.1, 0.2)
    assert shorten(values, "none") is values


def test_the_values_given_are_not_changed():
    values = floats(0.1, -3.3)
    shorten(values, "2^-14")
    shorten(values, "13 bits")
    assert values.tolist() == floats(0.1, -3.3).tolist()
