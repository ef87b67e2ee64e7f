"""Tables of the engines' health: what the monitor saw and did, and the failures that follow from it."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table

RANK = Column("engine_rank", "i64", "Number of the engine.", label="Engine", null="not about one engine", form="id")  # fmt: skip
ADDR = Column("addr", "str", "Address of the engine.", label="Address", null="not about one engine, or not known", form="text")  # fmt: skip
NODE = Column("node", "str", "Host of the engine.", label="Node", null="not about one engine, or not known", form="text")  # fmt: skip

HEALTH = Table(
    "health",
    "health event",
    (
        Column("ts", "ts", "When it happened.", label="Time", form="ts"),
        Column("event", "str", "What happened, such as check_failed or engine_killed.", label="Event", form="text"),
        Column("group", "str", "Group of engines that one monitor watches.", label="Group", null="not about one group", form="text"),
        RANK,
        ADDR,
        NODE,
        Column("latency_s", "f64", "Seconds that the check, start or transfer took.", label="Latency", unit="s", null="makes no sense for the event", form="seconds"),
        Column("detail", "str", "More, in words.", label="Detail", null="nothing more is known", form="text"),
    ),
    parameters=("t0", "t1"),
    doc="What the health monitor and the collector reported, in file order.",
)  # fmt: skip

INCIDENTS = Table(
    "incidents",
    "engine failure",
    (
        ADDR,
        RANK,
        NODE,
        Column("t_failed", "ts", "When the first failed check began, or the kill where no check failed before.", label="Failed", form="ts"),
        Column("t_killed", "ts", "When the engine was killed.", label="Killed", form="ts"),
        Column("t_back", "ts", "When an engine served in its place again.", label="Back", null="never", form="ts"),
        Column("detect_s", "f64", "From t_failed to t_killed.", label="Found in", unit="s", form="seconds"),
        Column("repair_s", "f64", "From t_killed to t_back.", label="Back after", unit="s", null="never came back", form="seconds"),
        Column("cause", "str", "What the first failed check, else the kill, told.", label="Cause", null="not told", form="text"),
    ),
    doc="Engines that the monitor killed, by t_failed.",
)  # fmt: skip
