"""The telemetry streams of a dump: what one line of each holds, and how its files are laid out.

Field names and their order are the wire format: Miles's own reader refuses a record with an unknown field, so a
record never grows. Whatever is new gets a stream of its own. Timestamps are Unix seconds (UTC, float).
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - streams.wire resolves the hints
from dataclasses import dataclass

OPEN_END = -1.0
"""`PhaseRecord.t1` of a phase that has begun and not ended; a later record with the same key supersedes it."""

COARSE_TURN = -1
"""`TrajectoryEvent.turn` of an attempt's boundaries and of a generation not told apart by turn."""

MetricValue = float | int | bool | str | None
"""What a trainer logs; NaN and infinities are floats."""


@dataclass(frozen=True, slots=True)
class MetricsRecord:
    """Values logged together; `step_key` and `step` are null where they belong to no axis."""

    ts: float
    step_key: str | None
    step: int | None
    metrics: Mapping[str, MetricValue]


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """A named interval of work of one process; `t1` is `OPEN_END` while it lasts.

    `gpus` are the process's GPU ids on `node`; empty, with rank -1, for the rollout manager.
    """

    name: str
    t0: float
    t1: float
    node: str
    gpus: tuple[int, ...]
    rank: int
    role: str


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """One inference engine of a topology snapshot.

    External engines have rank -1 and no GPUs; `gpu_uuids` run beside `gpus`, null where the driver did not tell.
    """

    addr: str
    worker_type: str
    engine_rank: int
    gpus: tuple[tuple[str, int], ...]
    gpu_uuids: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class TopologyRecord:
    """All engines from `ts` until the next record."""

    ts: float
    engines: tuple[EngineRecord, ...]


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One reading of one GPU: `util` in percent, `mem_mb` in MiB, `power_w` in watts (0: unavailable)."""

    ts: float
    node: str
    gpu: int
    util: int
    mem_mb: int
    power_w: int


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """Memory (MiB) that one process holds on one GPU."""

    ts: float
    node: str
    gpu: int
    pid: int
    name: str
    mem_mb: int


@dataclass(frozen=True, slots=True)
class EngineSample:
    """One scraped value of an engine; of its labels only `engine_type` and `dp_rank` are kept."""

    ts: float
    addr: str
    metric: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class TrajectoryEvent:
    """One step in the life of a sample; index -1: none, `weight_version` "": unknown.

    `detail` is the status on attempt_end and free text otherwise.
    """

    ts: float
    kind: str
    sample_index: int
    group_index: int
    turn: int
    weight_version: str
    detail: str


@dataclass(frozen=True, slots=True)
class DataBufferRecord:
    """Samples queued between rollout and training."""

    ts: float
    length: int


@dataclass(frozen=True, slots=True)
class HealthEvent:
    """One event of the health monitor or the collector; fields that do not apply are null."""

    ts: float
    event: str
    group: str | None = None
    engine_rank: int | None = None
    addr: str | None = None
    node: str | None = None
    latency_s: float | None = None
    detail: str | None = None


Record = (
    MetricsRecord
    | PhaseRecord
    | TopologyRecord
    | GpuSample
    | GpuProcess
    | EngineSample
    | TrajectoryEvent
    | DataBufferRecord
    | HealthEvent
)
"""Any line of any stream."""

TRAJECTORY_KINDS = (
    "attempt_start",
    "gen_start",
    "gen_end",
    "tool_start",
    "tool_end",
    "attempt_end",
)

HEALTH_EVENTS = (
    "collector_started",
    "collector_stopped",
    "monitor_started",
    "monitor_paused",
    "monitor_resumed",
    "monitor_stopped",
    "first_wait",
    "check_passed",
    "check_failed",
    "engine_killed",
    "kill_failed",
    "recovery_started",
    "engine_recovered",
    "recovery_failed",
    "restart_budget_exhausted",
    "mass_failure_held",
    "p2p_transfer_failed",
    "p2p_retried",
    "p2p_fell_back",
    "records_dropped",
)


@dataclass(frozen=True)
class Stream:
    """How one stream lies on disk.

    Attributes:
        name: of its file `dashboard/<name>.jsonl`, or of its folder.
        record: what a line holds.
        partitioned: whether new lines go into `dashboard/<name>/YYYYMMDD_HH.jsonl`. A flat file of an older run may
            stand beside the folder and is then read first.
        ts_fields: the timestamps of a record. The first names its partition, but for an ended phase its end does.
        doc: one sentence for the glossary.
    """

    name: str
    record: type[Record]
    partitioned: bool
    ts_fields: tuple[str, ...]
    doc: str


STREAMS: Mapping[str, Stream] = {
    stream.name: stream
    for stream in (
        Stream(
            "metrics",
            MetricsRecord,
            partitioned=False,
            ts_fields=("ts",),
            doc="Everything the trainer logged.",
        ),
        Stream(
            "topology",
            TopologyRecord,
            partitioned=False,
            ts_fields=("ts",),
            doc="Engines and their GPUs, on change.",
        ),
        Stream(
            "data_buffer",
            DataBufferRecord,
            partitioned=False,
            ts_fields=("ts",),
            doc="Samples waiting for training.",
        ),
        Stream(
            "health",
            HealthEvent,
            partitioned=False,
            ts_fields=("ts",),
            doc="Failures, recoveries and lost records.",
        ),
        Stream(
            "phases",
            PhaseRecord,
            partitioned=True,
            ts_fields=("t0", "t1"),
            doc="What each process was doing.",
        ),
        Stream(
            "gpu_util",
            GpuSample,
            partitioned=True,
            ts_fields=("ts",),
            doc="Utilisation, memory and power of GPUs.",
        ),
        Stream(
            "gpu_processes",
            GpuProcess,
            partitioned=True,
            ts_fields=("ts",),
            doc="Processes that hold GPU memory.",
        ),
        Stream(
            "engine_series",
            EngineSample,
            partitioned=True,
            ts_fields=("ts",),
            doc="Metrics scraped from engines.",
        ),
        Stream(
            "trajectories",
            TrajectoryEvent,
            partitioned=True,
            ts_fields=("ts",),
            doc="The life of every request.",
        ),
    )
}

META_FILE = "meta.json"
LANE_CATALOG_FILE = "lane_catalog.json"
NEW_SUFFIX = ".new"
"""Follows the name of one of these two files while it is being written; then it is renamed."""

SCHEMA_VERSION = 1
"""The only version of meta.json there is so far."""
