"""What engine groups need from the place where engines live; Ray is one such place."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class EngineBackend(Protocol):
    """Creates, calls and kills the parts of engines. A part is one node of one engine; its handle is opaque here.

    A part has the methods `node_address()`, `find_ports(start, n)`, `init(...)`, `health_generate(timeout)`, `shutdown()`, and for
    groups that offload `release_memory_occupation()` and `resume_memory_occupation(tags)`.
    """

    def create(self, *, group: str, engine_rank: int, node_rank: int) -> Any:
        """Begins to create a part and returns its handle at once."""
        ...

    def call(self, handle: Any, method: str, **arguments: Any) -> Future[Any]:
        """Calls a method of a part; never waits."""
        ...

    def kill(self, handle: Any) -> None:
        """Ends a part, whatever it is doing; never waits. A part that is gone already is no error."""
        ...


def call_safely(backend: EngineBackend, handle: Any, method: str, **arguments: Any) -> Future[Any]:
    """A call whose failure to be sent is a failed call."""
    return attempt(lambda: backend.call(handle, method, **arguments))


def attempt(begin: Callable[[], Future[Any]]) -> Future[Any]:
    """A future whose beginning may fail: then it is a failed future."""
    try:
        return begin()
    except Exception as cause:  # noqa: BLE001 - foreign code: an error in a probe is a failed probe
        failed: Future[Any] = Future()
        failed.set_exception(cause)
        return failed


def error_of(future: Future[Any]) -> str | None:
    """What a call raised, in one line; null if it returned; a call that is under way has not answered."""
    if not future.done():
        return "no answer"
    if future.cancelled():
        return "cancelled"
    cause = future.exception()
    if cause is None:
        return None
    lines = [line for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1].strip() if lines else ''}"[:500]
