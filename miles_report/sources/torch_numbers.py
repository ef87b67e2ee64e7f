"""Runs of plain numbers inside a pickle -> lists or arrays, without a step of Python for each number.

Nearly all bytes of a rollout file are token ids and log probs. A run is delimited first, by opcodes whose
length is fixed; only then are its bytes decoded, so that nothing but numbers is ever decoded here.
"""

from __future__ import annotations

import pickle
import re
from typing import Any, Final

import numpy as np

from miles_report.sources.storages import Array, InvalidDataError

_FLOAT: Final = ord("G")  # big-endian float64 follows
_FLOAT_BYTES = 9
_ANY: Final = re.compile(rb"(?s:(?:J.{4}|M..|K.|G.{8}|[N\x88\x89])++)")
_INTEGERS: Final = re.compile(rb"(?s:(?:J.{4}|M..|K.)++)")
_LIST_HEAD: Final = re.compile(rb"(?s:(?:q.|r.{4}|\x94)?(?=\([GJMK]))")
_FRAME: Final = re.compile(rb"(?s:\x95.{8})")
_PIECE = 1000  # items a pickler writes at once
_MANY = 8  # floats from which numpy is faster than the pickle module

STARTS: Final = frozenset(b"GJMKN\x88\x89")
"""Opcodes that a run may begin with: float, integers of 4, 2 and 1 bytes, None, True, False."""


class Numbers:
    """Reads runs of numbers from one pickle."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._codes = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)

    def read(self, at: int) -> tuple[list[Any], int]:
        """The numbers, booleans and Nones that begin at `at`, and the place of the opcode after them."""
        data, size = self._data, len(self._data)
        items: list[Any] = []
        while at < size:
            far = at + _MANY * _FLOAT_BYTES
            if data[at] == _FLOAT and data[far : far + 1] == b"G":
                floats, at = self._floats(at)
                items += floats.tolist()
                continue
            match = _ANY.match(data, at)
            if match is None:
                break
            items += _decode(match[0])
            at = match.end()
        return items, at

    def read_list(self, at: int, shortest: int) -> tuple[Array, int, int] | None:
        """The list whose items begin at `at`, if it has nothing but floats or nothing but integers.

        Returns:
            A float64 or int64 array, the place after the list, and the place of the opcode that
            memoizes it, equal to `at`; null if the list is shorter than `shortest` or has other items.
        """
        data = self._data
        head = _LIST_HEAD.match(data, at)
        if head is None:
            return None
        place = head.end()
        is_float = data[place + 1] == _FLOAT
        pieces: list[Array] = []
        while data[place : place + 1] == b"(":
            piece, place = self._piece(place + 1, is_float=is_float)
            if piece is None or data[place : place + 1] != b"e":
                return None
            pieces.append(piece)
            place += 1
        last, after = self._piece(place, is_float=is_float)  # one item left over is appended alone
        if last is not None and data[after : after + 1] == b"a":
            pieces.append(last)
            place = after + 1
        if data[place : place + 1] == b"\x95" or sum(map(len, pieces)) < shortest:
            return None
        array = np.concatenate(pieces)
        array.flags.writeable = False
        return array, place, head.end()

    def _piece(self, at: int, *, is_float: bool) -> tuple[Array | None, int]:
        pieces: list[Array] = []
        while True:
            if self._data[at : at + 1] == b"\x95":
                frame = _FRAME.match(self._data, at)
                at = frame.end() if frame else at
            if is_float and self._data[at : at + 1] == b"G":
                floats, at = self._floats(at)
                pieces.append(floats)
                continue
            match = None if is_float else _INTEGERS.match(self._data, at)
            if match is None:
                break
            pieces.append(np.array(_decode(match[0]), np.int64))
            at = match.end()
        return (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)) if pieces else None, at

    def _floats(self, at: int) -> tuple[Array, int]:
        """The run of floats at `at`, as float64."""
        whole = (len(self._codes) - at) // _FLOAT_BYTES
        count = 0
        while count < whole:
            start = at + count * _FLOAT_BYTES
            stop = at + min(whole, count + _PIECE) * _FLOAT_BYTES
            others = np.flatnonzero(self._codes[start:stop:_FLOAT_BYTES] != _FLOAT)
            if len(others):
                count += int(others[0])
                break
            count = min(whole, count + _PIECE)
        end = at + count * _FLOAT_BYTES
        if not count:
            raise InvalidDataError("it ends inside a number; copy the file again")
        rows = self._codes[at:end].reshape(count, _FLOAT_BYTES)
        return np.ascontiguousarray(rows[:, 1:]).view(">f8").ravel().astype(np.float64), end


def _decode(run: bytes) -> list[Any]:
    """The values of a run of opcodes that hold numbers, booleans and None only."""
    values: list[Any] = pickle.loads(b"".join((b"(", run, b"l.")))  # noqa: S301 - can call nothing
    return values
