"""The trainer's side: what every rank does before a weight update, and an updater that sends weights to engines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from faulttol.recovery import UpdatableEngines
    from faulttol.transfers import TransferPool, TransferReport


def before_weight_update(  # noqa: PLR0917 - as few words at the call as in the docs
    args: Any,
    rank: int,
    recover: Callable[[], object],
    updatable: Callable[[], UpdatableEngines],
    connect: Callable[[Sequence[Any]], object],
    connected: Callable[[], object],
    barrier: Callable[[], object] = lambda: None,
) -> bool:
    """Brings dead engines back and connects the updater to new ones; call it on every rank before each weight update.

    Args:
        args: parsed arguments; `use_fault_tolerance` decides whether anything is recovered.
        rank: of this process.
        recover: `recover_updatable_engines` of the fleet; called on rank 0 only, and only with `--use-fault-tolerance`.
        updatable: `updatable_engines` of the fleet; called on every rank.
        connect: of the updater; called when there are new engines.
        connected: `engines_are_connected` of the fleet; called on rank 0, after every rank connected.
        barrier: waits for all ranks.

    Returns:
        Whether the updater was connected anew.
    """
    if rank == 0 and getattr(args, "use_fault_tolerance", False):
        recover()
    barrier()
    now = updatable()
    if now.has_new_engines:
        connect(now.engines)
    barrier()
    if now.has_new_engines and rank == 0:
        connected()
    return now.has_new_engines


class WeightUpdater:
    """Sends weights to engines one by one, side by side, through a transfer pool.

    Stands in for a trainer's own updater where weights are small or only named (tests, the example).
    """

    def __init__(self, pool: TransferPool, send: Callable[[Any, Any], Future[Any]]) -> None:
        """Prepares; nobody is connected.

        Args:
            pool: bounds the transfers.
            send: (engine, weights) begins a transfer.
        """
        self._pool = pool
        self._send = send
        self._engines: tuple[Any, ...] = ()

    @property
    def engines(self) -> tuple[Any, ...]:
        """Those it knows."""
        return self._engines

    def connect(self, engines: Sequence[Any]) -> None:
        """Knows these from now on, and no others."""
        self._engines = tuple(engines)

    def update(self, weights: Any) -> TransferReport:
        """Sends the weights to all engines it knows."""
        return self._pool.run(
            {
                f"engine {place}": partial(self._send, engine, weights)
                for place, engine in enumerate(self._engines)
            }
        )
