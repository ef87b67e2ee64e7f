"""The few kinds of value that the head and foot of a Parquet file need, in Thrift's compact protocol.

Layout: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

Struct = dict[int, Any]
"""Fields by their number, ascending: int (an i32), numpy.int64 (an i64), str, bytes, Struct, or a list of one of them."""

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
LONG_LIST = 15
STOP = b"\x00"


def encode_struct(fields: Struct) -> bytes:
    """The bytes of a struct."""
    parts, last = [], 0
    for number, value in fields.items():
        parts += [bytes([(number - last) << 4 | _kind(value)]), _encode(value)]
        last = number
    return b"".join([*parts, STOP])


def varint(value: int) -> bytes:
    """A number of at least 0 in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _kind(value: Any) -> int:
    kinds = {int: I32, np.int64: I64, str: BINARY, bytes: BINARY, list: LIST, dict: STRUCT}
    return kinds[type(value)]


def _encode(value: Any) -> bytes:
    if isinstance(value, (int, np.int64)):
        number = int(value)
        return varint(number << 1 if number >= 0 else (-number << 1) - 1)
    if isinstance(value, str):
        return _encode(value.encode())
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, dict):
        return encode_struct(value)
    size = len(value)
    head = bytes([min(size, LONG_LIST) << 4 | _kind(value[0])])
    return head + (varint(size) if size >= LONG_LIST else b"") + b"".join(map(_encode, value))
