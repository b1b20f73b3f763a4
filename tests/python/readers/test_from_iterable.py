# SPDX-License-Identifier: Apache-2.0
"""Readers of what Python can only iterate over."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import millhopper
import numpy as np
import pytest
from conftest import run_python, until
from millhopper.ragged import Texts
from millhopper.readers.iterable_source import Places

NUMBERS = {"x": ("int64", [1])}


def numbers(count: int = 1000) -> Iterator[dict[str, int]]:
    for i in range(count):
        yield {"x": i}


def read(reader: millhopper.Reader | Iterable[Any], slot: str = "x") -> list[int]:
    return [int(value) for batch in reader for value in batch[slot]]


class Passes:
    """Another order in each pass, and where it stands: as data sets that are streams have it."""

    def __init__(self, count: int = 1000) -> None:
        self.count = count
        self.number = 0
        self.at = 0
        self.asked = 0

    def set_epoch(self, epoch: int) -> None:
        self.number = epoch
        self.at = 0

    def __iter__(self) -> Iterator[dict[str, int]]:
        while self.at < self.count:
            self.at += 1
            self.asked += 1
            yield {"x": (self.at - 1) * 7919 % self.count + self.count * self.number}
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at, "number": self.number}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at, self.number = state["at"], state["number"]


class From:
    """An iterable whose items are those of a function, and that tells nothing."""

    def __iter__(self) -> Iterator[dict[str, int]]:
        return numbers()


def with_start(start: int = 0) -> Iterator[dict[str, int]]:
    return ({"x": i} for i in range(start, 1000))


def test_items_are_elements_as_samples_of_a_data_set_are() -> None:
    items = [{"a": i, "t": "é" * i, "v": [i, i + 0.5], "m": np.eye(2)} for i in range(5)]
    reader = millhopper.Reader.from_iterable(items)
    (batch,) = reader.batch(5)
    (expected,) = millhopper.Reader.from_dataset(items).batch(5)
    assert batch.keys() == expected.keys()
    for slot in "a", "v", "m":
        np.testing.assert_array_equal(batch[slot], expected[slot])
        assert batch[slot].dtype == expected[slot].dtype
    assert batch["t"].tolist() == expected["t"].tolist() == ["é" * i for i in range(5)]
    assert reader.slots() == [
        ("int64", [1], 0), ("uint8", [-1], 1), ("float64", [1, -1], 0), ("float64", [1, -1, -1], 0)
    ]  # fmt: skip
    (batch,) = millhopper.Reader.from_iterable([(1, 2.5), (3, 4.5)]).batch(2)
    assert batch["slot0"].tolist() == [1, 3] and batch["slot1"].tolist() == [2.5, 4.5]
    (batch,) = millhopper.Reader.from_iterable([np.ones(3), np.zeros(3)]).batch(2)
    assert batch["slot0"].tolist() == [[1] * 3, [0] * 3]


def test_declared_slots_convert_numbers_and_take_lists_of_any_length() -> None:
    slots = {"x": ("float32", [1]), "t": ("int32", [-1], 1), "w": ("uint8", [-1], 2)}
    items = [(1, [1, 2], ["ab", "c"]), (2, [], []), (3.5, [3], ["", "d"])]
    reader = millhopper.Reader.from_iterable(iter(items), slots)
    (batch,) = reader.batch(3)
    assert batch["x"].tolist() == [1, 2, 3.5] and batch["x"].dtype == np.float32
    assert [row.tolist() for row in batch["t"]] == [[1, 2], [], [3]]
    assert batch["t"].values.dtype == np.int32
    assert [[bytes(w) for w in words] for words in batch["w"]] == [[b"ab", b"c"], [], [b"", b"d"]]
    lists = [[[1, 2], [3]], [], [[], [4, 5, 6]]]
    (batch,) = millhopper.Reader.from_iterable(lists, {"n": ("int64", [-1], 2)}).batch(3)
    assert [[part.tolist() for part in row] for row in batch["n"]] == lists
    reader = millhopper.Reader.from_iterable([[1.5]], {"x": ("int64", [-1], 1)})
    with pytest.raises(millhopper.Error, match="a list of float64 for a slot of int64"):
        list(reader)


@pytest.mark.usefixtures("threads")
def test_it_is_the_head_of_any_chain() -> None:
    reader = millhopper.Reader.from_iterable(numbers, NUMBERS)
    assert read(reader.batch(7)) == list(range(1000))
    shuffled = reader.shuffle(100, seed=1).batch(64).double_buffer()
    first, second = read(shuffled), read(shuffled)
    assert sorted(first) == sorted(second) == list(range(1000)) and first != second
    assert read(reader.shard(3, 1).batch(5)) == list(range(1, 1000, 3))
    doubled = reader.map(lambda element: {"x": element["x"] * 2}).take(10)
    assert read(doubled) == list(range(0, 20, 2))
    assert read(reader.multi_pass(2).skip(990)) == [*range(990, 1000), *range(1000)]


def test_what_is_str_stays_str_and_bytes_stay_bytes() -> None:
    items: list[dict[str, Any]] = [{"t": "é", "b": b"\xff"}, {"t": b"of bytes", "b": "x"}]
    reader = millhopper.Reader.from_iterable(items)
    (batch,) = reader.filter("t != 'none'").batch(2)
    assert batch["t"].tolist() == ["é", "of bytes"]
    assert [bytes(value) for value in batch["b"]] == [b"\xff", b"x"]
    declared = millhopper.Reader.from_iterable(
        items, {"t": ("uint8", [-1], 1), "b": ("uint8", [-1], 1)}
    )
    (batch,) = declared.batch(2)
    assert bytes(batch["t"][0]) == "é".encode()
    items[1]["t"] = b"a\xff"
    with pytest.raises(millhopper.Error, match="slot .t.: the first item has a str here, .* 1"):
        list(reader)


def test_batches_become_rows() -> None:
    def batches() -> Iterator[dict[str, Any]]:
        for i in range(0, 12, 4):
            yield {"x": np.arange(i, i + 4), "t": ["a" * i, "b", "", "c"], "m": np.ones((4, 2))}

    reader = millhopper.Reader.from_iterable(batches, batched=True)
    assert len(list(reader)) == 12
    found = list(reader.batch(5))
    assert read(found) == list(range(12))
    assert [batch["m"].shape for batch in found] == [(5, 2), (5, 2), (2, 2)]
    texts = [text for batch in found for text in batch["t"]]
    assert texts == [text for i in (0, 4, 8) for text in ("a" * i, "b", "", "c")]
    slots = {"x": ("int64", [-1], 1)}
    ragged = millhopper.Reader.from_iterable([{"x": [[1], [2, 3]]}], slots, batched=True)
    assert [row["x"][0].tolist() for row in ragged] == [[1], [2, 3]]


def test_batches_of_objects_and_frames() -> None:
    words = np.array(["ab", "", "c"], dtype=object)  # as Ray has them
    reader = millhopper.Reader.from_iterable([{"w": words, "n": np.arange(3)}], batched=True)
    (batch,) = reader.batch(3)
    assert isinstance(batch["w"], Texts) and batch["w"].tolist() == ["ab", "", "c"]
    (batch,) = millhopper.Reader.from_iterable([{"w": np.array(["x", "yz"])}], batched=True).batch(
        2
    )
    assert batch["w"].tolist() == ["x", "yz"]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"w": ["x", "yz"], "n": [1.5, 2.5]}, index=[7, 8])
    (batch,) = millhopper.Reader.from_iterable([frame], batched=True).batch(2)
    assert batch["w"].tolist() == ["x", "yz"] and batch["n"].tolist() == [1.5, 2.5]


def test_an_error_names_the_item_and_keeps_its_traceback() -> None:
    def broken() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("no more")

    reader = millhopper.Reader.from_iterable(broken)
    loop = iter(reader)
    assert [int(next(loop)["slot0"][0]) for _ in range(2)] == [1, 2]
    with pytest.raises(millhopper.Error) as caught:
        next(loop)
    text = str(caught.value)
    assert "broken" in text and "test_from_iterable.py" in text and "record 2" in text
    assert isinstance(caught.value.__cause__, KeyError)
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert frames[-1].name == "broken"
    assert read(reader.take(2), "slot0") == [1, 2]  # another pass begins again


@pytest.mark.parametrize("declared", [False, True])
def test_errors_at_the_first_item(declared: bool) -> None:
    def broken() -> Iterator[int]:
        raise KeyError("none")
        yield 1

    def stops() -> Iterator[int]:
        raise StopIteration

    slots = {"x": ("int64", [1])} if declared else None
    for function, error in (broken, KeyError), (stops, (RuntimeError, StopIteration)):
        with pytest.raises(millhopper.Error) as caught:
            list(millhopper.Reader.from_iterable(function, slots))
        assert isinstance(caught.value.__cause__, error)


def test_no_item_at_all() -> None:
    assert list(millhopper.Reader.from_iterable(list, NUMBERS)) == []
    with pytest.raises(millhopper.Error, match=r"no item from which to learn.*slots="):
        list(millhopper.Reader.from_iterable([]))


def test_lists_of_any_length_are_declared_as_the_error_says() -> None:
    items = [{"x": [1, 2, 3]}, {"x": [4]}]
    with pytest.raises(millhopper.Error, match=r"as in slots=\{\"x\": \(\"int64\", \[-1\], 1\)\}"):
        list(millhopper.Reader.from_iterable(items).batch(2))
    declared = millhopper.Reader.from_iterable(items, slots={"x": ("int64", [-1], 1)})
    (batch,) = declared.padded_batch(2)
    assert batch["x"].tolist() == [[1, 2, 3], [4, 0, 0]]


def test_lists_of_str_are_lists_of_texts() -> None:
    items = [{"words": ["a", "b\u00e9"]}, {"words": []}, {"words": ["", "ccc", "a"]}]
    wanted = [item["words"] for item in items]
    reader = millhopper.Reader.from_iterable(items)
    assert [element["words"].tolist() for element in reader] == [[one] for one in wanted]
    (batch,) = reader.batch(3)
    assert isinstance(batch["words"], Texts)
    assert batch["words"].tolist() == wanted
    for bad in ([{"words": ["a"]}, {"words": ["a", 1]}], [{"words": ["a", 1]}]):
        with pytest.raises(millhopper.Error, match="1 in a slot of texts or sequences"):
            list(millhopper.Reader.from_iterable(bad))


@pytest.mark.parametrize("as_rows", [list, lambda rows: np.array([*rows, None], object)[:-1]])
def test_batches_of_lists_of_str_are_lists_of_texts(as_rows: Callable[..., Any]) -> None:
    rows = [[], ["a", "b\u00e9"], [""], [], ["c"]]
    batches = [{"words": as_rows(rows[:3])}, {"words": as_rows(rows[3:])}]
    reader = millhopper.Reader.from_iterable(batches, batched=True)
    (batch,) = reader.batch(5)
    assert isinstance(batch["words"], Texts)
    assert batch["words"].tolist() == rows
    assert [element["words"].tolist() for element in reader] == [[row] for row in rows]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"a": 1}, {"b": 2}], r"no value for slot 'a'.*\n.*element 1"),
        ([1, "x"], "slot 'slot0': int64 .* is declared"),
        ([1, 2.5], "slot 'slot0'"),
        ([{"a": None}], "slot 'a': numpy makes object"),
        ([{"a": {"b": 1}}], "slot 'a': numpy makes object"),
        ([{"a": 1}, {"a": None}], "slot 'a': values of dtype.*\n.*element 1"),
        ([(1, 2), (1, 2, 3)], "the sample has 3 values"),
    ],
)
def test_items_that_do_not_fit(items: list[Any], message: str) -> None:
    with pytest.raises(millhopper.Error, match=message):
        list(millhopper.Reader.from_iterable(items))


@pytest.mark.parametrize("source", ["abc", b"abc", 3, None, {"x": [1]}])
def test_what_is_no_iterable_of_samples(source: Any) -> None:
    with pytest.raises(TypeError, match="from_iterable takes an iterable of samples, or a func"):
        millhopper.Reader.from_iterable(source)


@pytest.mark.parametrize("slots", [None, NUMBERS])
def test_an_iterator_has_one_pass(slots: Any) -> None:
    reader = millhopper.Reader.from_iterable(numbers(10), slots)
    assert read(reader) == list(range(10))
    message = "this generator can be read once only, and has been: give from_iterable a function"
    for _ in range(2):
        with pytest.raises(millhopper.Error, match=message):
            list(reader)
    reader = millhopper.Reader.from_iterable(numbers(10), slots)
    assert reader.slots() == [("int64", [1], 0)]  # takes no item away
    loop = iter(reader)
    assert read([next(loop)]) == [0]
    with pytest.raises(millhopper.Error, match=message):
        list(reader)  # the other loop has it
    assert read(loop) == list(range(1, 10))


def test_loops_at_once_are_passes_of_their_own() -> None:
    reader = millhopper.Reader.from_iterable(numbers)
    first, second = iter(reader), iter(reader)
    for i in range(200):
        assert read([next(first)]) == read([next(second)]) == [i]
    assert read(first) == list(range(200, 1000))
    second.close()


def test_all_items_are_asked_for_on_one_thread_if_slots_are_given() -> None:
    def rows() -> Iterator[tuple[int, int]]:
        with sqlite3.connect(":memory:") as database:  # which no other thread may use
            yield from database.execute("values (1, 2), (3, 4)")
        database.close()

    slots = {"a": ("int64", [1]), "b": ("int64", [1])}
    assert read(millhopper.Reader.from_iterable(rows, slots), "b") == [2, 4]


def test_it_reads_ahead_but_not_without_end() -> None:
    asked: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            asked.append(len(asked))
            yield len(asked)

    reader = millhopper.Reader.from_iterable(endless)
    assert not asked
    loop = iter(reader)
    next(loop)
    until(lambda: len(asked) > 10)
    time.sleep(0.05)
    assert len(asked) < 100
    loop.close()


def test_leaving_early_closes_the_generator() -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    for slots in None, {"x": ("int64", [1])}:
        closed.clear()
        for _ in millhopper.Reader.from_iterable(endless, slots).batch(3):
            break
        gc.collect()
        assert closed.wait(10)


def test_an_iterable_that_blocks_holds_nobody_up() -> None:
    go_on = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        go_on.wait()
        yield 2

    loop = iter(millhopper.Reader.from_iterable(slow))
    next(loop)
    began = time.monotonic()
    loop.close()
    del loop
    gc.collect()
    assert time.monotonic() - began < 5
    go_on.set()


def test_the_process_ends_while_an_iterable_blocks() -> None:
    program = """
        import threading
        import millhopper

        def slow():
            yield 1
            threading.Event().wait()

        print(next(iter(millhopper.Reader.from_iterable(slow)))["slot0"])
        """
    done = run_python(program)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[1]", "")


def test_an_iterable_that_uses_its_reader_is_an_error() -> None:
    readers: list[millhopper.Reader] = []

    def itself() -> Iterator[Any]:
        yield from readers[0]

    readers.append(millhopper.Reader.from_iterable(itself, NUMBERS))
    with pytest.raises(millhopper.Error, match="is used by a function that it calls itself"):
        list(readers[0])
    readers.clear()


def test_a_forked_process_makes_its_own_passes() -> None:
    program = """
        import os
        import millhopper

        def read(reader):
            return [int(row["slot0"][0]) for row in reader]

        reader = millhopper.Reader.from_iterable(lambda: range(100))
        once = millhopper.Reader.from_iterable(iter(range(100)))
        loop = iter(reader)
        next(loop)
        child = os.fork()
        if child == 0:
            assert read(reader.shard(2, 0)) == list(range(0, 100, 2))
            try:
                read(once.skip(1))
            except millhopper.Error as error:
                assert "belongs to process" in str(error), error
                os._exit(7)
            os._exit(1)
        assert read(loop) == list(range(1, 100))
        assert read(once) == list(range(100))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    done = run_python(program)
    assert (done.stdout.strip(), done.stderr) == ("7", "")


CHAINS: dict[str, Callable[[millhopper.Reader], millhopper.Reader]] = {
    "plain": lambda reader: reader,
    "batch": lambda reader: reader.batch(7),
    "window": lambda reader: reader.shuffle(100, seed=3).batch(7).double_buffer(3),
    "passes": lambda reader: reader.multi_pass(2).shuffle(50).batch(9),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize(
    "make", [lambda: numbers, lambda: with_start, From, Passes, lambda: Passes]
)
def test_a_loop_is_resumed_exactly(
    make: Callable[[], Any], chain: Callable[[millhopper.Reader], millhopper.Reader]
) -> None:
    for taken in 0, 1, 40, 100, 142:  # the last of "passes" is in its second one
        reader = chain(millhopper.Reader.from_iterable(make()))
        loop = iter(reader)
        for _ in range(taken):
            next(loop)
        state = reader.get_state()
        rest, following = read(loop), read(reader)
        for slots in NUMBERS, None:
            again = chain(millhopper.Reader.from_iterable(make(), slots))
            again.set_state(state)
            assert read(again) == rest
            assert read(again) == following


def test_the_state_of_an_iterable_leads_to_its_place() -> None:
    reader = millhopper.Reader.from_iterable(Passes())
    loop = iter(reader)
    taken = read(next(loop) for _ in range(900))
    state = reader.state_dict()
    assert len(state["position"]) < 4000
    source = Passes()
    again = millhopper.Reader.from_iterable(source)
    again.load_state_dict(state)
    assert taken + read(again) == read(millhopper.Reader.from_iterable(Passes()))
    assert source.asked <= 100 + 32 + 1  # one of them to learn the slots
    loop.close()


def test_a_function_is_asked_to_begin_at_the_place() -> None:
    starts: list[int] = []

    def source(start: int = 0) -> Iterator[dict[str, int]]:
        starts.append(start)
        return with_start(start)

    reader = millhopper.Reader.from_iterable(source, NUMBERS)
    loop = iter(reader)
    for _ in range(321):
        next(loop)
    state = reader.state_dict()
    loop.close()
    reader.load_state_dict(state)
    assert read(reader) == list(range(321, 1000))
    assert starts == [0, 321]


def test_a_state_that_json_does_not_hold_is_skipped_through() -> None:
    class Odd(Passes):
        def state_dict(self) -> Any:
            return {"at": (self.at,)}

    reader = millhopper.Reader.from_iterable(Odd())
    loop = iter(reader)
    taken = read(next(loop) for _ in range(500))
    state = reader.state_dict()
    loop.close()
    source = Odd()
    again = millhopper.Reader.from_iterable(source, NUMBERS)
    again.load_state_dict(state)
    assert taken + read(again) == read(millhopper.Reader.from_iterable(Odd()))
    assert source.asked == 1000


def test_another_loop_does_not_spoil_the_state_of_the_first() -> None:
    source = From()
    reader = millhopper.Reader.from_iterable(source)
    first = iter(reader)
    for _ in range(300):
        next(first)
    second = iter(reader)
    next(second)
    second.close()
    for _ in range(100):
        next(first)
    # The loop that began last is the one whose state there is.
    state = millhopper.Reader.from_iterable(source).state_dict()
    assert state["position"] is None
    assert read(first) == list(range(400, 1000))


def test_a_source_that_has_fewer_items_than_when_it_was_saved() -> None:
    reader = millhopper.Reader.from_iterable(numbers, NUMBERS)
    loop = iter(reader)
    for _ in range(500):
        next(loop)
    state = reader.state_dict()
    loop.close()
    short = millhopper.Reader.from_iterable(lambda: numbers(100), NUMBERS)
    short.load_state_dict(state)
    with pytest.raises(millhopper.Error, match="to continue after 500 items"):
        list(short)


def test_places_are_few_and_near_enough() -> None:
    places = Places("", 0)
    for items in range(0, 100_000, 32):
        assert places.add(items, (str(items), None))
    assert len(Places(places.text(), 0)._all) < 40
    for back in 0, 31, 500, 20_000, 99_000:
        at, state = places.before(100_000 - back)
        assert state == (str(at), None)
        assert at <= 100_000 - back <= at + 2 * back + 100
    assert not places.add(64, ("", None))
    assert Places(places.text(), 1).before(10) == (0, None)
    with pytest.raises(millhopper.Error, match="the state is wrong"):
        Places("[[1]]", 0)


def test_what_it_holds_is_collected() -> None:
    class Data:
        def __iter__(self) -> Iterator[int]:
            return iter(range(10))

    data = Data()
    alive = weakref.ref(data)
    reader = millhopper.Reader.from_iterable(data)
    next(iter(reader))
    del data, reader
    gc.collect()
    until(lambda: gc.collect() >= 0 and alive() is None)


def test_a_program_in_another_process_says_what_is_missing() -> None:
    text = millhopper.Reader.from_iterable(numbers, NUMBERS).to_text()
    assert "create_python_iterable_reader" in text and "numbers" in text
    gc.collect()
    with pytest.raises(millhopper.Error, match="there is no function"):
        list(millhopper.Reader(text))


def test_texts_of_another_reader_are_texts() -> None:
    elements = list(millhopper.Reader.from_iterable([{"s": "abc", "n": 1}, {"s": "de", "n": 2}]))
    for again in (
        millhopper.Reader.from_iterable(elements),
        millhopper.Reader.from_dataset(elements),
    ):
        assert [element["s"].tolist() for element in again] == [["abc"], ["de"]]


@pytest.mark.parametrize("value", [None, 5])
def test_what_is_no_text_among_texts(value: object) -> None:
    with pytest.raises(
        millhopper.Error, match=f"TypeError: {value} in a slot of texts or sequences"
    ):
        list(millhopper.Reader.from_iterable([{"s": "x"}, {"s": value}]))


def test_batches_that_are_tables() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"n": [1, 2, 3], "f": [0.5, None, 1.5], "t": ["a", "b", "c"]})
    reader = millhopper.Reader.from_iterable(lambda: [table, table.slice(1)], batched=True)
    (batch,) = reader.batch(9)
    assert batch["n"].tolist() == [1, 2, 3, 2, 3] and batch["t"] == ["a", "b", "c", "b", "c"]
    np.testing.assert_array_equal(batch["f"], [0.5, np.nan, 1.5, np.nan, 1.5])


class RayDataset:
    """As one of Ray's, with what says that it is one."""

    def __iter__(self) -> Any:
        raise TypeError("`Dataset` objects aren't iterable.")

    def iter_batches(self, batch_size: int = 256) -> Any:
        yield {"x": np.arange(batch_size)}

    iter_torch_batches = iter_batches


@pytest.mark.parametrize("method", ["from_iterable", "from_dataset", "from_arrow"])
def test_a_data_set_of_ray_is_read_by_its_batches(method: str) -> None:
    dataset = RayDataset()
    with pytest.raises(TypeError) as error:
        getattr(millhopper.Reader, method)(dataset)
    start = f"{method}: a RayDataset of Ray is read by its batches: "
    assert str(error.value).startswith(start)
    typed = str(error.value).removeprefix(start)
    known = {"Reader": millhopper.Reader, "dataset": dataset}
    assert len(list(eval(typed, known))) == 1024  # held by no variable, so that its thread ends
