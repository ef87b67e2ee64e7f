"""What the pickles of numpy arrays, types and scalars become: checked views of their bytes.

Rule: numpy's own unpickling functions are never reached. A type is looked up in a pattern that knows no
object and no structure, and a buffer has to be exactly as long as its shape and type say.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from miles_report.sources.storages import Array, Budget, InvalidDataError
from miles_report.sources.torch_placeholder import Name, Placeholder, Unfinished, shown

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN_TYPE: Final = re.compile(
    r"[<>|=]?(b1|i[1248]|u[1248]|f2|f4|f8|f16|c8|c16|c32|[SU]\d{1,9}|[mM]8(\[\d{0,6}\w{1,2}\])?)"
)
_OBJECT_TYPE: Final = re.compile(r"\|?O8?")
_TIME_UNITS: Final = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
_LAST_CHARACTER = 0x10FFFF
_MULTIARRAY: Final = ("numpy._core.multiarray", "numpy.core.multiarray")
_NUMERIC: Final = ("numpy._core.numeric", "numpy.core.numeric")
_ARRAYS: Final = ("ndarray", "memmap", "matrix")


class _Type(Unfinished):
    """A numpy type as the file names it.

    Attributes:
        dtype: the type, null if it is one for objects or structures.
        is_object: it is the type for Python objects.
    """

    __slots__ = ("dtype", "is_object")

    def __init__(self, args: tuple[Any, ...]) -> None:
        super().__init__("numpy", "dtype", args)
        text = args[0] if args and isinstance(args[0], str) else ""
        self.dtype = _dtype(text) if _PLAIN_TYPE.fullmatch(text) else None
        self.is_object = _OBJECT_TYPE.fullmatch(text) is not None

    def finish(self, state: Any) -> _Type:
        match state:
            case (int(), "<" | ">" | "=" as order, *_, (_, (unit, int() as factor, *_))):
                self._set_unit(unit, factor, order)
            case (int(), "<" | ">" | "=" as order, *_) if self.dtype is not None:
                self.dtype = self.dtype.newbyteorder(order)
        return self

    def _set_unit(self, unit: Any, factor: int, order: str) -> None:
        text = unit.decode("latin-1") if isinstance(unit, bytes) else unit
        if self.dtype is None or text not in _TIME_UNITS or not 0 < factor < 10**6:
            raise InvalidDataError("a numpy time type makes no sense; don't use the file")
        self.dtype = _dtype(f"{order}{self.dtype.kind}8[{factor}{text}]")


class _Array(Unfinished):
    """An array between its creation and the arrival of its contents."""

    __slots__ = ("_budget",)

    def __init__(self, budget: Budget) -> None:
        super().__init__("numpy", "ndarray")
        self._budget = budget

    def finish(self, state: Any) -> Any:
        match state:
            case (int(), tuple() as shape, _Type() as kind, fortran, contents) | (
                tuple() as shape,
                _Type() as kind,
                fortran,
                contents,
            ):
                pass
            case _:
                raise InvalidDataError(
                    "a numpy array is described in an unknown way; don't use the file"
                )
        if kind.is_object and isinstance(contents, list) and len(shape) <= 1:
            if len(contents) != prod(shape):
                raise InvalidDataError(
                    "a numpy array of objects has not the size it says; don't use the file"
                )
            self._budget.spend(8 * len(contents))
            return list(contents) if shape else contents[0]
        if kind.dtype is None and isinstance(contents, list):
            return super().finish(state)
        return array_of(contents, kind, shape, "F" if fortran else "C", self._budget)


def array_of(contents: Any, kind: Any, shape: Any, order: Any, budget: Budget) -> Array:
    """A read-only array over `contents`.

    Args:
        contents: the bytes of all elements.
        kind: what the file's name of the type became.
        shape: number of elements along each axis.
        order: "C" or "F".
        budget: pays for what has to be copied.

    Raises:
        InvalidDataError: the type is not a plain one, or the bytes are not as many as shape and type say.
    """
    if not isinstance(kind, _Type) or kind.dtype is None:
        raise InvalidDataError(
            "a numpy array holds objects or structures as raw bytes; don't use the file"
        )
    if type(shape) is not tuple or not all(type(n) is int and n >= 0 for n in shape):
        raise InvalidDataError("the shape of a numpy array makes no sense; don't use the file")
    dtype, count = kind.dtype, prod(shape)
    if not isinstance(contents, bytes) or len(contents) != count * dtype.itemsize:
        raise InvalidDataError("a numpy array has not the size it says; don't use the file")
    budget.spend(count if dtype.itemsize else count * 8)
    flat: Array = (
        np.frombuffer(contents, dtype, count)
        if count and dtype.itemsize
        else np.zeros(count, dtype)
    )
    if not dtype.isnative:
        budget.spend(len(contents))
        flat = flat.astype(dtype.newbyteorder("="))
    flat = _sound(flat)
    flat.flags.writeable = False
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _sound(flat: Array) -> Array:
    """The same array without values that no writer makes and that trip readers."""
    if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
        return np.not_equal(flat.view(np.uint8), 0, dtype=np.bool_)
    is_text = flat.dtype.kind == "U" and flat.dtype.itemsize
    if is_text and flat.view(np.uint32).max(initial=0) > _LAST_CHARACTER:
        raise InvalidDataError(
            "a numpy array of text holds what is no character; don't use the file"
        )
    return flat


def makers(budget: Budget) -> dict[tuple[str, str], Callable[[tuple[Any, ...]], Any]]:
    """What stands in for numpy's functions: by (module, name), from arguments to result."""

    def reconstruct(args: tuple[Any, ...]) -> Any:
        kind = args[0]
        if isinstance(kind, Name) and kind.module.startswith("numpy") and kind.qualname in _ARRAYS:
            return _Array(budget)
        return Placeholder(getattr(kind, "module", "?"), getattr(kind, "qualname", "?"), args[1:])

    def scalar(args: tuple[Any, ...]) -> Any:
        kind, contents = args
        if isinstance(kind, _Type) and kind.is_object:
            return contents
        return array_of(contents, kind, (1,), "C", budget)[0]

    def from_buffer(args: tuple[Any, ...]) -> Any:
        contents, kind, shape, order, *more = args
        made = array_of(contents, kind, shape, order, budget)
        axes = more[0] if more else None
        return made if axes is None else made.transpose(axes)

    found: dict[tuple[str, str], Callable[[tuple[Any, ...]], Any]] = {("numpy", "dtype"): _Type}
    found |= {(module, "_reconstruct"): reconstruct for module in _MULTIARRAY}
    found |= {(module, "scalar"): scalar for module in _MULTIARRAY}
    found |= {(module, "_frombuffer"): from_buffer for module in _NUMERIC}
    return found


def _dtype(text: str) -> np.dtype[Any]:
    try:
        return np.dtype(text)
    except TypeError as error:
        raise InvalidDataError(
            f"{shown(text)} is not a numpy type here; save it as float64"
        ) from error
