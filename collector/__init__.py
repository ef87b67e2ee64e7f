"""Live telemetry of a training job, written for miles-report; importing it loads nothing heavy and no Ray.

A rank only produces records, so what writes them is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from collector.config import CollectorConfig
from collector.lifecycles import TrajectorySink
from collector.options import add_arguments, check_options, click_options
from collector.phases import PhaseSink, PhaseTimer
from collector.session import (
    Dashboard,
    current_dashboard,
    dashboard_log,
    finish_dashboard,
    init_dashboard,
)
from collector.topology import EnginePart

if TYPE_CHECKING:
    from collector.collector import CollectorStatus, DashboardCollector

__all__ = [
    "CollectorConfig",
    "CollectorStatus",
    "Dashboard",
    "DashboardCollector",
    "EnginePart",
    "PhaseSink",
    "PhaseTimer",
    "TrajectorySink",
    "add_arguments",
    "check_options",
    "click_options",
    "current_dashboard",
    "dashboard_log",
    "finish_dashboard",
    "init_dashboard",
]


def __getattr__(name: str) -> Any:
    if name in ("CollectorStatus", "DashboardCollector"):
        from collector import collector  # noqa: PLC0415 - see above

        return getattr(collector, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
