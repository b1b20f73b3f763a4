# SPDX-License-Identifier: Apache-2.0
import collections
import contextlib
import enum
import io
import random
import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from millhopper.fluid.reader import wire
from millhopper.fluid.reader.wire import WireError, decode, encode

PLAIN: list[Any] = [
    None,
    True,
    False,
    *(
        sign * (1 << bits) + off
        for sign in (1, -1)
        for bits in (0, 7, 8, 64, 999)
        for off in (-1, 0)
    ),
    0.0,
    -0.0,
    1e308,
    float("inf"),
    "",
    "größer 日本 \U0001f600 \0",
    "\udc80",
    b"",
    bytes(range(256)),
    (),
    [],
    {},
    (1, (2, [3, (4,)]), None),
    [[1], [2, 3], 4],
    {"a": 1, None: [2], (1, "b"): {b"c": ()}},
]

ARRAYS = [
    *(np.arange(12).astype(kind).reshape(3, 4) for kind in "?bBhHiIlLqQefdgFDG"),
    np.arange(4, dtype=">i4"),
    np.array(["a", "bcd", ""]),
    np.array([b"a", b"bcd"]),
    np.array(["2018-07-18", "NaT"], "M8[D]"),
    np.array([1, 2], "m8[ns]"),
    np.array(5.0),
    np.zeros((0, 3)),
    np.zeros((3, 0), "u1"),
    np.array([(1, [2.0, 3.0])], [("n", "<i2"), ("x", "<f4", (2,))]),
    np.zeros(2, np.dtype([("a", "u1"), ("b", "f8")], align=True)),
    np.array([b"xyz"], "V3"),
]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal and of the same types throughout."""
    if isinstance(a, (np.ndarray, np.generic)) and isinstance(b, (np.ndarray, np.generic)):
        arrays = isinstance(a, np.ndarray), isinstance(b, np.ndarray)
        layout = (a.dtype, a.shape) == (b.dtype, b.shape)
        return arrays[0] == arrays[1] and layout and a.tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    return bool(a == b) and str(a) == str(b)


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_brings_plain_values_back(value: Any) -> None:
    assert same(decode(encode(value)), value)


def test_brings_nan_back() -> None:
    assert str(decode(encode(float("nan")))) == "nan"


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_brings_arrays_back(array: Any) -> None:
    got = decode(encode((array, "next")))[0]
    assert same(got, array)
    assert got.flags.writeable and got.flags.aligned


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_brings_scalars_back(array: Any) -> None:
    for scalar in array.reshape(-1)[:2]:
        assert same(decode(encode(scalar)), scalar)


@pytest.mark.parametrize("scalar", [np.str_(""), np.bytes_(b""), np.float64(1.5), np.bool_(True)])
def test_tells_numpy_scalars_from_what_they_derive_from(scalar: Any) -> None:
    assert same(decode(encode(scalar)), scalar)


def test_brings_views_back() -> None:
    array = np.arange(24).reshape(4, 6)
    for view in (
        array[::2, ::-1],
        array.T,
        np.asfortranarray(array),
        np.broadcast_to(array, (2, 4, 6)),
    ):
        assert np.array_equal(decode(encode(view)), view)


def test_takes_memory_maps_for_arrays(tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert same(decode(encode(mapped[1])), np.array([3, 4, 5]))
    mapped._mmap.close()


def test_arrays_do_not_share_memory() -> None:
    data = bytearray(encode((np.zeros(3), np.zeros(3))))
    first, second = decode(data)
    first[:] = 1
    data[-1] = 255
    assert second.tolist() == [0, 0, 0]


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    "value, name",
    [
        (object(), "builtins.object"),
        ({1, 2}, "builtins.set"),
        (bytearray(b"a"), "builtins.bytearray"),
        (1j, "builtins.complex"),
        (Colour.RED, "test_wire.Colour"),
        (Point(1, 2), "test_wire.Point"),
        (collections.OrderedDict(), "collections.OrderedDict"),
        (np.recarray((1,), [("a", "u1")]), "recarray"),
        (np.array([object()]), "dtype object"),
        (np.zeros(1, [("a", object)]), "dtype"),
        (len, "builtins.builtin_function_or_method"),
    ],
    ids=str,
)
def test_names_the_type_of_what_it_refuses(value: Any, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        encode([(value,)])


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_limits_how_deep_values_are_nested() -> None:
    assert same(decode(encode(nested(wire.MAX_DEPTH))), nested(wire.MAX_DEPTH))
    itself: list[Any] = []
    itself.append(itself)
    for value in (nested(wire.MAX_DEPTH + 1), itself):
        with pytest.raises(ValueError, match="deep"):
            encode(value)
    with pytest.raises(WireError, match="deep"):
        decode((b"l" + struct.pack("<Q", 1)) * 100_000 + b"N")


def test_limits_how_long_values_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 100)
    encode(b"x" * 91)
    with pytest.raises(ValueError, match="101 bytes"):
        encode(b"x" * 92)


U64 = struct.Struct("<Q").pack
F4 = encode("<f4")
HUGE = (1 << 64) - 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"?",
        b"NN",
        b"i" + struct.pack("<I", HUGE >> 32) + b"\0",
        b"d" + bytes(7),
        b"s" + U64(HUGE) + b"a",
        b"s" + U64(1) + b"\xff",
        b"b" + U64(2) + b"a",
        b"t" + U64(HUGE),
        b"l" + U64(3) + b"NN",
        b"m" + U64(1) + b"N",
        b"m" + U64(HUGE // 2) + b"NN",
        b"m" + U64(1) + encode([]) + b"N",
        b"a" + F4 + b"\1" + U64(2) + bytes(7),
        b"a" + F4 + b"\2" + U64(HUGE) + U64(HUGE) + bytes(8),
        b"a" + F4 + b"\2" + U64(HUGE) + U64(0),
        b"a" + F4 + b"\x21" + U64(1) * 33 + bytes(4),
        b"a" + encode("|O") + b"\1" + U64(1) + bytes(8),
        b"a" + encode("float32") + b"\1" + U64(1) + bytes(4),
        b"a" + encode("nonsense") + b"\0",
        b"a" + encode([("a", "|O")]) + b"\0" + bytes(8),
        b"a" + encode(None) + b"\0" + bytes(8),
        b"a" + encode(7) + b"\0" + bytes(8),
        b"g" + F4 + bytes(3),
        b"g" + encode("|O") + bytes(8),
    ],
    ids=repr,
)
def test_refuses_what_is_no_value(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)


SAMPLE = encode(
    [(np.arange(4, dtype="f4"), np.int64(3), "text", b"bytes", 7, 0.5), {"k": [None, True]}]
)


def test_refuses_every_prefix() -> None:
    for size in range(len(SAMPLE)):
        with pytest.raises(WireError):
            decode(SAMPLE[:size])


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of numpy, about changed dtypes
def test_survives_changed_bytes() -> None:
    chance = random.Random(5)
    for _ in range(5000):
        data = bytearray(SAMPLE)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with contextlib.suppress(WireError):
            decode(data)


class Drip(io.RawIOBase):
    """A stream that takes and gives one byte at a time."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)

    def write(self, data: Any) -> int:
        self.data += bytes(data[:1])
        return 1

    def readinto(self, buffer: Any) -> int:
        part = self.data[:1]
        del self.data[:1]
        buffer[: len(part)] = part
        return len(part)


def test_streams_values() -> None:
    stream = Drip()
    for value in (None, SAMPLE):
        wire.write(stream, encode(value))
    assert [decode(wire.read(stream)) for _ in range(2)] == [None, SAMPLE]


def test_notices_where_a_stream_ends() -> None:
    whole = Drip()
    wire.write(whole, SAMPLE)
    for size in (0, 1, 7, 8, 9, len(whole.data) - 1):
        with pytest.raises(EOFError):
            wire.read(Drip(bytes(whole.data[:size])))


def test_does_not_believe_the_length_in_a_stream() -> None:
    with pytest.raises(WireError, match="announced"):
        wire.read(Drip(U64(wire.MAX_BYTES + 1) + b"N"))
