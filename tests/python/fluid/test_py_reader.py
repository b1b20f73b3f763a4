# SPDX-License-Identifier: Apache-2.0
"""py_reader: batches from Python in programs that the core runs."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import millhopper as fluid
import numpy as np
import pytest
from conftest import until
from millhopper import _core
from millhopper.base.zipped import zip_strict
from millhopper.fluid.py_reader import ReaderVariable

Element = tuple[Any, ...]


class Fed:
    """Programs that read a py_reader of two slots, with their executor."""

    def __init__(self, capacity: int = 4, double_buffer: bool = False, multi_pass: int = 1) -> None:
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.executor = fluid.Executor(fluid.CPUPlace())
        with self.guard():
            self.reader: ReaderVariable = fluid.layers.py_reader(
                capacity, [(-1, 3), (-1, 1)], ["float32", "int64"], use_double_buffer=double_buffer
            )
            top = (
                fluid.layers.multi_pass(self.reader, multi_pass) if multi_pass > 1 else self.reader
            )
            self.outs = fluid.layers.read_file(top)
        self.executor.run(self.startup)

    def guard(self) -> Any:
        return fluid.program_guard(self.main, self.startup)

    def step(self) -> tuple[np.ndarray, np.ndarray]:
        row, number = self.executor.run(self.main, fetch_list=self.outs)
        return row, number

    def rest(self) -> list[int]:
        """The numbers up to the end of the pass."""
        numbers: list[int] = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                row, number = self.step()
                assert (row == number).all()
                numbers += number.ravel().tolist()
        return numbers


def element(number: int) -> Element:
    return np.full((2, 3), number, np.float32), np.full((2, 1), number, np.int64)


def twice(numbers: range) -> list[int]:
    return [number for number in numbers for _ in range(2)]


@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize("capacity", [1, 3, 100])
def test_passes_yield_what_the_provider_makes(capacity: int, double_buffer: bool) -> None:
    fed = Fed(capacity, double_buffer)
    passes = itertools.count()
    fed.reader.decorate_tensor_provider(
        lambda: map(element, range(100 * next(passes), 100 * next(passes) - 70))
    )
    for number in (0, 200, 400):
        fed.reader.start()
        assert fed.rest() == twice(range(number, number + 30))
        fed.reader.reset()
        until(lambda: threading.active_count() == 1)


@pytest.mark.parametrize("double_buffer", [False, True])
def test_reset_in_the_middle_lets_nothing_of_the_pass_before_through(double_buffer: bool) -> None:
    fed = Fed(2, double_buffer)
    passes = itertools.count()

    def provider() -> Iterator[Element]:
        return map(element, itertools.count(1000 * next(passes)))

    fed.reader.decorate_tensor_provider(provider)
    for number in range(30):
        fed.reader.start()
        for step in range(number % 5):
            assert int(fed.step()[1][0, 0]) == 1000 * number + step
        fed.reader.reset()
        fed.reader.reset()  # as often as one likes


def test_reset_ends_the_providers_generator() -> None:
    fed = Fed()
    ended = []

    def provider() -> Iterator[Element]:
        try:
            while True:
                yield element(1)
        finally:
            ended.append(threading.current_thread().name)

    fed.reader.decorate_batch_generator(provider)
    fed.reader.start()
    fed.step()
    fed.reader.reset()
    assert ended == ["millhopper reader"]


def test_sample_readers_are_batched_as_by_a_data_feeder() -> None:
    def samples() -> Iterator[Element]:
        return ((np.full(3, number), [number]) for number in range(7))

    fed = Fed()
    fed.reader.decorate_sample_generator(samples, 3)
    fed.reader.start()
    assert fed.rest() == list(range(6))
    fed.reader.reset()
    fed.reader.decorate_sample_generator(samples, 3, drop_last=False)
    fed.reader.start()
    assert fed.rest() == list(range(7))
    fed.reader.reset()
    fed.reader.decorate_paddle_reader(fluid.batch(samples, 5))
    fed.reader.start()
    assert [array.dtype for array in fed.step()] == [np.float32, np.int64]
    assert fed.rest() == [5, 6]
    fed.reader.reset()


def test_levels_of_detail_reach_the_program() -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        reader = fluid.layers.py_reader(4, [(-1, 1)], ["int64"], lod_levels=[1])
        words = fluid.layers.read_file(reader)
    reader.decorate_paddle_reader(lambda: iter([[([1, 2, 3],), ([4],)]]))
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(startup)
    for _ in range(2):
        reader.start()
        [batch] = executor.run(main, fetch_list=[words])
        assert batch.values.ravel().tolist() == [1, 2, 3, 4]
        assert batch.offsets[0].tolist() == [0, 3, 4]
        reader.reset()
        ragged = fluid.Ragged(batch.values.copy(), batch.offsets)
        reader.decorate_tensor_provider(lambda ragged=ragged: iter([ragged]))


def test_what_the_provider_raises_arrives_at_its_place() -> None:
    fed = Fed(double_buffer=True)

    def provider() -> Iterator[Element]:
        yield from map(element, range(3))
        raise LookupError("no such word")

    fed.reader.decorate_tensor_provider(provider)
    for _ in range(2):
        fed.reader.start()
        for number in range(3):
            assert int(fed.step()[1][0, 0]) == number
        for _ in range(2):  # again and again, until reset
            with pytest.raises(
                fluid.Error, match="provider.*test_py_reader.*no such word"
            ) as error:
                fed.step()
            assert isinstance(error.value.__cause__, LookupError)
            assert not isinstance(error.value, fluid.EndOfData)
        fed.reader.reset()

    def opens() -> Iterator[Element]:
        raise fluid.Error("a bad disk", code="data loss")

    fed.reader.decorate_tensor_provider(opens)
    fed.reader.start()
    with pytest.raises(fluid.Error, match="a bad disk") as error:
        fed.step()
    assert error.value.code == "data loss"
    fed.reader.reset()


def test_other_axes_behind_the_first_one_are_taken() -> None:
    """As Paddle's DataFeeder takes them, because no sample is mixed with another."""
    fed = Fed()
    rows = np.arange(6, dtype=np.float32)
    given = [
        (rows.reshape(2, 3, 1), np.int64([[[4]], [[5]]])),
        (rows.reshape(2, 1, 3), np.int64([4, 5])),
    ]
    fed.reader.decorate_tensor_provider(lambda: iter(given))
    fed.reader.start()
    for _ in given:
        row, number = fed.step()
        assert row.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert number.tolist() == [[4], [5]]
    fed.reader.reset()
    for wrong in (rows.reshape(1, 2, 3), rows.reshape(6, 1, 1), rows):
        fed.reader.decorate_tensor_provider(lambda w=wrong: iter([(w, np.int64([[4], [5]]))]))
        fed.reader.start()
        with pytest.raises(fluid.Error, match=r"slot 0: float32 \[-1, 3\] is declared"):
            fed.step()
        fed.reader.reset()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((np.zeros((2, 3)), np.zeros((2, 1), np.int64)), "slot 0: float32 .* is declared.*float64"),
        ((np.zeros((2, 4), np.float32), np.zeros((2, 1), np.int64)), r"slot 0: .*\[2, 4\]"),
        ((np.zeros((2, 3), np.float32),), "a tuple of 1 values for 2 slots"),
        (7, "an element of 2 slots is a tuple or list"),
        ((np.zeros((2, 3), np.float32), "label"), "invalid literal"),
        ((np.zeros((2, 3), np.float32), np.zeros((2, 1), np.complex64)), "slot 1: .*complex64"),
    ],
)
def test_elements_that_are_not_as_declared_are_errors(wrong: object, words: str) -> None:
    fed = Fed()
    fed.reader.decorate_tensor_provider(lambda: iter([element(0), wrong]))
    fed.reader.start()
    fed.step()
    with pytest.raises(fluid.Error, match=words):
        fed.step()
    fed.reader.reset()


def test_misuse_is_an_error_instead_of_a_wait() -> None:
    fed = Fed()
    with pytest.raises(RuntimeError, match="has no provider"):
        fed.reader.start()
    fed.reader.decorate_tensor_provider(lambda: iter([element(0)]))
    with pytest.raises(fluid.Error, match="call its start"):
        fed.step()
    fed.reader.reset()
    fed.reader.start()
    with pytest.raises(RuntimeError, match=r"is at work.*reset\(\)"):
        fed.reader.start()
    with pytest.raises(RuntimeError, match="another provider"):
        fed.reader.decorate_tensor_provider(lambda: iter([]))
    assert fed.rest() == [0, 0]
    fed.reader.reset()
    with pytest.raises(fluid.Error, match="call its start"):
        fed.step()
    with fed.guard(), pytest.raises(fluid.Error, match="capacity"):
        fluid.layers.py_reader(0, [(-1, 1)], ["int64"])
    with fed.guard(), pytest.raises(ValueError):
        fluid.layers.py_reader(1, [(-1, 1)], ["int64", "int64"])
    with fed.guard():
        fluid.layers.py_reader(1, [(-1, 1)], ["int64"], name="mine")
        with pytest.raises(ValueError, match="mine_queue"):
            fluid.layers.py_reader(1, [(-1, 1)], ["int64"], name="mine")
    with pytest.raises(fluid.Error, match="holds no queue"):
        fed.executor.run(fed.startup, scope=fluid.Scope())


@pytest.mark.parametrize("double_buffer", [False, True])
def test_a_queue_may_be_filled_by_hand(double_buffer: bool) -> None:
    fed = Fed(3, double_buffer)
    queue = fed.reader.queue
    assert (queue.capacity(), queue.size(), queue.is_closed()) == (3, 0, False)
    for _ in range(2):
        for number in range(3):
            assert queue.push(list(element(number)))
        pushing = threading.Thread(
            target=lambda: [queue.push(element(number)) for number in range(3, 9)]
        )
        pushing.start()
        for number in range(9):
            assert int(fed.step()[1][0, 0]) == number
        pushing.join()
        queue.close()
        assert queue.is_closed() and queue.push(element(9)) is False
        assert fed.rest() == []
        fed.reader.reset()
        assert not queue.is_closed()


def test_a_program_that_begins_its_passes_itself_has_the_provider_called_anew() -> None:
    fed = Fed(2, double_buffer=True, multi_pass=3)
    calls = itertools.count()

    def provider() -> Iterator[Element]:
        begin = 10 * next(calls)
        return map(element, range(begin, begin + 3))

    fed.reader.decorate_tensor_provider(provider)
    fed.reader.start()
    assert fed.rest() == twice([0, 1, 2, 10, 11, 12, 20, 21, 22])  # type: ignore[arg-type]
    fed.reader.reset()


def test_a_while_loop_reads_passes_without_python() -> None:
    main, startup = fluid.Program(), fluid.Program()
    layers = fluid.layers
    with fluid.program_guard(main, startup):
        reader = layers.py_reader(4, [(-1, 1)], ["int64"])
        total = layers.fill_constant([1, 1], "int64", 0)
        passes = layers.fill_constant([1], "int64", 0)
        wanted = layers.fill_constant([1], "int64", 3)
        going = layers.less_than(passes, wanted)
        outer = layers.While(going)
        with outer.block():
            more = layers.has_next(reader)
            inner = layers.While(more)
            with inner.block():
                number = layers.read_file(reader)
                layers.assign(total + number, total)
                layers.has_next(reader, out=more)
            reader.reset()
            layers.increment(passes, in_place=True)
            layers.less_than(passes, wanted, cond=going)
    calls = itertools.count(1)
    reader.decorate_tensor_provider(lambda: iter([[np.full((1, 1), next(calls))]] * 1))
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(startup)
    reader.start()
    assert executor.run(main, fetch_list=[total])[0].tolist() == [[1 + 2 + 3]]
    reader.reset()


def test_an_array_that_nobody_else_holds_is_not_copied() -> None:
    addresses: list[int] = []
    kept: list[np.ndarray] = []

    def made() -> np.ndarray:
        array = np.zeros((10000, 3), np.float32)
        addresses.append(array.ctypes.data)
        return array

    def provider() -> Iterator[Element]:
        for number in range(4):
            yield made(), np.full((1, 1), number)
        for number in range(4):
            kept.append(np.full((10000, 3), number, np.float32))
            yield kept[-1], np.full((1, 1), number)
            kept[-1][:] = -1  # it has been copied by now

    fed = Fed(10, double_buffer=True)
    fed.reader.decorate_tensor_provider(provider)
    fed.reader.start()
    taken = [fed.executor.run(fed.main, None, fed.outs[:1], return_numpy=False) for _ in range(4)]
    shared = [np.asarray(tensor) for (tensor,) in taken]
    assert [array.ctypes.data for array in shared] == addresses
    for number in range(4):
        row = fed.step()[0]
        assert row.ctypes.data != kept[number].ctypes.data and (row == number).all()
    assert fed.rest() == []
    fed.reader.reset()
    del fed
    gc.collect()
    assert all((array == 0).all() for array in shared)  # they outlive their reader


def test_arrays_are_given_back() -> None:
    class Counted(np.ndarray):
        alive = 0

        def __array_finalize__(self, other: object) -> None:
            Counted.alive += 1

        def __del__(self) -> None:
            Counted.alive -= 1

    def provider() -> Iterator[Element]:
        for _ in range(50):
            yield np.zeros((5000, 3), np.float32).view(Counted), np.zeros((1, 1), np.int64)

    fed = Fed(2)
    fed.reader.decorate_tensor_provider(provider)
    fed.reader.start()
    assert len(fed.rest()) == 50
    fed.reader.reset()
    del fed
    gc.collect()
    until(lambda: Counted.alive == 0)


def test_a_reader_that_is_dropped_ends_its_thread() -> None:
    fed = Fed()
    fed.reader.decorate_tensor_provider(lambda: itertools.repeat(element(0)))
    fed.reader.start()
    fed.step()
    assert threading.active_count() == 2
    del fed
    gc.collect()
    until(lambda: threading.active_count() == 1)


def test_a_provider_that_dawdles_cannot_disturb_the_next_pass() -> None:
    fed = Fed()
    entered, leave = threading.Event(), threading.Event()

    def slow() -> Iterator[Element]:
        entered.set()
        leave.wait()
        yield element(666)

    fed.reader.decorate_tensor_provider(slow)
    fed.reader.start()
    entered.wait()
    begin = time.monotonic()
    fed.reader.reset()
    assert time.monotonic() - begin < 10
    fed.reader.decorate_tensor_provider(lambda: map(element, range(5)))
    fed.reader.start()
    leave.set()
    assert fed.rest() == twice(range(5))
    fed.reader.reset()


@pytest.mark.parametrize("double_buffer", [False, True])
def test_a_fork_while_the_provider_is_at_work_does_not_hang(double_buffer: bool) -> None:
    fed = Fed(2, double_buffer)
    fed.reader.decorate_tensor_provider(lambda: map(element, itertools.count()))
    fed.reader.start()
    for number in range(10):
        assert int(fed.step()[1][0, 0]) == number
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    fed.reader.reset()


class FedVariables:
    """A PyReader of two variables."""

    def __init__(self, **options: Any) -> None:
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.executor = fluid.Executor(fluid.CPUPlace())
        with fluid.program_guard(self.main, self.startup):
            row = fluid.layers.data("row", [3])
            number = fluid.layers.data("number", [1], dtype="int64")
            self.reader = fluid.io.PyReader([row, number], 4, **options)
            self.outs = [row, number]


def test_an_iterable_py_reader_yields_what_executors_are_fed_with() -> None:
    fed = FedVariables()
    with pytest.raises(RuntimeError, match="no provider"):
        fed.reader()
    fed.reader.decorate_batch_generator(lambda: map(element, range(20)))
    for _ in range(2):
        numbers = []
        for data in fed.reader():
            assert [set(fed_place) for fed_place in data] == [{"row", "number"}]
            row, number = fed.executor.run(fed.main, feed=data, fetch_list=fed.outs)
            assert (row == number).all()
            numbers += number.ravel().tolist()
        assert numbers == twice(range(20))
        until(lambda: threading.active_count() == 1)
    for _ in itertools.islice(fed.reader, 3):  # leaves early
        pass
    assert threading.active_count() == 1
    first = iter(fed.reader)
    next(first)
    assert len(list(fed.reader)) == 20
    with pytest.raises(RuntimeError, match="another loop"):
        next(first)
    with pytest.raises(RuntimeError, match="loop over it"):
        fed.reader.start()


def test_an_iterable_py_reader_passes_errors_on() -> None:
    fed = FedVariables(return_list=True)

    def provider() -> Iterator[Element]:
        yield element(1)
        raise OSError("gone")

    fed.reader.decorate_batch_generator(provider)
    batches = iter(fed.reader)
    row, number = next(batches)
    assert (np.asarray(row).shape, np.asarray(number).tolist()) == ((2, 3), [[1], [1]])
    with pytest.raises(fluid.Error, match="gone") as error:
        next(batches)
    assert isinstance(error.value.__cause__, OSError)
    assert threading.active_count() == 1


@pytest.mark.parametrize("samples", [165, 160, 200, 159])
@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_samples_arrive_exactly(samples: int, iterable: bool, drop_last: bool) -> None:
    """The figures of the lineage's test_py_reader_sample_generator (lineage.md, section 6)."""
    random = np.random.default_rng(1)
    all_samples = [
        (random.random(3, np.float32), random.integers(0, 10, 1)) for _ in range(samples)
    ]
    groups = [all_samples[i : i + 32] for i in range(0, samples, 32)]
    expected = [group for group in groups if not drop_last or len(group) == 32]
    fed = FedVariables(iterable=iterable, use_double_buffer=False)
    fed.executor.run(fed.startup)
    for by_samples in (False, True):
        if by_samples:
            fed.reader.decorate_sample_generator(lambda: iter(all_samples), 32, drop_last)
        else:
            fed.reader.decorate_sample_list_generator(
                fluid.batch(lambda: iter(all_samples), 32, drop_last)
            )
        for _ in range(2):
            got = list(_run(fed, iterable))
            assert len(got) == len(expected)
            for (row, number), group in zip_strict(got, expected):
                np.testing.assert_array_equal(row, np.stack([sample[0] for sample in group]))
                np.testing.assert_array_equal(number, np.stack([sample[1] for sample in group]))


def _run(fed: FedVariables, iterable: bool) -> Iterator[list[np.ndarray]]:
    run: Callable[..., list[np.ndarray]] = fed.executor.run
    if iterable:
        for data in fed.reader():
            yield run(fed.main, feed=data, fetch_list=fed.outs)
        return
    fed.reader.start()
    try:
        while True:
            yield run(fed.main, fetch_list=fed.outs)
    except fluid.core.EOFException:
        fed.reader.reset()


def test_a_list_that_changes_while_it_is_pushed() -> None:
    queue = _core.Queue(4, [("float32", [1], 0)] * 40)
    values: list[Any] = []

    class Clearing:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            values.clear()
            return np.ones(1, np.float32)

    values += [Clearing(), *(np.full(1, i, np.float32) for i in range(39))]
    assert queue.push(values)
    assert [float(np.asarray(value)[0]) for value in queue.take()] == [1, *range(39)]


@pytest.mark.parametrize("values", [0, 1, 65535, 65536, 65537, 1000003])
def test_arrays_of_any_size_are_copied_whole(values: int) -> None:
    queue = _core.Queue(1, [("float32", [-1], 0)])
    array = np.random.default_rng(1).random(values, np.float32)
    assert queue.push([array])
    wanted = array.copy()
    array[:] = -1  # the queue has a copy, which idle workers may have made in parts
    np.testing.assert_array_equal(np.asarray(queue.take()[0]), wanted)


def test_a_py_reader_that_was_read_too_early_says_how_to_go_on() -> None:
    fed = Fed()
    fed.reader.decorate_tensor_provider(lambda: map(element, range(3)))
    with pytest.raises(
        fluid.Error, match=r"has not been started: reset\(\) it, and call its start"
    ):
        fed.step()
    fed.reader.reset()
    fed.reader.start()
    assert fed.rest() == twice(range(3))
    fed.reader.reset()


def test_a_loop_that_takes_no_item_starts_no_provider() -> None:
    reader = FedVariables().reader
    reader.decorate_batch_generator(lambda: map(element, itertools.count()))
    threads = threading.active_count()
    assert list(zip([], reader())) == []
    assert threading.active_count() == threads
    batches = reader()
    next(batches)
    with pytest.raises(RuntimeError, match="leave the loop over it, before it can be given"):
        reader.decorate_batch_generator(lambda: map(element, range(1)))
    batches.close()  # type: ignore[attr-defined]
    reader.decorate_batch_generator(lambda: map(element, range(1)))
    assert len(list(reader())) == 1
