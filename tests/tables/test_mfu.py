from __future__ import annotations

import json
import math

import pytest
from builders.streams import T, stamp_of

from miles_report.sources.metrics_stream import read_metrics
from miles_report.tables.mfu import mfu_table


def mfu(path, *logged: tuple[str, object], step_key="rollout/step"):
    content = "".join(
        json.dumps({"ts": T + i, "step_key": step_key, "step": i, "metrics": {key: value}}) + "\n"
        for i, (key, value) in enumerate(logged)
    )
    return mfu_table(
        read_metrics([stamp_of(path / "m.jsonl", content.encode())], notices=[]).values
    )


MFU, PEAK = "perf/actor_train_mfu", "perf/mfu_peak_tflops"


def test_the_first_value_is_left_out(tmp_path):
    table = mfu(
        tmp_path, (MFU, 0.01), (PEAK, 100.0), (MFU, 0.2), (MFU, 0.4), (MFU, 0.3), (PEAK, 989.0)
    )
    assert table.columns == ["latest", "mean", "steps", "peak"]
    (row,) = table.rows()
    assert row == (0.3, pytest.approx(0.3), 3, 989.0)


@pytest.mark.parametrize("logged", [[], [(MFU, 0.3)], [(PEAK, 989.0)], [(MFU, 0.3), (MFU, "n/a")]])
def test_no_row_if_nothing_remains(tmp_path, logged):
    table = mfu(tmp_path, *logged)
    assert table.height == 0
    assert table.columns == ["latest", "mean", "steps", "peak"]


def test_other_axes_do_not_count(tmp_path):
    assert mfu(tmp_path, (MFU, 0.1), (MFU, 0.2), step_key="train/step").height == 0


def test_the_peak_may_be_unknown(tmp_path):
    assert mfu(tmp_path, (MFU, 0.1), (MFU, 0.2)).row(0) == (0.2, 0.2, 1, None)


def test_a_value_that_is_not_finite_shows_in_the_mean(tmp_path):
    latest, mean, steps, _ = mfu(tmp_path, (MFU, 0.1), (MFU, math.nan), (MFU, 0.2)).row(0)
    assert (latest, steps) == (0.2, 2)
    assert math.isnan(mean)
