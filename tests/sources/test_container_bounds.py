"""Pickles and zips that lie about sizes: the memory they take stays bounded by the file."""

from __future__ import annotations

import struct
import time
import zipfile
from typing import TYPE_CHECKING

import pytest
from builders.hostile import (
    call,
    integer,
    load_apart,
    name,
    pickled,
    storage,
    tensor,
    text,
    write_container,
)

from miles_report.errors import SourceError
from miles_report.sources.container import load_container

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def load(tmp_path):
    def load(data: bytes, storages: dict[str, bytes] | None = None, **options) -> object:
        return load_container(
            write_container(tmp_path / "x.pt", data, storages), name="x.pt", **options
        )

    return load


def outcome(path: Path) -> str:
    try:
        repr(load_container(path))
    except SourceError as error:
        return str(error)
    return "loaded"


SIZES = {
    "LONG_BINPUT": b"Nr\xff\xff\xff\xff",
    "LONG_BINPUT often": b"".join(b"Nr" + struct.pack("<I", 2**32 - 1 - i) + b"0" for i in range(1000)) + b"N",
    "BYTEARRAY8": b"\x96" + struct.pack("<Q", 2**40) + b"x",
    "BYTEARRAY8 of all": b"\x96" + b"\xff" * 8 + b"x",
    "BINBYTES8": b"\x8e" + struct.pack("<Q", 2**33) + b"x",
    "BINBYTES": b"B\xff\xff\xff\xffx",
    "BINUNICODE": b"X\xff\xff\xff\xffx",
    "BINUNICODE8": b"\x8d" + struct.pack("<Q", 2**40) + b"x",
    "LONG4": b"\x8b\xff\xff\xff\x7fx",
    "LONG4 below zero": b"\x8b\xff\xff\xff\xffx",
    "FRAME": b"\x95" + struct.pack("<Q", 2**40) + b"N",
    "PUT as text": b"Np99999999999\n",
    "LONG as text": b"L" + b"9" * 5000 + b"L\n",
    "INT as text": b"I" + b"9" * 5000 + b"\n",
    "NEXT_BUFFER": b"\x97",
    "bytearray of a size": call(name("builtins", "bytearray"), integer(2**40)),
    "bytes of a size": call(name("builtins", "bytes"), integer(2**40)),
    "range in a set": call(name("builtins", "set"), call(name("builtins", "range"), integer(2**40))),
    "copied sets": b"](" + b"K\x01" * 100_000 + b"eq\x00(" + call(name("builtins", "set"), b"h\x00") * 1000 + b"t",
    "copied texts": b"(" + text("x" * 2**20) + b"q\x000" + call(name("_codecs", "encode"), b"h\x00", text("latin1")) * 2000 + b"t",
    "copied states": b"}(" + b"".join(text(str(i)) + b"N" for i in range(10_000)) + b"uq\x00N\x86q\x01(" + (call(name("a", "B")) + b"}" + text("k") + b"Nsbh\x01b") * 3000 + b"t",
    "expanded and converted": tensor(storage("BFloat16Storage", "0", 1), 0, (2**40,), (0,)),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(SIZES))
def test_absurd_sizes_take_no_memory(kind, tmp_path):
    path = write_container(tmp_path / "x.pt", pickled(SIZES[kind]), {"0": b"\0\0"})

    word, rose_mib = load_apart(path)

    assert "\n" not in word
    assert rose_mib < 400


@pytest.mark.parametrize("order", ["GK", "KM", "NK", "GJ"])
def test_mixed_numbers_take_linear_time(order, load):
    one = {"G": b"G" + b"\0" * 8, "K": b"K\x01", "M": b"M\x01\x01", "J": b"J\1\1\1\1", "N": b"N"}
    run = b"".join(one[c] for c in order) * 100_000
    started = time.monotonic()

    for arrays in (False, True):
        assert len(load(pickled(b"](" + run + b"e"), arrays=arrays)) == 200_000

    assert time.monotonic() - started < 5.0


def test_a_zip_bomb_is_refused(tmp_path):
    bomb = pickled(b"(" + b"N" * (300 << 20) + b"t")
    path = write_container(tmp_path / "x.pt", bomb, method=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20

    word, rose_mib = load_apart(path)

    assert "zip bomb" in word
    assert rose_mib < 50


def test_a_bomb_in_a_storage_is_refused(tmp_path):
    path = write_container(
        tmp_path / "x.pt",
        pickled(tensor(storage("ByteStorage", "0", 100 << 20), 0, (100 << 20,), (1,))),
        {"0": b"\0" * (100 << 20)},
        method=zipfile.ZIP_DEFLATED,
    )

    word, rose_mib = load_apart(path)

    assert "zip bomb" in word
    assert rose_mib < 50


def test_a_packed_part_longer_than_it_says_is_refused(tmp_path):
    path = write_container(
        tmp_path / "x.pt", pickled(b"N" * (1 << 20)), method=zipfile.ZIP_DEFLATED
    )
    content = bytearray(path.read_bytes())
    size = struct.pack("<I", (1 << 20) + 3)
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, struct.pack("<I", 100)))

    assert "unpack" in outcome(path)
