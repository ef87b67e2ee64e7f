"""Tables that look at all lanes at once: fleet, carpet, outliers, advisories."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table
from miles_report.schema.telemetry_columns import GPU, NODE

CARPET_METRICS = ("phase", "util", "mem_mb", "power_w", "lifecycle")
"""What a carpet can show."""

GPU_METRICS = ("util", "mem_mb", "power_w")
"""Those of them that are read from GPUs."""

FLEET = Table(
    "fleet",
    "time bucket",
    (
        Column("bucket", "i64", "0-based number of the bucket.", label="Bucket", form="id"),
        Column("t0", "ts", "Its beginning.", label="From", form="ts"),
        Column("t1", "ts", "Its end.", label="To", form="ts"),
        Column("util_p10", "f64", "10th percentile over lanes of the highest utilization of each in the bucket.", label="Util p10", unit="%", null="no sample in the bucket", form="number"),
        Column("util_p50", "f64", "Their median.", label="Util median", unit="%", null="no sample in the bucket", form="number"),
        Column("util_p90", "f64", "Their 90th percentile.", label="Util p90", unit="%", null="no sample in the bucket", form="number"),
        Column("util_min", "f64", "Their minimum.", label="Util min", unit="%", null="no sample in the bucket", form="number"),
        Column("phase.none", "f64", "Share of lanes without a phase.", label="No phase", null="no lanes are known", form="frac"),
    ),
    parameters=("t0", "t1", "buckets"),
    doc="All lanes as one: shares of phases and the spread of utilization. Each phase of the window has a column phase.<name>: the share of lanes in it.",
    open_ended=True,
)  # fmt: skip

CARPET = Table(
    "carpet",
    "lane, or sample for lifecycle",
    (
        Column("index", "i64", "0-based place of the lane.", label="Lane", null="a sample's row", form="id"),
        Column(NODE.name, NODE.kind, NODE.doc, label=NODE.label, null="a sample's row", form=NODE.form),
        Column(GPU.name, GPU.kind, GPU.doc, label=GPU.label, null="a sample's row", form=GPU.form),
        Column("roles", "list[str]", "Roles of the lane.", label="Roles", null="a sample's row", form="text"),
        Column("sample_index", "i64", "The sample.", label="Sample", null="a lane's row", form="id"),
        Column("group_index", "i64", "Group of the sample, -1 without one.", label="Group", null="a lane's row", form="id"),
        Column("cells", "cells", "One entry a bucket: the phase that began last, the state of the sample (queue, generating, tool_wait), or the highest reading; null without any.", label="Cells"),
    ),
    parameters=("metric", "t0", "t1", "buckets", "lanes"),
    doc="Every lane, or every sample, as a row of cells over time.",
)  # fmt: skip

OUTLIERS = Table(
    "outliers",
    "lane, worst first",
    (
        NODE,
        GPU,
        Column("score", "f64", "lowest_util: mean utilization in percent; slowest_phase: mean seconds of the phase; latest_start: median seconds behind the other lanes.", label="Score", form="number"),
    ),
    parameters=("by", "t0", "t1", "top"),
    doc="Lanes that stand out: by lowest_util, slowest_phase:<name> or latest_start:<name>.",
)  # fmt: skip

ADVISORIES = Table(
    "advisories",
    "finding",
    (
        Column("rule", "str", "Stable name of the rule.", label="Rule", form="text"),
        Column("level", "str", "critical, warning or info.", label="Level", form="text"),
        Column("message", "str", "What was seen, since when, and what to do; a heuristic.", label="Finding", form="text"),
        Column("evidence", "json", "The numbers behind it and the window t0, t1 in which to look.", label="Evidence", form="text"),
        Column("suppressed_by", "str", "The alarm that hides this advice: tuning follows after what is broken.", label="Hidden by", null="not hidden", form="text"),
    ),
    parameters=("t0", "t1"),
    doc="What the engines and phases did against what the run was configured to allow. Heuristics, not guarantees.",
)  # fmt: skip
