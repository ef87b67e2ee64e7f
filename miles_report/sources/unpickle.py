"""A pickle -> plain Python values, through a machine of our own that cannot call anything.

Python's unpickler calls whatever a pickle tells it to and can be made to allocate without limit: a memo
index alone makes it reserve 64 GB. This one knows every opcode of protocols 2 to 5 and takes each as data. A
name is a name; calling it looks it up in the table of `torch_names` and otherwise gives a placeholder. Long runs
of numbers, most of any file, are decoded in bulk (`torch_numbers`), so that it is faster than the
unpickler of Python under torch.

Guaranteed, whatever the bytes: nothing is imported or called; no allocation is larger than what the file
itself still holds; the result is no deeper than `DEEPEST` levels and holds no cycle of lists or
dictionaries; time grows with the file's length, short of keys chosen to collide in a hash table.
"""

from __future__ import annotations

import struct
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from miles_report.errors import SourceError
from miles_report.sources.storages import InvalidDataError
from miles_report.sources.torch_numbers import STARTS, Numbers
from miles_report.sources.torch_opcodes import RARER, Machine, memo_index, text
from miles_report.sources.torch_placeholder import Unfinished

if TYPE_CHECKING:
    from miles_report.sources.torch_values import Values

MOST_OPCODES: Final = (
    20_000_000  # outside runs of numbers; a step of 10,000 samples has about a million
)
SHORTEST_ARRAY: Final = 16  # numbers from which a list may become an array
_LONGEST_OPCODE = 9  # bytes, arguments of fixed length included

_U16: Final = struct.Struct("<H").unpack_from
_U32: Final = struct.Struct("<I").unpack_from

# What the machine's own steps raise on a stream that makes no sense.
_BROKEN: Final = (
    IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError, struct.error, RecursionError
)  # fmt: skip


class Unpickler:
    """Reads one pickle.

    Args:
        data: the whole pickle.
        values: makes the values.
        arrays: lists of `SHORTEST_ARRAY` and more floats only, or integers only, become float64 or
            int64 arrays.
    """

    def __init__(self, data: bytes, values: Values, *, arrays: bool = False) -> None:
        self._machine = Machine(data, values)
        self._numbers = Numbers(data)
        self._arrays = arrays

    def load(self, name: str, part: str) -> Any:
        """The one value of the pickle.

        Args:
            name: what errors call the file.
            part: what errors call the pickle inside it.

        Raises:
            SourceError: the pickle is cut off, broken, or made to do harm; `at` tells the byte.
        """
        try:
            return self._run()
        except InvalidDataError as error:
            raise SourceError(name, self._place(part), str(error)) from error
        except MemoryError as error:
            raise SourceError(
                name, self._place(part), "there is not enough memory for it; read it elsewhere"
            ) from error
        except _BROKEN as error:
            reason = (
                "it ends in the middle of a value; it was cut off, so wait until it is written or copy it again"
                if self._is_cut_off()
                else "it holds what no pickle can hold; the file is damaged, so copy it again"
            )
            raise SourceError(name, self._place(part), reason) from error

    def _is_cut_off(self) -> bool:
        data, at = self._machine.data, self._machine.at
        return at >= len(data) or (at + _LONGEST_OPCODE > len(data) and not data.endswith(b"."))

    def _place(self, part: str) -> str:
        return f"{part} byte {self._machine.at}"

    def _run(self) -> Any:  # noqa: C901, PLR0912, PLR0915 - one loop, and the common opcodes stand in it for speed
        machine, values, numbers = self._machine, self._machine.values, self._numbers
        data, memo, rarer = machine.data, values.memo, RARER
        stack, outer = machine.stack, machine.outer
        at = 0
        for _ in repeat(None, MOST_OPCODES):
            machine.at = at
            op = data[at]
            at += 1
            if op == 0x68:  # h: BINGET
                stack.append(memo[data[at]])
                at += 1
            elif op == 0x71:  # q: BINPUT
                memo[data[at]] = stack[-1]
                at += 1
            elif op == 0x72:  # r: LONG_BINPUT
                memo[_U32(data, at)[0]] = stack[-1]
                at += 4
            elif op == 0x4B:  # K: BININT1
                stack.append(data[at])
                at += 1
            elif op == 0x28:  # (: MARK
                if data[at] in STARTS:
                    items, at = numbers.read(at)
                    if data[at] == 0x65 and type(stack[-1]) is list:  # e: APPENDS
                        if id(stack[-1]) in values.sealed:
                            raise InvalidDataError(
                                "a list grows inside another one; don't use the file"
                            )
                        stack[-1].extend(items)
                        at += 1
                        continue
                else:
                    items = []
                outer.append(stack)
                stack = items
            elif op == 0x58:  # X: BINUNICODE
                start = at + 4
                at = machine.end(start, _U32(data, at)[0])
                stack.append(text(data[start:at]))
            elif op == 0x6A:  # j: LONG_BINGET
                stack.append(memo[_U32(data, at)[0]])
                at += 4
            elif op == 0x4D:  # M: BININT2
                stack.append(_U16(data, at)[0])
                at += 2
            elif op == 0x4E:  # N: NONE
                stack.append(None)
            elif op == 0x89:  # NEWFALSE
                stack.append(False)
            elif op == 0x88:  # NEWTRUE
                stack.append(True)
            elif op == 0x52:  # R: REDUCE
                args = stack.pop()
                stack[-1] = made = values.call(stack[-1], args)
                if isinstance(made, Unfinished):
                    made.index = memo_index(data, at, len(memo))
            elif op == 0x74:  # t: TUPLE
                items = stack
                stack = outer.pop()
                stack.append(values.tuple(items))
            elif op == 0x85:  # TUPLE1
                if type(stack[-1]) is int:
                    stack[-1] = (stack[-1],)
                else:
                    stack[-1] = values.tuple(stack[-1:])
            elif op == 0x29:  # ): EMPTY_TUPLE
                stack.append(())
            elif op == 0x5D:  # ]: EMPTY_LIST
                found = numbers.read_list(at, SHORTEST_ARRAY) if self._arrays else None
                if found is None:
                    stack.append([])
                else:
                    array, after, head_end = found
                    stack.append(array)
                    if head_end > at:
                        memo[memo_index(data, at, len(memo)) or 0] = array
                    at = after
            elif op == 0x7D:  # }: EMPTY_DICT
                stack.append({})
            elif op == 0x65:  # e: APPENDS
                items = stack
                stack = outer.pop()
                values.extend(stack[-1], items)
            elif op == 0x75:  # u: SETITEMS
                items = stack
                stack = outer.pop()
                values.update(stack[-1], items)
            elif op == 0x61:  # a: APPEND
                item = stack.pop()
                values.extend(stack[-1], [item])
            elif op in STARTS:  # J: BININT, G: BINFLOAT and what follows them
                items, at = numbers.read(at - 1)
                if not items:
                    machine.at = len(data)
                    raise IndexError(at)
                stack += items
            elif op == 0x51:  # Q: BINPERSID
                stack[-1] = values.persistent(stack[-1])
            elif op == 0x2E:  # .: STOP
                if outer or len(stack) != 1:
                    raise InvalidDataError(
                        "it ends before all its values are used; copy the file again"
                    )
                return stack[0]
            else:
                step = rarer.get(op)
                if step is None:
                    raise InvalidDataError(
                        f"it uses step {op:#04x}, which torch never writes; re-save it with torch.save"
                    )
                machine.stack = stack
                at = step(machine, at)
                stack = machine.stack
        raise InvalidDataError(
            f"it has more than {MOST_OPCODES:,} steps; don't use it, it looks made to exhaust time"
        )
