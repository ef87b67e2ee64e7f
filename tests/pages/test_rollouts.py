"""The list of steps: every step with its numbers, the unreadable ones told apart."""

from __future__ import annotations

import math

import polars as pl
from builders.dumps import rollout_dump, sample, train_dump

from miles_report.pages.rollouts import MAX_ROWS, rollouts_page
from miles_report.pages.rollouts_rows import COLUMNS, EVAL_SCHEMA, eval_rows, sparks
from miles_report.run import open_run
from miles_report.site.html import render_body
from miles_report.tables.frames import empty_table

NO_EVALS = pl.DataFrame(schema=EVAL_SCHEMA)


def steps_of(root):
    return open_run(root).table("steps")


def many_steps(count: int, **columns) -> pl.DataFrame:
    base = {
        "step": list(range(count)),
        "n_samples": [8] * count,
        "n_trained": [8] * count,
        "reward_mean": [0.5] * count,
        "reward_std": [0.1] * count,
        "response_length_mean": [100.0] * count,
        "truncated_frac": [0.0] * count,
        "zero_std_group_frac": [0.25] * count,
        "mean_abs_lp_diff": [0.01] * count,
        "mean_entropy": [None] * count,
        "mixed_version_frac": [0.0] * count,
        "staleness_mean": [1.0] * count,
        "state": ["ok"] * count,
    }
    return pl.DataFrame(base | columns, schema_overrides={"mean_entropy": pl.Float64})


def test_a_step_shows_its_row_of_the_table_and_leads_to_its_page(tmp_path):
    root = tmp_path / "dump"
    samples = [sample(0, reward=1.0), sample(1, reward=0.0)]
    rollout_dump(root, samples)
    train_dump(root, samples[:1], batch=samples)
    page = rollouts_page("run", steps_of(root), NO_EVALS, {})
    row = page.values["steps"]["rows"][0]
    assert (row[0].text, row[0].href) == ("0", "rollouts/step-0.html")
    assert [cell.text for cell in row[1:3]] == ["2", "1"]
    assert row[3].text == "1", "the reward of the one sample that the trainer received"
    assert page.subtitle == "1 train step"


def test_unreadable_steps_are_told_in_words(tmp_path):
    steps = many_steps(3, state=["ok", "broken", "writing"], reward_mean=[0.5, None, None])
    page = rollouts_page("run", steps, NO_EVALS, {4: "broken"})
    rows = page.values["steps"]["rows"]
    assert [(row[1].text, row[1].status) for row in rows[1:]] == [
        ("broken", "critical"),
        ("being written", "info"),
    ]
    body = render_body(page)
    assert "This step cannot be read" in body
    assert 'href="../rollouts/eval-4.html"' in body
    numbers = {stat.label: stat.value for stat in page.values["numbers"]}
    assert (numbers["Broken"], numbers["Being written"]) == ("2", "1")


def test_eval_rows_keep_sets_apart(tmp_path):
    root = tmp_path / "dump"
    rewards = [1.0, 0.0, 0.25]
    rollout_dump(
        root,
        [sample(index, reward=reward) for index, reward in zip([0, 1, 0], rewards, strict=True)],
        step=2,
        evaluation=True,
    )
    rows = eval_rows(open_run(root).table("samples", step=2, evaluation=True))
    assert rows.schema == pl.Schema(EVAL_SCHEMA)
    assert rows.select("step", "eval_set", "n", "reward_mean").rows() == [
        (2, 0, 2, 0.5),
        (2, 1, 1, 0.25),
    ]
    page = rollouts_page("run", steps_of(root), rows, {2: "ok"})
    assert [[cell.text for cell in row[:4]] for row in page.values["evals"]["rows"]] == [
        ["2", "0", "2", "0.500"],
        ["2", "1", "1", "0.250"],
    ]


def test_an_evaluation_without_samples_has_a_row():
    page = rollouts_page("run", many_steps(1), NO_EVALS, {0: "ok"})
    assert page.values["evals"]["rows"][0][1].text == "no samples"


def test_a_long_run_puts_its_newest_steps_on_the_page_and_all_into_the_data():
    page = rollouts_page("run", many_steps(MAX_ROWS + 7), NO_EVALS, {})
    assert page.values["steps"]["rows"][0][0].text == "7"
    assert len(page.data["steps"]["step"]) == MAX_ROWS + 7
    assert "7 older ones" in page.values["steps"]["note"]


def test_sparks_leave_out_what_is_not_finite():
    steps = many_steps(4, reward_mean=[0.0, math.nan, None, 1.0])
    found = sparks(steps)
    assert found[3].path == "M2,18L70,2"
    assert found[1 + COLUMNS.index("mean_entropy")].path == ""
    assert sparks(many_steps(1))[3].path == ""


def test_not_finite_means_stay_visible():
    page = rollouts_page("run", many_steps(2, reward_mean=[math.nan, 1.0]), NO_EVALS, {})
    assert page.values["steps"]["rows"][0][3].text == "not finite"
    assert page.values["steps"]["rows"][0][3].bar.width == 0


def test_an_empty_run_says_so():
    page = rollouts_page("run", empty_table("steps"), NO_EVALS, {})
    assert page.view == ""
    assert "No step yet" in render_body(page)
