"""The dashboard of one process: what a trainer calls, with Ray or without.

Everything is a no-op until `init_dashboard` was called with the flag set, and nothing here raises into the trainer after that.
The three functions at the end have the interface of a tracking backend (init, log, finish); a process has one dashboard, so this
module holds it.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from collector.config import CollectorConfig
from collector.lifecycles import TrajectorySink
from collector.logged import metrics_record
from collector.outbox import Outbox
from collector.phases import NO_RANK, TRAIN, PhaseSink
from collector.topology import merge_parts
from miles_report.runtime.clock import SystemClock
from miles_report.schema.streams import DataBufferRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from collector.targets import Target
    from collector.topology import EnginePart
    from miles_report.runtime.clock import Clock
    from miles_report.schema.streams import EngineRecord

logger = logging.getLogger(__name__)

FINISH_S = 5.0
"""How long the end of a process waits for its last records to be handed over."""


class Dashboard:
    """The producers of one process before one target."""

    def __init__(
        self,
        target: Target,
        *,
        node: str,
        gpus: Sequence[int] = (),
        clock: Clock | None = None,
        close: Callable[[], object] | None = None,
        settle: Callable[[float], bool] | None = None,
    ) -> None:
        """Begins to hand records over.

        Args:
            target: the collector.
            node: name of this node in records.
            gpus: physical ids of this process's GPUs.
            clock: the host's, if null.
            close: is called at the end, after the last record was handed over.
            settle: waits at the end, at most so many seconds, until what was handed over has arrived; null: it has at once.
        """
        self._clock = SystemClock() if clock is None else clock
        self._node = node
        self._gpus = tuple(gpus)
        self._close = close
        self._settle = settle
        self._engines: tuple[EngineRecord, ...] | None = None
        self._router: str | None = None
        self._is_finished = False
        self._sinks: list[tuple[Any, PhaseSink]] = []
        self._outbox = Outbox(target, self._clock, origin=node)
        self._outbox.start()

    def phase_sink(
        self, *, role: str = TRAIN, rank: int | Callable[[], int] | None = None
    ) -> PhaseSink:
        """A sink for a timer of this process.

        Args:
            role: train or rollout_manager.
            rank: null: the rank of torch.distributed once there is one.
        """
        is_train = role == TRAIN
        default = torch_rank if is_train else NO_RANK
        return PhaseSink(
            self._outbox.queue("phases"),
            node=self._node,
            gpus=self._gpus if is_train else (),
            rank=default if rank is None else rank,
            role=role,
        )

    def attach(self, timer: Any, *, role: str = TRAIN) -> None:
        """Adds a sink to a timer's `event_sinks`; a second time changes nothing."""
        if all(known is not timer for known, _ in self._sinks):
            sink = self.phase_sink(role=role)
            timer.event_sinks.append(sink)
            self._sinks.append((timer, sink))

    def trajectory_sink(self) -> TrajectorySink:
        """A sink for the lifecycle of samples."""
        return TrajectorySink(self._outbox.queue("trajectories"), self._clock)

    def log(
        self, metrics: Mapping[str, Any], *, step: int | None = None, step_key: str | None = None
    ) -> None:
        """Records what a tracking call logs; see `metrics_record`."""
        try:
            record = metrics_record(metrics, ts=self._clock.wall(), step=step, step_key=step_key)
            self._outbox.put("metrics", record)
        except Exception:  # the barrier of a collector hook
            logger.debug("session.hook_failed", exc_info=True)

    def data_buffer(self, length: int) -> None:
        """Records how many samples wait for training."""
        try:
            self._outbox.put("data_buffer", DataBufferRecord(self._clock.wall(), int(length)))
        except Exception:  # the barrier of a collector hook
            logger.debug("session.hook_failed", exc_info=True)

    def engines(self, parts: Iterable[EnginePart]) -> None:
        """Tells all engines there are now; call it as often as you like, only a change is sent."""
        try:
            engines = merge_parts(parts)
            if engines != self._engines:
                self._engines = engines
                self._outbox.set_state("update_topology", engines)
        except Exception:  # the barrier of a collector hook
            logger.debug("session.hook_failed", exc_info=True)

    def router(self, address: str) -> None:
        """Tells where the router is."""
        if address != self._router:
            self._router = address
            self._outbox.set_state("set_router", address)

    def finish(self) -> bool:
        """Takes the sinks off their timers, hands over what waits and ends; may be called twice.

        Returns:
            Whether all records were handed over.
        """
        if self._is_finished:
            return True
        self._is_finished = True
        for timer, sink in self._sinks:
            if sink in timer.event_sinks:
                timer.event_sinks.remove(sink)
        is_done = self._outbox.stop(FINISH_S)
        if self._settle is not None:
            is_done = self._settle(FINISH_S) and is_done
        if not is_done:
            logger.warning("session.records_lost: the collector did not take the last records")
        if self._close is not None:
            self._close()
        return is_done


def torch_rank() -> int:
    """The rank of this process, -1 before torch.distributed is up; does not import torch."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return NO_RANK
    return int(distributed.get_rank())


def local_dashboard(config: CollectorConfig) -> Dashboard:
    """A collector, a GPU sampler and the producers all in this process, for trainers without Ray."""
    import socket  # noqa: PLC0415 - jobs on Ray need none of these in their trainers

    from collector.collector import DashboardCollector  # noqa: PLC0415
    from collector.gpus.sampler import GpuSampler  # noqa: PLC0415

    clock = SystemClock()
    node = socket.gethostname()
    collector = DashboardCollector(config, clock=clock)
    collector.start()
    sampler = GpuSampler(collector, node=node, every_s=config.gpu_sample_interval_s, clock=clock)
    sampler.start()

    def close() -> None:
        sampler.stop()
        collector.shutdown()

    return Dashboard(collector, node=node, gpus=visible_gpus(), clock=clock, close=close)


def visible_gpus() -> tuple[int, ...]:
    """The physical ids in CUDA_VISIBLE_DEVICES; none if it is not set or names them otherwise."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return tuple(int(name) for name in names) if all(name.isdecimal() for name in names) else ()


def ray_dashboard(config: CollectorConfig | None) -> Dashboard:
    """The producers of this process before the job's collector actor.

    Args:
        config: of the collector, which this process starts and ends; null: it is another one's.
    """
    from collector import ray_backend  # noqa: PLC0415 - only jobs on Ray load it

    clock = SystemClock()
    handle = None if config is None else ray_backend.start_collector(config)
    target = ray_backend.ray_target(clock, handle)
    return Dashboard(
        target,
        node=ray_backend.node_address(),
        gpus=ray_backend.gpu_ids(),
        clock=clock,
        close=None if handle is None else lambda: ray_backend.stop_collector(handle),
        settle=target.settle,
    )


_current: list[Dashboard] = []


def init_dashboard(args: Any, *, primary: bool = True, **_: Any) -> Dashboard | None:
    """Starts the dashboard of this process; a second call returns the first one's.

    Args:
        args: parsed arguments of the trainer, with the collector's flags.
        primary: whether this is the driver, which starts the collector; other processes find it by its name.

    Returns:
        The dashboard; null if the flag is off, or if the collector could not be started, which is logged.

    Raises:
        UsageError: the flags contradict each other.
    """
    if _current:
        return _current[0]
    if not getattr(args, "use_miles_dashboard", False):
        return None
    config = CollectorConfig.from_args(args) if primary else None
    try:
        if _has_ray():
            dashboard = ray_dashboard(config)
        elif config is not None:
            dashboard = local_dashboard(config)
        else:
            logger.warning("session.no_ray: without Ray only the primary process is recorded")
            return None
    except Exception:
        logger.exception("session.not_started: this run goes on without telemetry")
        return None
    _current.append(dashboard)
    atexit.register(finish_dashboard)
    return dashboard


def current_dashboard() -> Dashboard | None:
    """The dashboard of this process; null before `init_dashboard` and after `finish_dashboard`."""
    return _current[0] if _current else None


def dashboard_log(
    metrics: Mapping[str, Any], step: int | None = None, step_key: str | None = None, **_: Any
) -> None:
    """Records a tracking call; never raises, never waits."""
    if _current:
        _current[0].log(metrics, step=step, step_key=step_key)


def finish_dashboard() -> None:
    """Hands over the last records; on the driver, has the collector write them and ends it."""
    if _current:
        dashboard = _current.pop()
        atexit.unregister(finish_dashboard)
        try:
            dashboard.finish()
        except Exception:
            logger.exception("session.finish_failed")


def _has_ray() -> bool:
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())
