"""What else than tensors a container gives: numpy arrays, plain values, placeholders."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from builders.hostile import integer, name, pack, pickled, storage, text, write_container
from builders.torch_oracle import same

from miles_report.errors import SourceError
from miles_report.sources.container import Name, Placeholder, load_container


@pytest.fixture
def saved(tmp_path):
    """Saves with torch, loads with us: `saved(value, **options of torch.save)`."""

    def saved(value: object, **options) -> object:
        torch.save(value, tmp_path / "value.pt", **options)
        return load_container(tmp_path / "value.pt")

    return saved


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
