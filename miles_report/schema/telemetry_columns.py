"""Tables of the live telemetry: GPU lanes, engines, phases, GPU samples and engine series."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table

NODE = Column(
    "node", "str", "Host of the GPU, as the telemetry names it.", label="Node", form="text"
)
GPU = Column("gpu", "i64", "Number of the GPU on its node.", label="GPU", form="id")
TS = Column("ts", "ts", "When it was read.", label="Time", form="ts")
ADDR = Column("addr", "str", "Address of the engine.", label="Engine", form="text")

LANES = Table(
    "lanes",
    "GPU lane",
    (
        Column("index", "i64", "0-based place of the lane in the order of node (as text) and GPU.", label="Lane", form="id"),
        NODE,
        GPU,
        Column("ranks", "list[i64]", "Training ranks that ran on it, sorted.", label="Ranks", form="id"),
        Column("engine_addrs", "list[str]", "Engines that used it, sorted.", label="Engines", form="text"),
        Column("roles", "list[str]", "train, rollout, both or none, sorted.", label="Roles", form="text"),
    ),
    parameters=("lanes",),
    doc="Every GPU that was seen: the collector's catalogue, completed by phases, topology and GPU samples.",
)  # fmt: skip

TOPOLOGY = Table(
    "topology",
    "engine in a topology window",
    (
        Column("t0", "ts", "Since when the engines were these.", label="From", form="ts"),
        Column("t1", "ts", "Until when.", label="To", null="to the end of the run", form="ts"),
        ADDR,
        Column("worker_type", "str", "Kind of engine, such as regular, prefill, decode or external.", label="Type", null="not recorded", form="text"),
        Column("engine_rank", "i64", "Number of the engine; -1 for an external one.", label="Engine rank", null="not recorded", form="id"),
        Column("gpus", "list[str]", "Its GPUs as node:gpu; none for an external engine.", label="GPUs", form="text"),
        Column("gpu_uuids", "list[str]", "What the driver calls them, beside gpus; null entries where it did not tell.", label="UUIDs", form="text"),
    ),
    doc="Which engine ran on which GPUs, and when.",
)  # fmt: skip

PHASES = Table(
    "phases",
    "phase interval on a lane",
    (
        Column("name", "str", "What the process was doing.", label="Phase", form="text"),
        Column("t0", "ts", "Its beginning.", label="From", form="ts"),
        Column("t1", "ts", "Its end; the end of the run while it is open.", label="To", form="ts"),
        NODE,
        GPU,
        Column("rank", "i64", "Training rank; -1 for the rollout manager, derived phases and processes without one.", label="Rank", form="id"),
        Column("role", "str", "train, rollout_manager (drawn on the GPUs of the engines of that time), or derived.", label="Role", null="not recorded", form="text"),
        Column("open", "bool", "Whether no end was recorded.", label="Open"),
        Column("attempt", "i64", "0-based attempt of the run it began in.", label="Attempt", form="id"),
    ),
    parameters=("t0", "t1", "lanes"),
    doc="What every GPU was used for. Phases nest: the one that began last is the finer one.",
)  # fmt: skip

STEP_PHASES = Table(
    "step_phases",
    "phase within a step",
    (
        Column("step", "i64", "Rollout step.", label="Step", form="id"),
        Column("phase", "str", "Name of the phase.", label="Phase", form="text"),
        Column("lane_seconds", "f64", "Seconds of the step summed over lanes; where phases nest only the one that began last counts.", label="Lane seconds", unit="s", form="seconds"),
        Column("fraction", "f64", "lane_seconds over the lanes' time in the step (lanes times its length); the rest had no phase.", label="Share", form="frac"),
        Column("overlap_fraction", "f64", "Share of the step's rollout time in which some rank trained, by the clock; the same for all phases of a step.", label="Overlap", null="no rollout in the step", form="frac"),
        Column("t0", "ts", "Beginning of the step: step_time before it was logged, but not before the step before it.", label="From", form="ts"),
        Column("t1", "ts", "When its timing was logged.", label="To", form="ts"),
    ),
    doc="Where the time of each step went, and how much of the rollout ran beside training.",
)  # fmt: skip

GPU_UTIL = Table(
    "gpu_util",
    "GPU sample",
    (
        TS,
        NODE,
        GPU,
        Column("util", "i64", "Utilization since the last reading.", label="Utilization", unit="%", null="the driver does not tell, as with MIG", form="number"),
        Column("mem_mb", "i64", "Memory in use.", label="Memory", unit="MiB", null="not recorded", form="count"),
        Column("power_w", "i64", "Power draw; 0 where the driver does not tell, as with some AMD GPUs.", label="Power", unit="W", null="not recorded", form="number"),
    ),
    parameters=("t0", "t1", "lanes", "points"),
    doc="Readings of every GPU, about one a second. With points: at most that many a lane; the lowest and highest utilization of each bucket survive.",
)  # fmt: skip

GPU_PROCESSES = Table(
    "gpu_processes",
    "process reading",
    (
        TS,
        NODE,
        GPU,
        Column("pid", "i64", "Process id on the node.", label="PID", form="id"),
        Column("name", "str", "Its name; pid and number where it is not known.", label="Process", null="not recorded", form="text"),
        Column("mem_mb", "i64", "GPU memory it holds.", label="Memory", unit="MiB", null="not recorded", form="count"),
    ),
    parameters=("t0", "t1", "lanes"),
    doc="Which processes held memory on which GPU, about every five seconds.",
)  # fmt: skip

ENGINE_SERIES = Table(
    "engine_series",
    "value of one engine metric",
    (
        ADDR,
        Column("engine_type", "str", "Kind of engine, as it labels its metrics.", label="Engine type", null="not labelled", form="text"),
        Column("dp_rank", "str", "Data-parallel rank within the engine.", label="DP rank", null="folded over the ranks, or not labelled", form="id"),
        Column("metric", "str", "Name of the metric.", label="Metric", form="text"),
        Column("ts", "ts", "When it was scraped; of a rate or mean, the later scrape.", label="Time", form="ts"),
        Column("value", "f64", "Over dp ranks: sum, but mean of token_usage, cache_hit_rate and kv_transfer_latency_ms. Rates are per second, means in seconds.", label="Value", form="number"),
    ),
    parameters=("metric", "t0", "t1", "per_dp_rank", "points"),
    doc="One metric of every engine. A counter that falls, or an average over no request, is a gap.",
)  # fmt: skip

ENGINE_METRICS = Table(
    "engine_metrics",
    "available engine metric",
    (
        Column("metric", "str", "Name, as engine_series takes it.", label="Metric", form="text"),
        Column("kind", "str", "gauge (as scraped), rate (of a counter, per second) or mean (of a histogram, in seconds).", label="Kind", form="text"),
        Column("engines", "i64", "Engines that report it.", label="Engines", form="count"),
    ),
    doc="What was scraped from the engines, and what follows from it.",
)  # fmt: skip
