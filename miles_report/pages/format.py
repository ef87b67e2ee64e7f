"""Numbers and times as pages show them; `templates/js/format.js` holds the same functions.

Absent is an en dash, what is not finite says so, minus is U+2212, groups and units are set apart by
U+202F. Halves round away from zero, as in the browser. Both sides are held to one list of cases.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DASH = "\u2013"
"""Shown for null."""

THIN = "\u202f"
"""Between groups of digits, and between a value and its unit."""

MINUS = "\u2212"
NOT_FINITE = "not finite"


def count(value: float | None) -> str:
    """A whole number with thin groups: `10 240`."""
    return _shown(value, lambda size: _grouped(_fixed(size, 0)))


def number(value: float | None) -> str:
    """Three significant digits: `0.583`, `32 600`, `1.00e6`; a whole number below 1,000 as it is."""
    return _shown(value, _significant)


def fixed(value: float | None, digits: int) -> str:
    """So many decimals, grouped: for ticks and columns that share a precision."""
    return _shown(value, lambda size: _grouped(_fixed(size, digits)))


def frac(value: float | None) -> str:
    """A share as percent: `27.3 %`, `0 %`, `100 %`; never rounded to none or all."""
    return _shown(value, _percent)


def points(value: float | None) -> str:
    """A change of a share in percentage points: `+25.2 pp`."""
    return signed(value, lambda part: _shown(part, lambda size: f"{_fixed(size * 100, 1)}{THIN}pp"))


def logprob(value: float | None) -> str:
    """Four decimals: `0.2107`."""
    return _shown(value, lambda size: _fixed(size, 4))


def seconds(value: float | None) -> str:
    """A duration: `12 ms`, `3.4 s`, `31 s`, `4 m 21 s`, `1 h 02 m`, `2 d 03 h`."""
    return _shown(value, _duration)


def elapsed(value: float | None) -> str:
    """Time since the start of the run, whole seconds: `+1:02:03`."""
    if value is None or not math.isfinite(value):
        return _absent(value)
    whole = math.floor(abs(value))
    clock = f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return (MINUS if value < 0 else "+") + clock


def utc(value: float | None) -> str:
    """Unix seconds as `2026-02-03 23:14:05 UTC`."""
    if value is None or not math.isfinite(value):
        return _absent(value)
    if not -62_135_596_800 <= value < 253_402_300_800:
        return f"{number(value)}{THIN}s"
    moment = datetime.fromtimestamp(math.floor(value), UTC)
    return f"{moment.year:04}-{moment:%m-%d %H:%M:%S} UTC"


def gib(value: float | None) -> str:
    """Bytes of memory as `12.3 GiB`."""
    return _shown(value, lambda size: f"{_grouped(_fixed(size / 2**30, 1))}{THIN}GiB")


def size(value: float | None) -> str:
    """Bytes of a file: `812 B`, `5.81 MB`."""
    return _shown(value, _bytes)


def signed(value: float | None, show: Callable[[float | None], str] = number) -> str:
    """A change: `show` of it, with a plus where it is above zero."""
    text = show(abs(value) if value is not None and math.isfinite(value) else value)
    if value is None or not math.isfinite(value) or value == 0:
        return text
    return ("+" if value > 0 else MINUS) + text


def span(
    low: float | None, high: float | None, show: Callable[[float | None], str] = number
) -> str:
    """A range: the two values, joined by an en dash."""
    return f"{show(low)} {DASH} {show(high)}"


def plural(amount: int, one: str, many: str = "") -> str:
    """`1 step`, `20 steps`."""
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"


def value(content: Any, form: str = "plain") -> str:
    """Any cell of a table, in the `form` that the schema declares for its column."""
    if content is None:
        return DASH
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, (list, tuple)):
        return ", ".join(value(item, form) for item in content)
    if isinstance(content, str):
        return content
    return _FORMS.get(form, number)(content)


def _plain(content: float | None) -> str:
    whole = content is not None and math.isfinite(content) and content == math.floor(content)
    return _shown(content, lambda size: _fixed(size, 0)) if whole else number(content)


_FORMS: Mapping[str, Callable[[float | None], str]] = {
    "plain": number,
    "text": _plain,
    "id": _plain,
    "count": count,
    "number": number,
    "frac": frac,
    "logprob": logprob,
    "seconds": seconds,
    "ts": utc,
}


def _absent(value: float | None) -> str:
    return DASH if value is None else NOT_FINITE


def _shown(value: float | None, show: Callable[[float], str]) -> str:
    """`show` of the size of a finite value, with its sign unless it shows as zero."""
    if value is None or not math.isfinite(value):
        return _absent(value)
    text = show(abs(value))
    negative = value < 0 and any(digit in text for digit in "123456789")
    return MINUS + text if negative else text


def _fixed(size: float, digits: int) -> str:
    step = Decimal(1).scaleb(-digits)
    return (
        f"{Decimal(size).quantize(step, rounding=ROUND_HALF_UP):f}"
        if size < 1e21
        else f"{size:.0f}"
    )


def _grouped(text: str) -> str:
    whole, dot, rest = text.partition(".")
    parts = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
    return THIN.join(reversed(parts)) + dot + rest


def _rounded(size: float) -> tuple[Decimal, int]:
    """The value at three significant digits and its decimal exponent."""
    exact = Decimal(size)
    exponent = exact.adjusted()
    near = exact.quantize(Decimal(1).scaleb(exponent - 2), rounding=ROUND_HALF_UP)
    return near, near.adjusted()


def _significant(size: float) -> str:
    if size == math.floor(size) and size < 1000:
        return _fixed(size, 0)
    near, exponent = _rounded(size)
    if exponent < -4 or exponent > 8:
        digits = near.scaleb(-exponent).quantize(Decimal("1.00"))
        return f"{digits:f}e{MINUS if exponent < 0 else ''}{abs(exponent)}"
    return _grouped(f"{near.quantize(Decimal(1).scaleb(min(0, exponent - 2))):f}")


def _percent(size: float) -> str:
    percent = size * 100
    if percent in {0, 100}:
        return f"{percent:.0f}{THIN}%"
    if percent < 0.1:
        return f"<{THIN}0.1{THIN}%"
    if 99.9 < percent < 100:
        return f">{THIN}99.9{THIN}%"
    return f"{_grouped(_fixed(percent, 1))}{THIN}%"


def _duration(size: float) -> str:
    if size == 0:
        return f"0{THIN}s"
    if size < 0.9995:
        return _milliseconds(size * 1000)
    if size < 59.5:
        return f"{_fixed(size, 1 if size < 9.95 else 0)}{THIN}s"
    whole = math.floor(size + 0.5)
    if whole < 3600:
        return f"{whole // 60}{THIN}m{THIN}{whole % 60:02}{THIN}s"
    minutes = math.floor(size / 60 + 0.5)
    if minutes < 24 * 60:
        return f"{minutes // 60}{THIN}h{THIN}{minutes % 60:02}{THIN}m"
    hours = math.floor(size / 3600 + 0.5)
    return f"{_grouped(str(hours // 24))}{THIN}d{THIN}{hours % 24:02}{THIN}h"


def _milliseconds(size: float) -> str:
    if size < 0.1:
        return f"<{THIN}0.1{THIN}ms"
    return f"{_fixed(size, 1 if size < 9.95 else 0)}{THIN}ms"


def _bytes(size: float) -> str:
    if size < 999.5:
        return f"{_fixed(size, 0)}{THIN}B"
    for power, unit in ((1, "kB"), (2, "MB"), (3, "GB")):
        if size < 999.5 * 1000**power:
            near, exponent = _rounded(size / 1000**power)
            return f"{near.quantize(Decimal(1).scaleb(min(0, exponent - 2))):f}{THIN}{unit}"
    return f"{_grouped(_fixed(size / 1000**4, 1))}{THIN}TB"
