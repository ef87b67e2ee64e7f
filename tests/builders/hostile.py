"""Pickles and containers put together byte by byte, to say what no writer would say."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROTO = b"\x80\x02"
STOP = b"."


def text(value: str) -> bytes:
    raw = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(value: int) -> bytes:
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def name(module: str, qualname: str) -> bytes:
    return f"c{module}\n{qualname}\n".encode()


def pack(*values: bytes) -> bytes:
    return b"(" + b"".join(values) + b"t"


def call(function: bytes, *args: bytes) -> bytes:
    return function + pack(*args) + b"R"


def pickled(body: bytes) -> bytes:
    return PROTO + body + STOP


def storage(kind: str, key: str, count: int, *, device: str = "cpu") -> bytes:
    return (
        pack(text("storage"), name("torch", kind), text(key), text(device), integer(count)) + b"Q"
    )


def tensor(
    stored: bytes, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *more: bytes
) -> bytes:
    """A call as torch writes it, with the figures as given."""
    return call(
        name("torch._utils", "_rebuild_tensor_v2"),
        stored,
        integer(offset),
        pack(*map(integer, size)),
        pack(*map(integer, stride)),
        b"\x89",
        call(name("collections", "OrderedDict")),
        *more,
    )


def write_container(
    path: Path,
    data: bytes,
    storages: Mapping[str, bytes] | None = None,
    *,
    byteorder: bytes = b"little",
    method: int = zipfile.ZIP_STORED,
) -> Path:
    """A torch container with this pickle and these storages."""
    parts = {"data.pkl": data, "byteorder": byteorder, "version": b"3\n"}
    parts |= {f"data/{key}": content for key, content in (storages or {}).items()}
    with zipfile.ZipFile(path, "w", method) as container:
        for part, content in parts.items():
            container.writestr(f"{path.stem}/{part}", content)
    return path


def commands(sentinel: Path) -> dict[str, bytes]:
    """Pickles that would run `touch sentinel` under Python's own unpickler, by how they do it."""
    command = text(f"touch {sentinel}")
    python = text(f"open({str(sentinel)!r}, 'w')")
    system = name("os", "system")
    line = f"(X{struct.pack('<I', len(f'touch {sentinel}')).decode()}touch {sentinel}".encode()
    state = b"}" + text("__setstate__") + system + b"s"
    return {
        "REDUCE": pickled(call(system, command)),
        "REDUCE posix": pickled(call(name("posix", "system"), command)),
        "REDUCE in a list": pickled(b"](" + call(system, command) + b"K\x01e"),
        "INST": pickled(line + b"ios\nsystem\n"),
        "OBJ": pickled(b"(" + system + command + b"o"),
        "NEWOBJ": pickled(system + pack(command) + b"\x81"),
        "NEWOBJ Popen": pickled(
            name("subprocess", "Popen") + pack(b"](" + text("touch") + text(str(sentinel)) + b"e") + b"\x81"
        ),
        "NEWOBJ_EX": pickled(
            name("subprocess", "Popen") + pack(command) + b"}" + text("shell") + b"\x88s\x92"
        ),
        "STACK_GLOBAL": pickled(text("os") + text("system") + b"\x93" + pack(command) + b"R"),
        "eval": pickled(call(name("builtins", "eval"), python)),
        "exec": pickled(call(name("__builtin__", "exec"), python)),
        "getattr": pickled(
            call(call(name("builtins", "getattr"), name("os", "path"), text("os")), command)
        ),
        "dotted name": pickled(call(name("collections", "abc.sys.modules"), command)),
        "import": pickled(call(name("importlib", "import_module"), text("antigravity"))),
        "pickle in pickle": pickled(
            call(name("pickle", "loads"), b"U" + bytes([len(call(system, command)) + 1]) + call(system, command) + STOP)
        ),
        "torch storage from bytes": pickled(
            call(name("torch.storage", "_load_from_bytes"), call(name("_codecs", "encode"), command, text("latin1")))
        ),
        "tensor of a type": pickled(
            call(name("torch._tensor", "_rebuild_from_type_v2"), system, system, pack(command), b"N")
        ),
        "numpy": pickled(call(name("numpy.testing._private.utils", "runstring"), python, b"}")),
        "BUILD with __setstate__": pickled(
            call(name("types", "SimpleNamespace")) + state + b"b" + command + b"b"
        ),
        "BUILD of a function": pickled(system + b"}" + text("__code__") + command + b"sb" + b"0" + b"N"),
        "BUILD slots of an OrderedDict": pickled(
            call(name("collections", "OrderedDict")) + b"N}" + text("update") + system + b"s\x86b"
            + text("k") + command + b"s"
        ),
        "defaultdict": pickled(call(name("collections", "defaultdict"), system)),
        "map": pickled(
            call(name("builtins", "list"), call(name("builtins", "map"), system, b"](" + command + b"e"))
        ),
        "EXT1": pickled(b"\x82\x01" + pack(command) + b"R"),
        "EXT2": pickled(b"\x83\x01\x00" + pack(command) + b"R"),
        "EXT4": pickled(b"\x84\x01\x00\x00\x00" + pack(command) + b"R"),
        "persistent id that is a call": pickled(call(system, command) + b"Q"),
        "persistent id of a class": pickled(
            pack(text("storage"), system, text("0"), command, b"K\x01") + b"Q"
        ),
        "persistent id of a module": pickled(pack(text("module"), system, command, command) + b"Q"),
        "persistent id in text": PROTO + f"Ptouch {sentinel}\n".encode() + STOP,
        "dictionary key": pickled(b"}" + call(system, command) + b"Ns"),
        "dtype": pickled(call(name("numpy", "dtype"), call(system, command))),
        "scalar": pickled(
            call(name("numpy.core.multiarray", "scalar"), call(name("numpy", "dtype"), text("O8")), call(system, command))
        ),
    }  # fmt: skip


_CHILD = """
import resource, sys, threading, time
from pathlib import Path
from miles_report.errors import SourceError
from miles_report.sources.container import load_container
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_container(Path(sys.argv[1]))
    word = "loaded"
except SourceError as error:
    word = str(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
print(word)
"""


def load_apart(path: Path, *, timeout_s: float = 60.0) -> tuple[str, int]:
    """Loads a container in a process of its own: its error or "loaded", and by how many MiB the peak rose."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path)],
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rose, word = done.stdout.strip().split("\n", 1)
    return word, int(rose)
