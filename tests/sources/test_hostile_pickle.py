"""Pickles made to run something, to lie about memory or to hang: data or a SourceError, never more."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from builders.hostile import (
    PROTO,
    STOP,
    call,
    commands,
    integer,
    load_apart,
    name,
    pack,
    pickled,
    storage,
    tensor,
    text,
    write_container,
)

from miles_report.errors import SourceError
from miles_report.sources.container import Name, Placeholder, load_container

WAYS = sorted(commands(Path("sentinel")))


@pytest.fixture
def load(tmp_path):
    def load(data: bytes, storages: dict[str, bytes] | None = None, **options) -> object:
        return load_container(
            write_container(tmp_path / "x.pt", data, storages), name="x.pt", **options
        )

    return load


@pytest.fixture
def refused(load):
    """The words with which a pickle is refused."""

    def refused(data: bytes, storages: dict[str, bytes] | None = None, **options) -> str:
        with pytest.raises(SourceError) as caught:
            load(data, storages, **options)
        assert caught.value.path == "x.pt"
        assert caught.value.at.startswith("data.pkl byte ")
        return caught.value.reason

    return refused


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("arrays", [False, True])
def test_nothing_is_executed(way, arrays, tmp_path):
    sentinel = tmp_path / "sentinel"
    path = write_container(tmp_path / "x.pt", commands(sentinel)[way])

    try:
        repr(load_container(path, arrays=arrays))
    except SourceError as error:
        assert error.reason  # noqa: PT017 - either way is right

    assert not sentinel.exists()


@pytest.mark.parametrize("way", ["REDUCE", "INST", "OBJ", "STACK_GLOBAL"])
def test_the_sentinel_would_be_made_by_python(way, tmp_path):
    sentinel = tmp_path / "sentinel"

    pickle.loads(commands(sentinel)[way])

    assert sentinel.exists()


def test_a_call_is_a_placeholder_with_its_arguments(load):
    made = load(pickled(call(name("os", "system"), text("touch x"))))

    assert isinstance(made, Placeholder)
    assert (made.module, made.qualname, made.args) == ("os", "system", ("touch x",))
    assert repr(made) == "<os.system, not loaded>"


def test_a_name_is_a_name(load):
    made = load(pickled(name("os", "system")))

    assert isinstance(made, Name)
    assert not callable(made)


def test_names_are_shown_on_one_short_line(load):
    made = load(pickled(text("a\nb\x1b[31m") + text("x" * 1000) + b"\x93"))

    assert "\n" not in repr(made)
    assert "\x1b" not in repr(made)
    assert len(repr(made)) < 200


@pytest.mark.parametrize(
    "encoding", ["rot13", "zlib_codec", "unicode_escape", "utf-8", "hex", "idna"]
)
def test_only_latin_1_is_encoded(encoding, refused):
    assert "encoding" in refused(
        pickled(call(name("_codecs", "encode"), text("abc"), text(encoding)))
    )


def test_latin_1_is_encoded_as_torch_writes_it(load):
    assert (
        load(pickled(call(name("_codecs", "encode"), text("a\xff\x00"), text("latin1"))))
        == b"a\xff\x00"
    )


def test_text_that_is_no_latin_1_is_refused(refused):
    assert refused(pickled(call(name("_codecs", "encode"), text("\u20ac"), text("latin1"))))


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (1, (4,), (1,)),
        (0, (2, 2), (3, 1)),
        (0, (2,), (4,)),
        (4, (1,), (1,)),
        (2**63, (1,), (1,)),
        (-1, (1,), (1,)),
        (3, (2,), (-1,)),
        (0, (-1,), (1,)),
        (0, (2,), (1, 1)),
        (0, (2, 2), (2**62, 1)),
        (0, (0, 2**63), (1, 1)),
        (0, (1,) * 100, (1,) * 100),
    ],
)  # fmt: skip
def test_tensors_that_leave_their_storage_are_refused(offset, size, stride, refused):
    data = pickled(tensor(storage("FloatStorage", "0", 4), offset, size, stride))

    assert refused(data, {"0": np.arange(4, dtype="<f4").tobytes()})


@pytest.mark.parametrize("count", [5, 2**40])
def test_storages_shorter_than_they_say_are_refused(count, refused):
    assert "too short" in refused(pickled(storage("FloatStorage", "0", count)), {"0": b"\0" * 16})


def test_a_missing_storage_is_refused(refused):
    assert "missing" in refused(pickled(storage("FloatStorage", "7", 1)), {"0": b"\0" * 16})


@pytest.mark.parametrize("key", ["../data.pkl", "0/../../x", "/etc/passwd", ""])
def test_storage_keys_are_no_paths(key, refused):
    assert refused(pickled(storage("ByteStorage", key, 1)), {"0": b"\0"})


def test_an_expanded_tensor_stays_a_view(load):
    (row,) = (np.array([7.0], "<f4"),)
    made = load(
        pickled(tensor(storage("FloatStorage", "0", 1), 0, (1000, 1000), (0, 0))),
        {"0": row.tobytes()},
    )

    assert made.shape == (1000, 1000)
    assert made.strides == (0, 0)
    assert made[999, 999] == 7.0


def test_an_absurdly_expanded_tensor_is_refused(refused):
    data = pickled(tensor(storage("FloatStorage", "0", 1), 0, (2**30, 2**10), (0, 0)))

    assert "far more data" in refused(data, {"0": b"\0" * 4})


def test_many_views_of_one_storage_are_refused_in_sum(refused):
    one = tensor(storage("FloatStorage", "0", 2**20), 0, (2**20,), (1,))
    data = pickled(b"](" + one + b"q\x01" + b"".join(one for _ in range(200)) + b"e")

    assert "far more data" in refused(data, {"0": b"\0" * 2**22})


DTYPE = name("numpy", "dtype")
EMPTY_ARRAY = call(
    name("numpy.core.multiarray", "_reconstruct"),
    name("numpy", "ndarray"),
    pack(b"K\x00"),
    b"C\x01b",
)


def array(kind: str, shape: tuple[int, ...], contents: bytes) -> bytes:
    dtype = call(DTYPE, text(kind), b"K\x00", b"K\x01")
    state = pack(b"K\x01", pack(*map(integer, shape)), dtype, b"\x89", contents)
    return EMPTY_ARRAY + state + b"b"


def raw(contents: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(contents)) + contents


def test_a_numpy_array_is_read(load):
    assert load(pickled(array("i4", (2,), raw(b"\1\0\0\0\2\0\0\0")))).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("kind", "shape", "contents"),
    [
        ("O8", (1,), raw(b"\x41" * 8)),
        ("O", (1,), raw(b"\x41" * 8)),
        ("V8", (1,), raw(b"\x41" * 8)),
        ("f8,O", (1,), raw(b"\x41" * 16)),
        ("i4", (3,), raw(b"\0" * 8)),
        ("i4", (2**40,), raw(b"\0" * 8)),
        ("i4", (-1,), raw(b"")),
        ("i4", (2**32, 2**32), raw(b"")),
        ("i4", (1,), text("abcd")),
        ("U1", (1,), raw(b"\xff\xff\xff\x7f")),
        ("U0", (2**40,), raw(b"")),
        ("S999999999", (1,), raw(b"")),
        ("O8", (2,), b"]N" + b"a"),
        ("O8", (2**40, 0), b"]"),
    ],
)  # fmt: skip
def test_numpy_arrays_that_lie_are_no_arrays(kind, shape, contents, load, tmp_path):
    write_container(tmp_path / "x.pt", pickled(array(kind, shape, contents)))

    try:
        made = load_container(tmp_path / "x.pt")
    except SourceError:
        made = None

    assert not isinstance(made, np.ndarray)


def test_an_array_of_objects_is_a_list(load):
    assert load(pickled(array("O8", (2,), b"](" + text("a") + b"Ne"))) == ["a", None]


def test_state_of_a_tensor_is_not_set(load):
    one = tensor(storage("FloatStorage", "0", 1), 0, (1,), (1,))
    state = pack(b"K\x01", pack(b"K\x01"), call(DTYPE, text("i8")), b"\x89", raw(b"\x41" * 8))

    assert load(pickled(one + state + b"b"), {"0": b"\0\0\x80?"}).tolist() == [1.0]


NESTINGS = {
    "lists from outside": b"]" * 100_000 + b"a" * 99_999,
    "lists from inside": b"]q\x000" + b"]h\x00aq\x000" * 100_000 + b"h\x00",
    "lists at once": b"]q\x000" + b"](h\x00h\x00eq\x000" * 100_000 + b"h\x00",
    "tuples": b")" + b"\x85" * 100_000,
    "pairs": b")q\x000" + b"h\x00h\x00\x86q\x000" * 100_000 + b"h\x00",
    "dictionaries": b"}" + b"K\x00}" * 50_000 + b"s" * 50_000,
    "lists and tuples": b")q\x000" + b"]h\x00a\x85q\x000" * 50_000 + b"h\x00",
    "old lists": b"(" * 50_000 + b"l" * 50_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(NESTINGS))
def test_deep_nesting_is_refused(kind, refused):
    assert "nested deeper" in refused(pickled(NESTINGS[kind]))


def test_nesting_as_deep_as_real_data_is_read(load):
    made = load(pickled(b"]" * 150 + b"a" * 149))

    assert repr(made) == "[" * 150 + "]" * 150


def test_placeholders_nested_without_end_do_no_harm(load):
    made = load(pickled(b")q\x000" + b"c__main__\nA\nh\x00R\x85q\x000" * 100_000 + b"h\x00"))

    assert repr(made) == "(<__main__.A, not loaded>,)"


@pytest.mark.parametrize(
    "body",
    [b"]q\x00h\x00a", b"}q\x00Nh\x00s", b"]q\x00(h\x00e", b"]q\x00]h\x00aa", b"]q\x00]q\x01h\x00ah\x00h\x01a0", b"]q\x00\x85h\x00(K\x01K\x02e0"],
)  # fmt: skip
def test_lists_that_contain_themselves_or_grow_later_are_refused(body, refused):
    assert refused(pickled(body))


def test_an_object_may_refer_to_itself(load):
    made = load(pickled(call(name("a", "Node")) + b"q\x00}" + text("self") + b"h\x00sb"))

    assert made.get("self") is made


def test_billion_laughs_are_shared_references(tmp_path):
    body = text("ha") + b"q\x000" + (b"](" + b"h\x00" * 10 + b"eq\x000") * 60 + b"h\x00"

    word, rose_mib = load_apart(write_container(tmp_path / "x.pt", pickled(body)))

    assert word == "loaded"
    assert rose_mib < 50


KEYS = {
    "shared pairs": b")q\x000" + b"h\x00h\x00\x86q\x000" * 60 + b"}h\x00Ns",
    "a deep tuple": b")" + b"\x85" * 190 + b"q\x000}h\x00Ns",
    "nested frozensets": b"(\x91q\x000" + b"(h\x00\x91q\x000" * 60 + b"h\x00",
    "a list": b"}]Ns",
    "a dictionary": b"}}Ns",
    "a long integer": b"}" + b"\x8a\x40" + b"\x11" * 64 + b"Ns",
    "in a set": b"\x8f(" + b")" + b"\x85" * 60 + b"\x90",
    "a long tuple": b"}(" + b"N" * 1000 + b"tNs",
    "a long text": b"}" + text("x" * 100_000) + b"Ns",
}


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_keys_that_are_slow_to_hash_are_refused(kind, refused):
    assert "key" in refused(pickled(KEYS[kind]))


def test_plain_keys_are_kept(load):
    body = (
        b"}(K\x01N"
        + text("a")
        + b"N"
        + pack(b"K\x01", text("b"))
        + b"N\x88NNNG"
        + struct.pack(">d", 0.5)
        + b"N"
        + name("a", "B")
        + b"Nu"
    )
    keys = list(load(pickled(body)))

    assert keys[1:5] == ["a", (1, "b"), None, 0.5]
    assert repr(keys[5]) == "<a.B, not loaded>"


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "ends in the middle"),
        (b"K", "ends in the middle"),
        (b"](K\x01", "ends in the middle"),
        (b"](J\1\1", "ends in the middle"),
        (b"G\1", "ends in the middle"),
        (b"X\x04\0\0\0ab", "ends in the middle"),
        (b"cos\nsys", "ends in the middle"),
    ],
)
def test_a_pickle_cut_off(body, word, refused):
    assert word in refused(PROTO + body)


@pytest.mark.parametrize(
    "body",
    [
        b"h\x00", b"0", b"R", b"N)R", b"(N", b"NN", b"u", b"N(u", b"](NNu", b"}(Nu", b"Na", b"N(Ne", b"\x90", b"N(N\x90",
        b"NNb", b"]Nb", b"cos\nsystem\nNb", b"Nb", b"\x93", b"NN\x93", b"(o", b"(No", b"NN\x81", b"NNN\x92", b"t", b"\x85",
        b"NQ", b")Q", b"\xff", b"\x80\x63N", b"\x8a\x01", b"U\x01\xff", b"X\x01\0\0\0\xff", b"j\1\0\0\0",
    ],
)  # fmt: skip
def test_nonsense_is_refused(body, refused):
    assert refused(PROTO + body + STOP)


def test_half_characters_are_replaced(load):
    made = load(pickled(text("a\ud83d b\ud83d\ude00")))

    assert made == "a\ufffd b\U0001f600"
    assert made.encode()


def test_the_error_tells_file_and_byte(tmp_path):
    path = write_container(tmp_path / "x.pt", pickled(b"NN\x93"))

    with pytest.raises(
        SourceError, match=r"^rollout_data/3\.pt, data\.pkl byte 4: the name of a class is no text"
    ):
        load_container(path, name="rollout_data/3.pt")
