"""Catalogues: JSON that tells a page, a script or a reader which slices there are and what they hold.

The root catalogue lists run-wide tables and steps; each step has its own, so that a new step leaves the others' alone. Every
page names its catalogue by hash, so a page and its data always belong together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from miles_report.slices.slice import Slice, content_hash

VERSION = 1

Bytes = bytes  # the name that `FileEntry` hides by its attribute
Tables = Mapping[str, tuple[Slice, ...]]


@dataclass(frozen=True)
class FileEntry:
    """One file of the site.

    Attributes:
        path: from the root of the site.
        bytes: its size.
        sha256: first 16 hex digits of its hash.
    """

    path: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: str, content: Bytes) -> FileEntry:
        """The entry of that content."""
        return cls(path, len(content), content_hash(content))


@dataclass(frozen=True)
class StepEntry:
    """One step in the root catalogue.

    Attributes:
        step: its number.
        evaluation: whether it is an evaluation.
        state: ok, broken or writing.
        catalog: its own catalogue; null unless the state is ok.
    """

    step: int
    evaluation: bool
    state: str
    catalog: FileEntry | None


@dataclass(frozen=True)
class Catalog:
    """A catalogue read back.

    Attributes:
        path: from the root of the site.
        facts: of the run.
        tables: slices by table, in order.
        steps: of the root catalogue; empty in that of a step.
    """

    path: str
    facts: Mapping[str, Any]
    tables: Tables
    steps: tuple[StepEntry, ...] = ()

    def step(self, step: int, *, evaluation: bool) -> StepEntry | None:
        """The entry of a step; null if there is none."""
        for entry in self.steps:
            if (entry.step, entry.evaluation) == (step, evaluation):
                return entry
        return None


def step_folder(step: int, *, evaluation: bool) -> str:
    """Where the data of a step are, from the root of the site."""
    return f"data/eval-{step}" if evaluation else f"data/step-{step}"


def step_catalog(
    step: int, *, evaluation: bool, facts: Mapping[str, Any], tables: Tables
) -> tuple[FileEntry, bytes]:
    """The catalogue of one step and its bytes.

    Args:
        step: its number.
        evaluation: whether it is an evaluation.
        facts: what its pages may know of the run; nothing that changes while the run goes on.
        tables: its slices.
    """
    folder = step_folder(step, evaluation=evaluation)
    head = {"version": VERSION, "step": step, "evaluation": evaluation, "facts": facts}
    return _named(folder, {**head, "tables": _listed(tables)})


def root_catalog(
    *, run: Mapping[str, Any], tables: Tables, steps: tuple[StepEntry, ...]
) -> tuple[FileEntry, bytes]:
    """The root catalogue and its bytes.

    Args:
        run: what the run is.
        tables: slices of the run-wide tables.
        steps: all steps, also broken ones.
    """
    entries = [
        {
            "step": entry.step,
            "evaluation": entry.evaluation,
            "state": entry.state,
            "catalog": None if entry.catalog is None else vars(entry.catalog),
        }
        for entry in steps
    ]
    head = {"version": VERSION, "run": run}
    return _named("data", {**head, "tables": _listed(tables), "steps": entries})


def parse_catalog(path: str, content: bytes) -> Catalog:
    """A catalogue from its bytes.

    Args:
        path: of the file, from the root of the site.
        content: of the file.

    Raises:
        ValueError: it is not a catalogue of this version; the message is a sentence.
    """
    try:
        value = json.loads(content)
        if value["version"] != VERSION:
            raise ValueError(f"{path} is of another version of miles-report: build the site again.")
        tables = {
            str(name): tuple(Slice.from_json(entry) for entry in entries)
            for name, entries in value["tables"].items()
        }
        steps = tuple(_step_entry(entry) for entry in value.get("steps", ()))
        facts = dict(value["run"] if "run" in value else value["facts"])
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as cause:
        raise ValueError(f"{path} is damaged: it is not a catalogue.") from cause
    return Catalog(path=path, facts=facts, tables=tables, steps=steps)


def named_catalog(page: str) -> str:
    """Path of the catalogue that a page names; "" if it names none.

    Args:
        page: its HTML.
    """
    parser = _BodyParser()
    parser.feed(page)
    return parser.catalog


class _BodyParser(HTMLParser):
    catalog = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Looks at the body only."""
        if tag == "body":
            self.catalog = dict(attrs).get("data-catalog") or ""


def json_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8 with sorted keys; what is not finite becomes null, lone surrogates stay escaped."""
    text = json.dumps(finite(value), allow_nan=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


def finite(value: Any) -> Any:
    """The value with null for NaN and infinities, which JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def _listed(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    return {name: [entry.to_json() for entry in slices] for name, slices in tables.items()}


def _named(folder: str, value: Mapping[str, Any]) -> tuple[FileEntry, bytes]:
    content = json_bytes(value)
    return FileEntry.of(f"{folder}/catalog-{content_hash(content)}.json", content), content


def _step_entry(entry: Mapping[str, Any]) -> StepEntry:
    catalog = entry["catalog"]
    return StepEntry(
        step=int(entry["step"]),
        evaluation=bool(entry["evaluation"]),
        state=str(entry["state"]),
        catalog=None
        if catalog is None
        else FileEntry(catalog["path"], int(catalog["bytes"]), catalog["sha256"]),
    )
