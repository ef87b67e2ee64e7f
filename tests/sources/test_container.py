"""Tensors of a container, held against torch.load on recorded dumps and on tensors made here."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from builders.hostile import pickled, storage, tensor, write_container
from builders.torch_oracle import FLOAT8, by_torch, same

from miles_report.errors import SourceError
from miles_report.sources.container import load_container

RECORDED = sorted((Path(__file__).parents[1] / "data" / "dumps").glob("*/*_data/*.pt"))
TORN = {"torn/rollout_data/1.pt"}

PLAIN = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex64, torch.complex128, torch.complex32,
)  # fmt: skip


@pytest.fixture
def saved(tmp_path):
    """Saves with torch, loads with us: `saved(value, **options of torch.save)`."""

    def saved(value: object, **options) -> object:
        torch.save(value, tmp_path / "value.pt", **options)
        return load_container(tmp_path / "value.pt")

    return saved


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id="/".join(p.parts[-3:]))
        for p in RECORDED
        if "/".join(p.parts[-3:]) not in TORN
    ],
)
def test_recorded_files_equal_torch(path):
    assert same(load_container(path), by_torch(path))


def test_the_torn_file_is_refused(dumps):
    with pytest.raises(SourceError, match="cut off"):
        load_container(dumps / "torn/rollout_data/1.pt")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("dtype", PLAIN, ids=str)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_type(dtype, protocol, saved):
    values = torch.tensor([0, 1, 2, 100, 7, 0]).to(dtype)

    assert same(saved([values, values.reshape(2, 3), values[:0]], pickle_protocol=protocol), [values, values.reshape(2, 3), values[:0]])  # fmt: skip


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_every_code_of_a_float8(dtype, saved):
    codes = torch.arange(256, dtype=torch.uint8).view(dtype)

    assert same(saved(codes), codes)


def test_every_code_of_a_bfloat16(saved):
    codes = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.bfloat16)
    made = saved(codes)

    assert same(made.view(np.uint32), codes.float().view(torch.uint32))


BASE = torch.arange(24.0).reshape(2, 3, 4)
VIEWS = {
    "transposed": BASE.transpose(0, 2),
    "slice": BASE[1, 1:, ::2],
    "row": BASE[1, 2],
    "offset": BASE.flatten()[5:9],
    "expanded": BASE[0, 0, :1].expand(5, 3, 1),
    "zero dimensions": torch.tensor(3.5),
    "zero dimensions of a view": BASE[1, 2, 3],
    "empty": torch.empty(0),
    "empty in two": torch.empty(3, 0, 2),
    "overlapping": BASE.flatten().unfold(0, 4, 1),
    "bfloat16 view": BASE.bfloat16()[:, 1].T,
    "conjugate": torch.tensor([1 + 2j, 3 - 1j]).conj(),
    "negative": torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
    "parameter": torch.nn.Parameter(torch.ones(3)),
    "with gradient": torch.ones(3, requires_grad=True),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(VIEWS))
def test_views(kind, saved):
    assert same(saved(VIEWS[kind]), VIEWS[kind])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shared_storages_stay_shared(dtype, saved):
    base = torch.arange(10).to(dtype)
    whole, head, tail, again = saved([base, base[:5], base[5:], base])

    assert same([head, tail], [base[:5], base[5:]])
    assert np.shares_memory(whole, head)
    assert np.shares_memory(whole, tail)
    assert again is whole


def test_tensors_are_views_of_the_file(tmp_path):
    torch.save(torch.arange(100), tmp_path / "x.pt")
    made = load_container(tmp_path / "x.pt")

    with (tmp_path / "x.pt").open("r+b") as file:
        at = file.read().index(np.arange(100).tobytes())
        file.seek(at)
        file.write((77).to_bytes(8, "little"))

    assert made[0] == 77


def test_maps_live_as_long_as_their_arrays(tmp_path):
    torch.save({"a": torch.arange(3), "b": torch.ones(2)}, tmp_path / "x.pt")
    made = load_container(tmp_path / "x.pt")
    a = made.pop("a")
    watch = weakref.ref(a)
    (tmp_path / "x.pt").unlink()
    del made
    gc.collect()

    assert a.tolist() == [0, 1, 2]
    del a
    assert watch() is None


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_handles_are_closed(tmp_path):
    torch.save({"a": [1]}, tmp_path / "x.pt")
    torch.save(torch.ones(2), tmp_path / "y.pt")
    (tmp_path / "z.pt").write_bytes(b"PK\3\4" + b"x" * 100)
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(5):
        load_container(tmp_path / "x.pt")
        load_container(tmp_path / "y.pt")
        with pytest.raises(SourceError):
            load_container(tmp_path / "z.pt")
    gc.collect()

    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("device", ["cuda:0", "cuda:7", "mps", "npu:3", "meta"])
def test_devices_are_not_looked_at(device, tmp_path):
    data = pickled(tensor(storage("FloatStorage", "0", 2, device=device), 0, (2,), (1,)))
    path = write_container(tmp_path / "x.pt", data, {"0": np.array([1, 2], "<f4").tobytes()})

    assert load_container(path).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("IntStorage", ">i4"),
        ("DoubleStorage", ">f8"),
        ("BFloat16Storage", ">u2"),
        ("BoolStorage", ">u1"),
    ],
)
def test_big_endian_files(kind, stored, tmp_path):
    values = np.array([1, 0, 1], stored)
    if kind == "BFloat16Storage":
        values = np.array([0x3F80, 0, 0x3F80], stored)
    data = pickled(tensor(storage(kind, "0", 3), 0, (3,), (1,)))
    path = write_container(tmp_path / "x.pt", data, {"0": values.tobytes()}, byteorder=b"big")
    made = load_container(path)

    assert made.tolist() == [1, 0, 1]
    assert made.dtype.isnative


def test_files_without_byteorder_are_little(tmp_path):
    torch.save(torch.arange(3), tmp_path / "x.pt")
    content = (tmp_path / "x.pt").read_bytes()
    (tmp_path / "x.pt").write_bytes(content.replace(b"byteorder", b"bytesorte"))

    assert load_container(tmp_path / "x.pt").tolist() == [0, 1, 2]


def test_storages_at_odd_places_are_read(tmp_path):
    data = pickled(tensor(storage("DoubleStorage", "0", 2), 0, (2,), (1,)))
    for stem in ("x", "xy", "xyz", "xyzw"):
        path = write_container(tmp_path / f"{stem}.pt", data, {"0": np.array([1.5, 2.5]).tobytes()})
        made = load_container(path)

        assert made.flags.aligned
        assert made.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_left_as_it_was(enabled, tmp_path):
    path = write_container(tmp_path / "x.pt", pickled(b"N"))
    broken = write_container(tmp_path / "y.pt", pickled(b"R"))
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        load_container(path)
        with pytest.raises(SourceError):
            load_container(broken)

        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()
