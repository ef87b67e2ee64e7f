"""What readers of a part of a run may know of the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class RunFacts:
    """What the pages of a step and of a sample may know of the run.

    Attributes:
        run_name: of meta.json, else the name of the dump's folder.
        args: the recorded arguments; empty without telemetry.
        start_ts: start of the last attempt; null without telemetry.
        has_tokenizer: whether tokens have text.
    """

    run_name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    start_ts: float | None = None
    has_tokenizer: bool = False
