"""Live telemetry of a training job, written for miles-report; importing it loads nothing heavy and no Ray."""

from collector.collector import CollectorStatus, DashboardCollector
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
