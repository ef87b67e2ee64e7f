"""The first page: state, facts, findings, tiles, reading list; and runs that have next to nothing."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from builders.run_tables import logged, run_tables, step, table

from miles_report.pages.index import index_page
from miles_report.pages.index_findings import index_findings
from miles_report.pages.index_reading import reading_list, reading_rows
from miles_report.pages.index_tiles import index_tiles
from miles_report.site.html import render_body

THIN = "\u202f"


def tiles_of(**rows):
    return {tile.label: tile for tile in index_tiles(run_tables(**rows))[0]}


def notable(kind, value=1.0, *, at=0, row=0, evaluation=False, why="why"):
    return {
        "step": at,
        "evaluation": evaluation,
        "row": row,
        "sample_index": row + 100,
        "kind": kind,
        "why": why,
        "value": value,
    }


def text_of(body):
    return re.sub(r"[ \n]+", " ", re.sub(r"<[^>]*>", " ", body))


class TestTiles:
    def test_value_change_and_range_of_a_column_of_steps(self):
        tile = tiles_of(
            steps=[step(0, reward_mean=0.25), step(1, reward_mean=0.125), step(2, reward_mean=0.5)]
        )["Reward, mean"]
        assert (tile.value, tile.change, tile.below) == ("0.500", "+0.250", "0.125 – 0.500")
        assert tile.href == "metrics.html?filter=dump/reward_mean"

    def test_shares_change_in_points(self):
        tile = tiles_of(steps=[step(0, truncated_frac=0.02), step(1, truncated_frac=0.273)])[
            "Truncated"
        ]
        assert tile.value == f"27.3{THIN}%"
        assert tile.change == f"+25.3{THIN}pp"

    def test_a_value_older_than_the_last_step_says_so(self):
        tile = tiles_of(
            steps=[step(0, reward_mean=0.5), step(1, reward_mean=1.0), step(2, state="broken")]
        )["Reward, mean"]
        assert tile.value == "1"
        assert tile.below.endswith("· step 1")

    def test_steps_without_a_finite_value_are_counted(self):
        rows = [
            step(0, reward_mean=0.5),
            step(1, reward_mean=float("nan")),
            step(2, reward_mean=1.0),
        ]
        assert tiles_of(steps=rows)["Reward, mean"].below == "0.500 – 1 · 1 not finite"

    def test_without_rollouts_the_reward_is_what_was_logged(self):
        tile = tiles_of(metrics=logged("rollout/raw_reward", [0.1, 0.4]))["Reward, mean"]
        assert (tile.value, tile.href) == ("0.400", "metrics.html?filter=rollout/raw_reward")

    def test_of_several_records_of_a_step_the_last_counts(self):
        rows = logged("perf/actor_train_mfu", [0.1, 0.2]) + logged(
            "perf/actor_train_mfu", [0.3], first=1, attempt=1
        )
        assert tiles_of(metrics=rows)["MFU, actor train"].value == f"30.0{THIN}%"

    def test_the_eval_tile_takes_the_reward_of_the_first_set(self):
        rows = (
            logged("eval/step", [4, 9], step_key="eval/step")
            + logged("eval/aime-truncated_ratio", [0.9], step_key="eval/step")
            + logged("eval/aime", [0.2, 0.5], step_key="eval/step", first=4)
            + logged("eval/math", [0.7], step_key="eval/step")
        )
        tile = tiles_of(metrics=rows)["Eval, aime (1 of 2 sets)"]
        assert (tile.value, tile.change, tile.below) == ("0.500", "+0.300", "steps 4, 5")

    def test_dumped_evaluations_stand_in_for_logged_ones(self):
        evals = pl.DataFrame(
            {"step": [0, 0, 2], "eval_set": [0, 1, 0], "reward_mean": [0.25, 0.9, 0.5]}
        )
        tiles, _ = index_tiles(run_tables(), evals)
        assert [(tile.label, tile.value) for tile in tiles] == [
            ("Eval, reward (1 of 2 sets)", "0.500")
        ]

    def test_constant_values_have_no_change(self):
        tile = tiles_of(bubbles=[{"step": 0, "step_time": 90.0}, {"step": 1, "step_time": 90.0}])[
            "Step time"
        ]
        assert (tile.change, tile.below) == ("", "constant, 2 values")

    def test_what_is_not_recorded_makes_no_tile(self):
        assert "Reward, mean" not in tiles_of(steps=[step(0, reward_mean=None)])

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_what_is_not_finite_is_told(self, value):
        rows = [step(0, reward_mean=value), step(1, reward_mean=value)]
        tile = tiles_of(steps=rows)["Reward, mean"]
        assert (tile.value, tile.change, tile.below) == ("not finite", "", "2 not finite")
        tile = tiles_of(steps=[*rows, step(2, reward_mean=0.5), step(3, reward_mean=value)])[
            "Reward, mean"
        ]
        assert (tile.value, tile.below) == ("0.500", "one step · step 2 · 3 not finite")

    def test_absent_tiles_say_why_once_a_reason(self):
        rows = [step(0, n_trained=0, reward_mean=1.0)]
        _, missing = index_tiles(run_tables(steps=rows))
        assert "|lp diff|, Entropy (no train rows were dumped)" in missing
        assert "Step time, Train wait, MFU, Data buffer, Eval (not logged)" in missing


class TestFindings:
    def test_a_newest_mean_that_is_not_finite_is_critical(self):
        means = [float("nan"), 0.5, float("nan"), None, float("inf")]
        rows = [step(i, reward_mean=mean) for i, mean in enumerate(means)]
        (finding,) = index_findings(run_tables(steps=rows))
        assert (finding.level, finding.what) == ("critical", "Mean reward is not finite")
        assert (finding.detail, finding.since) == ("at step 4", "step 2")
        assert index_findings(run_tables(steps=rows[:2])) == []

    def test_most_groups_without_gradient_since_the_streak_began(self):
        shares = [0.9, 0.1, 0.5, 0.625]
        tables = run_tables(
            steps=[step(i, zero_std_group_frac=share) for i, share in enumerate(shares)]
        )
        (finding,) = index_findings(tables)
        assert finding.what == f"62.5{THIN}% of groups have equal rewards"
        assert finding.detail == f"at step 3, 90.0{THIN}% at step 0"
        assert finding.since == "step 2"
        assert finding.link.href == "rollouts/step-3.html"

    def test_thresholds_are_inclusive_and_only_the_newest_step_counts(self):
        assert len(index_findings(run_tables(steps=[step(0, truncated_frac=0.25)]))) == 1
        assert not index_findings(
            run_tables(steps=[step(0, truncated_frac=0.9), step(1, truncated_frac=0.2)])
        )

    def test_notices_are_one_line_a_kind_errors_first(self):
        rows = [
            {
                "code": "torn",
                "severity": "warning",
                "source": "a",
                "message": "Torn.",
                "remedy": "Wait.",
            },
            {
                "code": "broken",
                "severity": "error",
                "source": "b.pt",
                "message": "Unreadable.",
                "remedy": "Copy it again.",
            },
            {
                "code": "broken",
                "severity": "error",
                "source": "c.pt",
                "message": "Unreadable.",
                "remedy": "Copy it again.",
            },
            {
                "code": "none",
                "severity": "info",
                "source": "",
                "message": "No tokenizer.",
                "remedy": "",
            },
        ]
        found = index_findings(run_tables(notices=rows))
        assert [(f.level, f.what, f.detail) for f in found] == [
            ("critical", "Unreadable.", "b.pt, and 1 more like it"),
            ("warning", "Torn.", "a"),
        ]

    def test_many_kinds_are_counted_not_listed(self):
        rows = [
            {"code": f"k{i}", "severity": "warning", "source": "", "message": f"m{i}", "remedy": ""}
            for i in range(30)
        ]
        found = index_findings(run_tables(notices=rows))
        assert len(found) == 6
        assert found[-1].what == "25 further kinds of trouble"


class TestReading:
    def test_one_of_each_kind_first_then_the_next_best(self):
        rows = [notable("max_abs_lp_diff", 5.0 - i, row=i) for i in range(5)] + [
            notable("aborted", None, row=9)
        ]
        listed = reading_list(table("notable", rows), limit=4)
        assert [row.sample for row in listed] == ["100", "101", "102", "109"]

    def test_kinds_come_in_the_order_of_their_weight(self):
        rows = [
            notable("response_length", row=0),
            notable("unknown", row=1),
            notable("reward_not_finite", None, row=2),
        ]
        assert [row.sample for row in reading_list(table("notable", rows))] == ["102", "100", "101"]

    def test_for_some_kinds_the_smallest_is_the_best(self):
        rows = [notable("shortest_right", 40.0, row=0), notable("shortest_right", 5.0, row=1)]
        assert reading_list(table("notable", rows), limit=1)[0].sample == "101"

    def test_a_sample_is_listed_once(self):
        rows = [
            notable("max_abs_lp_diff", row=3),
            notable("tool_calls", row=3),
            notable("tool_calls", 0.5, row=4),
        ]
        assert [row.sample for row in reading_list(table("notable", rows))] == ["103", "104"]

    def test_links_lead_to_the_row_and_evals_say_so(self):
        train, evaluated = reading_list(
            table(
                "notable",
                [notable("a", at=12, row=345), notable("b", at=3, row=1, evaluation=True)],
            )
        )
        assert train.why.href == "sample.html?step=12&row=345"
        assert evaluated.why.href == "sample.html?step=3&row=1&eval=1"
        assert (train.step, evaluated.step) == ("12", "eval 3")

    def test_sample_columns_come_along(self):
        samples = table(
            "samples",
            [
                {
                    "step": 0,
                    "evaluation": False,
                    "row": 1,
                    "group_index": 7,
                    "status": "completed",
                    "reward_value": 0.5,
                    "response_length": 1204,
                    "mean_abs_lp_diff": 0.01,
                }
            ],
        )
        joined = reading_rows(table("notable", [notable("x", row=1), notable("y", row=2)]), samples)
        known, unknown = reading_list(joined)
        assert (known.group, known.reward, known.length, known.lp_diff) == (
            "7",
            "0.500",
            f"1{THIN}204",
            "0.0100",
        )
        assert (unknown.group, unknown.status, unknown.bar) == ("–", "–", None)

    def test_bars_are_logarithmic_and_only_of_values_above_zero(self):
        samples = table(
            "samples",
            [
                {"step": 0, "evaluation": False, "row": i, "mean_abs_lp_diff": value}
                for i, value in enumerate([0.01, 1.0, 0.1, 0.0, float("nan")])
            ],
        )
        rows = table("notable", [notable(f"k{i}", row=i) for i in range(5)])
        bars = [row.bar for row in reading_list(reading_rows(rows, samples))]
        assert bars[1] == 100.0
        assert bars[0] < bars[2] < bars[1]
        assert bars[3:] == [None, None]


class TestPage:
    def test_an_empty_dump_is_calm(self):
        page = index_page(run_tables(), title="empty")
        text = text_of(render_body(page))
        assert "Nothing was recorded yet" in text
        assert "No telemetry" in text
        assert "Nothing found." in text
        assert page.figures == ()

    def test_telemetry_only_says_where_its_numbers_come_from(self):
        tables = run_tables(
            run={"t0": 0.0, "t1": 60.0, "start_ts": 0.0}, bubbles=[{"step": 0, "step_time": 60.0}]
        )
        text = text_of(render_body(index_page(tables, title="t")))
        assert "what follows comes from telemetry" in text
        assert "No end recorded" in text
        assert "1970-01-01 00:01:00 UTC" in text

    def test_facts_of_the_run(self):
        args = {
            "hf_checkpoint": "/m/Qwen3-8B/",
            "advantage_estimator": "grpo",
            "rollout_batch_size": 64,
            "n_samples_per_prompt": 8,
            "actor_num_nodes": 4,
            "actor_num_gpus_per_node": 8,
            "rollout_num_gpus": 32,
        }
        run = {
            "args": json.dumps(args),
            "n_steps": 20,
            "n_eval_steps": 4,
            "start_ts": 10.0,
            "t0": 20.0,
            "t1": 22330.0,
            "state": "finished",
            "wandb_url": "https://w/x",
        }
        body = render_body(index_page(run_tables(run=run), title="t"))
        text = text_of(body)
        assert (
            f"6{THIN}h{THIN}12{THIN}m · 20 steps · 4 evals · 64 GPUs, 32 train + 32 rollout · Qwen3-8B · GRPO · 64 groups × 8 samples"
            in text
        )
        assert "Finished" in text
        assert 'href="https://w/x"' in body
        assert "7 arguments" in text

    def test_text_of_the_dump_stays_text(self):
        evil = '</script><img src=x onerror=alert(1)>"\u2028'
        tables = run_tables(
            run={
                "args": json.dumps({evil: evil}),
                "wandb_url": "javascript:alert(1)",
                "n_steps": 1,
            },
            metrics=logged(f"eval/{evil.replace('/', '')}", [0.5], step_key="eval/step"),
            notable=[notable(evil, why=evil)],
            notices=[
                {"code": "x", "severity": "error", "source": evil, "message": evil, "remedy": evil}
            ],
        )
        body = render_body(index_page(tables, title=evil))
        assert "<img" not in body
        assert "javascript:" not in body

    def test_the_page_stays_small(self):
        steps = [
            step(i, reward_mean=i * 0.001, truncated_frac=(i % 97) / 100, mean_entropy=1 / (i + 1))
            for i in range(5000)
        ]
        page = index_page(run_tables(steps=steps, run={"n_steps": 5000}), title="long")
        assert len(render_body(page)) < 100_000

    def test_two_pages_of_the_same_tables_are_equal(self):
        tables = run_tables(steps=[step(0, reward_mean=0.5), step(1, reward_mean=0.25)])
        assert render_body(index_page(tables, title="t")) == render_body(
            index_page(tables, title="t")
        )


def test_advisories_stand_beside_what_the_newest_step_tells():
    rows = [
        {"rule": "kv_cache_saturated", "level": "critical", "message": "The cache is full since 3. Lower it. A heuristic."},
        {"rule": "zero_std_groups", "level": "warning", "message": "Told by the step. Do."},
        {"rule": "low_mfu", "level": "warning", "message": "Slow. Look.", "suppressed_by": "kv_cache_saturated"},
        {"rule": "low_concurrency", "level": "info", "message": "Few. Lower."},
    ]  # fmt: skip
    (finding,) = index_findings(run_tables(advisories=rows))
    assert (finding.level, finding.what) == ("critical", "The cache is full since 3")
    assert finding.remedy == "Lower it. A heuristic."
    assert finding.link.href == "compute.html#advice"


def test_what_the_gpus_did_stands_on_the_first_page():
    tables = run_tables(
        run={"t0": 1000.0, "t1": 2000.0},
        lanes=[{"index": i, "node": "n", "gpu": i} for i in range(2)],
        topology=[{"addr": f"http://n:{i}", "engine_rank": i % 2} for i in range(3)]
        + [{"addr": "http://far:1", "engine_rank": -1}],
        step_phases=[
            {"step": 4, "phase": "rollout", "lane_seconds": 30.0, "fraction": 0.6, "t0": 1100.0, "t1": 1150.04},
            {"step": 4, "phase": "train_wait", "lane_seconds": 20.0, "fraction": 0.4, "t0": 1100.0, "t1": 1150.04},
        ],
        step_times=[{"step": 3, "util_mean": 0.5}, {"step": 4, "util_mean": 0.75}],
        advisories=[
            {"rule": "stalled_phase", "level": "critical", "message": "It hangs. Look.", "evidence": '{"t0": 1500, "t1": 2000}'}
        ],
    )  # fmt: skip
    page = index_page(tables, title="t")
    assert {fact.text: fact.href for fact in page.values["facts"]}.items() >= {
        ("2 GPUs", "compute.html"), ("3 engines", "compute.html"),
    }  # fmt: skip
    (finding,) = page.values["findings"]
    assert (finding.since, finding.link.href) == ("+0:08:20", "compute.html?t=500.0,1000.0#lanes")
    (tile,) = (tile for tile in page.values["tiles"] if tile.label.startswith("GPU utilization"))
    assert (tile.value, tile.change, tile.href) == ("75.0\u202f%", "+25.0\u202fpp", "compute.html#util")  # fmt: skip
    assert [phase.label for phase in page.values["legend"]] == ["Rollout", "Train wait"]
    assert "Where time went" in render_body(page)
    assert page.data["bars"] == [(4, 100.0, 150.0)]
