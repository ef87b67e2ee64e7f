"""What "Copy as" says gives the same rows in every language."""

from __future__ import annotations

import shlex
import sqlite3

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from miles_report.cli import main
from miles_report.pages.copy_as import CopyAs, Slot, copy_as

HOSTILE = "a'b\"c\\n $(id) `id` </script> \u2028 {key} é"


def test_a_step_of_a_table():
    way = copy_as("samples", step=3, evaluation=True)
    assert way.sql == "SELECT * FROM samples WHERE evaluation AND step = 3"
    assert way.command == "miles-report export DUMP samples --step 3 --evaluation"
    assert way.run.endswith('open_run("DUMP").table("samples", step=3, evaluation=True)')
    assert way.site.endswith('open_site("SITE").table("samples", step=3, evaluation=True)')


def test_a_train_step_leaves_evaluations_out():
    way = copy_as("groups", step=0, evaluation=False)
    assert way.sql == "SELECT * FROM groups WHERE NOT evaluation AND step = 0"
    assert way.command == "miles-report export DUMP groups --step 0"
    assert way.run.endswith('.table("groups", step=0)')


def test_chosen_columns():
    way = copy_as("steps", columns=("step", "n_samples"))
    assert way.sql == "SELECT step, n_samples FROM steps"
    assert way.run.endswith('.table("steps").select("step", "n_samples")')


def test_what_only_the_browser_knows_is_named():
    way = copy_as("tokens", step=Slot("step"), row=Slot("row"))
    assert way.sql == "SELECT * FROM tokens WHERE NOT evaluation AND step = {step} AND row = {row}"
    assert way.command == "miles-report export DUMP tokens --step {step} --row {row}"
    assert way.run.endswith('.table("tokens", step={step}, row={row})')


def test_text_is_quoted_for_each_language():
    way = copy_as("metrics", metric=HOSTILE)
    assert shlex.split(way.command) == [
        "miles-report",
        "export",
        "DUMP",
        "metrics",
        "--metric",
        HOSTILE,
    ]
    literal = way.sql.partition(" = ")[2]
    assert sqlite3.connect(":memory:").execute(f"SELECT {literal}").fetchone() == (HOSTILE,)
    asked = {}
    exec(
        way.run.replace("import miles_report", "").replace("miles_report.open_run", "open_run"),
        {"open_run": lambda _dump: Table(asked)},
    )
    assert asked == {"name": "metrics", "metric": HOSTILE}


class Table:
    def __init__(self, asked):
        self.asked = asked

    def table(self, name, **parameters):
        self.asked.update({"name": name, **parameters})


WAYS = [
    copy_as("steps"),
    copy_as("samples", step=0),
    copy_as("samples", step=1, evaluation=True),
    copy_as("metrics", metric="rollout/raw_reward", step_key="rollout/step"),
    copy_as("tokens", step=0, row=3),
    copy_as("trajectories", step=0),
    copy_as("notices"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.command)
def test_command_and_python_give_the_rows_of_the_dump_and_of_the_report(
    dumps, built, way: CopyAs, tmp_path
):
    frames = []
    for text in (way.run, way.site):
        code = text
        places = {"DUMP": str(dumps / "agentic"), "SITE": str(built("agentic"))}
        for word, place in places.items():
            code = code.replace(f'"{word}"', repr(place))
        names = {}
        exec(code, names)
        frames.append(names["frame"])
    of_run, of_site = frames
    assert of_run.height > 0
    assert of_site.shape == of_run.shape
    out = tmp_path / "rows.parquet"
    words = shlex.split(way.command)
    words[words.index("DUMP")] = str(dumps / "agentic")
    done = CliRunner().invoke(main, [*words[1:], "--format", "parquet", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert_frame_equal(pl.read_parquet(out), of_run)


def test_every_page_with_rows_offers_them(built):
    site = built("agentic")
    expected = {
        "index.html": {"steps", "notable"},
        "metrics.html": {"metrics", "data_buffer"},
        "rollouts/index.html": {"steps", "samples"},
        "rollouts/step-0.html": {"samples", "groups", "trajectories"},
        "notices.html": {"notices"},
    }
    for page, tables in expected.items():
        text = (site / page).read_text()
        shown = {part.split("<")[0] for part in text.split("SQL, command or Python: ")[1:]}
        assert shown == tables, page
