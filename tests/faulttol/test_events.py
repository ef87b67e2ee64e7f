from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from builders.fake_engines import Sink

import faulttol
from faulttol import events
from miles_report.runtime.clock import SystemClock


def test_events_go_to_the_stream_in_order(tmp_path):
    log = faulttol.HealthLog(faulttol.StreamSink(tmp_path), clock=SystemClock())
    log.tell("check_failed", group="g", engine_rank=3, latency_s=0.5, detail="x")
    log.tell("engine_killed", group="g", engine_rank=3)
    assert log.close()
    lines = [json.loads(line) for line in (tmp_path / "health.jsonl").read_text().splitlines()]
    assert [(one["event"], one["engine_rank"], one["latency_s"]) for one in lines] == [
        ("check_failed", 3, 0.5),
        ("engine_killed", 3, None),
    ]


def test_a_sink_that_hangs_holds_nobody_and_what_does_not_fit_is_counted():
    is_over, is_in = threading.Event(), threading.Event()

    class Hangs(Sink):
        def push_health(self, records):
            is_in.set()
            is_over.wait(20)
            return super().push_health(records)

    sink = Hangs()
    log = faulttol.HealthLog(sink, clock=SystemClock())
    log.tell("check_failed")
    assert is_in.wait(5)
    for _ in range(events.MOST_WAITING + 5):
        log.tell("check_passed")
    assert log.close(0.05) is False
    is_over.set()
    assert log.close()
    assert sink.events().count("check_passed") == events.MOST_WAITING
    lost = [one.detail for one in sink.records if one.event == "records_dropped"]
    assert lost == ["health: 6 records were lost: the sink did not take them in time"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_sink_that_fails_gets_the_events_later():
    class Fails(Sink):
        is_well = False

        def push_health(self, records):
            if not self.is_well:
                raise OSError("disk full")
            return super().push_health(records)

    sink = Fails()
    log = faulttol.HealthLog(sink, clock=SystemClock())
    log.tell("check_failed")
    with pytest.raises(OSError, match="disk full"):
        log.flush()
    sink.is_well = True
    assert log.close()
    assert sink.events() == ["check_failed"]


def test_without_a_sink_nothing_happens():
    log = faulttol.HealthLog(None, clock=SystemClock())
    log.tell("check_failed")
    assert log.close()


def test_a_sink_on_ray_starts_no_ray():
    code = (
        "import ray\n"
        "from faulttol.ray_backend import RaySink\n"
        "from miles_report.runtime.clock import SystemClock\n"
        "assert RaySink(SystemClock()).push_health([]) is False\n"
        "assert not ray.is_initialized()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
