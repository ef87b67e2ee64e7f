from __future__ import annotations

import json

import pytest
from builders.advice import ABORTED, CAP, REQUESTS, RUNNING, USAGE, found, one, steady
from builders.dumps import rollout_dump, sample
from builders.streams import T
from builders.timeline import OPEN, managed, open_telemetry, phase, scrape

import miles_report
from miles_report.schema.streams import HealthEvent
from miles_report.tables.advisories import advisories_table
from miles_report.tables.advisory_inputs import AdvisoryInputs

# stalled_phase


def stalled(tmp_path, *, age: float, lengths=(100.0, 100.0, 100.0), start: float = 0.0):
    closed = [phase("train", 1 + k, 1 + k + length) for k, length in enumerate(lengths)]
    last = managed("tick", 500 + age, 500 + age)
    return open_telemetry(
        tmp_path, start=start, phases=[*closed, phase("train", 500, OPEN, rank=1), last]
    )


@pytest.mark.parametrize(
    ("age", "lengths", "is_stalled"),
    [
        (1800.0, (100.0, 100.0, 100.0), False),
        (1801.0, (100.0, 100.0, 100.0), True),
        (2400.0, (400.0, 400.0, 400.0), False),
        (2401.0, (400.0, 400.0, 400.0), True),
        (9000.0, (100.0, 100.0), False),
        (2400.0, (1.0, 400.0, 490.0), False),
    ],
    ids=[
        "at the floor",
        "beyond it",
        "at six medians",
        "beyond them",
        "two closed",
        "median counts",
    ],
)
def test_stalled_phase(tmp_path, age, lengths, is_stalled):
    run = stalled(tmp_path, age=age, lengths=lengths)
    assert ("stalled_phase" in found(run)) == is_stalled


def test_a_stalled_phase_says_where_since_when_and_what_to_do(tmp_path):
    row = one(stalled(tmp_path, age=2000.0), "stalled_phase")
    assert row["level"] == "critical"
    assert (
        "train has been open for 33 m 20 s on rank 1 on a, since 2026-02-03 23:38:20 UTC"
        in row["message"]
    )
    assert "usually takes 1 m 40 s" in row["message"]
    assert "restart from the last checkpoint" in row["message"]
    assert row["evidence"] == {
        "t0": T + 500,
        "t1": T + 2500,
        "phase": "train",
        "node": "a",
        "rank": 1,
        "gpus": [1],
        "open": 1,
        "age_s": 2000.0,
        "median_s": 100.0,
        "limit_s": 1800.0,
    }


def test_phases_of_an_earlier_attempt_neither_stall_nor_tell_the_usual_length(tmp_path):
    assert "stalled_phase" not in found(stalled(tmp_path / "1", age=5000.0, start=501.0))
    assert "stalled_phase" not in found(stalled(tmp_path / "2", age=5000.0, start=2.0))
    assert "stalled_phase" in found(stalled(tmp_path / "3", age=5000.0, start=1.0))


def test_one_finding_a_phase_name_by_the_oldest(tmp_path):
    closed = [phase(name, k, k + 10) for k in range(3) for name in ("train", "sleep")]
    run = open_telemetry(
        tmp_path,
        phases=[
            *closed,
            phase("train", 100, OPEN, rank=1),
            phase("train", 90, OPEN, rank=2),
            phase("sleep", 50, OPEN, rank=3),
            managed("tick", 5000, 5000),
        ],
    )
    rows = run.table("advisories").rows(named=True)
    assert [json.loads(row["evidence"])["rank"] for row in rows] == [3, 2]
    assert "rank 2 on a and 1 more" in rows[1]["message"]


# abort_storm


@pytest.mark.parametrize(
    ("requests", "aborted", "is_storm"),
    [(100, 5, False), (100, 6, True), (99, 90, False), (1000, 50, False), (1000, 51, True)],
)
def test_abort_storm(tmp_path, requests, aborted, is_storm):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(REQUESTS, (0, 7), (2, 7 + requests)),
            *scrape(ABORTED, (0, 3), (2, 3 + aborted)),
        ],
    )
    assert ("abort_storm" in found(run)) == is_storm


def test_an_abort_storm_is_of_the_last_half_hour(tmp_path):
    series = [*scrape(REQUESTS, (0, 0), (10, 500)), *scrape(ABORTED, (0, 0), (10, 100))]
    later = open_telemetry(tmp_path / "1", engine_series=[*series, *scrape("x", (1811, 1))])
    within = open_telemetry(tmp_path / "2", engine_series=[*series, *scrape("x", (1810, 1))])
    assert "abort_storm" not in found(later)
    assert found(within) == {"abort_storm": ("warning", None)}
    assert "abort_storm" in found(later, t1=T + 20)
    row = one(within, "abort_storm")
    assert "100 of 500 requests (20" in row["message"]
    assert (row["evidence"]["t0"], row["evidence"]["t1"]) == (T, T + 1810)


def test_only_growth_counts_as_requests(tmp_path):
    run = open_telemetry(
        tmp_path,
        engine_series=[
            *scrape(REQUESTS, (0, 900), (2, 960), (4, 10), (6, 60)),
            *scrape(ABORTED, (0, 500), (2, 503), (4, 0), (6, 3)),
        ],
    )
    assert "abort_storm" in found(run)  # 6 of 110
    assert one(run, "abort_storm")["evidence"]["requests"] == 110


# KV memory


@pytest.mark.parametrize(
    ("usage", "running", "args", "rule"),
    [
        (0.90, 49, CAP, None),
        (0.91, 49, CAP, "kv_pool_bound"),
        (0.91, 50, CAP, None),
        (0.91, 49, {}, None),
        (0.95, 50, CAP, None),
        (0.96, 50, CAP, "kv_cache_saturated"),
        (0.96, 49, CAP, "kv_pool_bound"),
        (0.96, 49, {}, "kv_cache_saturated"),
        (0.96, 49, {"sglang_max_running_requests": True}, "kv_cache_saturated"),
    ],
)
def test_kv_memory(tmp_path, usage, running, args, rule):
    run = open_telemetry(
        tmp_path, args=args, engine_series=[*steady(USAGE, usage), *steady(RUNNING, running)]
    )
    rules = set(found(run)) & {"kv_pool_bound", "kv_cache_saturated"}
    assert rules == ({rule} if rule else set())


def test_kv_advice_names_the_right_lever(tmp_path):
    series = [*steady(USAGE, 0.97), *steady(RUNNING, 40)]
    bound = one(open_telemetry(tmp_path / "1", args=CAP, engine_series=series), "kv_pool_bound")
    assert "Raise --sglang-mem-fraction-static; do not lower the cap." in bound["message"]
    full = one(open_telemetry(tmp_path / "2", engine_series=series), "kv_cache_saturated")
    assert "more GPUs for the engines, or a smaller rollout batch" in full["message"]
    assert "since 2026-02-03 23:30:00 UTC" in full["message"]


def test_the_peak_is_of_one_engine_and_the_mean_of_all(tmp_path):
    run = open_telemetry(
        tmp_path,
        args=CAP,
        engine_series=[
            *steady(USAGE, 0.99),
            *steady(USAGE, 0.80, addr="b"),
            *steady(RUNNING, 30, rank="0"),
            *steady(RUNNING, 10, rank="1"),
            *steady(RUNNING, 45, addr="b"),
        ],
    )
    assert "kv_pool_bound" not in found(run)  # the mean is 0.895
    low = open_telemetry(tmp_path / "low", args=CAP, engine_series=steady(RUNNING, 29))
    assert one(low, "low_concurrency")["evidence"]["running_peak"] == 29


# the newest step


def test_zero_std_groups(tmp_path):
    def step(path, flat: int, mixed: int, bare: int = 0):
        samples = []
        for group in range(flat + mixed + bare):
            reward = None if group >= flat + mixed else 1.0
            samples.append(sample(len(samples), group_index=group, reward=reward))
            other = 0.0 if flat <= group < flat + mixed else reward
            samples.append(sample(len(samples), group_index=group, reward=other))
        rollout_dump(path, samples, step=3)
        return open_telemetry(path)

    assert "zero_std_groups" in found(step(tmp_path / "1", 1, 1))
    assert "zero_std_groups" not in found(step(tmp_path / "2", 1, 2))
    assert "zero_std_groups" in found(step(tmp_path / "3", 1, 1, bare=5))
    assert "zero_std_groups" not in found(step(tmp_path / "4", 0, 0, bare=2))
    assert (
        "1 of 2 groups with rewards in step 3"
        in one(step(tmp_path / "5", 1, 1), "zero_std_groups")["message"]
    )


@pytest.mark.parametrize(("truncated", "is_told"), [(1, True), (0, False)])
def test_truncated_samples(tmp_path, truncated, is_told):
    samples = [
        sample(
            i,
            group_index=i // 2,
            reward=float(i % 2),
            status="truncated" if i < truncated else "completed",
        )
        for i in range(4)
    ]
    rollout_dump(tmp_path, samples, step=0)
    assert ("truncated_samples" in found(open_telemetry(tmp_path))) == is_told


def test_just_less_than_a_quarter_truncated_is_fine(tmp_path):
    samples = [
        sample(
            i, group_index=i // 2, reward=float(i % 2), status="truncated" if i < 1 else "completed"
        )
        for i in range(6)
    ]
    rollout_dump(tmp_path, samples, step=0)
    assert "truncated_samples" not in found(open_telemetry(tmp_path))


def test_only_the_newest_step_that_can_be_read_counts(tmp_path):
    fine = [sample(i, group_index=0, reward=float(i)) for i in range(2)]
    flat = [sample(i, group_index=0, reward=1.0) for i in range(2)]
    rollout_dump(tmp_path, flat, step=0)
    rollout_dump(tmp_path, fine, step=1)
    assert found(open_telemetry(tmp_path)) == {}
    rollout_dump(tmp_path, flat, step=2)
    assert found(open_telemetry(tmp_path)) == {"zero_std_groups": ("warning", None)}


def test_unplaceable_slices_are_an_alarm_of_their_own_level():
    step = {
        "step": 4,
        "n_samples": 8,
        "n_rewarded_groups": 0,
        "n_zero_std_groups": 0,
        "truncated_frac": None,
    }
    told = advisories_table(AdvisoryInputs(step=step | {"n_alignment_failed": 1}))
    assert told.select("rule", "level").rows() == [("unplaceable_slices", "info")]
    assert "1 samples of step 4" in told["message"][0]
    assert advisories_table(AdvisoryInputs(step=step | {"n_alignment_failed": 0})).height == 0


def test_unplaceable_slices_of_a_dump(dumps):
    assert "unplaceable_slices" in found(miles_report.open_run(dumps / "cp2_missing"))


# engine_faults


def kill(ts: float, rank: int | None, addr: str = "http://a:1") -> HealthEvent:
    return HealthEvent(T + ts, "engine_killed", "default", rank, addr, "a")


@pytest.mark.parametrize(
    ("kills", "is_told"),
    [
        ([kill(0, 0), kill(1, 1)], False),
        ([kill(0, 0), kill(1, 1), kill(2, 2)], True),
        ([kill(0, 0), kill(1, 1), kill(1801, 2)], False),
        ([kill(1, 0), kill(1, 1), kill(1801, 2)], True),
        ([kill(0, 0), kill(9000, 0)], True),
        ([kill(0, None, "x"), kill(9000, None, "x")], True),
        ([kill(0, None, "x"), kill(9000, None, "y")], False),
    ],
    ids=[
        "two",
        "three",
        "one too old",
        "just recent",
        "same slot",
        "same address",
        "two addresses",
    ],
)
def test_engine_faults(tmp_path, kills, is_told):
    run = open_telemetry(tmp_path, health=kills)
    assert ("engine_faults" in found(run)) == is_told


def test_the_window_limits_health_events(tmp_path):
    run = open_telemetry(tmp_path, health=[kill(0, 0), kill(9000, 0)])
    assert "engine_faults" not in found(run, t0=T + 1)
    assert (
        "engine 0 was killed 2 times, since 2026-02-03 23:30:00 UTC"
        in one(run, "engine_faults")["message"]
    )
