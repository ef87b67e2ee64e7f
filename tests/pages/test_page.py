from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from miles_report.pages.page import Page


def test_a_page_is_a_frozen_value_with_little_to_say_by_default():
    page = Page("index.html", "index.html", "A run")
    assert page == Page("index.html", "index.html", "A run")
    assert (page.view, page.bundle, dict(page.values), dict(page.data)) == ("", "report", {}, {})
    with pytest.raises(FrozenInstanceError):
        page.title = "other"
