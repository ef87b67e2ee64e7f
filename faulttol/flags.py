"""The command-line flags of fault tolerance, declared once; argparse, click, the checks and the docs follow from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DUMPER_INTERVAL_S = 1e18
"""What dumper mode sets the interval to: never."""


@dataclass(frozen=True)
class Flag:
    """One flag.

    Attributes:
        name: with its dashes.
        kind: what it takes; a switch takes nothing.
        default: of its value; null: off.
        help: one or two sentences.
        is_miles: whether Miles has it, with this default.
    """

    name: str
    kind: Literal["switch", "seconds", "count", "fraction"]
    default: float | bool | None
    help: str
    is_miles: bool = False

    @property
    def attribute(self) -> str:
        """Its name among the parsed arguments."""
        return self.name.removeprefix("--").replace("-", "_")


FLAGS = (
    Flag(
        "--use-fault-tolerance",
        "switch",
        default=False,
        help="Watch rollout engines, and start those again that were killed before the next weight update.",
        is_miles=True,
    ),
    Flag(
        "--rollout-health-check-interval",
        "seconds",
        default=30.0,
        help="Interval in seconds between rollout engine /health_generate checks during generate/eval.",
        is_miles=True,
    ),
    Flag(
        "--rollout-health-check-timeout",
        "seconds",
        default=30.0,
        help="Timeout in seconds to wait for a rollout engine /health_generate response before killing it.",
        is_miles=True,
    ),
    Flag(
        "--rollout-health-check-first-wait",
        "seconds",
        default=0,
        help="Initial grace period in seconds before health checks start, for model compilation and initialization. "
        "Increase it significantly when using deepgemm.",
        is_miles=True,
    ),
    Flag(
        "--p2p-transfer-timeout",
        "seconds",
        default=30.0,
        help="Timeout in seconds for a batch of P2P weight transfers.",
        is_miles=True,
    ),
    Flag(
        "--rollout-health-failure-threshold",
        "count",
        default=1,
        help="Failed checks in a row after which an engine is killed.",
    ),
    Flag(
        "--rollout-health-mass-failure-fraction",
        "fraction",
        default=None,
        help="When more than this share of a group's checked engines fails in one round, report it and kill none.",
    ),
    Flag(
        "--rollout-health-first-wait-after-recovery",
        "switch",
        default=False,
        help="Give an engine that is replaced while its group is watched the first wait too.",
    ),
    Flag(
        "--rollout-restart-budget",
        "count",
        default=None,
        help="Restarts of one engine in a run; after that its slot stays empty.",
    ),
    Flag(
        "--rollout-restart-backoff",
        "seconds",
        default=0.0,
        help="Seconds between two restarts of one engine; doubles with each.",
    ),
    Flag(
        "--p2p-transfer-retries",
        "count",
        default=0,
        help="How often P2P transfers that failed are begun again.",
    ),
    Flag(
        "--p2p-transfer-broadcast-fallback",
        "switch",
        default=False,
        help="Send weights by broadcast to engines whose P2P transfer failed.",
    ),
)
