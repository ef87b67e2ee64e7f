"""The metrics page: summaries, categories, pins, words; what a page without script tells."""

from __future__ import annotations

import re

import pytest
from builders.run_tables import logged, table

from miles_report.pages.metric_summary import last_per_step, metric_points, metric_summaries
from miles_report.pages.metric_words import UNKNOWN, metric_words
from miles_report.pages.metrics import PINNED, axis_unit, category_of, default_pins, metrics_page
from miles_report.schema.sample_columns import STEP_AGGREGATES
from miles_report.site.html import json_text, render_body

THIN = "\u202f"


def metrics(*parts):
    return table("metrics", [row for part in parts for row in part])


def page_of(*parts, buffer=()):
    return metrics_page(metrics(*parts), table("data_buffer", buffer))


class TestSummaries:
    def test_one_summary_a_key_and_axis(self):
        found = metric_summaries(
            metrics(logged("a/x", [3.0, 1.0, 2.0]), logged("a/x", [9.0], step_key="train/step"))
        )
        assert [(s.key, s.step_key, s.n, s.last, s.low, s.high) for s in found] == [
            ("a/x", "rollout/step", 3, 2.0, 1.0, 3.0),
            ("a/x", "train/step", 1, 9.0, 9.0, 9.0),
        ]

    def test_not_finite_and_text_count_but_have_no_range(self):
        nan, text = metric_summaries(
            metrics(logged("a/nan", [1.0, None]), logged("a/name", ["x", "y"]))
        )
        assert (nan.n, nan.n_finite, nan.last, nan.high) == (2, 1, None, 1.0)
        assert (text.n, text.n_finite, text.last_text, text.low) == (2, 0, "y", None)

    def test_points_without_a_step_count_their_records(self):
        rows = [row | {"step": None, "step_key": None} for row in logged("m", [5.0, 6.0])]
        points = metric_points(metrics(rows), "m", "")
        assert points.select("x", "y").rows() == [(0, 5.0), (1, 6.0)]

    def test_the_newest_attempt_wins_a_step(self):
        rows = logged("m", [1.0, 2.0]) + logged("m", [7.0], first=1, attempt=1)
        points = last_per_step(metric_points(metrics(rows), "m", "rollout/step"))
        assert points.select("x", "y").rows() == [(0, 1.0), (1, 7.0)]


class TestWords:
    @pytest.mark.parametrize("name", STEP_AGGREGATES)
    def test_every_aggregate_of_steps_is_explained(self, name):
        assert metric_words(f"dump/{name}").text

    @pytest.mark.parametrize(
        ("key", "text", "form"),
        [
            ("perf/step_time", "wall clock of a step", "seconds"),
            ("rollout/response_len/max", "response length, largest", "number"),
            ("rollout/zero_std/count_1.0", "groups whose rewards are all this value", "count"),
            ("eval/aime-25", "mean reward on this evaluation set", "number"),
            ("eval/aime-25-pass@4", "evaluation prompts solved in that many tries", "frac"),
            ("perf/anything_time", "time of this phase in a step", "seconds"),
        ],
    )
    def test_known_keys(self, key, text, form):
        words = metric_words(key)
        assert (words.text, words.form) == (text, form)

    @pytest.mark.parametrize("key", ["", "max", "/max", "custom/thing", "dump/", "</script>"])
    def test_other_keys_are_as_logged(self, key):
        assert metric_words(key) is UNKNOWN

    def test_axis_units(self):
        seconds, share = metric_words("perf/step_time"), metric_words("perf/wait_time_ratio")
        assert axis_unit(share, 0.1, 0.2) == (100.0, "%")
        assert axis_unit(seconds, 1.0, 10.0) == (1.0, "s")
        assert axis_unit(seconds, 900.0, 1300.0)[1] == "min"
        assert axis_unit(seconds, 1300.0, 1301.0)[1] == "s"
        assert axis_unit(seconds, 7200.0, 9000.0)[1] == "h"


class TestPage:
    def test_adapters_are_sections_of_their_own(self):
        assert category_of("train/loss", "train/step") == "train"
        assert category_of("train/loss", "math/step") == "math · train"
        assert [category_of(key, "") for key in ("loss", "/loss", " /loss", "")] == ["other"] * 4
        assert category_of("a/b/c", "") == "a"

    def test_pins_are_telling_keys_and_never_the_same_twice(self):
        pins = default_pins(
            metric_summaries(
                metrics(
                    logged("rollout/raw_reward", [0.1, 0.2]),
                    logged("dump/reward_mean", [0.1, 0.2]),
                    logged("perf/step_time", [1.0, 2.0]),
                    logged("zz/constant", [1.0, 1.0]),
                    logged("zz/varies", [1.0, 2.0]),
                    logged("zz/text", ["a"]),
                )
            )
        )
        assert [pin.key for pin in pins] == ["dump/reward_mean", "perf/step_time", "zz/varies"]
        assert len(pins) <= PINNED

    def test_the_table_tells_every_key(self):
        page = page_of(
            logged("perf/wait_time_ratio", [0.5, 0.25]),
            logged("x/nan", [None]),
            logged("x/name", ["text"]),
        )
        body = render_body(page)
        rows = [
            re.sub(r"[ \n]+", " ", re.sub(r"<[^>]*>", " ", row)).strip()
            for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
        ]
        assert (
            f"perf/wait_time_ratio rollout/step share of a step in which training waited 25.0{THIN}% 25.0{THIN}% 50.0{THIN}% 2"
            in rows
        )
        assert "x/nan rollout/step not finite – – 1" in rows
        assert "x/name rollout/step text – – 1" in rows

    def test_steps_are_counted_however_they_are_numbered(self):
        page = page_of(logged("a/b", [1.0, 2.0], first=700), logged("a/b", [3.0], first=10**9))
        assert page.subtitle.startswith("1 key, 3 steps;")

    def test_pinned_charts_stand_without_script(self):
        page = page_of(
            logged("perf/step_time", [10.0, 20.0]),
            buffer=[{"ts": 5.0, "length": 3}, {"ts": 65.0, "length": 9}],
        )
        assert render_body(page).count("<svg") == 2 == len(page.figures)

    def test_the_script_is_told_what_it_cannot_know(self):
        page = page_of(
            logged("perf/step_time", [10.0], ts=50.0),
            logged("own/key", [1.0], ts=60.0),
            buffer=[{"ts": 40.0, "length": 3}],
        )
        assert page.data["start"] == 40.0
        assert page.data["pins"] == [["rollout/step", "perf/step_time"]]
        assert page.data["words"] == {"perf/step_time": ["wall clock of a step", "", "seconds"]}

    def test_a_run_that_logged_nothing_says_so(self):
        page = page_of()
        assert "No metric was logged." in render_body(page)
        assert page.figures == ()

    def test_hostile_keys_stay_text(self):
        evil = "</script><img src=x onerror=alert(1)>/a\"b'c\\[d].e\u2028\n"
        page = page_of(logged(evil, [1.0, 2.0]), logged(evil, ["</td><script>"], step_key=evil))
        body = render_body(page)
        assert "<img" not in body
        assert "<script" not in body
        assert "</script" not in json_text(page.data)
        assert page.figures[0].svg.count("<svg") == 1

    def test_a_thousand_keys_make_a_page(self):
        page = page_of(*[logged(f"k/{i:04}", [1.0, float(i)]) for i in range(1000)])
        assert len(page.figures) == PINNED
        assert len(render_body(page)) < 600_000
