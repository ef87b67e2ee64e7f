from __future__ import annotations

import pytest
from builders.advice import CAP, HITS, RUNNING, USAGE, found, one, steady
from builders.streams import T
from builders.timeline import logged, open_telemetry, scrape

from miles_report.schema.streams import HealthEvent


def kill(ts: float, rank: int | None, addr: str = "http://a:1") -> HealthEvent:
    return HealthEvent(T + ts, "engine_killed", "default", rank, addr, "a")


@pytest.mark.parametrize(
    ("mfu", "is_low"),
    [
        ([0.9, 0.14, 0.14, 0.14], True),
        ([0.9, 0.15, 0.15, 0.15], False),
        ([0.9, 0.14, 0.14], False),
        ([], False),
    ],
    ids=["low", "at the limit", "two steps", "none"],
)
def test_low_mfu(tmp_path, mfu, is_low):
    run = open_telemetry(
        tmp_path, metrics=[logged(k, k, actor_train_mfu=value) for k, value in enumerate(mfu)]
    )
    assert found(run) == ({"low_mfu": ("warning", None)} if is_low else {})


@pytest.mark.parametrize(("peak", "is_low"), [(29, True), (30, False)])
def test_low_concurrency(tmp_path, peak, is_low):
    run = open_telemetry(tmp_path, args=CAP, engine_series=steady(RUNNING, peak))
    assert found(run) == ({"low_concurrency": ("info", None)} if is_low else {})


def test_colocated_engines_give_memory_back_to_training(tmp_path):
    for colocate in (True, False):
        run = open_telemetry(
            tmp_path / str(colocate),
            args=CAP | {"colocate": colocate},
            engine_series=steady(RUNNING, 5),
        )
        assert ("frees memory for training" in one(run, "low_concurrency")["message"]) == colocate


@pytest.mark.parametrize(
    ("rate", "colocate", "is_low"), [(0.09, False, True), (0.10, False, False), (0.09, True, False)]
)
def test_low_cache_hit(tmp_path, rate, colocate, is_low):
    run = open_telemetry(tmp_path, args={"colocate": colocate}, engine_series=steady(HITS, rate))
    assert found(run) == ({"low_cache_hit": ("info", None)} if is_low else {})


@pytest.mark.parametrize(
    ("ranks", "is_uneven"),
    [
        ((4.0, 0.9), True),
        ((4.0, 1.0), False),
        ((1.0, 0.0), True),
        ((0.99, 0.0), False),
        ((4.0,), False),
        ((4.0, 4.0, 0.5), True),
    ],
)
def test_dp_imbalance(tmp_path, ranks, is_uneven):
    series = [
        one
        for rank, value in enumerate(ranks)
        for one in scrape(RUNNING, (0, value), (2, value), rank=str(rank))
    ]
    run = open_telemetry(tmp_path, engine_series=series)
    assert found(run) == ({"dp_imbalance": ("warning", None)} if is_uneven else {})


def test_ranks_of_different_engines_are_not_compared(tmp_path):
    series = [*steady(RUNNING, 9, rank="0"), *steady(RUNNING, 0, rank="0", addr="b")]
    assert found(open_telemetry(tmp_path, engine_series=series)) == {}


# all together


def test_an_alarm_hides_advice_but_not_other_alarms(tmp_path):
    run = open_telemetry(
        tmp_path,
        args=CAP,
        engine_series=[*steady(USAGE, 0.97), *steady(RUNNING, 20), *steady(HITS, 0.01)],
        health=[kill(0, 0), kill(1, 0)],
    )
    assert found(run) == {
        "kv_pool_bound": ("warning", None),
        "engine_faults": ("warning", None),
        "low_concurrency": ("info", "kv_pool_bound"),
        "low_cache_hit": ("info", "kv_pool_bound"),
    }


def test_what_is_not_finite_gives_no_advice(tmp_path):
    (tmp_path / "dashboard").mkdir()
    line = '{{"ts":{},"addr":"a","metric":"{}","labels":{{}},"value":{}}}\n'
    (tmp_path / "dashboard" / "engine_series.jsonl").write_text(
        "".join(
            line.format(T + k, metric, value)
            for metric in (USAGE, HITS, RUNNING)
            for k, value in enumerate(("0.01", "NaN"))
        )
    )
    assert found(open_telemetry(tmp_path, args=CAP)) == {}


def test_a_window_without_engine_samples_gives_no_advice_about_engines(tmp_path):
    run = open_telemetry(tmp_path, args=CAP, engine_series=steady(RUNNING, 5))
    assert found(run, t0=T + 100, t1=T + 200) == {}
    assert set(found(run, t0=T, t1=T + 4)) == {"low_concurrency"}
