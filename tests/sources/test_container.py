"""What a container gives, held against torch.load on recorded dumps and on values made here."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import gc
import math
import pickle
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from builders.hostile import integer, name, pack, pickled, storage, tensor, text, write_container

from miles_report.errors import SourceError
from miles_report.sources.container import Name, Placeholder, load_container

RECORDED = sorted((Path(__file__).parents[1] / "data" / "dumps").glob("*/*_data/*.pt"))
TORN = {"torn/rollout_data/1.pt"}


class Stub:
    """What the oracle makes of a class that is not installed."""

    def __setstate__(self, state):
        self.state = state


class Oracle(pickle.Unpickler):
    def find_class(self, module, qualname):
        if module.split(".")[0] in ("miles", "PIL"):
            return type(qualname, (Stub,), {})
        return super().find_class(module, qualname)


def by_torch(path: Path) -> object:
    oracle = SimpleNamespace(Unpickler=Oracle, load=pickle.load, __name__="oracle")
    return torch.load(path, weights_only=False, pickle_module=oracle)


def as_numpy(value: torch.Tensor) -> np.ndarray:
    value = value.detach().cpu().resolve_conj().resolve_neg()
    widened = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    widened |= dict.fromkeys(FLOAT8, torch.float32)
    return value.to(widened.get(value.dtype, value.dtype)).numpy()


def same(ours: object, truth: object) -> bool:
    """Whether both are the same values in the same structure; raises where they are not."""
    if isinstance(truth, torch.Tensor):
        want = as_numpy(truth)
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == want.dtype
        assert ours.shape == want.shape
        assert not ours.flags.writeable
        np.testing.assert_array_equal(ours, want, strict=True)
    elif isinstance(truth, np.ndarray):
        assert isinstance(ours, np.ndarray)
        assert not ours.flags.writeable
        np.testing.assert_array_equal(ours, truth)
    elif isinstance(truth, Stub):
        assert isinstance(ours, Placeholder)
        assert ours.qualname == type(truth).__name__
        state = ours.state if isinstance(truth.state, dict) else ours.get("__state__")
        same(state, truth.state)
    elif isinstance(truth, dict):
        assert list(ours) == list(truth)
        assert all(same(ours[key], truth[key]) for key in truth)
    elif isinstance(truth, list | tuple):
        assert type(ours) is type(truth)
        assert len(ours) == len(truth)
        assert all(same(a, b) for a, b in zip(ours, truth, strict=True))
    else:
        assert type(ours) is type(truth)
        assert ours == truth or (math.isnan(ours) and math.isnan(truth))
    return True


FLOAT8 = (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
)  # fmt: skip
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


ARRAYS = {
    "int64": np.arange(5),
    "bool": np.array([True, False]),
    "float16": np.array([0.5, np.inf], np.float16),
    "complex": np.array([1 + 2j]),
    "text": np.array(["a", "Grüße", ""]),
    "bytes": np.array([b"a", b"\xff\x00b"]),
    "times": np.array(["2026-08-01T10:00"], "datetime64[ns]"),
    "durations": np.array([3, 5], "timedelta64[10ms]"),
    "big-endian": np.array([1, 2, 3], ">i4"),
    "two dimensions": np.arange(6.0).reshape(2, 3),
    "Fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "zero dimensions": np.array(5.0),
    "empty": np.empty((0, 3), np.int32),
    "large": np.arange(100_000, dtype=np.uint8),
}


@pytest.mark.parametrize("kind", sorted(ARRAYS))
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_numpy_arrays(kind, protocol, saved):
    value = ARRAYS[kind]
    first, second = saved([value, value], pickle_protocol=protocol)

    assert same(first, value)
    assert first is second
    assert first.dtype.isnative


@pytest.mark.parametrize("value", [np.float64(0.5), np.int32(-3), np.bool_(1), np.float16(2), np.str_("ä"), np.datetime64("2026-01-01")], ids=repr)  # fmt: skip
@pytest.mark.parametrize("protocol", [2, 4])
def test_numpy_scalars(value, protocol, saved):
    assert same(saved(value, pickle_protocol=protocol), value)


def test_numpy_1_names(tmp_path):
    torch.save(np.arange(3), tmp_path / "x.pt")
    path = tmp_path / "x.pt"
    content = load_pickle(path).replace(b"numpy._core", b"numpy.core")

    assert load_container(write_container(path, content)).tolist() == [0, 1, 2]


def load_pickle(path: Path) -> bytes:
    import zipfile

    with zipfile.ZipFile(path) as container:
        return container.read(f"{path.stem}/data.pkl")


def test_arrays_of_objects_are_lists(saved):
    assert saved(np.array(["a", None, [1]], object)) == ["a", None, [1]]


VALUES = {
    "scalars": [None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31, -(2**31), 2**80, -(2**80), 0.5, float("inf"), 2 + 3j],
    "nan": [float("nan")],
    "texts": ["", "a", "ä\u20ac\U0001f600", "x" * 300, "</script>", "\u2028", "\x00"],
    "bytes": [b"", b"a\xff", b"x" * 300],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((1,), (2, (3,)))],
    "sets": [{1, 2}, set(), frozenset({"a"}), {(1, "b")}],
    "dictionaries": {"a": {1: {}, (1, 2): [], None: {"b": 1}, 0.5: 2}},
    "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
    "shared": [[1, 2]] * 3,
    "numbers": [list(range(-5, 3000)), [0.25 * i for i in range(3001)], [True] * 1001, [1, 0.5, None, False] * 700, [0.5] * 9 + [1]],
    "long numbers": [2**40 + i for i in range(50)],
    "one of each": {str(i): [0] * i for i in (0, 1, 2, 15, 16, 17, 999, 1000, 1001, 1002, 2000, 2001)},
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(VALUES))
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values(kind, protocol, saved):
    made = saved(VALUES[kind], pickle_protocol=protocol)

    assert same(made, VALUES[kind])
    assert type(made) is type(VALUES[kind])


def test_long_lists_in_frames(saved):
    value = {"ints": list(range(300_000)), "floats": [float(i) for i in range(100_000)]}

    assert saved(value, pickle_protocol=4) == value


@pytest.mark.parametrize("protocol", [2, 4])
def test_lists_as_arrays(protocol, tmp_path):
    floats = [0.5 * i for i in range(2501)]
    ints = [0, 300, 70_000, -5] * 600 + [1]
    value = {"f": floats, "g": floats, "i": ints, "one": [0.5] * 1001, "short": [1] * 15, "mixed": [0.5] * 2000 + [1], "bools": [True] * 50, "long": [2**40] * 50, "big": list(range(100_000)), "text": ["a"]}  # fmt: skip
    torch.save(value, tmp_path / "x.pt", pickle_protocol=protocol)
    made = load_container(tmp_path / "x.pt", arrays=True)

    assert made["g"] is made["f"]
    assert {k: v.dtype for k, v in made.items() if isinstance(v, np.ndarray)} == {
        "f": np.float64, "g": np.float64, "i": np.int64, "one": np.float64, "big": np.int64,
    }  # fmt: skip
    assert not made["f"].flags.writeable
    assert {k: list(v) for k, v in made.items()} == value


def test_other_collections_become_plain_ones(saved):
    value = [
        collections.defaultdict(list, a=[1]), collections.Counter("aab"), collections.deque([1, 2], maxlen=5),
        bytearray(b"ab"), torch.Size([2, 3]),
    ]  # fmt: skip
    made = saved(value)

    assert made == [{"a": [1]}, {"a": 2, "b": 1}, [1, 2], b"ab", (2, 3)]
    assert [type(part) for part in made] == [dict, dict, list, bytes, tuple]


@dataclasses.dataclass
class Point:
    x: int
    y: list[int]


class Colour(enum.Enum):
    RED = "red"


class Names(list):
    pass


class Table(dict):
    pass


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, [2]


class Wanting:
    def __new__(cls, *, size):
        made = super().__new__(cls)
        made.size = size
        return made

    def __getnewargs_ex__(self):
        return (1,), {"size": self.size}


Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024 - a class as old code has it


@pytest.mark.parametrize("protocol", [2, 4, 5])
class TestPlaceholders:
    def test_a_dataclass_keeps_its_attributes(self, protocol, saved):
        made = saved(Point(1, [2]), pickle_protocol=protocol)

        assert type(made) is Placeholder
        assert made.qualname == "Point"
        assert made.state == {"x": 1, "y": [2]}
        assert made.get("x") == 1
        assert made.get("z", 5) == 5

    def test_an_enum_keeps_its_value(self, protocol, saved):
        first, second = saved([Colour.RED, Colour.RED], pickle_protocol=protocol)

        assert first.args == ("red",)
        assert first is second

    def test_an_enum_as_a_key(self, protocol, saved):
        made = saved({Colour.RED: 1, "other": {Point: 2}}, pickle_protocol=protocol)
        (key, _) = made

        assert key.args == ("red",)
        assert type(next(iter(made["other"]))) is Name

    def test_a_list_keeps_its_elements(self, protocol, saved):
        value = Names(["a", "b"])
        value.kind = "x"
        made = saved(value, pickle_protocol=protocol)

        assert made.elements == ["a", "b"]
        assert made.get("kind") == "x"

    def test_a_dictionary_keeps_its_entries(self, protocol, saved):
        assert saved(Table(a=1, b=[2]), pickle_protocol=protocol).entries == {"a": 1, "b": [2]}

    def test_slots_are_attributes(self, protocol, saved):
        assert saved(Slotted(), pickle_protocol=protocol).state == {"a": 1, "b": [2]}

    def test_a_named_tuple_keeps_its_fields(self, protocol, saved):
        assert saved(Pair(1, "b"), pickle_protocol=protocol).args == (1, "b")

    def test_an_exception(self, protocol, saved):
        assert saved(ValueError("no"), pickle_protocol=protocol).args == ("no",)

    def test_times_and_paths(self, protocol, saved):
        when, where = saved([dt.datetime(2026, 8, 1, tzinfo=dt.UTC), Path("a/b")], pickle_protocol=protocol)  # fmt: skip

        assert repr(when) == "<datetime.datetime, not loaded>"
        assert where.args == ("a", "b")

    def test_types_and_devices_of_torch(self, protocol, saved):
        kind, device = saved([torch.bfloat16, torch.device("cuda", 1)], pickle_protocol=protocol)

        assert repr(kind) == "<torch.bfloat16, not loaded>"
        assert device.args == ("cuda", 1)


@pytest.mark.parametrize("protocol", [4, 5])
def test_keyword_arguments_are_kept(protocol, saved):
    made = saved(Wanting(size=3), pickle_protocol=protocol)

    assert (made.args, made.kwargs, made.get("size")) == ((1,), {"size": 3}, 3)


def test_a_placeholder_can_be_sent_to_another_process(saved):
    made = pickle.loads(pickle.dumps(saved([Point(1, [2]), Names("ab"), Point])))

    assert made[0].state == {"x": 1, "y": [2]}
    assert made[1].elements == ["a", "b"]
    assert repr(made[2]).startswith("<")


def test_a_storage_without_a_tensor_is_a_placeholder(saved):
    made = saved({"s": torch.ones(3).untyped_storage()})

    assert isinstance(made["s"], Placeholder)
    assert (
        repr(pickle.loads(pickle.dumps(made["s"]))) == "<torch.storage.UntypedStorage, not loaded>"
    )


def test_a_sparse_tensor_is_a_placeholder(saved):
    made = saved(torch.eye(2).to_sparse())

    assert isinstance(made, Placeholder)


def test_a_tensor_with_attributes_is_an_array(saved):
    value = torch.ones(2)
    value.note = "x"

    assert same(saved(value), value)


def test_unknown_types_are_refused(tmp_path):
    path = write_container(
        tmp_path / "x.pt", pickled(storage("QUInt4x2Storage", "0", 1)), {"0": b"\0"}
    )

    with pytest.raises(SourceError, match="QUInt4x2Storage, not loaded"):
        load_container(path)


def test_skipped_keys_are_dropped_and_said(tmp_path):
    value = {"samples": [{"a": 1, "pixels": np.zeros(5)}, {"pixels": None}], "other": {"a": 2}}
    torch.save(value, tmp_path / "x.pt")
    made = load_container(tmp_path / "x.pt", skip=frozenset({"pixels", "other"}))

    assert made["samples"][0]["a"] == 1
    dropped = [made["samples"][0]["pixels"], made["samples"][1]["pixels"], made["other"]]
    assert [repr(value) for value in dropped] == ["<skipped.pixels, not loaded>"] * 2 + ["<skipped.other, not loaded>"]  # fmt: skip


def test_extension_codes_stay_numbers(tmp_path):
    path = write_container(tmp_path / "x.pt", pickled(b"\x82\x07" + pack(integer(5)) + b"R"))

    assert load_container(path).args == (5,)


def test_names_are_looked_up_whole(tmp_path):
    data = pickled(name("collections", "OrderedDict.fromkeys") + pack(text("ab")) + b"R")

    assert isinstance(load_container(write_container(tmp_path / "x.pt", data)), Placeholder)


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
