from __future__ import annotations

import pytest
from builders.streams import T
from builders.timeline import (
    OPEN,
    engine,
    managed,
    open_telemetry,
    phase,
    readings,
    scrape,
    topology,
)

from miles_report.schema.streams import GpuSample

METRICS = (
    "sglang_num_running_reqs",
    "sglang_gen_throughput",
    "sglang_token_usage",
    "sglang_cache_hit_rate",
)


def complete(**streams) -> dict:
    """Telemetry of which nothing is to be said, but for the streams given."""
    whole = {
        "phases": [phase("train", 0, 1), managed("rollout", 0, 1)],
        "gpu_util": readings("a", 0, [1]),
        "topology": [topology(0, engine("http://a:1", ("a", 0)))],
        "engine_series": [sample for metric in METRICS for sample in scrape(metric, (0, 1))],
    }
    return {name: records for name, records in (whole | streams).items() if records}


def told(run) -> dict[str, str]:
    notices = run.timeline.notices()
    assert all(notice.message.endswith(".") and notice.remedy for notice in notices)
    return {notice.code: notice.message for notice in notices}


def test_of_a_whole_run_nothing_is_said(tmp_path):
    assert told(open_telemetry(tmp_path, **complete())) == {}


@pytest.mark.parametrize(
    ("absent", "codes"),
    [
        ({"phases": []}, {"no-phases"}),
        ({"gpu_util": []}, {"no-gpu-samples"}),
        ({"engine_series": []}, {"no-engine-series"}),
        ({"topology": []}, {"no-topology"}),
        (
            {"topology": [], "engine_series": [], "phases": [phase("train", 0, 1)]},
            {"no-engine-series"},
        ),
        ({"topology": [topology(0, engine("http://a:1"))]}, {"external-engines"}),
        ({"engine_series": scrape(METRICS[0], (0, 1))}, {"metric-never-scraped"}),
        ({"gpu_util": [GpuSample(T, "a", 0, 5, 5, 0)]}, {"no-power"}),
    ],
)
def test_what_is_absent_is_told(tmp_path, absent, codes):
    run = open_telemetry(tmp_path, **complete(**absent))
    assert set(told(run)) == codes
    assert codes <= set(run.table("notices")["code"])


def test_advice_about_engines_is_told_not_to_be_possible(tmp_path):
    message = told(open_telemetry(tmp_path, **complete(engine_series=[])))["no-engine-series"]
    assert "advice about the engines is not possible" in message


def test_gpus_without_utilization_or_power_are_counted(tmp_path):
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "gpu_util.jsonl").write_text(
        f'{{"ts":{T},"node":"m","gpu":0,"util":null,"mem_mb":70,"power_w":null}}\n'
    )
    messages = told(open_telemetry(tmp_path, **complete()))
    assert messages["no-utilization"].startswith("1 of 2 GPUs")
    assert messages["no-power"].startswith("1 of 2 GPUs")


def test_phases_left_open_by_an_earlier_attempt_are_told(tmp_path):
    phases = [phase("train", 0, OPEN), phase("train", 120, OPEN), managed("rollout", 150, 160)]
    messages = told(open_telemetry(tmp_path, start=100, **complete(phases=phases)))
    assert messages["phases-left-open"].startswith("1 phases of an earlier attempt")
    assert "2 m 40 s" in messages["phases-left-open"]


def test_two_engines_on_one_address_are_told(tmp_path):
    first = topology(0, engine("http://a:1", ("a", 0), rank=0))
    second = topology(5, engine("http://a:1", ("a", 1), rank=1))
    messages = told(open_telemetry(tmp_path, **complete(topology=[first, second])))
    assert messages["address-reused"].startswith("Different engines answered at http://a:1,")
    assert told(open_telemetry(tmp_path / "same", **complete(topology=[first, first]))) == {}


def rounds(shift: float, *, n: int = 4, slow: float = 0.0) -> list:
    """Two ranks on node a and two on b, whose clock is shifted; b may also train more slowly."""
    found = []
    for k in range(n):
        for rank in range(4):
            node = "ab"[rank // 2]
            by = k * 100 + (shift if node == "b" else 0.0)
            late = slow if node == "b" else 0.0
            found.append(phase("train_wait", by, by + 40, rank=rank, node=node))
            found.append(phase("actor_train", by + 40, by + 80 + late, rank=rank, node=node))
    return found


@pytest.mark.parametrize(("shift", "side"), [(5.0, "ahead of"), (-5.0, "behind")])
def test_nodes_whose_clocks_differ_are_told(tmp_path, shift, side):
    run = open_telemetry(tmp_path, start=None, phases=rounds(shift))
    messages = [n.message for n in run.timeline.notices() if n.code == "clock-skew"]
    assert len(messages) == 2
    assert any(
        message.startswith(f"All phases of node b begin and end 5.0 s {side}")
        for message in messages
    )
    assert run.table("phases", lanes="node:b")["t0"].min() == T + shift


@pytest.mark.parametrize(
    "phases",
    [
        rounds(0.9),
        rounds(0.0, slow=8.0),
        rounds(5.0, slow=2.0),
        rounds(5.0, n=1),
        [one for one in rounds(5.0) if one.node == "b"],
    ],
    ids=["below a second", "slow", "shifted and slow", "one round", "one node"],
)
def test_what_may_have_another_reason_is_not_blamed_on_clocks(tmp_path, phases):
    run = open_telemetry(tmp_path, start=None, phases=phases)
    assert "clock-skew" not in {notice.code for notice in run.timeline.notices()}
