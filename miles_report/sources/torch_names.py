"""The names a torch file may call -> what stands in for them here.

Rule: whatever is not in this table becomes a placeholder. No entry imports a module by name, looks an
attribute up by name, or does work that is not bounded by the file's size.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from miles_report.sources import torch_numpy
from miles_report.sources.storages import BY_DTYPE, Budget, InvalidDataError, Storage, Storages
from miles_report.sources.torch_placeholder import Name, Placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Maker = Callable[[tuple[Any, ...]], Any]

_LATIN_1: Final = ("latin1", "latin-1", "iso-8859-1", "bytes")
_SLOT_BYTES = 64  # an upper bound of what one element of a set or dictionary takes
_KEY_DEPTH = 3  # tuples in tuples in a tuple used as a key
_LONGEST_KEY = 64  # elements of a tuple used as a key
_LONGEST_TEXT = 1 << 16  # characters or bytes of a key
_LARGEST_INTEGER = (1 << 61) - 2  # beyond it Python's hashes of integers repeat


def is_safe_key(key: Any, depth: int = _KEY_DEPTH) -> bool:
    """Whether hashing and comparing `key` is cheap.

    Deep tuples would overflow the C stack, long or shared ones and integers chosen to collide would
    take for ever.
    """
    kind: type = type(key)
    if kind is str or kind is bytes:
        return bool(len(key) <= _LONGEST_TEXT)
    if kind is int:
        return bool(-_LARGEST_INTEGER <= key <= _LARGEST_INTEGER)
    if kind is tuple or kind is frozenset:
        return (
            depth > 0 and len(key) <= _LONGEST_KEY and all(is_safe_key(k, depth - 1) for k in key)
        )
    return kind is float or kind is bool or key is None or isinstance(key, Placeholder | np.generic)


def check_keys(keys: Iterable[Any]) -> None:
    """Refuses keys of a dictionary or members of a set that are not safe to hash.

    Raises:
        InvalidDataError: one of them is a list, an array, or too large.
    """
    for key in keys:
        if not is_safe_key(key):
            raise InvalidDataError(
                "the key of a dictionary is not a plain, short value; save the data with plain keys"
            )


class TorchNames:
    """Makes the objects of one file."""

    def __init__(self, storages: Storages, budget: Budget) -> None:
        self._storages = storages
        self._budget = budget

    def _tensor_makers(self) -> dict[str, Maker]:
        return {
            "_rebuild_tensor": self._tensor,
            "_rebuild_tensor_v2": self._tensor,
            "_rebuild_tensor_v3": self._tensor_v3,
            "_rebuild_parameter": _first,
            "_rebuild_parameter_with_state": _first,
            "_rebuild_device_tensor_from_numpy": _first,
            "_rebuild_device_tensor_from_cpu_tensor": _first,
        }

    def makers(self) -> Mapping[tuple[str, str], Maker]:
        """By (module, name), from the arguments of a call to its result.

        Not an attribute: a cycle of the object and its methods would keep the file mapped until the next collection.
        """
        return {
            **{("torch._utils", name): maker for name, maker in self._tensor_makers().items()},
            ("torch._tensor", "_rebuild_from_type_v2"): self._from_type,
            ("torch", "Size"): _size,
            ("_codecs", "encode"): self._encode,
            ("collections", "OrderedDict"): self._ordered,
            ("collections", "defaultdict"): lambda args: self._dict(args[1:]),
            ("collections", "Counter"): self._dict,
            ("collections", "deque"): self._list,
            ("copyreg", "_reconstructor"): _new,
            ("copyreg", "__newobj__"): _new,
            ("copy_reg", "_reconstructor"): _new,
            **{
                (module, name): maker
                for module in ("builtins", "__builtin__")
                for name, maker in {
                    "set": self._set,
                    "frozenset": lambda args: frozenset(self._set(args)),
                    "bytearray": self._bytes,
                    "bytes": self._bytes,
                    "complex": _complex,
                }.items()
            },
            **torch_numpy.makers(self._budget),
        }

    def _tensor(self, args: tuple[Any, ...]) -> Any:
        """`(storage, offset, size, stride, requires_grad, hooks, bits)`; the last two may be absent."""
        storage, offset, size, stride, *more = args
        if not isinstance(storage, Storage):
            raise InvalidDataError("a tensor has no storage; don't use the file")
        array = self._storages.view(storage, storage.kind, offset, size, stride)
        bits = more[2] if len(more) > 2 else None
        return array if not bits else _with_bits(array, bits)

    def _tensor_v3(self, args: tuple[Any, ...]) -> Any:
        """`(storage, offset, size, stride, requires_grad, hooks, type, bits)` of newer types."""
        storage, offset, size, stride, _, _, kind, *_ = args
        known = BY_DTYPE.get(f"{kind.module}.{kind.qualname}") if isinstance(kind, Name) else None
        if known is None or not isinstance(storage, Storage):
            return Placeholder("torch", "Tensor", args)
        return self._storages.view(storage, known, offset, size, stride)

    def _from_type(self, args: tuple[Any, ...]) -> Any:
        """`(function, type, arguments, state)` of tensors with attributes, which are dropped."""
        function, _, inner, *_ = args
        maker = (
            self._tensor_makers().get(function.qualname)
            if isinstance(function, Name) and function.module == "torch._utils"
            else None
        )
        return maker(inner) if maker else Placeholder("torch", "Tensor", args)

    def _encode(self, args: tuple[Any, ...]) -> bytes:
        text, encoding, *_ = (*args, "utf-8")
        if not isinstance(text, str) or encoding not in _LATIN_1:
            raise InvalidDataError(
                "it asks for a text encoding that torch never uses; don't use the file"
            )
        self._budget.spend(len(text))
        return text.encode("latin-1")

    def _bytes(self, args: tuple[Any, ...]) -> bytes:
        match args:
            case ():
                return b""
            case (str(), str()):
                return self._encode(args)
            case (bytes() as data,):
                return data
        raise InvalidDataError("it makes bytes in a way that torch never uses; don't use the file")

    def _set(self, args: tuple[Any, ...]) -> set[Any]:
        members = self._list(args)
        check_keys(members)
        return set(members)

    def _list(self, args: tuple[Any, ...]) -> list[Any]:
        members = args[0] if args else ()
        if not isinstance(members, list | tuple | set | frozenset):
            raise InvalidDataError(
                "it fills a collection with something that is no list; don't use the file"
            )
        self._budget.spend(len(members) * _SLOT_BYTES)
        return list(members)

    def _dict(self, args: tuple[Any, ...]) -> dict[Any, Any]:
        pairs = args[0] if args else {}
        if isinstance(pairs, dict):
            self._budget.spend(len(pairs) * _SLOT_BYTES)
            return dict(pairs)
        items = self._list((pairs,))
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in items):
            raise InvalidDataError(
                "it fills a dictionary with something that is no pair; don't use the file"
            )
        check_keys(key for key, _ in items)
        return dict(items)

    def _ordered(self, args: tuple[Any, ...]) -> OrderedDict[Any, Any]:
        return OrderedDict(self._dict(args)) if args else OrderedDict()


def _with_bits(array: np.ndarray[Any, Any], bits: Any) -> Any:
    """Applies torch's lazy conjugate and negative bits."""
    if isinstance(bits, dict) and bits.get("conj"):
        array = np.conjugate(array)
    if isinstance(bits, dict) and bits.get("neg"):
        array = np.negative(array)
    array.flags.writeable = False
    return array


def _first(args: tuple[Any, ...]) -> Any:
    return args[0]


def _size(args: tuple[Any, ...]) -> tuple[Any, ...]:
    (sizes,) = args
    if not isinstance(sizes, tuple):
        raise InvalidDataError("the shape of a tensor makes no sense; don't use the file")
    return sizes


def _complex(args: tuple[Any, ...]) -> complex:
    if not all(type(part) in (int, float) for part in args):
        raise InvalidDataError("a complex number is not made of numbers; don't use the file")
    return complex(*args)


def _new(args: tuple[Any, ...]) -> Placeholder:
    """An object made without its constructor: `(class, ...)`."""
    kind, *rest = args
    if not isinstance(kind, Placeholder):
        raise InvalidDataError(
            "it makes an object of something that is no class; don't use the file"
        )
    return Placeholder(kind.module, kind.qualname, tuple(rest))
