"""The whole collection on a real Ray cluster: nodes with GPUs that come and go, ranks, and a collector that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders.engines import engine, router, wait_until
from builders.nvml import N_GPUS, SPLIT, build_nvml
from builders.ranks import Prometheus, Rank

import collector
import miles_report

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::Warning"),  # Ray's own
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head without GPUs and one node with eight, whose driver library is the compiled one."""
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    library = build_nvml(tmp_path_factory.mktemp("nvml"))
    patch.setenv("LD_LIBRARY_PATH", str(library))
    patch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    started = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 4, "num_gpus": 0, "include_dashboard": False},
    )
    started.add_node(num_cpus=1, num_gpus=N_GPUS)
    ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
    yield started
    ray.shutdown()
    started.shutdown()
    patch.undo()


def args(dump, **more):
    return SimpleNamespace(
        **{
            "use_miles_dashboard": True,
            "dump_details": str(dump),
            "use_rollout_entropy": True,
            "dashboard_flush_interval": 0.3,
            "dashboard_gpu_sample_interval": 0.2,
            "dashboard_sglang_scrape_interval": 0.2,
            "wandb_group": "ray-run",
        }
        | more
    )


@pytest.fixture
def dump(tmp_path, cluster):
    yield tmp_path / "dump"
    collector.finish_dashboard()


def the_collector():
    return ray.get_actor("miles_dashboard_collector")


def lines(dump, stream):
    found = []
    for path in sorted((dump / "dashboard").glob(f"{stream}.jsonl")) + sorted(
        (dump / "dashboard").glob(f"{stream}/*.jsonl")
    ):
        content = path.read_bytes()
        found += [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]
    return found


def life_now():
    """Which life the collector is in; null while it restarts."""
    try:
        return ray.get(the_collector().ping.remote(), timeout=30).life
    except ray.exceptions.RayError:
        return None


def pid_of(handle):
    return ray.get(handle.__ray_call__.remote(lambda _: os.getpid()))


def test_ranks_go_on_while_the_collector_is_killed(dump, tmp_path):
    """Nothing on the training side raises or waits; every record that was flushed is read exactly once."""
    with engine("plain") as plain, engine("decode") as decode, router(plain, decode) as address:
        board = collector.init_dashboard(args(dump))
        board.router(address)
        board.engines([collector.EnginePart(0, "10.0.0.1", (0, 1), plain)])
        ranks = [ray.remote(num_cpus=0)(Rank).remote(n) for n in range(4)]
        work = [rank.work.remote(14.0) for rank in ranks]
        wait_until(lambda: len(lines(dump, "phases")) > 50, "the first phases")
        wait_until(lambda: lines(dump, "engine_series"), "the first scrape")
        first = life_now()
        os.kill(pid_of(the_collector()), signal.SIGKILL)
        wait_until(lambda: life_now() not in (None, first), "the second collector")
        n_then = len(lines(dump, "engine_series"))
        results = ray.get(work, timeout=120)
        wait_until(lambda: len(lines(dump, "engine_series")) > n_then + 10, "more scrapes")
        assert all(n > 100 and slowest < 2.0 for n, slowest in results)
        assert ray.get([rank.finish.remote() for rank in ranks]) == [True] * 4
        for rank in ranks:
            ray.kill(rank)
        collector.finish_dashboard()

    events = [one["event"] for one in lines(dump, "health")]
    assert events.count("collector_started") == 1
    assert events[-1] == "collector_stopped"
    assert {one["addr"] for one in lines(dump, "engine_series")} == {plain, decode}
    topology = lines(dump, "topology")
    assert {one["addr"]: one["worker_type"] for one in topology[-1]["engines"]} == {
        plain: "regular",
        decode: "external",
    }
    for stream, key in (
        ("phases", lambda one: (one["rank"], one["name"], one["t1"] < 0)),
        ("metrics", lambda one: (one["step_key"], one["step"])),
        ("trajectories", lambda one: (one["sample_index"], one["kind"])),
        ("gpu_util", lambda one: (one["ts"], one["node"], one["gpu"])),
    ):
        keys = [key(one) for one in lines(dump, stream)]
        assert len(keys) == len(set(keys)), stream
    last = {n: one for n, (one, _) in enumerate(results)}
    found = {(one["rank"], one["name"]) for one in lines(dump, "phases")}
    assert {(rank, f"step{n - 1}") for rank, n in last.items()} <= found

    run = miles_report.open_run(dump)
    assert run.table("run")["run_name"].to_list() == ["ray-run"]
    assert run.table("run")["state"].to_list() == ["finished"]
    assert run.table("metrics").height >= len(lines(dump, "metrics"))
    messages = " ".join(run.table("notices")["message"].to_list())
    assert "the collector was restarted" in messages
    assert "error" not in run.table("notices")["severity"].to_list()
    site = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-c",
            "from miles_report.cli import main; main()",
            "build",
            dump,
            "-o",
            site,
        ],
        check=True,
        cwd=ROOT,
    )
    assert "the collector was restarted" in (site / "notices.html").read_text()


def test_every_gpu_node_has_one_sampler_also_late_and_restarted_ones(dump, cluster):
    collector.init_dashboard(args(dump))

    def samplers():
        return ray.get(the_collector().samplers.remote())

    (first,) = wait_until(
        lambda: samplers() if list(samplers().values()) == [True] else None, "a sampler"
    )
    wait_until(lambda: lines(dump, "gpu_util") and lines(dump, "gpu_processes"), "samples")
    gpus = {one["gpu"] for one in lines(dump, "gpu_util")}
    assert gpus == set(range(N_GPUS)) - {SPLIT}
    late = cluster.add_node(num_cpus=1, num_gpus=2)
    found = wait_until(
        lambda: samplers() if len(samplers()) == 2 else None, "the late node's sampler"
    )
    assert first in found
    cluster.remove_node(late)
    wait_until(lambda: set(samplers()) == {first}, "the end of the lost node's sampler")


def test_a_sampler_that_dies_is_started_again_but_not_at_once(cluster, clock):
    from collector.ray_backend import SamplerFleet

    fleet = SamplerFleet(None, 1.0, clock)

    def states_after_a_look():
        fleet.reconcile()
        return fleet.states()

    (node,) = wait_until(
        lambda: (found := states_after_a_look()) and all(found.values()) and found, "a sampler"
    )
    first = fleet._samplers[node]
    ray.kill(first)
    wait_until(lambda: states_after_a_look() == {}, "its death")
    clock.advance(31.0)
    wait_until(lambda: states_after_a_look() == {node: True}, "another sampler")
    assert fleet._samplers[node] is not first
    fleet.stop()
    assert states_after_a_look() == {}


def test_a_collector_that_hangs_holds_nobody(dump):
    """Pushes pile up to a bound, then the outbox keeps them; when it wakes up everything arrives or is counted."""
    collector.init_dashboard(args(dump))
    (rank,) = (ray.remote(num_cpus=0)(Rank).remote(n) for n in (7,))
    pid = pid_of(the_collector())
    ray.get(rank.work.remote(0.5))
    os.kill(pid, signal.SIGSTOP)
    try:
        n, slowest = ray.get(rank.work.remote(4.0), timeout=60)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert n > 50
    assert slowest < 0.5
    assert ray.get(rank.finish.remote())
    ray.kill(rank)
    collector.finish_dashboard()
    assert {one["step"] for one in lines(dump, "metrics")} == set(range(n))


def test_the_newest_values_reach_the_prometheus_actor(dump):
    actor = ray.remote(num_cpus=0)(Prometheus).options(name="miles_prometheus_collector").remote()
    board = collector.init_dashboard(
        args(dump, dashboard_forward_prometheus=True, use_prometheus=True)
    )
    board.data_buffer(5)

    def snapshot():
        seen = ray.get(actor.get.remote())
        return seen if len(seen) > 3 * (N_GPUS - 1) else None

    seen = wait_until(snapshot, "a snapshot")
    assert seen["dashboard/data_buffer_length"] == 5.0
    assert [
        value for name, value in seen.items() if "gpu_util_percent" in name and name.endswith("_3")
    ] == [30.0]
    ray.kill(actor)


def test_a_forwarder_without_an_actor_warns_once(cluster, clock, caplog):
    from collector.ray_backend import PrometheusForwarder

    forward = PrometheusForwarder(clock, name="nobody")
    for _ in range(20):
        forward({"a": 1.0})
        clock.advance(5.0)
    assert caplog.text.count("ray_backend.no_prometheus") == 1


def test_the_driver_writes_everything_before_it_exits(tmp_path, cluster):
    code = (
        "import ray, collector, types\n"
        f"ray.init(address={cluster.address!r}, log_to_driver=False)\n"
        f"a = types.SimpleNamespace(use_miles_dashboard=True, dump_details={str(tmp_path)!r}, use_rollout_entropy=True)\n"
        "collector.init_dashboard(a)\n"
        "collector.dashboard_log({'a': 1.0})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100, capture_output=True)
    assert [one["metrics"] for one in lines(tmp_path, "metrics")] == [{"a": 1.0}]
    assert lines(tmp_path, "health")[-1]["event"] == "collector_stopped"
