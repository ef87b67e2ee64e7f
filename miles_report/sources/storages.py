"""Tensor storages of a container -> numpy arrays, as views of the memory map wherever possible.

Rule: every element that a view can reach lies inside its storage, and no view is copied. Only types
that numpy lacks are converted (bfloat16 and float8 to float32, complex32 to complex64), once a storage
and never once a view, so that memory is bounded by the file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from miles_report.sources.torch_placeholder import Name, Placeholder, shown
from miles_report.sources.torch_zip import STORED

if TYPE_CHECKING:
    from collections.abc import Callable

    from miles_report.sources.torch_zip import Archive

Array = np.ndarray[Any, Any]


class InvalidDataError(ValueError):
    """The file contradicts itself; the message is one sentence for the reader."""


class Budget:
    """Bytes that copies and overlapping views of one file may still claim."""

    def __init__(self, limit_bytes: int) -> None:
        self._left = limit_bytes

    def spend(self, n_bytes: int) -> None:
        """Takes `n_bytes`, which may be huge.

        Raises:
            InvalidDataError: the file claims more than a file of its size should need.
        """
        self._left -= n_bytes
        if self._left < 0:
            raise InvalidDataError(
                "it expands to far more data than the file holds; don't use it, it looks made to exhaust memory"
            )


@dataclass(frozen=True, slots=True)
class ElementType:
    """How a torch type lies in the file, and the function that makes a numpy type of it, if it isn't one."""

    stored: np.dtype[Any]
    convert: Callable[[Array], Array] | None = None


def _bfloat16(bits: Array) -> Array:
    wide = bits.astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def _complex32(pairs: Array) -> Array:
    return pairs.view(np.float16).astype(np.float32).view(np.complex64)


def _bool(codes: Array) -> Array:
    return codes.view(np.bool_) if codes.max(initial=0) <= 1 else codes != 0


def _float8(
    exponent_bits: int, bias: int, *, finite: bool, unsigned_zero: bool
) -> Callable[[Array], Array]:
    """Decoder of an 8-bit float through a table of its 256 values.

    `finite`: no infinities, only all-ones is NaN (fn). `unsigned_zero`: 0x80 is the only NaN (fnuz).
    """
    mantissa_bits = 7 - exponent_bits
    code = np.arange(256)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    size = np.where(
        exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias)
    )
    if unsigned_zero:
        size[0x80] = np.nan
    elif finite:
        size[[0x7F, 0xFF]] = np.nan
    else:
        top = exponent == (1 << exponent_bits) - 1
        size[top] = np.where(fraction[top] == 0, np.inf, np.nan)
    table = np.where(code & 0x80, -size, size).astype(np.float32)
    return lambda codes: table[codes]


def _float8_e8m0(codes: Array) -> Array:
    table = np.append(2.0 ** (np.arange(255) - 127), np.nan).astype(np.float32)
    return table[codes]


_U1: Final = np.dtype(np.uint8)

# By the name of the type in torch ("torch.bfloat16") and of its storage class ("torch.BFloat16Storage").
_TYPES: Final = {
    ("float64", "DoubleStorage"): ElementType(np.dtype(np.float64)),
    ("float32", "FloatStorage"): ElementType(np.dtype(np.float32)),
    ("float16", "HalfStorage"): ElementType(np.dtype(np.float16)),
    ("bfloat16", "BFloat16Storage"): ElementType(np.dtype(np.uint16), _bfloat16),
    ("int64", "LongStorage"): ElementType(np.dtype(np.int64)),
    ("int32", "IntStorage"): ElementType(np.dtype(np.int32)),
    ("int16", "ShortStorage"): ElementType(np.dtype(np.int16)),
    ("int8", "CharStorage"): ElementType(np.dtype(np.int8)),
    ("uint8", "ByteStorage"): ElementType(_U1),
    ("bool", "BoolStorage"): ElementType(_U1, _bool),
    ("complex64", "ComplexFloatStorage"): ElementType(np.dtype(np.complex64)),
    ("complex128", "ComplexDoubleStorage"): ElementType(np.dtype(np.complex128)),
    ("complex32", "ComplexHalfStorage"): ElementType(
        np.dtype([("real", np.float16), ("imag", np.float16)]), _complex32
    ),
    ("uint16", ""): ElementType(np.dtype(np.uint16)),
    ("uint32", ""): ElementType(np.dtype(np.uint32)),
    ("uint64", ""): ElementType(np.dtype(np.uint64)),
    ("float8_e4m3fn", ""): ElementType(_U1, _float8(4, 7, finite=True, unsigned_zero=False)),
    ("float8_e5m2", ""): ElementType(_U1, _float8(5, 15, finite=False, unsigned_zero=False)),
    ("float8_e4m3fnuz", ""): ElementType(_U1, _float8(4, 8, finite=True, unsigned_zero=True)),
    ("float8_e5m2fnuz", ""): ElementType(_U1, _float8(5, 16, finite=True, unsigned_zero=True)),
    ("float8_e8m0fnu", ""): ElementType(_U1, _float8_e8m0),
}

BY_DTYPE: Final = {f"torch.{dtype}": kind for (dtype, _), kind in _TYPES.items()}
BY_STORAGE: Final = {storage: kind for (_, storage), kind in _TYPES.items() if storage}
_NATIVE: Final = "<" if sys.byteorder == "little" else ">"
_BYTES: Final = ElementType(_U1)
_PERSISTENT_ID: Final = [str, Name, str, str, int]
_STORAGE_MODULES: Final = ("torch", "torch.storage", "torch.cuda")


class Storage(Placeholder):
    """A range of the file that tensors are views of; where no tensor is made of it, a placeholder.

    Attributes:
        kind: type of its elements; raw bytes for an untyped storage.
    """

    __slots__ = ("_arrays", "_buffer", "_n_bytes", "_order", "_start", "kind")

    def __init__(
        self,
        name: Name,
        buffer: Any,
        extent: tuple[int, int],
        *,
        kind: ElementType,
        order: Literal["<", ">"],
    ) -> None:
        super().__init__(name.module, name.qualname)
        self.kind = kind
        self._buffer = buffer
        self._start, self._n_bytes = extent
        self._order: Literal["<", ">"] = order
        self._arrays: dict[int, Array] = {}

    def __reduce__(self) -> tuple[type[Placeholder], tuple[str, str]]:
        return Placeholder, (self.module, self.qualname)

    def array_of(self, kind: ElementType) -> Array:
        """All elements as `kind`, one-dimensional and read-only; the same array for every view."""
        array = self._arrays.get(id(kind))
        if array is None:
            array = self._arrays[id(kind)] = self._make(kind)
        return array

    def _make(self, kind: ElementType) -> Array:
        dtype = kind.stored if self._order == _NATIVE else kind.stored.newbyteorder(self._order)
        count = self._n_bytes // dtype.itemsize
        buffer, start = self._buffer, self._start
        if start % dtype.alignment:
            buffer, start = bytes(memoryview(buffer)[start : start + self._n_bytes]), 0
        array: Array = np.frombuffer(buffer, dtype, count, start) if count else np.empty(0, dtype)
        if dtype != kind.stored:
            array = array.astype(kind.stored)
        if kind.convert is not None:
            array = kind.convert(array)
        array.flags.writeable = False
        return array


class Storages:
    """The storages of one container, by the keys that its pickle uses."""

    def __init__(self, archive: Archive, budget: Budget) -> None:
        self._archive = archive
        self._budget = budget
        self._loaded: dict[tuple[str, str], Storage] = {}
        big = "byteorder" in archive.entries and archive.read("byteorder").strip() == b"big"
        self._order: Literal["<", ">"] = ">" if big else "<"

    def load(self, persistent_id: Any) -> Storage:
        """The storage of a persistent id: `("storage", type, key, device, number of elements)`.

        The device is not looked at, so that files saved on a GPU read like any other.

        Raises:
            InvalidDataError: the id has another form, its type is not known, or the container holds
                no such storage or fewer bytes.
        """
        shape = [type(part) for part in persistent_id] if type(persistent_id) is tuple else []
        if shape != _PERSISTENT_ID or persistent_id[0] != "storage" or persistent_id[4] < 0:
            raise InvalidDataError(
                "it refers to something outside that is no tensor storage; don't use it"
            )
        _, kind, key, _, count = persistent_id
        known = self._loaded.get((key, kind.qualname))
        if known is None:
            known = self._loaded[key, kind.qualname] = self._open(kind, key, count)
        return known

    def _open(self, name: Name, key: str, count: int) -> Storage:
        kind = _BYTES if name.qualname == "UntypedStorage" else BY_STORAGE.get(name.qualname)
        if kind is None or name.module not in _STORAGE_MODULES:
            raise InvalidDataError(
                f"it holds a tensor of a type that is not known here ({name!r}); save it as float32"
            )
        entry = self._archive.entries.get(f"data/{key}")
        n_bytes = count * kind.stored.itemsize
        if entry is None or n_bytes > entry.size:
            raise InvalidDataError(
                f"the data of tensor storage {shown(key)} are missing or too short; copy the file again"
            )
        if entry.method == STORED:
            return Storage(
                name, self._archive.map, (entry.start, n_bytes), kind=kind, order=self._order
            )
        data = self._archive.read(f"data/{key}")
        return Storage(name, data, (0, n_bytes), kind=kind, order=self._order)

    def view(
        self, storage: Storage, kind: ElementType, offset: Any, size: Any, stride: Any
    ) -> Array:
        """A tensor: a view of the storage's elements, with torch's offset, size and stride in elements.

        Raises:
            InvalidDataError: a figure is negative or no integer, an element lies outside the storage,
                or the views of this file together are far larger than the file.
        """
        elements = storage.array_of(kind)
        if not _are_counts((offset,), size, stride) or len(size) != len(stride):
            raise InvalidDataError("the shape of a tensor makes no sense; don't use the file")
        n_elements = size[0] if len(size) == 1 else prod(size)
        self._budget.spend(n_elements * elements.itemsize)
        if n_elements == 0:
            nothing: Array = np.empty(size, elements.dtype)
            nothing.flags.writeable = False
            return nothing
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if last >= len(elements):
            raise InvalidDataError("a tensor reaches outside its storage; don't use the file")
        if stride == (1,):
            return elements[offset : offset + n_elements]
        item = elements.itemsize
        return np.ndarray(
            size,
            elements.dtype,
            buffer=elements,
            offset=offset * item,
            strides=tuple(step * item for step in stride),
        )


def _are_counts(*groups: Any) -> bool:
    """Whether all groups are tuples of non-negative integers."""
    for group in groups:
        if type(group) is not tuple:
            return False
        for number in group:
            if type(number) is not int or number < 0:
                return False
    return True
