"""A file of `torch.save` -> plain Python values and numpy arrays, without torch.

The container is a zip (`torch_zip`) of one pickle (`unpickle`) and of the raw storages of its tensors
(`storages`). Whatever the file holds, nothing from it is imported or called, and all that can go wrong is a
SourceError.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from miles_report.errors import SourceError
from miles_report.sources.storages import Budget, Storages
from miles_report.sources.torch_names import TorchNames
from miles_report.sources.torch_placeholder import Name, Placeholder
from miles_report.sources.torch_values import Values
from miles_report.sources.torch_zip import open_archive
from miles_report.sources.unpickle import Unpickler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Name", "Placeholder", "load_container"]

_PICKLE: Final = "data.pkl"
_SLACK_BYTES: Final = 256 << 20  # what copies and views may take in a small file,
_SLACK_RATIO: Final = 16  # and in a large one, as a multiple of its size


def load_container(
    path: Path,
    *,
    name: str | None = None,
    skip: frozenset[str] = frozenset(),
    arrays: bool = False,
) -> Any:
    """Reads one torch file.

    Tensors, parameters among them, are read-only numpy arrays: views of a memory map of the file,
    which lives as long as they do, with torch's shape and strides (stride 0 of expanded tensors too);
    shared storages stay shared. The file must not be cut short meanwhile (a new file renamed over it
    is fine): the system ends a process that looks at a map whose file is gone. bfloat16 and float8 become float32, complex32 becomes complex64; numpy arrays and
    scalars stay such, one-dimensional arrays of objects become lists. What a tensor carries besides its values
    (device, gradient, hooks) is dropped. Lists, tuples, dicts, sets and OrderedDicts stay such; defaultdict and
    Counter become dict, deque becomes list, bytearray becomes bytes; half surrogate pairs in text become
    U+FFFD. Objects of every other class are a `Placeholder`, names of classes and functions a `Name`.

    Args:
        path: the file.
        name: what errors call it, normally its path inside the dump; `path` if null.
        skip: keys and attributes whose values are dropped as soon as they are read; a placeholder
            stands in their place.
        arrays: long lists of numbers come as arrays, float64 if all are floats and int64 if all are
            integers; several times faster and smaller. Short or mixed lists stay lists.

    Returns:
        What was saved.

    Raises:
        SourceError: the file cannot be read, is cut off, no torch container, or made to do harm.
    """
    called = str(path) if name is None else name
    archive = open_archive(path, called)
    budget = Budget(_SLACK_BYTES + _SLACK_RATIO * len(archive.map))
    storages = Storages(archive, budget)
    values = Values(TorchNames(storages, budget).makers(), storages.load, budget, skip)
    try:
        data = archive.read(_PICKLE)
    except MemoryError as error:
        raise SourceError(
            called, _PICKLE, "there is not enough memory for it; read it elsewhere"
        ) from error
    with _uncollected():
        return Unpickler(data, values, arrays=arrays).load(called, _PICKLE)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without cyclic garbage collection: what is being made is all in use, so looking through it is lost time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
