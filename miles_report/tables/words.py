"""Numbers inside sentences that tables carry; pages have their own, larger set."""

from __future__ import annotations

from datetime import UTC, datetime

NARROW_SPACE = "\u202f"


def grouped(count: float) -> str:
    """A whole number with thin grouping."""
    return f"{round(count):,}".replace(",", NARROW_SPACE)


def number(value: float) -> str:
    """Three significant digits, whole from 100 up."""
    if abs(value) >= 99.95:
        return grouped(value)
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds as `3.4 s`, `6 m 41 s` or `1 h 02 m`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{grouped(hours)} h {minutes:02d} m"


def percent(share: float) -> str:
    """A share as a percentage with one decimal, without it where it is whole."""
    return f"{100 * share:.1f}".removesuffix(".0") + f"{NARROW_SPACE}%"


def moment(ts: float) -> str:
    """Unix seconds as `2026-02-03 23:30:00 UTC`; the number itself where no calendar reaches it."""
    try:
        return f"{datetime.fromtimestamp(ts, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{ts:.0f}"
