"""Blocking functions as futures, on daemon threads: one that never returns holds nobody, not even the end of the process."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def in_thread(function: Callable[[], Any], *, name: str = "faulttol-transfer") -> Future[Any]:
    """Runs a function on a thread of its own; `ThreadPoolExecutor` would wait for it at the end of the process."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as cause:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(cause)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
