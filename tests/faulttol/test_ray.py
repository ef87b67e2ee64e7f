"""Real engines on a real Ray behind the real router, really ill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders.engines import free_port, get, process, wait_until
from builders.sick_engines import SickEngine, listens

import faulttol
from miles_report.runtime.clock import SystemClock

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::Warning"),  # Ray's own
]

ROOT = Path(__file__).parents[2]
INTERVAL_S, TIMEOUT_S, SHUTDOWN_S = 1.0, 1.0, 0.5
SLACK_S = 1.0  # two cores shared by everything
N = 8
COMPILING = 5
FIRST_PORT = 23000


def descendants():
    """Processes that this one started, or theirs, without those that only wait to be collected."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
            if state != "Z":
                parents[int(stat.parent.name)] = int(parent)
    found, ours = {os.getpid()}, set()
    while found:
        found = {pid for pid, parent in parents.items() if parent in found} - ours
        ours |= found
    return ours


@pytest.fixture(scope="module")
def cluster():
    before = descendants()
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
    patch.undo()
    wait_until(lambda: descendants() <= before, "the end of Ray's processes", 20)


@contextlib.contextmanager
def empty_router():
    port = free_port()
    words = [f"--port={port}", f"--prometheus-port={free_port()}", "--policy=round_robin"]
    command = "from sglang_router.launch_router import main; main()"
    with process(sys.executable, "-c", command, "--host=127.0.0.1", *words):
        addr = f"http://127.0.0.1:{port}"
        wait_until(lambda: get(f"{addr}/workers"), "the router")
        yield addr


def workers(router):
    return {one["url"] for one in json.loads(get(f"{router}/workers"))["workers"]}


class Load:
    """Requests through the router, all the time; answers with the engine's port and the moment."""

    def __init__(self, router):
        self.answers = []
        self._url = f"{router}/generate"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faulttol-load", daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(0.05):
            request = urllib.request.Request(
                self._url, b'{"text":"hi"}', {"Content-Type": "application/json"}
            )
            with (
                contextlib.suppress(OSError, ValueError),
                urllib.request.urlopen(request, timeout=1.0) as answer,
            ):
                self.answers.append((time.time(), json.loads(answer.read())["port"]))

    def stop(self):
        self._stop.set()
        self._thread.join(5)

    def ports_since(self, moment):
        return {port for when, port in self.answers if when >= moment}


def is_gone(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_eight_engines_under_load_of_which_three_fall_ill(cluster, tmp_path):
    """Two hang, one dies, one is slow to compile and spared by the first wait."""
    from faulttol.ray_backend import RayBackend

    log = faulttol.HealthLog(faulttol.StreamSink(tmp_path / "dashboard"), clock=SystemClock())
    first_wait_s = 3.0
    with empty_router() as router:
        group = faulttol.EngineGroup(
            "default",
            RayBackend(
                SickEngine,
                options=lambda rank, node: {"num_cpus": 0},
                arguments=lambda rank, node: {"compile_s": 2.0 if rank == COMPILING else 0.0},
            ),
            n_engines=N,
            ports=faulttol.Ports(FIRST_PORT),
            log=log,
            offloads=True,
            router=faulttol.SglangRouter(router),
        )
        fleet = faulttol.RolloutFleet(
            [faulttol.RolloutServer("actor", [group], start_timeout_s=60.0)],
            rule=faulttol.Rule(INTERVAL_S, TIMEOUT_S, first_wait_s, shutdown_timeout_s=SHUTDOWN_S),
        )
        updater = faulttol.WeightUpdater(
            faulttol.TransferPool(timeout_s=10.0, log=log),
            lambda engine, weights: engine.update_weights.remote(weights).future(),
        )

        def update(version):
            anew = faulttol.before_weight_update(
                SimpleNamespace(use_fault_tolerance=True),
                0,
                fleet.recover_updatable_engines,
                fleet.updatable_engines,
                updater.connect,
                fleet.engines_are_connected,
            )
            report = updater.update(version)
            assert not report.failed
            return anew, len(report.done)

        def events(name):
            log.flush()
            lines = (tmp_path / "dashboard" / "health.jsonl").read_text().splitlines()
            return [one for one in map(json.loads, lines) if one["event"] == name]

        fleet.start()
        load = None
        try:
            assert update(1) == (True, N)
            before = {slot.rank: slot.addr for slot in group.slots()}
            wait_until(lambda: workers(router) == set(before.values()), "all workers")
            old = [ray.get(engine.told.remote(), timeout=20) for engine in group.engines()]
            load = Load(router)
            began = time.time()
            fleet.before_generate()
            wait_until(lambda: len(events("check_passed")) == N, "the first checks", 20)
            passed_at = {one["engine_rank"]: one["ts"] for one in events("check_passed")}
            assert passed_at[COMPILING] >= began + first_wait_s

            engines = group.engines()
            ray.get([engines[1].send_signal.remote("SIGSTOP")], timeout=20)
            ray.get([engines[4].send_signal.remote("SIGKILL")], timeout=20)
            engines[6].never_return.remote()
            ill_at = time.time()
            wait_until(lambda: len(events("engine_killed")) == 3, "three kills", 20)
            killed = {one["engine_rank"]: one for one in events("engine_killed")}
            assert set(killed) == {1, 4, 6}
            for one in killed.values():
                assert one["addr"] == before[one["engine_rank"]]
                took_s = one["ts"] - ill_at
                assert took_s <= INTERVAL_S + 2 * TIMEOUT_S + SHUTDOWN_S + SLACK_S
            dead = {before[rank] for rank in (1, 4, 6)}
            wait_until(lambda: workers(router) == set(before.values()) - dead, "their removal")
            gone = [old[rank][place] for rank in (1, 4, 6) for place in (1, 2)]
            wait_until(lambda: all(map(is_gone, gone)), "the end of their processes", 20)

            began = time.time()
            assert update(2) == (True, N)
            back_at = time.time()
            repaired_s = back_at - began
            recovered = events("engine_recovered")
            assert {one["engine_rank"] for one in recovered} == {1, 4, 6}
            for one in recovered:
                assert abs(one["latency_s"] - repaired_s) < INTERVAL_S
            assert len({slot.addr for slot in group.slots()} | set(before.values())) == N + 3
            new = [ray.get(engine.told.remote(), timeout=20) for engine in group.engines()]
            assert all(weights == 2 for weights, *_ in new)
            for rank in (1, 4, 6):
                assert "/release_memory_occupation" in new[rank][3]
                assert "/resume_memory_occupation" in new[rank][3]
            assert not fleet.monitors[0].is_checking_enabled()

            fleet.after_onload()
            resumed_at = time.time()
            new_ports = {int(group.slot(rank).addr.rsplit(":", 1)[1]) for rank in (1, 4, 6)}
            wait_until(lambda: new_ports <= load.ports_since(resumed_at), "answers of new engines")
            wait_until(
                lambda: (
                    {one["engine_rank"] for one in events("check_passed") if one["ts"] > resumed_at}
                    == set(range(N))
                ),
                "checks of all",
                20,
            )
            assert len(events("engine_killed")) == 3
            assert update(3) == (False, N)
        finally:
            if load is not None:
                load.stop()
            fleet.dispose()
            log.close()
    pids = [told[place] for told in new for place in (1, 2)]
    wait_until(lambda: all(map(is_gone, pids)), "the end of all processes", 20)
    assert not any(listens(port) for port in range(FIRST_PORT, FIRST_PORT + 3 * (N + 3)))
    assert_reported(tmp_path, killed, before, ill_at=ill_at, back_at=back_at)


def assert_reported(dump, killed, before, *, ill_at, back_at):
    """The report tells each failure at its second, with the times that the test measured."""
    import miles_report
    from miles_report.build import BuildOptions, build

    (dump / "dashboard" / "meta.json").write_text(
        json.dumps({"run_name": "eight engines", "start_ts": ill_at - 60.0, "args": {}, "schema_version": 1})
    )  # fmt: skip
    found = {one["engine_rank"]: one for one in miles_report.open_run(dump).table("incidents").to_dicts()}  # fmt: skip
    assert set(found) == set(killed)
    for rank, one in found.items():
        assert one["addr"] == before[rank]
        assert one["t_killed"] == killed[rank]["ts"]
        assert ill_at <= one["t_failed"] <= one["t_killed"]
        assert one["t_killed"] - ill_at - one["detect_s"] <= INTERVAL_S + SLACK_S
        assert abs(one["t_back"] - back_at) <= INTERVAL_S
        assert abs(one["repair_s"] - (back_at - killed[rank]["ts"])) <= INTERVAL_S
    site = dump.with_name(f"{dump.name}-site")
    build(dump, site, BuildOptions(jobs=1))
    page = (site / "faults.html").read_text()
    assert all(f"engine {rank} {before[rank]}" in page for rank in killed)
    assert "3 incidents" in page


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"compile_s": 600.0}, "503"),
        ({"late_s": 3.0}, "no answer within|timed out"),
    ],
)
def test_without_a_first_wait_a_compiling_or_late_engine_is_killed(cluster, arguments, reason):
    from builders.fake_engines import Sink

    from faulttol.ray_backend import RayBackend

    sink = Sink()
    log = faulttol.HealthLog(sink, clock=SystemClock())
    group = faulttol.EngineGroup(
        "default",
        RayBackend(
            SickEngine,
            options=lambda rank, node: {"num_cpus": 0},
            arguments=lambda rank, node: arguments,
        ),
        n_engines=1,
        ports=faulttol.Ports(24000),
        log=log,
    )
    rule = faulttol.Rule(0.3, 0.5, shutdown_timeout_s=0.5)
    fleet = faulttol.RolloutFleet([faulttol.RolloutServer("actor", [group])], rule=rule)
    fleet.start()
    fleet.before_generate()
    wait_until(lambda: not group.alive(), "the kill", 20)
    fleet.dispose()
    log.close()
    (killed,) = [one for one in sink.records if one.event == "engine_killed"]
    assert any(word in killed.detail for word in reason.split("|"))


def test_events_reach_the_collector_actor_and_wait_while_there_is_none(cluster):
    from faulttol.ray_backend import RaySink

    class Collector:
        def __init__(self):
            self.events = []

        def push_health(self, records):
            self.events += [one.event for one in records]

        def told(self):
            return self.events

    clock = SystemClock()
    name = f"collector-{os.getpid()}"
    log = faulttol.HealthLog(RaySink(clock, name=name), clock=clock)
    log.tell("check_failed")
    actor = ray.remote(num_cpus=0)(Collector).options(name=name).remote()
    wait_until(
        lambda: ray.get(actor.told.remote(), timeout=20) == ["check_failed"], "the event", 30
    )
    ray.kill(actor)
    assert log.close()


def test_the_example_in_the_docs_runs(cluster, monkeypatch):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "faulttol.md").read_text(), re.DOTALL
    )
    for real, small in (
        ('{"num_gpus": 1}', '{"num_cpus": 0}'),
        ("n_engines=8", "n_engines=2"),
        ("range(1000)", "range(2)"),
        ("faulttol.Ports()", "faulttol.Ports(25000)"),
    ):
        assert real in code
        code = code.replace(real, small)
    monkeypatch.setattr(sys, "argv", ["train", "--use-fault-tolerance"])
    done = []
    names = {
        "MyEngine": SickEngine,
        "generate": lambda: done.append("generate"),
        "train": lambda: done.append("train"),
    }
    exec(code, names)
    assert done == ["generate", "train"] * 2
    assert len(names["updater"].engines) == 2
    assert names["group"].alive() == ()
