"""What runs are advised, in a form that tests compare with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from builders.timeline import scrape

from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from miles_report.run import Run

USAGE = "sglang_token_usage"
HITS = "sglang_cache_hit_rate"
RUNNING = "sglang_num_running_reqs"
REQUESTS = "sglang_num_requests_total"
ABORTED = "sglang_num_aborted_requests_total"
CAP = {"sglang_max_running_requests": 100}


def found(run: Run, **window: float) -> dict[str, tuple]:
    table = run.table("advisories", **window)
    assert table.columns == [column.name for column in TABLES["advisories"].columns]
    rows = {}
    for row in table.iter_rows(named=True):
        assert row["message"].endswith("A heuristic.")
        json.loads(row["evidence"])
        rows[row["rule"]] = (row["level"], row["suppressed_by"])
    return rows


def one(run: Run, rule: str) -> dict:
    (row,) = run.table("advisories").filter(rule=rule).to_dicts()
    return row | {"evidence": json.loads(row["evidence"])}


def steady(metric: str, value: float, **kw: str) -> list:
    return scrape(metric, (0, value), (2, value), (4, value), **kw)
