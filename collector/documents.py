"""The two small JSON files of `dashboard/`, replaced as a whole by renaming."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from miles_report.schema.streams import LANE_CATALOG_FILE, META_FILE, NEW_SUFFIX, SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from collector.config import CollectorConfig

MAX_BYTES = 64 << 20
"""A larger file is not what it is called."""


def write_meta(config: CollectorConfig) -> None:
    """Writes meta.json of this attempt.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    meta = {
        "run_name": config.run_name,
        "start_ts": config.start_ts,
        "args": dict(config.args),
        "schema_version": SCHEMA_VERSION,
    }
    replace_file(config.dashboard / META_FILE, json.dumps(meta, indent=1))


def read_document(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none, or none that can be used."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def previous_start_ts(dashboard: Path) -> float | None:
    """When the attempt began that meta.json tells of; null if it tells none."""
    value: Any = read_document(dashboard / META_FILE).get("start_ts")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def write_catalog(dashboard: Path, lanes: dict[str, dict[str, Any]]) -> None:
    """Writes lane_catalog.json.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    text = json.dumps({"version": 1, "lanes": lanes})
    replace_file(dashboard / LANE_CATALOG_FILE, text)


def replace_file(path: Path, text: str) -> None:
    """Replaces a file so that a reader, or a crash, meets either the old or the new one.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + NEW_SUFFIX)
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
