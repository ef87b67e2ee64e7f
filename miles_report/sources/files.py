"""A dump directory into a frozen listing: which files there are, how large, and which of them count.

The listing is taken once, when a run is opened; every reader works from it and reads no further than the size
recorded here, so that all pages agree with each other while the run goes on. Nothing is opened. What does not count
(stray names, files still being written, links that leave the dump) becomes a notice.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from miles_report.errors import UsageError
from miles_report.schema.streams import LANE_CATALOG_FILE, META_FILE, NEW_SUFFIX, STREAMS
from miles_report.sources.folders import (
    MISPLACED_FILE,
    STRAY_FILE,
    STRAY_FOLDER,
    UNKNOWN,
    FileStamp,
    Folder,
    FolderReader,
    printable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from miles_report.notices import Notice

__all__ = ["DumpFiles", "FileStamp", "list_dump", "printable"]

FRESH_S = 10.0
"""A rollout file younger than this may still be being written; a train file of the step proves that it is not."""

IDENTIFYING = ("rollout_data", "train_data", "dashboard")
IGNORED = ("policy_loss_debug", "events", "processor")
STEP = r"0|[1-9][0-9]{0,17}"
ROLLOUT_NAME = re.compile(rf"(eval_)?({STEP})\.pt")
TRAIN_NAME = re.compile(rf"({STEP})_({STEP})\.pt")
CONVERSATION_NAME = re.compile(rf"(eval_)?({STEP})\.jsonl")
COLUMNS_NAME = re.compile(rf"rollout_(eval_)?({STEP})\.parquet")
PARTITION_NAME = re.compile(r"[0-9]{8}_[0-9]{2}\.jsonl")

StepKey = tuple[int, bool]
"""(step, evaluation)."""


@dataclass(frozen=True)
class DumpFiles:
    """All files of a dump that a report reads, as they were when it was opened.

    Attributes:
        root: the dump, as given.
        rollouts: train rollout files by step, ascending; visible ones only.
        eval_rollouts: the same for evaluations.
        fresh: rollout files hidden because they may still be being written, by (step, evaluation).
        train: by step, then by rank, both ascending; also of steps that have no rollout file.
        columns: token columns by (step, evaluation).
        conversations: conversation sidecars by (step, evaluation).
        tokenizer: files of the tokenizer by name; empty if there is none.
        streams: files of each telemetry stream that has any, in reading order: the flat one, then partitions by name.
        meta: dashboard/meta.json.
        lane_catalog: dashboard/lane_catalog.json.
        notices: what was left out, sorted.
    """

    root: Path
    rollouts: Mapping[int, FileStamp] = field(default_factory=dict)
    eval_rollouts: Mapping[int, FileStamp] = field(default_factory=dict)
    fresh: Mapping[StepKey, FileStamp] = field(default_factory=dict)
    train: Mapping[int, Mapping[int, FileStamp]] = field(default_factory=dict)
    columns: Mapping[StepKey, FileStamp] = field(default_factory=dict)
    conversations: Mapping[StepKey, FileStamp] = field(default_factory=dict)
    tokenizer: Mapping[str, FileStamp] = field(default_factory=dict)
    streams: Mapping[str, tuple[FileStamp, ...]] = field(default_factory=dict)
    meta: FileStamp | None = None
    lane_catalog: FileStamp | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def tokenizer_dir(self) -> Path | None:
        """Folder of the tokenizer; null if the dump has none."""
        return self.root / "tokenizer" if self.tokenizer else None

    def rollout(self, step: int, *, evaluation: bool) -> FileStamp | None:
        """The rollout file of a step, also one hidden for being fresh; null if there is none."""
        visible = self.eval_rollouts if evaluation else self.rollouts
        return visible.get(step) or self.fresh.get((step, evaluation))


def list_dump(path: Path, *, now: float) -> DumpFiles:
    """Lists a dump directory.

    Args:
        path: the directory that Miles wrote with --dump-details.
        now: Unix seconds, against which the age of rollout files is taken.

    Returns:
        The frozen listing. A dump whose folders are empty gives an empty one.

    Raises:
        UsageError: no such directory, or it holds none of rollout_data, train_data and dashboard.
    """
    reader = FolderReader(path)
    top = _read_top(path, reader)
    rollouts = _by_step(
        _matching(top.folder("rollout_data"), ROLLOUT_NAME, "(eval_)<step>.pt", reader)
    )
    train = _by_rank(_matching(top.folder("train_data"), TRAIN_NAME, "<step>_<rank>.pt", reader))
    columns = _by_step(
        _matching(
            top.folder("dashboard_columns"), COLUMNS_NAME, "rollout_(eval_)<step>.parquet", reader
        )
    )
    conversations = _by_step(
        _matching(top.folder("trajectory"), CONVERSATION_NAME, "(eval_)<step>.jsonl", reader)
    )

    fresh = {
        key: stamp
        for key, stamp in rollouts.items()
        if now - stamp.mtime_ns / 1e9 < FRESH_S and (key[1] or key[0] not in train)
    }
    for stamp in fresh.values():
        reader.notice(
            "still-writing",
            "info",
            stamp.name,
            f"The file changed less than {FRESH_S:.0f} s ago and may still be being written; its step is left out.",
            "Build again later.",
        )
    visible = {key: stamp for key, stamp in rollouts.items() if key not in fresh}
    _report_orphans({step for step, evaluation in rollouts if not evaluation}, train, reader)
    dashboard = top.folder("dashboard")
    return DumpFiles(
        root=path,
        rollouts={step: stamp for (step, evaluation), stamp in visible.items() if not evaluation},
        eval_rollouts={step: stamp for (step, evaluation), stamp in visible.items() if evaluation},
        fresh=fresh,
        train=train,
        columns=columns,
        conversations=conversations,
        tokenizer={stamp.path.name: stamp for stamp in top.folder("tokenizer").files},
        streams=_streams(dashboard, reader),
        meta=dashboard.file(META_FILE),
        lane_catalog=dashboard.file(LANE_CATALOG_FILE),
        notices=reader.notices(),
    )


class _Top:
    """The folders of a dump that the report reads, each listed on demand."""

    def __init__(self, folder: Folder, reader: FolderReader) -> None:
        self._names = folder.folders
        self._reader = reader

    def folder(self, name: str) -> Folder:
        return self._reader.read(name) if name in self._names else Folder(name)


def _read_top(path: Path, reader: FolderReader) -> _Top:
    shown = printable(str(path))
    if not os.path.exists(path):  # noqa: PTH110 - unlike Path.exists it never raises
        raise UsageError(f"There is no directory {shown}.")
    if not os.path.isdir(path):  # noqa: PTH112 - the same
        raise UsageError(f"{shown} is not a directory.")
    try:
        top = reader.read("")
    except OSError as cause:
        raise UsageError(f"{shown} cannot be listed: {cause.strerror}.") from cause
    if not set(top.folders) & set(IDENTIFYING):
        refused = [told for told in reader.notices() if told.source in IDENTIFYING]
        why = "".join(f" {told.source}: {told.message}" for told in refused)
        raise UsageError(
            f"{shown} is not a Miles dump: it holds none of {', '.join(IDENTIFYING)}.{why} "
            "Give the directory that --dump-details names."
        )
    known = {*IDENTIFYING, *IGNORED, "trajectory", "dashboard_columns", "tokenizer"}
    files = {stamp.path.name for stamp in top.files}
    reader.report(
        sorted({*files, *top.folders} - known),
        UNKNOWN,
        f"A dump's own folders are {', '.join(sorted(known))}.",
    )
    reader.report(sorted(files & known), MISPLACED_FILE, "Restore the folder of that name.")
    return _Top(top, reader)


Matched = list[tuple[re.Match[str], FileStamp]]


def _matching(
    folder: Folder, pattern: re.Pattern[str], shape: str, reader: FolderReader
) -> Matched:
    """Files whose names fit; all other entries are reported."""
    matched, strays = [], []
    for stamp in folder.files:
        match = pattern.fullmatch(stamp.path.name)
        if match is None:
            strays.append(stamp.name)
        else:
            matched.append((match, stamp))
    remedy = f"Only files named {shape} belong here."
    reader.report(strays, STRAY_FILE, remedy)
    reader.report([f"{folder.name}/{name}" for name in folder.folders], STRAY_FOLDER, remedy)
    return matched


def _by_step(matched: Matched) -> dict[StepKey, FileStamp]:
    found = {(int(match[2]), match[1] is not None): stamp for match, stamp in matched}
    return dict(sorted(found.items()))


def _by_rank(matched: Matched) -> dict[int, dict[int, FileStamp]]:
    found: dict[int, dict[int, FileStamp]] = defaultdict(dict)
    for match, stamp in matched:
        found[int(match[1])][int(match[2])] = stamp
    return {step: dict(sorted(ranks.items())) for step, ranks in sorted(found.items())}


def _report_orphans(steps: set[int], train: Iterable[int], reader: FolderReader) -> None:
    for step in train:
        if step not in steps:
            reader.notice(
                "train-without-rollout",
                "warning",
                f"train_data/{step}_*.pt",
                f"Step {step} has train files and no rollout file, so nothing of it can be shown.",
                f"Restore rollout_data/{step}.pt.",
            )


def _streams(dashboard: Folder, reader: FolderReader) -> dict[str, tuple[FileStamp, ...]]:
    """Files of each stream in reading order; whatever else lies in dashboard/ is reported."""
    flat = {stamp.path.name: stamp for stamp in dashboard.files}
    known = {META_FILE, LANE_CATALOG_FILE, "cache"}
    known |= {META_FILE + NEW_SUFFIX, LANE_CATALOG_FILE + NEW_SUFFIX}
    found = {}
    for stream in STREAMS.values():
        files = []
        flat_name = f"{stream.name}.jsonl"
        if flat_name in flat:
            known.add(flat_name)
            files.append(flat[flat_name])
        if stream.partitioned and stream.name in dashboard.folders:
            known.add(stream.name)
            folder = reader.read(f"dashboard/{stream.name}")
            matched = _matching(folder, PARTITION_NAME, "YYYYMMDD_HH.jsonl", reader)
            files.extend(stamp for _, stamp in matched)
        if files:
            found[stream.name] = tuple(files)
    misplaced = [name for name in dashboard.folders if name.endswith((".json", ".jsonl"))]
    reader.report(
        [f"dashboard/{name}" for name in misplaced], STRAY_FOLDER, "Remove it from the dump."
    )
    unknown = sorted({*flat, *dashboard.folders} - known - set(misplaced))
    reader.report(
        [f"dashboard/{name}" for name in unknown],
        UNKNOWN,
        "It may come from a newer Miles: look for a newer miles-report.",
    )
    return found
