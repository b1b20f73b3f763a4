# SPDX-License-Identifier: Apache-2.0
"""Readers of arrays and of data sets that Python holds."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (130, 4, 3)).astype(np.uint8)
LABELS = np.arange(130)


def joined(reader: millhopper.Reader, slot: str) -> Any:
    return np.concatenate([batch[slot] for batch in reader])


def test_batches_are_slices_of_the_arrays() -> None:
    reader = millhopper.Reader.from_arrays({"image": IMAGES, "label": LABELS})
    assert reader.slots() == [("uint8", [1, 4, 3], 0), ("int64", [1], 0)]
    assert len(reader) == 130
    for at, batch in enumerate(reader.batch(64)):
        part = slice(64 * at, 64 * at + 64)
        np.testing.assert_array_equal(batch["image"], IMAGES[part])
        np.testing.assert_array_equal(batch["label"], LABELS[part])
    assert at == 2


def test_every_dtype_and_shape() -> None:
    for dtype in "bool int8 uint8 int16 int32 int64 float16 float32 float64".split():
        for dims in (), (3,), (2, 0), (2, 3, 4):
            values = RNG.integers(0, 100, (17, *dims)).astype(dtype)
            read = joined(millhopper.Reader.from_arrays({"x": values}).batch(5), "x")
            assert read.dtype == values.dtype
            np.testing.assert_array_equal(read, values)


def test_arrays_are_not_copied() -> None:
    values = np.zeros(64)
    reader = millhopper.Reader.from_arrays({"x": values})
    values[3] = 7  # before a pass; this shows whose memory it is
    assert joined(reader.batch(64), "x")[3] == 7


def test_views_are_read_in_place() -> None:
    grid = np.arange(600).reshape(20, 30)
    for view in grid[::2], grid[::-1], grid[:, 3:7], grid[3:3], grid.T, grid[:, ::2]:
        read = (
            joined(millhopper.Reader.from_arrays({"x": view}).batch(7), "x") if len(view) else view
        )
        np.testing.assert_array_equal(read, view)
    assert list(millhopper.Reader.from_arrays({"x": grid[3:3]})) == []
    sliced = grid[::2]
    reader = millhopper.Reader.from_arrays({"x": sliced})
    grid[4, 0] = -1
    assert joined(reader.batch(64), "x")[2, 0] == -1


def test_memory_maps(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", IMAGES)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    reader = millhopper.Reader.from_arrays({"image": mapped, "label": LABELS}, shuffle=True)
    del mapped
    gc.collect()
    for batch in reader.batch(32).double_buffer():
        np.testing.assert_array_equal(batch["image"], IMAGES[batch["label"]])


TEXTS = ["añb", "", "c\0", "a longer one"] * 50


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", ["list", "tuple", "U", "object", "texts"])
def test_texts(kind: str) -> None:
    texts = [text.rstrip("\0") for text in TEXTS] if kind == "U" else TEXTS
    given: Any = {
        "list": texts,
        "tuple": tuple(texts),
        "U": np.array(texts),
        "object": np.array(texts, object)[:, np.newaxis][:, 0],
        "texts": next(iter(millhopper.Reader.from_dataset(texts).batch(200)))["slot0"],
    }[kind]
    reader = millhopper.Reader.from_arrays({"text": given, "n": np.arange(200)})
    assert reader.slots() == [("uint8", [-1], 1), ("int64", [1], 0)]
    assert len(reader) == 200
    first = next(iter(reader))["text"]
    assert isinstance(first, millhopper.Texts) and first == texts[:1]
    read = [text for batch in reader.batch(64) for text in batch["text"]]
    assert read == texts
    again = millhopper.Reader.from_arrays({"text": given, "n": np.arange(200)}, shuffle=True)
    numbers = []
    for batch in again.batch(32).double_buffer():
        assert batch["text"] == [texts[n] for n in batch["n"]]
        numbers += batch["n"].tolist()
    assert sorted(numbers) == list(range(200)) != numbers
    sampled = reader.sampled([3, 1, 3])
    (batch,) = sampled.batch(3)
    assert batch["text"] == [texts[3], texts[1], texts[3]]
    assert len(list(reader.filter("text == ''"))) == 50


@pytest.mark.parametrize("given", [[b"ab\0", b"", b"c"], np.array([b"ab\0", b"", b"c"], object)])
def test_bytes_and_ragged_arrays(given: Any) -> None:
    (batch,) = millhopper.Reader.from_arrays({"x": given}).batch(3)
    assert type(batch["x"]) is millhopper.Ragged and batch["x"].to_bytes() == [b"ab\0", b"", b"c"]
    short = np.array([b"ab", b"", b"c"])
    (batch,) = millhopper.Reader.from_arrays({"x": short}).batch(3)
    assert batch["x"].to_bytes() == short.tolist()
    ragged = millhopper.Ragged(np.arange(12.0).reshape(6, 2), (np.array([1, 3, 3, 6]),))
    reader = millhopper.Reader.from_arrays({"r": ragged})
    assert reader.slots() == [("float64", [-1, 2], 1)]
    (batch,) = reader.batch(3)
    assert [row.tolist() for row in batch["r"]] == [row.tolist() for row in ragged]
    assert [row["r"][0].tolist() for row in reader.sampled([2, 0])] == [
        ragged[2].tolist(),
        ragged[0].tolist(),
    ]
    strided = np.array([1, 0, 3, 0, 3, 0, 6], np.int32)[::2]
    for offsets in (strided, np.array([1, 3, 3, 6], np.uint8), [1, 3, 3, 6]):
        given_so: Any = millhopper.Ragged(ragged.values, (offsets,))  # type: ignore[arg-type]
        (other,) = millhopper.Reader.from_arrays({"r": given_so}).batch(3)
        assert [row.tolist() for row in other["r"]] == [row.tolist() for row in ragged]


def test_no_texts() -> None:
    reader = millhopper.Reader.from_arrays({"x": np.array([], "U1")})
    assert list(reader) == [] and reader.slots() == [("uint8", [-1], 1)]


def test_lists() -> None:
    reader = millhopper.Reader.from_arrays({"x": [[1, 2], [3, 4], [5, 6]], "y": [0.5, 1.5, 2.5]})
    (batch,) = reader.batch(3)
    assert batch["x"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert batch["y"].tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize("count", [0, 1, 2, 130, 5000])
def test_a_full_shuffle(count: int) -> None:
    values = np.arange(count)
    reader = millhopper.Reader.from_arrays({"x": values}, shuffle=True, seed=3)
    passes = [[int(row["x"][0]) for row in reader] for _ in range(2)]
    assert all(sorted(order) == list(range(count)) for order in passes)
    if count > 2:
        assert passes[0] != passes[1] != list(range(count))
    again = millhopper.Reader.from_arrays({"x": values}, shuffle=True, seed=3)
    assert [int(row["x"][0]) for row in again] == passes[0]


def test_the_order_does_not_depend_on_threads(pool: None) -> None:
    orders = []
    for threads in 0, 1, 2, 7:
        millhopper.set_threads(threads)
        reader = millhopper.Reader.from_arrays({"x": np.arange(3000)}, shuffle=True, seed=1)
        orders.append(joined(reader.batch(64).double_buffer(), "x").tolist())
    assert sorted(orders[0]) == list(range(3000))
    assert orders == [orders[0]] * 4


def test_arrays_live_as_long_as_a_loop_reads_them() -> None:
    class Array(np.ndarray):  # ndarray itself has no weak references
        pass

    values = np.arange(1000).view(Array)
    gone = weakref.ref(values)
    loop = iter(millhopper.Reader.from_arrays({"x": values}).map(lambda e: e).batch(10))
    del values
    gc.collect()
    assert sum(int(batch["x"].sum()) for batch in loop) == sum(range(1000))
    del loop
    for _ in range(3):
        gc.collect()
        iter(millhopper.Reader.from_arrays({"x": [1]})).close()
    assert gone() is None


def test_the_other_methods_stand_on_them() -> None:
    reader = millhopper.Reader.from_arrays({"x": np.arange(10), "y": np.arange(10.0)})
    zipped = reader.zip(millhopper.Reader.from_arrays({"z": np.arange(10)}))
    assert [list(row) for row in zipped][0] == ["x", "y", "z"]
    doubled = reader.map(lambda e: {"x": e["x"] * 2}).shard(2, 1)
    assert [int(row["x"][0]) for row in doubled] == [2, 6, 10, 14, 18]


class Frame:
    """As a pandas.DataFrame, which is no Mapping."""

    def keys(self) -> list[str]:
        return ["x"]


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ([1, 2], TypeError, "arrays is 'list'; it must be a dict: {\"name\": array}"),
        (
            Frame(),
            TypeError,
            "arrays is 'Frame'; it must be a dict: {\"name\": array}; dict(frame) makes one of a "
            "pandas.DataFrame",
        ),
        ({}, ValueError, "from_arrays: there are no arrays; give at least one by its name"),
        ({"x": 3}, ValueError, "from_arrays: 'x' is 3, which has no rows"),
        (
            {"x": [1, 2], "y": [1]},
            ValueError,
            "from_arrays: the arrays differ in length: {'x': 2, 'y': 1}",
        ),
        (
            {"x": ["a", None]},
            TypeError,
            'from_arrays: row 1 of \'x\' is None, no str; frame["name"].fillna("") fills in what '
            "is missing; from_arrow keeps it",
        ),
        (
            {"x": np.array([["a", "b"]])},
            TypeError,
            "from_arrays: row 0 of 'x' is ['a', 'b'], no str; from_dataset reads lists of texts, "
            "and of arrays of different lengths",
        ),
        (
            {"x": np.array([3], object)},
            TypeError,
            "from_arrays: row 0 of 'x' is 3, no str; astype(\"int64\") and the like make numbers "
            "of an array of objects",
        ),
        (
            {"x": ["\ud800"]},
            ValueError,
            "from_arrays: 'x' has a text that is no Unicode: 'utf-8' codec can't encode character "
            "'\\ud800' in position 0: surrogates not allowed",
        ),
        (
            {"x": millhopper.Ragged(np.zeros(3), (np.array([0, 1]), np.array([0, 3])))},
            TypeError,
            "from_arrays: 'x' is <Ragged of 1: float64 [3], 2 level(s) of offsets>; one level is "
            "possible",
        ),
        (
            {"x": millhopper.Ragged(np.zeros(3), (np.array([0, 4]),))},
            millhopper.Error,
            "offsets must not go down, nor beyond the 3 rows of their array",
        ),
        (
            {"x": millhopper.Ragged(np.zeros(3), (np.array([0.0, 3.0]),))},
            TypeError,
            "from_arrays: offsets of 'x' are float64 [2]; they are one axis of integers: where "
            "each row begins, and last where the last one ends",
        ),
        (
            {"x": millhopper.Ragged(np.zeros(3), (np.array([[0], [3]]),))},
            TypeError,
            "from_arrays: offsets of 'x' are int64 [2, 1]; they are one axis of integers: where "
            "each row begins, and last where the last one ends",
        ),
    ],
)
def test_what_are_no_arrays(arrays: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        millhopper.Reader.from_arrays(arrays)


class Squares:
    """A map-style data set."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.threads: set[int] = set()

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index >= self.count:
            raise IndexError(index)
        self.threads.add(threading.get_ident())
        return np.full((2, 3), index, np.float32), index * index


def test_samples_of_a_data_set() -> None:
    reader = millhopper.Reader.from_dataset(Squares(130))
    assert len(reader) == 130
    batches = list(reader.batch(64))
    assert [batch["slot0"].shape for batch in batches] == [(64, 2, 3), (64, 2, 3), (2, 2, 3)]
    squares = np.concatenate([batch["slot1"] for batch in batches])
    assert squares.tolist() == [i * i for i in range(130)]


def test_samples_by_name_alone_and_of_text() -> None:
    (batch,) = millhopper.Reader.from_dataset([{"a": 1, "b": [2.0, 3.0]}] * 2).batch(2)
    assert batch["a"].tolist() == [1, 1] and batch["b"].tolist() == [[2.0, 3.0]] * 2
    (batch,) = millhopper.Reader.from_dataset([3, 4, 5]).batch(3)
    assert batch["slot0"].tolist() == [3, 4, 5]
    (batch,) = millhopper.Reader.from_dataset([[1, 2], [3, 4]]).batch(2)
    assert batch["slot0"].tolist() == [[1, 2], [3, 4]]
    (batch,) = millhopper.Reader.from_dataset([("añb", 1), (b"", 0), ("c", 1)]).batch(3)
    assert batch["slot0"].tolist() == ["añb", "", "c"]
    sequences = [millhopper.Ragged(np.arange(n), (np.array([0, n]),)) for n in (2, 0, 3)]
    (batch,) = millhopper.Reader.from_dataset(sequences).batch(3)
    assert [sequence.tolist() for sequence in batch["slot0"]] == [[0, 1], [], [0, 1, 2]]


def test_a_data_set_is_shuffled_as_a_whole() -> None:
    reader = millhopper.Reader.from_dataset(list(range(500)), shuffle=True, seed=2)
    passes = [[int(row["slot0"][0]) for row in reader] for _ in range(2)]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(500))
    assert passes[0] != passes[1]


def test_declared_slots_of_a_data_set() -> None:
    slots = {"x": ("float32", [1, 2, 3]), "y": ("int64", [1])}
    reader = millhopper.Reader.from_dataset(Squares(3), slots=slots)
    assert reader.slots() == [("float32", [1, 2, 3], 0), ("int64", [1], 0)]
    assert [int(row["y"][0]) for row in reader] == [0, 1, 4]


def test_a_list_of_numbers_is_one_value_whatever_their_types_are() -> None:
    for number in int, float, bool, np.float32, np.int64, np.bool_:
        (batch,) = millhopper.Reader.from_dataset([[number(1), number(0)]] * 3).batch(3)
        assert batch["slot0"].tolist() == [[1, 0]] * 3
    slots = {"x": ("int64", [1]), "y": ("int64", [1])}
    (batch,) = millhopper.Reader.from_dataset([[1, 2]], slots=slots).batch(1)
    assert (batch["x"].tolist(), batch["y"].tolist()) == ([1], [2])


def test_samples_of_more_values_than_slots_are_named() -> None:
    slots = {"x": ("int64", [1]), "y": ("int64", [1])}
    reader = millhopper.Reader.from_dataset([(1, 2, 3)], slots=slots)
    message = r"ValueError: the sample has 3 values, for slots \['x', 'y'\]"
    with pytest.raises(millhopper.Error, match=message):
        list(reader)


@pytest.mark.parametrize("of_arrays", [False, True])
def test_the_seed_is_that_of_the_chain(of_arrays: bool) -> None:
    def order(seed: int) -> list[int]:
        source = (
            millhopper.Reader.from_arrays({"slot0": np.arange(300)}, seed=seed)
            if of_arrays
            else millhopper.Reader.from_dataset(list(range(300)), seed=seed)
        )
        return joined(source.shuffle(300).batch(300), "slot0").tolist()

    assert order(1) == order(1) != order(2)


def test_a_shuffled_reader_has_what_the_first_one_holds() -> None:
    arrays = {"x": [1, 2, 3]}
    reader = millhopper.Reader.from_arrays(arrays)
    slots = {"x": ("int64", [1])}
    of_samples = millhopper.Reader.from_dataset([4, 5, 6], slots=slots)
    arrays["x"] = [7]
    slots["y"] = ("int64", [1])
    for source, values in (reader, [1, 2, 3]), (of_samples, [4, 5, 6]):
        shuffled = source.shuffled_whole(1)
        assert shuffled is not None and shuffled._functions == source._functions
        assert sorted(joined(shuffled.batch(2), "x").tolist()) == values
        again = shuffled.shuffled_whole(2)
        assert again is not None and sorted(joined(again, "x").tolist()) == values


def test_a_cache_on_a_disk_is_of_as_many_rows_in_the_same_order(tmp_path: Path) -> None:
    def rows(count: int, **keywords: Any) -> Iterator[list[int]]:
        for source in (
            millhopper.Reader.from_arrays({"slot0": np.arange(count)}, **keywords),
            millhopper.Reader.from_dataset(list(range(count)), **keywords),
        ):
            cached = source.cache(directory=tmp_path, disk_bytes=1 << 20, data_version="1")
            yield joined(cached.batch(64), "slot0").tolist()

    for count in 50, 60, 50:
        assert list(rows(count)) == [list(range(count))] * 2
    for order in rows(50, shuffle=True):
        assert order != list(range(50)) and sorted(order) == list(range(50))


def test_errors_name_where_the_data_set_is_written() -> None:
    class Failing(Squares):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            raise KeyError(index)

    line = Failing.__getitem__.__code__.co_firstlineno
    with pytest.raises(millhopper.Error, match=rf"Failing.__getitem__.*{__file__}:{line}\)"):
        list(millhopper.Reader.from_dataset(Failing(5)))


def test_what_is_no_data_set() -> None:
    with pytest.raises(TypeError, match="^from_dataset takes an object with __len__ and "):
        millhopper.Reader.from_dataset(iter([1]))  # type: ignore[arg-type]
    reader = millhopper.Reader.from_arrays({"x": np.arange(3)})
    with pytest.raises(TypeError, match="not <millhopper.Reader.*; from_iterable takes what can"):
        millhopper.Reader.from_dataset(reader)  # type: ignore[type-var]

    class Failing(Squares):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            raise KeyError(index)

    with pytest.raises(millhopper.Error, match="Failing.__getitem__.*KeyError: 0") as caught:
        list(millhopper.Reader.from_dataset(Failing(5)))
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("source", ["arrays", "dataset"])
def test_a_sampler_names_the_elements(source: str, threads: int) -> None:
    values = np.arange(50) * 3
    if source == "arrays":
        reader = millhopper.Reader.from_arrays({"value": values, "more": values.reshape(50, 1)})
    else:
        samples = [{"value": value, "more": np.array([value])} for value in values]
        reader = millhopper.Reader.from_dataset(samples)
    numbers = [7, 7, 0, 49, 3, 7]
    for sampler in (numbers, np.array(numbers), tuple(numbers)):
        batches = list(reader.sampled(sampler).batch(4))
        assert [batch["value"].tolist() for batch in batches] == [[21, 21, 0, 147], [9, 21]]
        assert batches[0]["more"].shape == (4, 1)

    class Passes:
        """Draws other numbers in each pass, as a sampler of torch does."""

        def __init__(self) -> None:
            self.passes = 0

        def __iter__(self) -> Iterator[int]:
            self.passes += 1
            return iter([self.passes] * 5)

    drawn = reader.sampled(Passes()).batch(5)
    firsts = [[int(batch["value"][0]) for batch in drawn] for _ in range(3)]
    assert [len(values) for values in firsts] == [1, 1, 1]
    assert len({values[0] for values in firsts}) == 3
    # It goes on in the middle of a pass.
    order = [int(number) for number in np.random.default_rng(1).integers(0, 50, 40)]
    whole = [int(element["value"][0]) for element in reader.sampled(order)]
    assert whole == [3 * number for number in order]
    for cut in (0, 1, 17, 39):
        loop = reader.sampled(order)
        elements = iter(loop)
        for _ in range(cut):
            next(elements)
        again = reader.sampled(order)
        again.load_state_dict(loop.state_dict())
        assert [int(element["value"][0]) for element in again] == whole[cut:]
    with pytest.raises(millhopper.Error, match="(?i)index|range|row 50 of 50"):
        list(reader.sampled([50]))
    with pytest.raises(ValueError, match="elements of this reader have no numbers"):
        reader.map(lambda element: element).sampled([1])
    with pytest.raises(TypeError, match="sampler is 3, which cannot be iterated over"):
        reader.sampled(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("sampler", [[1.5], [True, False], [[1, 2]]])
def test_a_sampler_of_what_is_no_number_of_an_element(sampler: Any) -> None:
    with pytest.raises(TypeError, match="it names elements by integers, one axis of them"):
        millhopper.Reader.from_arrays({"x": np.arange(4)}).sampled(sampler)
