"""The collector as a named Ray actor, its samplers on the GPU nodes, and the way to Prometheus.

The only module that imports Ray. The actor is pinned to the driver's node, restarts when it dies, and its
calls are never executed twice: a call that was under way at its death is lost rather than repeated.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, PendingCallsLimitExceeded, RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from collector.collector import DashboardCollector
from collector.gpus.sampler import GpuSampler
from collector.remote_target import ChannelGoneError, RemoteTarget
from miles_report.runtime.clock import SystemClock
from miles_report.runtime.throttle import Throttle, ThrottledWarnings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from collector.config import CollectorConfig
    from miles_report.runtime.clock import Clock

logger = logging.getLogger(__name__)

COLLECTOR_NAME = "miles_dashboard_collector"
PROMETHEUS_NAME = "miles_prometheus_collector"

MOST_PENDING_CALLS = 64
"""Pushes of one process under way to the collector; more wait in its outbox, which is bounded."""

START_S = 60.0
SHUTDOWN_S = 30.0
RECREATE_S = 30.0
WARN_EVERY_S = 300.0


def start_collector(config: CollectorConfig) -> Any:
    """The collector of this job on this node, started if there is none; returns its handle.

    Raises:
        RayError: it did not start.
    """
    actor = (
        ray.remote(CollectorActor)
        .options(
            name=COLLECTOR_NAME,
            get_if_exists=True,
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=0,
            max_pending_calls=MOST_PENDING_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(
                ray.get_runtime_context().get_node_id(), soft=False
            ),
        )
        .remote(config)
    )
    ray.get(actor.ping.remote(), timeout=START_S)
    return actor


def stop_collector(handle: Any) -> bool:
    """Has the collector write what it holds, and ends it; False if it did not answer."""
    try:
        return bool(ray.get(handle.shutdown.remote(), timeout=SHUTDOWN_S))
    except RayError as cause:
        logger.error("ray_backend.shutdown_failed: %r", cause)  # noqa: TRY400 - the trace is Ray's
        return False
    finally:
        ray.kill(handle, no_restart=True)


def node_address() -> str:
    """How records name this node."""
    return str(ray.util.get_node_ip_address())


def gpu_ids() -> tuple[int, ...]:
    """Ids of the GPUs that Ray gave to this process; none on the driver."""
    try:
        return tuple(int(gpu) for gpu in ray.get_gpu_ids())
    except (ValueError, RayError, RuntimeError):  # UUIDs of MIG instances name no physical GPU
        return ()


def find_collector() -> ActorChannel | None:
    """The collector of this job; null if there is none, or no Ray."""
    if not ray.is_initialized():  # asking would start a cluster
        return None
    try:
        return ActorChannel(ray.get_actor(COLLECTOR_NAME))
    except (ValueError, RayError):
        return None


def ray_target(clock: Clock, handle: Any = None) -> RemoteTarget:
    """The collector actor as a target.

    Args:
        clock: for its limits.
        handle: of the actor; null: it is found by its name.
    """
    channel = None if handle is None else ActorChannel(handle)
    return RemoteTarget(clock, find_collector, channel=channel)


class ActorChannel:
    """The way to the actor; see `Channel`. Calls return nothing, so nothing of them is kept anywhere."""

    def __init__(self, handle: Any) -> None:
        """Knows the actor by its handle, which survives restarts."""
        self._handle = handle
        self._probe: Any = None

    def send(self, method: str, value: Any) -> bool:
        """Sends a call and forgets it."""
        try:
            getattr(self._handle, method).options(num_returns=0).remote(value)
        except PendingCallsLimitExceeded:
            return False
        return True

    def probe(self) -> None:
        """Sends a ping and keeps its reference; the last one, if the actor is not there to be pinged."""
        try:
            self._probe = self._handle.ping.remote()
        except PendingCallsLimitExceeded:
            return

    def life(self) -> str | None:
        """Looks whether the ping was answered."""
        if self._probe is None or not ray.wait([self._probe], timeout=0)[0]:
            return None
        try:
            return str(ray.get(self._probe, timeout=0.1).life)
        except RayActorError as cause:
            raise ChannelGoneError from cause
        except GetTimeoutError:
            return None

    def settle(self, timeout_s: float) -> bool:
        """Pings: the actor does the calls of one process in their order."""
        try:
            ping = self._handle.ping.remote()
        except PendingCallsLimitExceeded:
            return False
        if not ray.wait([ping], timeout=timeout_s)[0]:
            return False
        ray.get(ping, timeout=0.1)
        return True


class CollectorActor(DashboardCollector):
    """The collector with its fleet of samplers; runs inside the actor."""

    def __init__(self, config: CollectorConfig) -> None:
        """Starts at once."""
        clock = SystemClock()
        self._fleet = SamplerFleet(
            ray.get_runtime_context().current_actor, config.gpu_sample_interval_s, clock
        )
        super().__init__(
            config,
            clock=clock,
            forward=PrometheusForwarder(clock),
            after_flush=self._fleet.reconcile,
        )
        self.start()

    def shutdown(self) -> bool:
        """Ends the samplers, then as the collector does."""
        self._fleet.stop()
        return super().shutdown()

    def samplers(self) -> dict[str, bool | None]:
        """Node ids with a sampler; whether it finds GPUs, null while it did not say."""
        return self._fleet.states()


class SamplerActor:
    """Samples the GPUs of the node it runs on; runs inside an actor."""

    def __init__(self, collector: Any, every_s: float) -> None:
        """Starts at once."""
        clock = SystemClock()
        self._sampler = GpuSampler(
            ray_target(clock, collector), node=node_address(), every_s=every_s, clock=clock
        )
        self._sampler.start()

    def ping(self) -> bool:
        """Whether there are GPUs to sample."""
        return self._sampler.has_gpus


class SamplerFleet:
    """One sampler on every node with GPUs: `reconcile` starts those that are missing and forgets those of dead nodes."""

    def __init__(self, collector: Any, every_s: float, clock: Clock) -> None:
        """Prepares; nothing is started before `reconcile`.

        Args:
            collector: handle that the samplers push to.
            every_s: between readings.
            clock: limits how often a sampler that dies is started.
        """
        self._collector = collector
        self._every_s = every_s
        self._clock = clock
        self._samplers: dict[str, Any] = {}
        self._probes: dict[str, Any] = {}
        self._states: dict[str, bool | None] = {}
        self._starts: dict[str, Throttle] = {}
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)
        self._is_stopped = False

    def reconcile(self) -> None:
        """Looks at the cluster once; never waits for a sampler."""
        if self._is_stopped:
            return
        nodes = {
            node["NodeID"]
            for node in ray.nodes()
            if node["Alive"] and node["Resources"].get("GPU", 0) > 0
        }
        for node in set(self._samplers) - nodes:
            self._forget(node)
        for node in list(self._samplers):
            self._check(node)
        for node in sorted(nodes - set(self._samplers)):
            start = self._starts.setdefault(node, Throttle(every_s=RECREATE_S, clock=self._clock))
            if start.allow() is not None:
                self._start(node)

    def states(self) -> dict[str, bool | None]:
        """What the samplers said."""
        return dict(self._states)

    def stop(self) -> None:
        """Ends all samplers."""
        self._is_stopped = True
        for node in list(self._samplers):
            ray.kill(self._samplers[node], no_restart=True)
            self._forget(node)

    def _start(self, node: str) -> None:
        sampler = (
            ray.remote(SamplerActor)
            .options(
                num_cpus=0,
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote(self._collector, self._every_s)
        )
        self._samplers[node] = sampler
        self._states[node] = None
        self._probes[node] = sampler.ping.remote()

    def _check(self, node: str) -> None:
        """A sampler that died is forgotten, so that it is started again; the others are asked once more."""
        ready, _ = ray.wait([self._probes[node]], timeout=0)
        if not ready:
            return
        try:
            self._states[node] = ray.get(self._probes[node], timeout=0.1)
        except RayError as cause:
            self._warnings.warn("ray_backend.sampler_died", node=node, error=repr(cause))
            self._forget(node)
        else:
            self._probes[node] = self._samplers[node].ping.remote()

    def _forget(self, node: str) -> None:
        for known in (self._samplers, self._probes, self._states):
            known.pop(node, None)


class PrometheusForwarder:
    """Hands a snapshot to the trainer's Prometheus actor, if there is one."""

    def __init__(self, clock: Clock, *, name: str = PROMETHEUS_NAME) -> None:
        """Prepares.

        Args:
            clock: limits looking and warning.
            name: of the actor, whose `update` takes numbers by name.
        """
        self._name = name
        self._handle: Any = None
        self._looks = Throttle(every_s=RECREATE_S, clock=clock)
        self._warnings = ThrottledWarnings(logger, every_s=WARN_EVERY_S, clock=clock)

    def __call__(self, snapshot: Mapping[str, float]) -> None:
        """Sends it and forgets it."""
        if self._handle is None and self._looks.allow() is not None:
            try:
                self._handle = ray.get_actor(self._name)
            except ValueError:
                self._warnings.warn("ray_backend.no_prometheus", actor=self._name)
        if self._handle is None or not snapshot:
            return
        try:
            self._handle.update.options(num_returns=0).remote(dict(snapshot))
        except RayError as cause:
            self._handle = None
            self._warnings.warn("ray_backend.prometheus_failed", error=repr(cause))
