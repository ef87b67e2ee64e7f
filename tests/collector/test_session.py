from __future__ import annotations

import json
import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

import collector
from collector.session import torch_rank, visible_gpus
from miles_report.errors import UsageError


def args(tmp_path, **more):
    return SimpleNamespace(
        **{
            "use_miles_dashboard": True,
            "dump_details": str(tmp_path),
            "use_rollout_entropy": True,
            "dashboard_flush_interval": 60.0,
        }
        | more
    )


@pytest.fixture(autouse=True)
def finished():
    yield
    collector.finish_dashboard()


def test_everything_is_a_no_op_while_the_flag_is_off(tmp_path):
    assert collector.init_dashboard(SimpleNamespace()) is None
    assert collector.init_dashboard(args(tmp_path, use_miles_dashboard=False)) is None
    collector.dashboard_log({"a": 1})
    collector.finish_dashboard()
    assert collector.current_dashboard() is None
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_ray(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        board = collector.init_dashboard(args(tmp_path))
    assert collector.init_dashboard(args(tmp_path)) is board is collector.current_dashboard()
    assert caplog.text.count("gpus.no_library") == 1
    timer = collector.PhaseTimer()
    board.attach(timer)
    with timer.phase("actor_train"):
        collector.dashboard_log({"train/loss": 0.5, "train/step": 1}, step_key="train/step")
    collector.finish_dashboard()
    assert collector.current_dashboard() is None
    (metrics,) = (tmp_path / "dashboard/metrics.jsonl").read_text().splitlines()
    assert json.loads(metrics)["step"] == 1
    phases = (tmp_path / "dashboard/phases").iterdir()
    assert sum(len(path.read_text().splitlines()) for path in phases) == 2
    health = (tmp_path / "dashboard/health.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in health] == [
        "collector_started",
        "collector_stopped",
    ]


def test_other_processes_without_ray_are_told_once(tmp_path, caplog):
    assert collector.init_dashboard(args(tmp_path), primary=False) is None
    assert "session.no_ray" in caplog.text


def test_flags_that_contradict_each_other_stop_the_job(tmp_path):
    with pytest.raises(UsageError):
        collector.init_dashboard(args(tmp_path, dump_details=""))


def test_a_collector_that_does_not_start_leaves_the_job_alone(tmp_path, monkeypatch, caplog):
    def fails(self):
        raise OSError("no threads left")

    monkeypatch.setattr(collector.DashboardCollector, "start", fails)
    assert collector.init_dashboard(args(tmp_path)) is None
    assert "session.not_started" in caplog.text
    collector.dashboard_log({"a": 1})


def test_a_driver_that_just_ends_still_writes_everything(tmp_path):
    code = (
        "import collector, types\n"
        f"a = types.SimpleNamespace(use_miles_dashboard=True, dump_details={str(tmp_path)!r}, use_rollout_entropy=True)\n"
        "collector.init_dashboard(a)\n"
        "collector.dashboard_log({'a': 1.0})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert (tmp_path / "dashboard/metrics.jsonl").read_bytes().count(b"\n") == 1
    assert b"collector_stopped" in (tmp_path / "dashboard/health.jsonl").read_bytes()


def test_the_rank_is_unknown_without_torch_distributed(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert torch_rank() == -1
    fake = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 3
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", fake)
    assert torch_rank() == 3


@pytest.mark.parametrize(
    ("value", "gpus"), [("2,3", (2, 3)), ("", ()), ("GPU-abc", ()), ("MIG-x,1", ())]
)
def test_visible_gpus(monkeypatch, value, gpus):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert visible_gpus() == gpus


def test_importing_loads_no_http_client_and_nothing_heavy():
    code = (
        "import collector, sys\n"
        "heavy = {'polars', 'torch', 'numpy', 'ray', 'pynvml', 'prometheus_client', 'click', 'argparse', 'ssl'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
