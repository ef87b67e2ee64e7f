"""What a build remembers of each step, so that the next one need not open its files again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import polars as pl

from miles_report.notices import Notice
from miles_report.pages.index_reading import SAMPLE_COLUMNS
from miles_report.pages.page import Choice, Link, Page
from miles_report.pages.rollouts_rows import EVAL_SCHEMA
from miles_report.run import StepOutline
from miles_report.slices.catalog import FileEntry
from miles_report.slices.slice import Slice
from miles_report.tables.frames import table_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

READING_SCHEMA: Mapping[str, Any] = {**table_schema("notable"), **SAMPLE_COLUMNS}
"""Columns of `index_reading.reading_rows`."""

NOT_KEPT = ("values", "figures")
"""Parts of a page that only its body needs."""


@dataclass(frozen=True)
class BodyRecord:
    """A rendered page without what surrounds it.

    Attributes:
        page: without values and figures.
        body: HTML of its main element.
    """

    page: Page
    body: str

    def to_bytes(self) -> bytes:
        """For the state folder."""
        kept = {item.name: getattr(self.page, item.name) for item in fields(Page)}
        page = {name: value for name, value in kept.items() if name not in NOT_KEPT}
        for name in ("crumbs", "actions", "choices"):
            page[name] = [asdict(item) for item in page[name]]
        for name in ("previous", "next"):
            page[name] = None if page[name] is None else asdict(page[name])
        return json.dumps({"page": page, "body": self.body}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> BodyRecord:
        """Back from the state folder.

        Raises:
            ValueError, KeyError, TypeError: it is not a record of this version.
        """
        value = json.loads(content)
        page = value["page"]
        for name, kind in (("crumbs", Link), ("actions", Link), ("choices", Choice)):
            page[name] = tuple(kind(**item) for item in page[name])
        for name in ("previous", "next"):
            page[name] = None if page[name] is None else Link(**page[name])
        return cls(Page(**page), value["body"])


@dataclass(frozen=True)
class StepRecord:
    """What was made of one step.

    Attributes:
        step: its number.
        evaluation: whether it is an evaluation.
        fingerprint: of its input, of the version and of the facts it was made with.
        outline: what run-wide tables need of it.
        reading: its notable rows with what the index shows of each sample.
        evals: its rows of the list of evaluations.
        tables: its slices by table; empty unless its state is ok.
        charts: specs of its page's figures.
        body_hash: of its page's `BodyRecord`.
    """

    step: int
    evaluation: bool
    fingerprint: str
    outline: StepOutline
    reading: pl.DataFrame
    evals: pl.DataFrame
    tables: Mapping[str, tuple[Slice, ...]] = field(default_factory=dict)
    charts: tuple[FileEntry, ...] = ()
    body_hash: str = ""

    @property
    def key(self) -> tuple[int, bool]:
        """(step, evaluation)."""
        return self.step, self.evaluation

    @property
    def name(self) -> str:
        """The step as part of a file name."""
        return f"eval-{self.step}" if self.evaluation else f"step-{self.step}"

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """All files of the site that were written for it."""
        slices = [entry for parts in self.tables.values() for entry in parts]
        return (*(FileEntry(part.path, part.bytes, part.sha256) for part in slices), *self.charts)

    def to_bytes(self) -> bytes:
        """For the state folder."""
        outline = self.outline
        value = {
            "step": self.step,
            "evaluation": self.evaluation,
            "fingerprint": self.fingerprint,
            "state": outline.state,
            "steps": outline.steps.to_dicts(),
            "notable": outline.notable.to_dicts(),
            "notices": [asdict(notice) for notice in outline.notices],
            "reading": self.reading.to_dicts(),
            "evals": self.evals.to_dicts(),
            "tables": {
                name: [part.to_json() for part in parts] for name, parts in self.tables.items()
            },
            "charts": [asdict(entry) for entry in self.charts],
            "body_hash": self.body_hash,
        }
        return json.dumps(value).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> StepRecord:
        """Back from the state folder.

        Raises:
            ValueError, KeyError, TypeError: it is not a record of this version.
        """
        value = json.loads(content)
        outline = StepOutline(
            state=value["state"],
            steps=_frame("steps", value["steps"]),
            notable=_frame("notable", value["notable"]),
            notices=tuple(Notice(**notice) for notice in value["notices"]),
        )
        return cls(
            step=value["step"],
            evaluation=value["evaluation"],
            fingerprint=value["fingerprint"],
            outline=outline,
            reading=pl.DataFrame(value["reading"], schema=dict(READING_SCHEMA)),
            evals=pl.DataFrame(value["evals"], schema=dict(EVAL_SCHEMA)),
            tables={
                name: tuple(Slice.from_json(part) for part in parts)
                for name, parts in value["tables"].items()
            },
            charts=tuple(FileEntry(**entry) for entry in value["charts"]),
            body_hash=value["body_hash"],
        )


def _frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=table_schema(name))
