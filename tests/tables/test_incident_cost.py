from __future__ import annotations

import polars as pl
import pytest

from miles_report.tables.incident_cost import incident_cost


def told(*rows: tuple[float, str, float]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["ts", "addr", "value"], orient="row")


def test_engines_are_summed_and_scrapes_of_one_averaged():
    series = told(
        *((1000.0 + t, addr, 100.0) for t in range(-100, 0, 5) for addr in ("a", "b")),
        *((1000.0 + t, "a", 100.0) for t in range(0, 60, 5)),
        *((1000.0 + t, addr, 90.0) for t in range(60, 120, 5) for addr in ("a", "c")),
    )
    cost = incident_cost(series, 1000.0, 1005.0, 1060.0)
    assert (cost.before, cost.during) == (200.0, 100.0)
    assert cost.change == -0.5
    assert cost.rates["x"].to_list() == [float(x) for x in range(-100, 120, 10)]
    assert cost.rates["y"][-1] == 180.0


@pytest.mark.parametrize(
    "series",
    [
        told(),
        told((990.0, "a", 0.0), (1010.0, "a", 5.0)),
        told((990.0, "a", 5.0)),
        told((500.0, "a", 5.0), (1010.0, "a", 5.0)),
    ],
)
def test_without_a_rate_before_or_during_it_there_is_no_cost(series):
    schema = {"ts": pl.Float64, "addr": pl.String, "value": pl.Float64}
    assert incident_cost(series.cast(schema), 1000.0, 1005.0, 1060.0) is None
