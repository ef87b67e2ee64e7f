"""The step page says what its tables say, and stays whole whatever the samples are."""

from __future__ import annotations

import math

import polars as pl
import pytest
from builders.dumps import rollout_dump, sample, train_dump

from miles_report.pages.step import MAX_ROWS, step_page, unavailable_step_page
from miles_report.pages.step_columns import default_columns, version_text
from miles_report.pages.step_figures import default_axes, outcome
from miles_report.pages.step_strip import Carriers, carriers
from miles_report.run import open_run
from miles_report.site.html import Shell, render_body, render_page

SHELL = Shell(
    run_name="run",
    start="",
    rail=(),
    version="0",
    assets={
        name: name for name in ("report.js", "sample.js", "report.css", "theme.js", "favicon.svg")
    },
)


def page_of(root, *, step=0, evaluation=False, **options):
    run = open_run(root)
    return step_page(run.open_step(step, evaluation=evaluation), run.facts, **options)


def numbers(page):
    return {stat.label: stat for stat in page.values["numbers"]}


@pytest.fixture
def trained(tmp_path):
    """Four samples in two groups, one without signal; the first disagrees by 3/16, the others by 1/16."""
    samples = [
        sample(0, reward=1.0, weight_versions=["0"]),
        sample(1, reward=0.0, weight_versions=["0", "1"]),
        sample(2, reward=0.5, response=[5] * 7, status="truncated"),
        sample(3, reward=0.5, response=[6] * 7),
    ]
    series = {
        "rollout_log_probs": [s["rollout_log_probs"] for s in samples],
        "log_probs": [
            [value + (0.1875 if i == 0 else 0.0625) for value in s["rollout_log_probs"]]
            for i, s in enumerate(samples)
        ],
        "advantages": [
            [1.0 if i % 2 else -2.0] * s["response_length"] for i, s in enumerate(samples)
        ],
    }
    rollout_dump(tmp_path / "dump", samples)
    train_dump(tmp_path / "dump", samples, series=series)
    return tmp_path / "dump"


def test_the_strip_states_the_numbers_and_what_makes_them_readable(trained):
    found = numbers(page_of(trained))
    assert (found["Samples"].value, found["Samples"].detail) == ("4", "2 \u00d7 2")
    assert (found["Reward"].value, found["Reward"].detail) == ("0.500", "± 0.408")
    assert (found["Truncated"].value, found["Truncated"].detail) == ("25.0\u202f%", "1")
    assert (found["Zero-std groups"].value, found["Zero-std groups"].detail) == (
        "50.0\u202f%",
        "1 of 2",
    )
    assert (found["Mixed versions"].value, found["Mixed versions"].detail) == ("25.0\u202f%", "1")
    assert (found["Staleness"].value, found["Staleness"].detail) == ("0", "max 0")
    assert (found["|lp diff|"].value, found["|lp diff|"].detail) == (
        "0.0938",
        "1 carries 50\u202f%",
    )
    assert found["Entropy"].value is None
    assert "--use-rollout-entropy" in found["Entropy"].title


def test_rows_stand_by_disagreement_and_lead_to_their_samples(trained):
    page = page_of(trained)
    rows = page.values["samples"]["rows"]
    assert [row[0].text for row in rows] == ["0", "1", "2", "3"]
    assert [header.label for header in page.values["samples"]["headers"]][:4] == [
        "Row", "Sample", "Group", "Status",
    ]  # fmt: skip
    assert rows[2][1].href == "sample.html?step=0&row=2"
    advantage = page.data["columns"].index("adv_mean")
    assert [row[advantage].text for row in rows] == ["\u22122", "+1", "\u22122", "+1"]
    assert (rows[0][advantage].bar.left, rows[0][advantage].bar.width) == (0, 50)
    assert (rows[1][advantage].bar.left, rows[1][advantage].bar.width) == (50, 25)


def test_groups_name_the_one_without_signal(trained):
    rows = page_of(trained).values["groups"]["rows"]
    assert [row[1].text for row in rows] == ["varied", "zero std"]
    assert [cell.text for cell in rows[0][2]] == ["1", "0"]
    assert rows[1][2][1].href == "sample.html?step=0&row=3"


def test_coverage_and_the_switch(trained):
    page = page_of(trained)
    assert page.subtitle == "train rows 4 of 4"
    assert [(choice.text, choice.href, choice.chosen) for choice in page.choices] == [
        ("Train", "rollouts/step-0.html", True),
        ("Eval", "", False),
    ]
    assert page.choices[1].reason == "No evaluation was dumped at this step."
    assert page_of(trained, has_counterpart=True).choices[1].href == "rollouts/eval-0.html"


def test_the_whole_page_reads_without_script(trained):
    page = page_of(trained)
    html = render_page(page, render_body(page), SHELL)
    assert html.count("<svg") >= 2
    assert 'href="../sample.html?step=0&amp;row=2"' in html
    assert "Zero-std groups" in html
    assert len(page.figures) == 2


def test_an_evaluation_keeps_its_sets_apart(tmp_path):
    root = tmp_path / "dump"
    rewards = [1.0, 0.0, 0.5, 0.5]
    samples = [sample(i % 2, reward=reward) for i, reward in enumerate(rewards)]
    rollout_dump(root, samples, step=3, evaluation=True)
    page = page_of(root, step=3, evaluation=True)
    sets = page.values["sets"]["rows"]
    assert [[cell.text for cell in row[:4]] for row in sets] == [
        ["0", "2", "0.500", "0.707"],
        ["1", "2", "0.500", "0"],
    ]
    assert page.path == "rollouts/eval-3.html"
    assert numbers(page)["Samples"].detail == "2 sets"
    assert "sample.html?step=3&amp;row=1&amp;eval=1" in render_body(page)


def test_hostile_words_stay_words(tmp_path):
    root = tmp_path / "dump"
    nasty = "</script><img src=x onerror=alert(1)>"
    rewards = [{nasty: 1.0, "ok": 0.5}, {nasty: math.nan, "ok": math.inf}]
    samples = [
        sample(i, reward=reward, label=nasty, weight_versions=[nasty])
        for i, reward in enumerate(rewards)
    ]
    rollout_dump(root, samples)
    page = page_of(root)
    html = render_page(page, render_body(page), SHELL)
    assert "<img" not in html
    assert html.count("</script>") == html.count("<script")
    assert f"reward.{nasty}" in page.data["recorded"]
    assert "not finite" in html
    assert "dict of components" in numbers(page)["Reward"].title


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, None, True, 3, 1e308])
def test_any_reward_gives_a_page(tmp_path, reward):
    root = tmp_path / "dump"
    rollout_dump(root, [sample(0, reward=reward), sample(1, reward=1.0)])
    body = render_body(page_of(root))
    assert "NaN" not in body
    assert ">inf<" not in body


def test_one_sample_without_tokens(tmp_path):
    root = tmp_path / "dump"
    alone = sample(0, prompt=[], response=[], reward=None, group_index=None, weight_versions=[])
    rollout_dump(root, [alone])
    page = page_of(root)
    found = numbers(page)
    assert found["Samples"].value == "1"
    assert [found[name].value for name in ("Reward", "Staleness", "|lp diff|")] == [None] * 3
    assert page.values["groups"]["rows"][0][0].text is None
    render_body(page)


def test_no_sample_at_all(tmp_path):
    root = tmp_path / "dump"
    rollout_dump(root, [])
    page = page_of(root)
    assert page.view == ""
    assert page.figures == ()
    assert "This step has no samples" in render_body(page)


def test_many_samples_put_fifty_rows_and_a_thinned_picture_on_the_page(tmp_path):
    root = tmp_path / "dump"
    samples = [sample(i, reward=float(i % 2), response=[3] * (1 + i % 7)) for i in range(900)]
    rollout_dump(root, samples)
    page = page_of(root)
    assert len(page.values["samples"]["rows"]) == MAX_ROWS
    assert len(page.values["groups"]["rows"]) == MAX_ROWS
    assert "of 900 are drawn" in page.figures[0].caption
    assert len(render_body(page)) < 400_000


@pytest.mark.parametrize(
    ("state", "says"), [("broken", "cannot be read"), ("writing", "still being written")]
)
def test_an_unavailable_step_says_which_file_and_what_to_do(state, says):
    message = "rollout_data/7.pt: the archive ends early <b>"
    page = unavailable_step_page(7, evaluation=True, state=state, message=message, run_name="r")
    body = render_body(page)
    assert page.path == "rollouts/eval-7.html"
    assert says in body
    assert "rollout_data/7.pt: the archive ends early &lt;b&gt;" in body
    assert "Build" in body or "build" in body


def test_few_samples_carry_most_of_a_sum():
    assert carriers(pl.Series([1.0, 6.0, None, 1.0])) == Carriers(1, 0.75)
    assert carriers(pl.Series([1.0, 1.0, 1.0, 1.0])).samples == 2
    assert carriers(pl.Series([0.0, 0.0])) is None
    assert carriers(pl.Series([], dtype=pl.Float64)) is None
    assert carriers(pl.Series([1.0, math.nan])) is None


def test_versions_read_as_a_range():
    assert version_text("12", 11) == "v11\u2013v12"
    assert version_text("12", 12) == "v12"
    assert version_text("main", None) == "main"
    assert version_text(None, None) is None


def test_outcome_splits_two_rewards_by_the_higher_one():
    samples = pl.DataFrame({"reward_value": [0.0, 1.0, None, math.nan]})
    better, words = outcome(samples)
    assert better.to_list() == [False, True, False, False]
    assert words == "Blue: reward 1; grey: reward 0 or none."
    more, _ = outcome(pl.DataFrame({"reward_value": [0.0, 1.0, 5.0]}))
    assert more.to_list() == [False, False, True]


def test_columns_and_axes_follow_what_was_recorded(trained, tmp_path):
    bare = tmp_path / "bare"
    rollout_dump(bare, [sample(0), sample(1)])
    with_train = open_run(trained).table("samples", step=0)
    without = open_run(bare).table("samples", step=0)
    assert "adv_mean" in default_columns(with_train)
    assert "adv_mean" not in default_columns(without)
    assert default_axes(with_train).y == "mean_abs_lp_diff"
    assert default_axes(without).y == "reward_value"
