"""Files that are no containers, damaged ones and ones whose zip directory lies: a sentence each, nothing else."""

from __future__ import annotations

import collections
import os
import random
import socket
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from builders.hostile import load_apart, pickled, write_container

from miles_report.errors import SourceError
from miles_report.sources.container import load_container

LOCAL, CENTRAL, END, END64 = b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6"


class Kept:
    def __init__(self):
        self.a = 1


def reason(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        load_container(path, name="rollout_data/0.pt")
    assert caught.value.path == "rollout_data/0.pt"
    return caught.value.reason


@pytest.fixture
def saved(tmp_path):
    """A small file of torch with something of everything."""
    value = {
        "samples": [{"tokens": list(range(40)), "lp": [0.5] * 20, "text": "abc", "mask": None}],
        "tensor": torch.arange(12).reshape(3, 4),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "view": torch.arange(6.0)[2:4],
        "array": np.arange(3),
        "ordered": collections.OrderedDict(a=1),
        "object": Kept(),
        "nested": ((1, (2,)), {"k": {3}}),
    }
    torch.save(value, tmp_path / "0.pt")
    return tmp_path / "0.pt"


@pytest.fixture
def zipped(tmp_path):
    """A small container of Python's zipfile, whose headers have no extras."""
    return write_container(tmp_path / "0.pt", pickled(b"N"), {"0": b"\0" * 16})


def edit(path: Path, magic: bytes, offset: int, raw: bytes, *, which: int = 0) -> Path:
    """Overwrites a field of the `which`-th header with that magic."""
    content = bytearray(path.read_bytes())
    at = -1
    for _ in range(which + 1):
        at = content.index(magic, at + 1)
    content[at + offset : at + offset + len(raw)] = raw
    path.write_bytes(content)
    return path


def test_no_file(tmp_path):
    assert "no such file" in reason(tmp_path / "0.pt")


def test_an_empty_file(tmp_path):
    (tmp_path / "0.pt").touch()

    assert "empty" in reason(tmp_path / "0.pt")


def test_a_directory(tmp_path):
    (tmp_path / "0.pt").mkdir()

    assert "directory" in reason(tmp_path / "0.pt")


def test_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "0.pt")

    assert "device" in reason(tmp_path / "0.pt")


def test_a_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind("0.pt")

        assert "device" in reason(tmp_path / "0.pt")


def test_a_dangling_link_and_a_loop(tmp_path):
    (tmp_path / "0.pt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "1.pt").symlink_to(tmp_path / "1.pt")

    assert "no such file" in reason(tmp_path / "0.pt")
    assert reason(tmp_path / "1.pt")


def test_an_unreadable_file(saved, monkeypatch):
    def deny(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        Path, "open", deny
    )  # root may read everything, so permissions alone prove nothing

    assert "permission" in reason(saved)


def test_a_name_with_a_null_byte():
    assert reason(Path("a\0b"))


def test_the_path_is_the_name_by_default(tmp_path):
    with pytest.raises(SourceError) as caught:
        load_container(tmp_path / "0.pt")

    assert caught.value.path == str(tmp_path / "0.pt")


@pytest.mark.parametrize("content", [b"x", b"{}", b"PAR1" * 100, b"\0" * 5000, b"PK", b"PK\5\6"])
def test_something_else(content, tmp_path):
    (tmp_path / "0.pt").write_bytes(content)

    assert reason(tmp_path / "0.pt")


def test_the_old_format_of_torch(tmp_path):
    torch.save([1], tmp_path / "0.pt", _use_new_zipfile_serialization=False)

    assert "old format" in reason(tmp_path / "0.pt")
    assert "re-save" in reason(tmp_path / "0.pt")


def test_a_tar(tmp_path):
    with tarfile.open(tmp_path / "0.pt", "w") as tar:
        tar.add(__file__, "storages")

    assert "tar file" in reason(tmp_path / "0.pt")


def test_a_zip_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "0.pt", "w") as container:
        container.writestr("a/readme.txt", "hello")

    assert "without data.pkl" in reason(tmp_path / "0.pt")


def test_an_empty_zip(tmp_path):
    zipfile.ZipFile(tmp_path / "0.pt", "w").close()

    assert "without data.pkl" in reason(tmp_path / "0.pt")


def test_an_empty_pickle(tmp_path):
    assert "ends in the middle" in reason(write_container(tmp_path / "0.pt", b""))


def test_a_file_cut_off_anywhere(saved):
    content = saved.read_bytes()
    for size in range(1, len(content), 61):
        saved.write_bytes(content[:size])

        assert "cut off" in reason(saved) or "not a torch zip" in reason(saved)


def test_a_file_that_has_more_behind_it(saved):
    saved.write_bytes(saved.read_bytes() + b"x" * 10)

    assert load_container(saved)["array"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("folder", ["0", "other", "ärchive", "a b"])
def test_the_folder_may_have_any_name(folder, tmp_path):
    write_container(tmp_path / f"{folder}.pt", pickled(b"K\x05")).rename(tmp_path / "0.pt")

    assert load_container(tmp_path / "0.pt") == 5


def test_a_packed_container_is_read(tmp_path):
    path = write_container(
        tmp_path / "0.pt", pickled(b"](" + b"K\x05" * 1000 + b"e"), method=zipfile.ZIP_DEFLATED
    )

    assert load_container(path) == [5] * 1000


def test_a_packed_file_of_torch_is_read(saved):
    truth = load_container(saved)
    with zipfile.ZipFile(saved) as container:
        parts = {part: container.read(part) for part in container.namelist()}
    packed = saved.with_name("packed.pt")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as container:
        for part, content in parts.items():
            container.writestr(part, content)
    made = load_container(packed)

    assert made["tensor"].tolist() == truth["tensor"].tolist()
    assert made["half"].tolist() == [1.0, 1.0, 1.0]
    assert not made["tensor"].flags.writeable


def test_other_methods_are_refused(tmp_path):
    path = write_container(tmp_path / "0.pt", pickled(b"N"), method=zipfile.ZIP_LZMA)

    assert "unknown way" in reason(path)


def test_encrypted_entries_are_refused(zipped):
    assert "encrypted" in reason(edit(zipped, CENTRAL, 8, b"\1\0"))


@pytest.mark.parametrize(
    ("magic", "offset", "raw", "word"),
    [
        (CENTRAL, 42, struct.pack("<I", 2**31), "outside the file"),
        (CENTRAL, 42, struct.pack("<I", 5), "do not agree"),
        (CENTRAL, 20, struct.pack("<2I", 2**31, 2**31), "longer than the file"),
        (CENTRAL, 24, struct.pack("<I", 5), "longer than the file"),
        (CENTRAL, 20, struct.pack("<2I", 150, 150), "overlap"),
        (CENTRAL, 28, b"\xff\x7f", "broken"),
        (CENTRAL, 24, b"\xff\xff\xff\xff", "zip64"),
        (CENTRAL, 0, b"XX", "broken"),
        (LOCAL, 0, b"XX", "do not agree"),
        (LOCAL, 30, b"X", "do not agree"),
        (LOCAL, 8, b"\x08\0", "do not agree"),
        (LOCAL, 28, b"\xff\xff", "longer than the file"),
        (END, 10, b"\xff\xff", "too short"),
        (END, 10, b"\1\0", "does not end where"),
        (END, 16, b"\0\0\0\0", "does not lie where"),
        (END, 12, b"\0\0\0\0", "does not lie where"),
        (END, 4, b"\1\0", "does not lie where"),
    ],
)  # fmt: skip
def test_a_lying_directory(magic, offset, raw, word, zipped):
    assert word in reason(edit(zipped, magic, offset, raw))


def test_two_names_of_one_entry_are_refused(zipped):
    entry = bytes(zipped.read_bytes())
    at = entry.index(CENTRAL)
    second = entry.index(CENTRAL, at + 1)

    assert "do not agree" in reason(edit(zipped, CENTRAL, 42, entry[at + 42 : at + 46], which=1))
    assert second > at


def test_two_entries_of_one_name_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "0.pt", "w") as container:
        container.writestr("0/data.pkl", pickled(b"N"))
        with pytest.warns(UserWarning, match="Duplicate"):
            container.writestr("0/data.pkl", pickled(b"N"))

    assert "there twice" in reason(tmp_path / "0.pt")


def test_entries_outside_the_folder_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "0.pt", "w") as container:
        container.writestr("0/data.pkl", pickled(b"N"))
        container.writestr("../../etc/passwd", "x")

    assert "outside the folder" in reason(tmp_path / "0.pt")


@pytest.mark.parametrize("offset", [32, 40, 48])
def test_a_lying_zip64_directory(offset, saved):
    assert reason(edit(saved, END64, offset, struct.pack("<Q", 2**63 - 1)))


def test_a_large_directory_of_nothing_takes_no_memory(tmp_path):
    (tmp_path / "0.pt").write_bytes(
        b"\0" * 100 + struct.pack("<4s4H2IH", END, 0, 0, 65535, 65535, 90, 10, 0)
    )

    word, rose_mib = load_apart(tmp_path / "0.pt")

    assert "too short" in word
    assert rose_mib < 20


def walk(value: object) -> None:
    """Looks at every element, so that a view outside its storage would show."""
    if isinstance(value, np.ndarray):
        value.tolist()
    elif isinstance(value, dict):
        for key, inner in value.items():
            walk(key)
            walk(inner)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            walk(inner)
    repr(value)


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bits_raise_nothing_but_source_errors(seed, saved):
    rng = random.Random(seed)
    content = saved.read_bytes()
    pickle_at = content.index(b"\x80\x02}")
    refused = 0
    for attempt in range(60):
        changed = bytearray(content)
        low, high = (pickle_at, pickle_at + 900) if attempt % 2 else (0, len(content))
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(low, high)
            changed[at] = rng.choice([changed[at] ^ (1 << rng.randrange(8)), rng.randrange(256)])
        saved.write_bytes(changed)
        try:
            walk(load_container(saved, arrays=bool(attempt % 3)))
        except SourceError as error:
            assert error.reason  # noqa: PT017 - either way is right
            refused += 1

    assert 0 < refused < 60


@pytest.mark.parametrize("seed", range(4))
def test_pickles_of_random_steps_raise_nothing_but_source_errors(seed, tmp_path):
    rng = random.Random(seed)
    steps = [bytes([code]) for code in range(256) if code not in b"IFLSVTgp"]
    steps += [b"K\x01", b"q\x00", b"h\x00", b"q\x01", b"h\x01", b"(", b"(", b"t", b"e", b"u", b"]", b"}", b")", b"R", b"b", b"X\x01\0\0\0a"]  # fmt: skip
    steps += [
        b"cos\nsystem\n",
        b"ccollections\nOrderedDict\n",
        b"cnumpy\ndtype\n",
        b"ctorch._utils\n_rebuild_tensor_v2\n",
    ] * 3
    for _ in range(300):
        body = b"".join(rng.choice(steps) for _ in range(rng.randrange(1, 40)))
        write_container(tmp_path / "0.pt", pickled(body))
        try:
            walk(load_container(tmp_path / "0.pt"))
        except SourceError as error:
            assert error.reason  # noqa: PT017 - either way is right
