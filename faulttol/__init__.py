"""Health monitor and recovery of rollout engines; importing it loads nothing heavy and no Ray (that is `faulttol.ray_backend`)."""

from __future__ import annotations

from faulttol.backend import EngineBackend
from faulttol.budget import RestartBudget
from faulttol.events import HealthLog, StreamSink
from faulttol.groups import EngineGroup, EngineStartError, Slot, SlotState
from faulttol.monitor import RolloutHealthMonitor
from faulttol.options import (
    add_arguments,
    budget_of,
    check_options,
    click_options,
    force_dumper_mode,
    rule_of,
    transfer_pool_of,
)
from faulttol.ports import Ports
from faulttol.recovery import RolloutFleet, RolloutServer, UpdatableEngines
from faulttol.router import SglangRouter
from faulttol.state import Engine, Rule
from faulttol.threads import in_thread
from faulttol.transfers import TransferPool, TransferReport
from faulttol.updates import WeightUpdater, before_weight_update

__all__ = [
    "Engine",
    "EngineBackend",
    "EngineGroup",
    "EngineStartError",
    "HealthLog",
    "Ports",
    "RestartBudget",
    "RolloutFleet",
    "RolloutHealthMonitor",
    "RolloutServer",
    "Rule",
    "SglangRouter",
    "Slot",
    "SlotState",
    "StreamSink",
    "TransferPool",
    "TransferReport",
    "UpdatableEngines",
    "WeightUpdater",
    "add_arguments",
    "before_weight_update",
    "budget_of",
    "check_options",
    "click_options",
    "force_dumper_mode",
    "in_thread",
    "rule_of",
    "transfer_pool_of",
]
