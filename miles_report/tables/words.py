"""Numbers inside sentences that tables carry; pages have their own, larger set."""

from __future__ import annotations

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
