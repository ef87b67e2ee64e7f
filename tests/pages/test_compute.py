"""The Compute page: rows of its pictures, its numbers and words, with many lanes and with none."""

from __future__ import annotations

import polars as pl
import pytest
from builders.run_tables import step_times

from miles_report.charts.compute_charts import NO_PHASE, TOKENS, colour_of
from miles_report.pages.compute import compute_page, pick_criteria
from miles_report.pages.compute_figures import MOST_LANES
from miles_report.pages.compute_series import (
    fleet_rows,
    lane_rows,
    ordered,
    process_rows,
    spread_rows,
    step_rows,
)
from miles_report.schema.vocabulary import PHASES
from miles_report.site.html import render_body
from miles_report.tables.frames import empty_table, table_schema

HOSTILE = "</script><b>\u2028"


def table(name, *rows):
    """Rows of a table, absent columns null."""
    schema = table_schema(name)
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


def fleet(**phases):
    """Three buckets of ten seconds from 100 on."""
    return pl.DataFrame(
        {
            "bucket": [0, 1, 2],
            "t0": [100.0, 110.0, 120.0],
            "t1": [110.0, 120.0, 130.0],
            "util_p10": [1.0, None, 3.0],
            "util_p50": [50.0, None, 70.0],
            "util_p90": [90.0, None, 95.0],
            "util_min": [0.0, None, 2.0],
        }
        | {f"phase.{name}": shares for name, shares in phases.items()}
    )


def process_phases(*rows):
    schema = {"name": pl.String, "t0": pl.Float64, "t1": pl.Float64, "node": pl.String, "rank": pl.Int64, "role": pl.String, "open": pl.Boolean}  # fmt: skip
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


def tables(n_lanes, **changed):
    lanes = table("lanes", *({"index": i, "node": "n0", "gpu": i} for i in range(n_lanes)))
    carpet = table(
        "carpet",
        *({"index": i, "node": "n0", "gpu": i, "roles": [], "cells": ["rollout", "rollout", None]} for i in range(n_lanes)),
    )  # fmt: skip
    return {
        "lanes": lanes,
        "fleet": fleet(rollout=[1.0, 1.0, 0.0], none=[0.0, 0.0, 1.0]),
        "carpet": carpet,
        "run": table("run", {"t0": 100.0, "t1": 130.0}),
        "process_phases": process_phases(),
        "step_times": step_times({"step": 3, "t0": 101.0, "t1": 125.0, "wait_ratio": 0.25}),
        **{name: empty_table(name) for name in ("topology", "step_phases", "bubbles", "mfu", "advisories")},
    } | changed  # fmt: skip


def test_equal_neighbours_are_one_stretch():
    carpet = table(
        "carpet", {"node": "n0", "gpu": 3, "cells": ["rollout", "rollout", "actor_train"]}
    )
    rows = lane_rows(carpet, fleet(), 100.0)
    assert rows.select("lane", "x", "x2", "phase").rows() == [
        ("n0 gpu 3", 0.0, pytest.approx(20 / 60), "rollout"),
        ("n0 gpu 3", pytest.approx(20 / 60), 0.5, "actor_train"),
    ]
    assert rows["text"][1] == "Actor train, n0 gpu 3, +0:00:20 to +0:00:30"


def test_a_gap_parts_a_stretch():
    carpet = table("carpet", {"node": "n0", "gpu": 0, "cells": ["rollout", None, "rollout"]})
    assert lane_rows(carpet, fleet(), 100.0).height == 2


def test_shares_of_the_fleet_are_stacked_in_the_order_of_the_vocabulary():
    rows = fleet_rows(
        fleet(actor_train=[0.25, 0.0, 0.0], rollout=[0.5, 1.0, 0.0], none=[0.25, 0.0, 1.0]), 100.0
    )
    first = rows.filter(pl.col("x") == 0)
    assert first.select("phase", "low", "high").rows() == [
        ("rollout", 0.0, 0.5),
        ("actor_train", 0.5, 0.75),
        (NO_PHASE, 0.75, 1.0),
    ]
    assert rows.height == 5  # empty shares are left out


def test_what_a_step_has_no_phase_for_lies_on_top():
    shares = table(
        "step_phases",
        {"step": 7, "phase": "actor_train", "fraction": 0.3},
        {"step": 7, "phase": "rollout", "fraction": 0.5},
    )
    assert step_rows(shares).select("phase", "low", "high").rows() == [
        ("rollout", 0.0, 0.5),
        ("actor_train", 0.5, 0.8),
        (NO_PHASE, 0.8, 1.0),
    ]


def test_a_bucket_without_a_sample_is_a_gap():
    rows = spread_rows(fleet(), 100.0)
    assert rows["p50"].to_list() == [50.0, None, 70.0]
    assert rows["x"].to_list() == [0.0, pytest.approx(10 / 60), pytest.approx(20 / 60)]


def test_unknown_phases_are_neutral_and_last():
    assert ordered([NO_PHASE, "zzz", "actor_train", "aaa"]) == ["actor_train", "aaa", "zzz", NO_PHASE]  # fmt: skip
    assert colour_of("zzz") == PHASES["unknown"].colours[0]
    assert all(colour_of(name) in TOKENS for name in PHASES)


def test_the_busiest_phase_is_picked_and_never_a_wait():
    shares = table(
        "step_phases",
        {"step": 0, "phase": "train_wait", "lane_seconds": 900.0},
        {"step": 0, "phase": "rollout", "lane_seconds": 10.0},
        {"step": 0, "phase": "actor_train", "lane_seconds": 8.0},
        {"step": 1, "phase": "actor_train", "lane_seconds": 8.0},
    )
    assert pick_criteria(shares) == {
        "lowest_util": "Lowest utilization",
        "slowest_phase:actor_train": "Slowest actor train",
        "latest_start:actor_train": "Latest start of actor train",
    }
    assert list(pick_criteria(empty_table("step_phases"))) == ["lowest_util"]


def test_lanes_up_to_the_limit_and_shares_above():
    few = compute_page(tables(MOST_LANES), {})
    assert not few.values["is_fleet"]
    assert f"{MOST_LANES} GPU lanes" in few.values["overview"].alt
    assert few.values["overview"].svg.count("var(--p-rollout)") == MOST_LANES
    many = compute_page(tables(MOST_LANES + 1), {})
    assert many.values["is_fleet"]
    assert "Shares of phases" in many.values["overview"].alt
    assert "Shares of phases" in few.values["other"].alt
    assert many.values["other"] is None
    asked = compute_page(tables(2), {}, overview="always")
    assert "Shares of phases" in asked.values["overview"].alt
    assert "too thin" not in render_body(asked)


def test_without_lanes_the_page_says_why():
    page = compute_page(
        tables(0, fleet=empty_table("fleet")), {"Lowest utilization": empty_table("outliers")}
    )
    assert page.figures == ()
    assert "Nothing says what the GPUs were doing" in render_body(page)


def test_engines_without_a_gpu_are_shown_all_the_same():
    topology = table("topology", {"t0": 100.0, "addr": "http://h:1", "engine_rank": 0, "gpus": []})
    body = render_body(compute_page(tables(0, topology=topology), {}))
    assert "No GPU is known" in body
    assert "http://h:1" in body
    assert "Nothing says" not in body


def test_picks_and_advice_are_told():
    outliers = table("outliers", {"node": "n0", "gpu": 1, "score": 12.5})
    behind = table(
        "outliers",
        {"node": "n0", "gpu": 2, "score": 7.2},
        {"node": "n0", "gpu": 0, "score": 0.0},
    )
    advisories = table(
        "advisories",
        {"rule": "a", "level": "warning", "message": HOSTILE, "evidence": '{"t0": 105, "t1": 165}'},
        {"rule": "b", "level": "info", "message": "later", "evidence": "{}", "suppressed_by": "a"},
    )
    page = compute_page(
        tables(2, advisories=advisories),
        {"Lowest utilization": outliers, "Latest start of rollout": behind},
    )
    assert [(pick.why, pick.lane, pick.score) for pick in page.values["picks"]] == [
        ("Lowest utilization", "n0 gpu 1", "12.5\u202f%".replace("\u202f", " ")),
        ("Latest start of rollout", "n0 gpu 2", "7.2\u202fs"),
    ]
    advice = page.values["advices"][0]
    assert (advice.where, advice.window) == ("+0:00:05 to +0:01:05", "5.0,65.0")
    assert page.values["picks"][0].word == "gpu:n0:1"
    assert [advice.message for advice in page.values["hidden"]] == ["later"]
    body = render_body(page)
    assert "<b>\u2028" not in body
    assert "held back by a" in body


def test_the_script_knows_the_axis_and_which_lanes_it_draws():
    few = compute_page(tables(2), {}).data
    assert (few["start"], few["end"], few["chosen"]) == (100.0, 130.0, [])
    assert few["steps"] == [
        {"step": 3, "t0": 101.0, "t1": 125.0, "wait_ratio": 0.25, "overlap_fraction": None}
    ]
    worst = table("outliers", {"node": "n0", "gpu": 40, "score": 12.5})
    fleet_of_many = compute_page(tables(MOST_LANES + 1), {"Lowest utilization": worst})
    assert fleet_of_many.data["chosen"] == ["gpu:n0:40", "gpu:n0:0"]
    assert fleet_of_many.view == "compute"


def test_engines_alone_have_an_axis_too():
    topology = table("topology", {"t0": 100.0, "addr": "http://h:1", "engine_rank": 0, "gpus": []})
    page = compute_page(tables(0, topology=topology, fleet=empty_table("fleet")), {})
    assert (page.view, page.data["start"], page.data["end"]) == ("compute", 100.0, 130.0)


def test_without_a_gpu_processes_have_the_rows():
    rank = {"node": "n", "rank": 1, "role": "train", "open": False}
    phases = process_phases(
        {"name": "rollout", "t0": 100.0, "t1": 110.0, "node": "n", "rank": -1, "role": "rollout_manager"},
        {"name": "train", "t0": 110.0, "t1": 130.0, **rank},
        {"name": "train_wait", "t0": 105.0, "t1": 112.0, **rank},
    )  # fmt: skip
    rows, names = process_rows(phases, 100.0)
    assert names == ["rollout manager", "rank 1"]
    assert rows["phase"].to_list() == ["train_wait", "rollout", "train"]  # waiting is painted first
    page = compute_page(tables(0, process_phases=phases), {})
    assert page.subtitle == "1 rank, no GPU is known"
    assert page.values["overview"].alt == "Phases of 2 processes over +0:00:30"
    assert "var(--p-rollout)" in page.values["overview"].svg
    assert [phase.label for phase in page.values["legend"]] == ["Rollout", "Train wait", "train"]
