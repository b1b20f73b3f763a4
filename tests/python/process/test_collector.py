# SPDX-License-Identifier: Apache-2.0
"""The collector of Python, which destroys readers wherever it runs: also in functions of map."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from conftest import until

Element = dict[str, Any]
SLOTS = {"x": ("float32", [1, 2])}
COUNT = 64


class Abandoned:
    """A loop that only the collector destroys."""

    def __init__(self, reader: millhopper.Reader) -> None:
        self.loop = iter(reader)
        next(self.loop)
        self.itself = self


@pytest.fixture(autouse=True)
def collects_only_when_told() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def mapped(function: Callable[[Element], object]) -> millhopper.Reader:
    return millhopper.Reader.create("create_random_data_generator", slots=SLOTS, count=COUNT).map(
        function, slots=SLOTS
    )


def test_a_function_may_collect_an_old_loop_of_its_reader(threads: int) -> None:
    collected: list[int] = []

    def function(element: Element) -> Element:
        if armed and not collected:
            collected.append(gc.collect())
        return {"x": np.array(element["x"])}

    armed = False
    reader = mapped(function).batch(8)
    Abandoned(reader)
    armed = True
    assert len(list(reader)) == COUNT // 8
    assert collected


def test_a_function_may_collect_the_loop_that_calls_it() -> None:
    main = threading.get_ident()
    armed = threading.Event()
    collected: list[int] = []
    calls: list[int] = []

    def function(element: Element) -> Element:
        calls.append(1)
        if threading.get_ident() != main:
            if armed.is_set():
                collected.append(gc.collect())
            elif len(calls) > COUNT // 2:
                armed.wait()
        time.sleep(0.001)
        return {"x": np.array(element["x"])}

    for _ in range(5):
        armed.clear()
        collected.clear()
        calls.clear()
        Abandoned(mapped(function).batch(2).double_buffer(COUNT))
        armed.set()
        until(lambda: any(collected))
    child = os.fork()  # waits for the workers
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_function_may_drop_and_close_other_loops(threads: int) -> None:
    other = mapped(lambda e: e).double_buffer()

    def function(element: Element) -> Element:
        loop = iter(other)
        next(loop)
        loop.close()
        return element

    def nested(element: Element) -> Element:
        return {"x": next(iter(mapped(lambda e: e).batch(2).double_buffer()))["x"][:1]}

    millhopper.set_threads(0)
    assert len(list(mapped(function))) == COUNT
    millhopper.set_threads(threads)
    assert len(list(mapped(nested).batch(4).double_buffer())) == COUNT // 4


@pytest.mark.parametrize(
    "use",
    [len, lambda r: r.slots(), iter, lambda r: next(loops[0])],
    ids=["len", "slots", "iter", "next"],
)
def test_a_function_cannot_use_the_reader_that_calls_it(
    use: Callable[[Any], object], threads: int
) -> None:
    def function(element: Element) -> Element:
        use(reader)
        return element

    reader = mapped(function).batch(8).double_buffer()
    loops[:] = [iter(reader)]
    with pytest.raises(millhopper.Error, match="used by a function that it calls itself"):
        next(loops[0])
    loops.clear()


loops: list[Any] = []


def test_a_function_may_drop_scopes_and_prepared_programs(threads: int) -> None:
    from millhopper import _core

    def function(element: Element) -> Element:
        scope = _core.Scope()
        inner = mapped(lambda e: e).batch(2).double_buffer()
        program = _core.Program(inner.to_text(), "inner")
        _core.prepare(program, scope, "cpu", 0).run({}, [])
        scope.find_var("reader.map.batch.double_buffer").get_reader().read_next()
        return element

    assert len(list(mapped(function).batch(8).double_buffer())) == COUNT // 8


class Data:
    """An object whose reader calls one of its methods."""

    def __init__(self) -> None:
        self.reader = mapped(self.decode).map(lambda e: e).batch(8)

    def decode(self, element: Element) -> Element:
        return {"x": np.array(element["x"])}


@pytest.mark.parametrize("read", [False, True])
def test_a_reader_that_calls_a_method_of_its_owner_is_freed(read: bool) -> None:
    data = Data()
    gone = weakref.ref(data)
    if read:
        assert len(list(data.reader)) == COUNT // 8
        next(iter(data.reader))
    del data
    gc.collect()
    list(mapped(lambda e: e).batch(8))  # running Python releases objects that the core has dropped
    assert gone() is None


def test_a_loop_keeps_what_it_calls() -> None:
    loop = iter(Data().reader)
    gc.collect()
    assert len(list(loop)) == COUNT // 8


def until_collected(*gone: weakref.ref[Any]) -> None:
    """Waits until the objects are collected; a thread that runs their function holds them."""
    until(lambda: gc.collect() >= 0 and all(one() is None for one in gone))


class Owner:
    """An object that loops over lines which its own method decodes: only the collector frees it."""

    def __init__(self, path: Path, fails_at: int = -1) -> None:
        self.fails_at = fails_at
        lines = millhopper.Reader.open_files(f"text:{path}", names=["line"])
        self.batches = iter(lines.map(self.decode, slots=LINES).batch(4).double_buffer(4))
        next(self.batches)

    def decode(self, element: Element) -> Element:
        number = int(element["line"].to_bytes()[0].split()[1])
        if number >= self.fails_at >= 0:
            raise ValueError("on purpose", self)
        return element


LINES = {"line": ("uint8", [-1], 1)}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    return path


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


# Batches ahead may hold errors, and those hold their tracebacks.
@pytest.mark.parametrize("fails_at", [-1, 4])
def test_what_loops_over_its_own_method_is_freed(lines: Path, threads: int, fails_at: int) -> None:
    before = open_descriptors()
    owners: list[weakref.ref[Owner]] = []
    for _ in range(20):
        owners.append(weakref.ref(Owner(lines, fails_at)))
    assert open_descriptors() > before
    until_collected(*owners)
    assert open_descriptors() == before


def test_a_loop_that_is_held_is_not_freed_with_what_it_calls(lines: Path) -> None:
    owner = Owner(lines)
    batches = owner.batches
    del owner
    gc.collect()
    assert len(list(batches)) == 1000 // 4 - 1


def test_a_loop_is_closed_where_the_collector_meets_it_at_work(lines: Path) -> None:
    # Functions stay whole until the loop's threads no longer call them. The collector clears the
    # oldest objects first: here the function, before the loop that it holds.
    for _ in range(100):

        def function(element: Element) -> Element:
            return element if COUNT > 0 else {}

        reader = millhopper.Reader.open_files(f"text:{lines}", names=["line"])
        loop = iter(reader.map(function, slots=LINES).batch(2).double_buffer(64))
        next(loop)
        function.loop = loop  # type: ignore[attr-defined]
        gone = weakref.ref(function)
        del function, reader, loop
        until_collected(gone)


class Provider:
    """An object that feeds its own queue, and fails."""

    def __init__(self) -> None:
        row = millhopper.layers.data("row", [2])
        self.reader = millhopper.io.PyReader([row], 3)
        self.reader.decorate_batch_generator(self.elements)

    def elements(self) -> Iterator[Any]:
        yield [np.zeros((1, 2), np.float32)]
        raise ValueError("on purpose", self)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("read", [1, 2])
def test_what_failed_to_feed_its_own_queue_is_freed(read: int) -> None:
    provider = Provider()
    queue = provider.reader.queue
    feeding = provider.reader.feeding
    feeding.start()
    queue.take()
    until(queue.is_closed)
    if read == 2:
        with pytest.raises(millhopper.Error, match="on purpose") as failed:
            queue.take()
        assert isinstance(failed.value.__cause__, ValueError)
        del failed
    feeding.stop()
    gone = weakref.ref(provider)
    del provider, queue, feeding
    with millhopper.program_guard(millhopper.Program(), millhopper.Program()):
        until_collected(gone)


def test_a_function_that_was_forgotten_says_so() -> None:
    from millhopper import _core

    # A program in a scope that outlives the reader whose map() took the function.
    class Held:
        def __init__(self) -> None:
            self.reader = mapped(self.decode).batch(8)
            self.itself = self

        def decode(self, element: Element) -> Element:
            return element

    held = Held()
    scope = _core.Scope()
    program = _core.Program(held.reader.to_text(), "startup")
    _core.prepare(program, scope, "cpu", 0).run({}, [])
    found = scope.find_var(held.reader._variable)
    assert found is not None
    in_scope = found.get_reader()
    assert len(in_scope.read_next()) == 1
    del held
    gc.collect()
    with pytest.raises(millhopper.Error, match="it is gone, with the millhopper.Reader"):
        in_scope.read_next()
