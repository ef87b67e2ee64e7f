from __future__ import annotations

from miles_report.notices import Notice
from miles_report.tables.repeated_notices import merge_repeated


def notice(source, message="No entropy."):
    return Notice("no-entropy", "info", source, message, "Switch it on.")


def test_few_notices_stand_apart_and_once():
    found = [notice("b"), notice("a"), notice("b"), notice("c")]
    assert merge_repeated(found) == (notice("a"), notice("b"), notice("c"))


def test_many_alike_are_one_that_counts_the_others():
    found = [notice(f"train_data/{step}_*.pt") for step in range(200)] + [
        notice("x", "Other words.")
    ]
    [first, second] = merge_repeated(found)
    assert first.source == "train_data/0_*.pt"
    assert first.message == "No entropy. The same holds for 199 more files."
    assert second == notice("x", "Other words.")
