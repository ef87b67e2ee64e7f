"""The opcodes of pickle protocols 2 to 5 that are met too seldom to stand in the loop of `unpickle`.

Each takes the machine and the place after the opcode, and gives the place after its argument. Whatever
they can be made to raise by broken input is caught in `Unpickler.load`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from miles_report.sources.storages import InvalidDataError
from miles_report.sources.torch_names import check_keys
from miles_report.sources.torch_placeholder import Placeholder, as_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from miles_report.sources.torch_values import Values

_LONGEST_INTEGER_BYTES = 1024
_NEWEST_PROTOCOL = 5
_U32: Final = struct.Struct("<I").unpack_from
_U64: Final = struct.Struct("<Q").unpack_from
_I32: Final = struct.Struct("<i").unpack_from


class Machine:
    """The state of a pickle being read.

    Attributes:
        data: the whole pickle.
        values: makes what goes onto the stack.
        stack: values since the last open mark.
        outer: the stacks below each open mark.
        at: place of the current opcode, for errors; the length of the data, if they end too early.
    """

    __slots__ = ("at", "data", "outer", "stack", "values")

    def __init__(self, data: bytes, values: Values) -> None:
        self.data = data
        self.values = values
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.at = 0

    def end(self, start: int, n_bytes: int) -> int:
        """Where `n_bytes` from `start` end; they have to be there."""
        if n_bytes > len(self.data) - start:
            self.at = len(self.data)
            raise IndexError(start)
        return start + n_bytes

    def pop_mark(self) -> list[Any]:
        """Closes the last mark and gives the values since."""
        items, self.stack = self.stack, self.outer.pop()
        return items


def text(raw: bytes) -> str:
    """UTF-8 as text; half characters, which no reader after this one could write again, become U+FFFD."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pairs = raw.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace")


def memo_index(data: bytes, at: int, n_memoized: int) -> int | None:
    """The number under which the opcode at `at` memoizes; null if it does something else."""
    match data[at]:
        case 0x71:
            return data[at + 1]
        case 0x72:
            index: int = _U32(data, at + 1)[0]
            return index
        case 0x94:
            return n_memoized
    return None


def _proto(machine: Machine, at: int) -> int:
    if machine.data[at] > _NEWEST_PROTOCOL:
        raise InvalidDataError(
            f"it uses pickle protocol {machine.data[at]}; save it with protocol 2 to 5"
        )
    return at + 1


def _frame(machine: Machine, at: int) -> int:
    return machine.end(at, 8)


def _pop(machine: Machine, at: int) -> int:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.pop_mark()
    return at


def _drop_to_mark(machine: Machine, at: int) -> int:
    machine.pop_mark()
    return at


def _dup(machine: Machine, at: int) -> int:
    machine.stack.append(machine.stack[-1])
    return at


def _long(machine: Machine, at: int) -> int:
    return _integer(machine, at + 1, machine.data[at])


def _long4(machine: Machine, at: int) -> int:
    return _integer(machine, at + 4, _I32(machine.data, at)[0])


def _integer(machine: Machine, start: int, n_bytes: int) -> int:
    if not 0 <= n_bytes <= _LONGEST_INTEGER_BYTES:
        raise InvalidDataError("it holds an integer of absurd length; don't use the file")
    end = machine.end(start, n_bytes)
    machine.stack.append(int.from_bytes(machine.data[start:end], "little", signed=True))
    return end


def _short_text(machine: Machine, at: int) -> int:
    return _push_text(machine, at + 1, machine.data[at])


def _text8(machine: Machine, at: int) -> int:
    return _push_text(machine, at + 8, _U64(machine.data, at)[0])


def _text4(machine: Machine, at: int) -> int:
    return _push_text(machine, at + 4, _U32(machine.data, at)[0])


def _push_text(machine: Machine, start: int, n_bytes: int) -> int:
    end = machine.end(start, n_bytes)
    machine.stack.append(text(machine.data[start:end]))
    return end


def _short_bytes(machine: Machine, at: int) -> int:
    return _push_bytes(machine, at + 1, machine.data[at])


def _bytes4(machine: Machine, at: int) -> int:
    return _push_bytes(machine, at + 4, _U32(machine.data, at)[0])


def _bytes8(machine: Machine, at: int) -> int:
    return _push_bytes(machine, at + 8, _U64(machine.data, at)[0])


def _push_bytes(machine: Machine, start: int, n_bytes: int) -> int:
    end = machine.end(start, n_bytes)
    machine.stack.append(machine.data[start:end])
    return end


def _memoize(machine: Machine, at: int) -> int:
    machine.values.memo[len(machine.values.memo)] = machine.stack[-1]
    return at


def _tuple2(machine: Machine, at: int) -> int:
    machine.stack[-2:] = [machine.values.tuple([machine.stack[-2], machine.stack[-1]])]
    return at


def _tuple3(machine: Machine, at: int) -> int:
    stack = machine.stack
    stack[-3:] = [machine.values.tuple([stack[-3], stack[-2], stack[-1]])]
    return at


def _list(machine: Machine, at: int) -> int:
    items = machine.pop_mark()
    made: list[Any] = []
    machine.values.extend(made, items)
    machine.stack.append(made)
    return at


def _dict(machine: Machine, at: int) -> int:
    items = machine.pop_mark()
    made: dict[Any, Any] = {}
    machine.values.update(made, items)
    machine.stack.append(made)
    return at


def _set_item(machine: Machine, at: int) -> int:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.values.update(machine.stack[-1], [key, value])
    return at


def _empty_set(machine: Machine, at: int) -> int:
    machine.stack.append(set())
    return at


def _add_items(machine: Machine, at: int) -> int:
    items = machine.pop_mark()
    if type(machine.stack[-1]) is not set:
        raise InvalidDataError("it adds to something that is not a set; don't use the file")
    machine.values.extend(machine.stack[-1], items)
    return at


def _frozenset(machine: Machine, at: int) -> int:
    items = machine.pop_mark()
    check_keys(items)
    made = frozenset(items)
    machine.values.adopt(made, items)
    machine.stack.append(made)
    return at


def _global(machine: Machine, at: int) -> int:
    module, at = _line(machine, at)
    qualname, at = _line(machine, at)
    machine.stack.append(machine.values.name(module, qualname))
    return at


def _stack_global(machine: Machine, at: int) -> int:
    qualname, module = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.values.name(module, qualname))
    return at


def _line(machine: Machine, at: int) -> tuple[str, int]:
    end = machine.data.find(b"\n", at)
    if end < 0:
        machine.at = len(machine.data)
        raise IndexError(at)
    return text(machine.data[at:end]), end + 1


def _inst(machine: Machine, at: int) -> int:
    args = tuple(machine.pop_mark())
    at = _global(machine, at)
    machine.stack[-1] = machine.values.call(machine.stack[-1], args)
    return at


def _obj(machine: Machine, at: int) -> int:
    name, *args = machine.pop_mark()
    machine.stack.append(machine.values.call(name, tuple(args)))
    return at


def _newobj(machine: Machine, at: int) -> int:
    args, name = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.values.call(name, args))
    return at


def _newobj_ex(machine: Machine, at: int) -> int:
    kwargs, args, name = machine.stack.pop(), machine.stack.pop(), machine.stack.pop()
    made = machine.values.call(name, args)
    if type(made) is Placeholder:
        made.kwargs = as_state(kwargs)
    machine.stack.append(made)
    return at


def _build(machine: Machine, at: int) -> int:
    state = machine.stack.pop()
    machine.stack[-1] = machine.values.build(machine.stack[-1], state)
    return at


def _extension(machine: Machine, at: int, n_bytes: int) -> int:
    end = machine.end(at, n_bytes)
    code = int.from_bytes(machine.data[at:end], "little")
    machine.stack.append(machine.values.name("copyreg extension", str(code)))
    return end


def _extension1(machine: Machine, at: int) -> int:
    return _extension(machine, at, 1)


def _extension2(machine: Machine, at: int) -> int:
    return _extension(machine, at, 2)


def _extension4(machine: Machine, at: int) -> int:
    return _extension(machine, at, 4)


RARER: Final[dict[int, Callable[[Machine, int], int]]] = {
    0x80: _proto, 0x95: _frame, 0x94: _memoize,
    0x30: _pop, 0x31: _drop_to_mark, 0x32: _dup,
    0x8A: _long, 0x8B: _long4,
    0x8C: _short_text, 0x8D: _text8, 0x55: _short_text, 0x54: _text4,
    0x43: _short_bytes, 0x42: _bytes4, 0x8E: _bytes8, 0x96: _bytes8,
    0x86: _tuple2, 0x87: _tuple3, 0x6C: _list, 0x64: _dict, 0x73: _set_item,
    0x8F: _empty_set, 0x90: _add_items, 0x91: _frozenset,
    0x63: _global, 0x93: _stack_global,
    0x69: _inst, 0x6F: _obj, 0x81: _newobj, 0x92: _newobj_ex, 0x62: _build,
    0x82: _extension1, 0x83: _extension2, 0x84: _extension4,
}  # fmt: skip
