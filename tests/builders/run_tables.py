"""Run-wide tables of an invented run, row by row."""

from __future__ import annotations

import polars as pl

from miles_report.tables.frames import table_schema

NAMES = (
    "run",
    "steps",
    "metrics",
    "bubbles",
    "data_buffer",
    "mfu",
    "notable",
    "notices",
    "advisories",
    "health",
    "incidents",
    "lanes",
    "topology",
    "step_phases",
)
STEP_TIMES = {"step": pl.Int64, "t0": pl.Float64, "t1": pl.Float64, "wait_ratio": pl.Float64, "overlap_fraction": pl.Float64, "util_mean": pl.Float64}  # fmt: skip


def step_times(*rows):
    """Rows of `run_timeline.step_times`; columns that a row leaves out are null."""
    return pl.DataFrame([{key: row.get(key) for key in STEP_TIMES} for row in rows], schema=STEP_TIMES)  # fmt: skip


def table(name, rows=()):
    """A declared table; columns that a row leaves out are null."""
    schema = table_schema(name)
    unknown = {key for row in rows for key in row} - set(schema)
    assert not unknown, unknown
    return pl.DataFrame(
        [{column: row.get(column) for column in schema} for row in rows], schema=schema
    )


def run_tables(**rows):
    """All run-wide tables; `run` has one row, the others what is given."""
    run = {"run_name": "r", "state": "unknown", "n_steps": 0, "n_eval_steps": 0, "args": "{}"}
    run |= rows.pop("run", {})
    times = step_times(*rows.pop("step_times", ()))
    return {"run": table("run", [run]), "step_times": times} | {
        name: table(name, rows.get(name, ())) for name in NAMES if name != "run"
    }


def logged(key, values, *, step_key="rollout/step", attempt=0, first=0, ts=1000.0):
    """One record a value, steps ascending from `first`, ten seconds apart; text stays text."""
    return [
        {
            "ts": ts + 10.0 * i,
            "attempt": attempt,
            "step_key": step_key,
            "step": first + i,
            "key": key,
            "value": None if isinstance(value, str) else value,
            "nonfinite": value is None,
            "text": value if isinstance(value, str) else None,
        }
        for i, value in enumerate(values)
    ]


def step(number, **columns):
    """A readable step."""
    return {"step": number, "n_samples": 4, "n_trained": 4, "state": "ok"} | columns
