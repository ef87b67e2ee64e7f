"""Notices of many files into one where they say the same: two hundred steps without entropy are one fact."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.notices import Notice

MAX_ALIKE = 3
"""Notices with the same words that stand apart; more are one."""


def merge_repeated(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Each notice once, sorted; more than `MAX_ALIKE` that differ in their source only become the first of them.

    Args:
        notices: in any order.

    Returns:
        The merged notice tells how many more files it speaks for.
    """
    alike: dict[tuple[str, str, str, str], list[Notice]] = defaultdict(list)
    for notice in sorted(set(notices)):
        alike[notice.code, notice.severity, notice.message, notice.remedy].append(notice)
    merged = []
    for found in alike.values():
        if len(found) > MAX_ALIKE:
            first = found[0]
            message = f"{first.message} The same holds for {len(found) - 1} more files."
            merged.append(replace(first, message=message))
        else:
            merged.extend(found)
    return tuple(sorted(merged))
