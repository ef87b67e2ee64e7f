from __future__ import annotations

from builders.streams import T

from collector.topology import EnginePart, EngineTopology, external_engine, merge_parts
from miles_report.schema.streams import EngineRecord, TopologyRecord

A = EngineRecord("http://n:1", "regular", 0, (("n", 0),), (None,))
B = EngineRecord("http://n:2", "prefill", 1, (("n", 1),), ("GPU-b",))


def test_a_snapshot_is_made_on_change_only():
    topology = EngineTopology()
    assert topology.tell([], now=T) is None
    assert topology.tell([A], now=T) == TopologyRecord(T, (A,))
    assert topology.tell([A], now=T + 1) is None
    assert topology.tell([A, B], now=T + 2) == TopologyRecord(T + 2, (A, B))
    assert topology.tell([], now=T + 3) == TopologyRecord(T + 3, ())


def test_an_engine_that_only_the_scraper_sees_is_external():
    topology = EngineTopology()
    topology.tell([A], now=T)
    snapshot = topology.learn([A.addr, "http://x:9"], now=T + 1)
    assert snapshot == TopologyRecord(
        T + 1, (A, EngineRecord("http://x:9", "external", -1, (), ()))
    )
    assert topology.learn(["http://x:9"], now=T + 2) is None


def test_a_late_answer_does_not_bring_an_engine_back_to_life():
    topology = EngineTopology()
    topology.tell([A, B], now=T)
    topology.tell([B], now=T + 1)
    assert topology.learn([A.addr, B.addr], now=T + 2) is None
    assert topology.engines == (B,)


def test_an_external_engine_that_the_trainer_tells_of_is_its_own_from_then_on():
    topology = EngineTopology()
    topology.learn([A.addr], now=T)
    assert topology.tell([A], now=T + 1) == TopologyRecord(T + 1, (A,))
    assert topology.tell([], now=T + 2) == TopologyRecord(T + 2, ())
    assert topology.learn([A.addr], now=T + 3) is None


def test_it_goes_on_from_what_was_written():
    topology = EngineTopology()
    external = external_engine("http://x:9")
    topology.restore(TopologyRecord(T, (B, external)), ever_told=[A.addr, B.addr])
    assert topology.tell([B], now=T + 1) is None
    assert topology.learn([A.addr, "http://x:9"], now=T + 2) is None
    assert topology.engines == (B, external)


def test_an_engine_over_two_nodes_is_one():
    parts = [
        EnginePart(0, "n2", (0, 1), node_rank=1, gpu_uuids=("GPU-c", "GPU-d")),
        EnginePart(1, "n3", (0,), "http://n3:1", "decode"),
        EnginePart(0, "n1", (6, 7), "http://n1:1", gpu_uuids=("GPU-a",)),
    ]
    assert merge_parts(parts) == (
        EngineRecord(
            "http://n1:1",
            "regular",
            0,
            (("n1", 6), ("n1", 7), ("n2", 0), ("n2", 1)),
            ("GPU-a", None, "GPU-c", "GPU-d"),
        ),
        EngineRecord("http://n3:1", "decode", 1, (("n3", 0),), (None,)),
    )


def test_models_whose_ranks_both_start_at_zero_are_told_apart():
    parts = [EnginePart(0, "n", (g,), f"http://n:{g}", group=f"model-{g}") for g in (0, 1)]
    assert [engine.addr for engine in merge_parts(parts)] == ["http://n:0", "http://n:1"]


def test_an_engine_without_an_address_waits():
    assert merge_parts([EnginePart(0, "n", (0,))]) == ()
