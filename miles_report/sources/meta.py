"""dashboard/meta.json and lane_catalog.json: what the collector says about the run and its GPUs.

Both are small JSON files that a running collector rewrites. What cannot be used in them is null here and told as a
notice; the report is built without it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from miles_report.notices import Notice
from miles_report.schema.streams import SCHEMA_VERSION
from miles_report.sources.folders import printable
from miles_report.sources.stream_shapes import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.notices import Severity
    from miles_report.sources.folders import FileStamp

DEFAULT_RUN_NAME = "miles-run"
"""What Miles calls a run without a name."""

MAX_BYTES = 64 << 20
"""A larger file is not what it is called; it must not decide how much memory a report takes."""


LANE_GPU = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class RunMeta:
    """What meta.json tells; all null without one.

    Attributes:
        run_name: name of the run.
        start_ts: start of the last attempt, Unix seconds.
        args: the recorded subset of the run's arguments; empty if there are none.
        schema_version: of the telemetry.
    """

    run_name: str | None = None
    start_ts: float | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    schema_version: int | None = None


@dataclass(frozen=True)
class CatalogLane:
    """What the collector knew of one GPU: all sorted, any may be empty."""

    node: str
    gpu: int
    ranks: tuple[int, ...]
    engine_addrs: tuple[str, ...]
    roles: tuple[str, ...]


def read_meta(stamp: FileStamp | None, *, notices: list[Notice]) -> RunMeta:
    """Reads meta.json; without the file, or if it cannot be read, all is null."""
    found = _read_object(stamp, "the run's name, start and arguments are missing", notices)
    if stamp is None or found is None:
        return RunMeta()
    told = _Teller(stamp.name, notices)
    version = found.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int | None):
        told.mistyped("schema_version", "a whole number")
        version = None
    elif version is not None and version > SCHEMA_VERSION:
        told.tell(
            "newer-schema",
            "warning",
            f"The telemetry has schema version {version}, this version reads {SCHEMA_VERSION}: parts of it may be "
            "missing or misread.",
            "Look for a newer miles-report.",
        )
    name = found.get("run_name", DEFAULT_RUN_NAME)
    if not isinstance(name, str):
        told.mistyped("run_name", "text")
        name = DEFAULT_RUN_NAME
    start = found.get("start_ts")
    if start is not None and not _is_stamp(start):
        told.mistyped("start_ts", "a finite number")
        start = None
    args = found.get("args", {})
    if not isinstance(args, dict):
        told.mistyped("args", "an object")
        args = {}
    return RunMeta(name, None if start is None else float(start), args, version)


def read_lane_catalog(stamp: FileStamp | None, *, notices: list[Notice]) -> tuple[CatalogLane, ...]:
    """Reads lane_catalog.json, in file order; nothing without the file, or if it cannot be read."""
    found = _read_object(stamp, "roles and ranks of GPUs are taken from the streams alone", notices)
    if stamp is None or found is None:
        return ()
    lanes = found.get("lanes")
    told = _Teller(stamp.name, notices)
    if not isinstance(lanes, dict):
        told.mistyped("lanes", "an object")
        return ()
    catalog, misfits = [], []
    for key, entry in lanes.items():
        node, _, gpu = key.rpartition(":")  # the last colon: nodes may be IPv6 addresses
        if not node or LANE_GPU.fullmatch(gpu) is None or not isinstance(entry, dict):
            misfits.append(key)
            continue
        catalog.append(
            CatalogLane(
                node,
                int(gpu),
                tuple(sorted({rank for rank in _list(entry, "ranks") if type(rank) is int})),
                _texts(entry, "engine_addrs"),
                _texts(entry, "roles"),
            )
        )
    if misfits:
        told.tell(
            "bad-lane",
            "warning",
            f"{len(misfits)} of its entries are no lanes and are left out, the first is {printable(misfits[0])}.",
            "Nothing to do if the streams show the lane.",
        )
    return tuple(catalog)


class _Teller:
    """Adds notices about one file."""

    def __init__(self, source: str, notices: list[Notice]) -> None:
        self._source = source
        self._notices = notices

    def tell(self, code: str, severity: Severity, message: str, remedy: str) -> None:
        self._notices.append(Notice(code, severity, self._source, message, remedy))

    def mistyped(self, name: str, expected: str) -> None:
        self.tell(
            "bad-meta",
            "warning",
            f"Its {name} is not {expected} and is left out.",
            "Restore the file if it was edited.",
        )


def _read_object(
    stamp: FileStamp | None, cost: str, notices: list[Notice]
) -> dict[str, Any] | None:
    """The JSON object in a file; null, with a notice, if there is none in it."""
    if stamp is None:
        return None
    told = _Teller(stamp.name, notices)
    remedy = "Restore the file; if the run is alive, build again."
    if stamp.size > MAX_BYTES:
        told.tell(
            "unreadable-file", "error", f"It is larger than {MAX_BYTES} bytes: {cost}.", remedy
        )
        return None
    try:
        with stamp.path.open("rb") as file:
            text = json.dumps(json.loads(file.read(MAX_BYTES)), ensure_ascii=False)
        value = json.loads(clean_text(text))
    except OSError as cause:
        reason = f"It cannot be read ({cause.strerror}): {cost}."
        told.tell("unreadable-file", "error", reason, remedy)
        return None
    except (ValueError, RecursionError):
        told.tell("broken-json", "error", f"It is not JSON: {cost}.", remedy)
        return None
    if not isinstance(value, dict):
        told.tell("broken-json", "error", f"It is not a JSON object: {cost}.", remedy)
        return None
    return value


def _is_stamp(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _list(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name)
    return value if isinstance(value, list) else []


def _texts(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(sorted({text for text in _list(entry, name) if isinstance(text, str)}))
