"""What each part of a site is made of, as one short text: if it is the same, the part is not made again."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import miles_report
from miles_report.slices.catalog import finite
from miles_report.slices.slice import content_hash
from miles_report.streams.partition import partition_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.facts import RunFacts
    from miles_report.sources.files import DumpFiles, FileStamp

PARTITION = re.compile(r"[0-9]{8}_[0-9]{2}")


def fingerprint(*parts: Any) -> str:
    """A short text that differs if any of the JSON-like parts does."""
    return content_hash(json.dumps(finite(parts), sort_keys=True, default=str).encode())


class Fingerprints:
    """Fingerprints over one listing of a dump.

    Args:
        files: the listing.
        facts: what pages of steps know of the run.
    """

    def __init__(self, files: DumpFiles, facts: RunFacts) -> None:
        self.facts = facts
        self._files = files

    @cached_property
    def program(self) -> str:
        """Of this program."""
        return program()

    @cached_property
    def common(self) -> str:
        """What every step depends on: the version, the tokenizer, the facts of the run."""
        return fingerprint(self.program, _stamps(self._files.tokenizer.values()), self.step_facts)

    @property
    def step_facts(self) -> dict[str, Any]:
        """What the pages of steps and samples may know of the run, as JSON."""
        facts = self.facts
        return {
            "run_name": facts.run_name,
            "args": dict(facts.args),
            "start_ts": facts.start_ts,
            "has_tokenizer": facts.has_tokenizer,
        }

    def step(self, step: int, *, evaluation: bool, has_counterpart: bool) -> str:
        """Of all files of one step."""
        files, key = self._files, (step, evaluation)
        stamps = [
            files.rollout(step, evaluation=evaluation),
            files.columns.get(key),
            files.conversations.get(key),
            *([] if evaluation else files.train.get(step, {}).values()),
        ]
        return fingerprint(self.common, step, evaluation, has_counterpart, _stamps(stamps))

    def lifecycles(self, window: tuple[float, float] | None, samples: str) -> str:
        """Of the lifecycle events of one step.

        Args:
            window: in which its events lie; null if there can be none.
            samples: hash of its samples.
        """
        stamps = self._files.streams.get("trajectories", ())
        near = [stamp for stamp in stamps if window and _may_hold(stamp, window)]
        return fingerprint(self.program, window, samples, _stamps(near))

    def everything(self, *options: Any) -> str:
        """Of the whole dump and the options of the build."""
        files = self._files
        return fingerprint(
            self.common,
            _changes(_package() / "_assets"),
            options,
            [
                _stamps(group.values())
                for group in (files.rollouts, files.eval_rollouts, files.fresh)
            ],
            [_stamps(ranks.values()) for ranks in files.train.values()],
            [_stamps(group.values()) for group in (files.columns, files.conversations)],
            [_stamps(group) for group in files.streams.values()],
            _stamps([files.meta, files.lane_catalog]),
            [vars(notice) for notice in files.notices],
        )


def program() -> str:
    """The version of this program; in a checkout also of every source, so that an edit shows at once."""
    package = _package()
    changes = [
        change
        for folder in (package, package.parent / "templates" / "pages")
        for change in _changes(folder)
        if change[0].endswith((".py", ".html"))
    ]
    return fingerprint(miles_report.__version__, changes)


def _package() -> Path:
    return Path(miles_report.__file__).parent


def _changes(folder: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of every file below a folder."""
    return [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _may_hold(stamp: FileStamp, window: tuple[float, float]) -> bool:
    """Whether a file of events can hold one of the window: a partition is named by the UTC hour of its events."""
    hour = stamp.path.stem
    if not PARTITION.fullmatch(hour):
        return True
    first, last = (partition_key(ts) for ts in window)
    return first <= hour <= last


def _stamps(stamps: Iterable[FileStamp | None]) -> list[Any]:
    return [None if stamp is None else [stamp.name, stamp.size, stamp.mtime_ns] for stamp in stamps]
