# SPDX-License-Identifier: Apache-2.0
"""The collector of Python, which destroys readers wherever it runs: also in functions of map."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import millrace
import numpy as np
import pytest
from conftest import until

Element = dict[str, Any]
SLOTS = {"x": ("float32", [1, 2])}
COUNT = 64


class Abandoned:
    """A loop that only the collector destroys."""

    def __init__(self, reader: millrace.Reader) -> None:
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


@pytest.fixture(params=[0, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    millrace.set_threads(request.param)
    yield request.param
    millrace.set_threads(os.cpu_count() or 1)


def mapped(function: Callable[[Element], object]) -> millrace.Reader:
    return millrace.Reader.create("create_random_data_generator", slots=SLOTS, count=COUNT).map(
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

    millrace.set_threads(0)
    assert len(list(mapped(function))) == COUNT
    millrace.set_threads(threads)
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
    with pytest.raises(millrace.Error, match="function of map that it calls itself"):
        next(loops[0])
    loops.clear()


loops: list[Any] = []


def test_a_function_may_drop_scopes_and_prepared_programs(threads: int) -> None:
    from millrace import _core

    def function(element: Element) -> Element:
        scope = _core.Scope()
        inner = mapped(lambda e: e).batch(2).double_buffer()
        program = _core.Program(inner.to_text(), "inner")
        _core.prepare(program, scope, "cpu", 0).run({}, [])
        scope.find_var("reader.map.batch.double_buffer").get_reader().read_next()
        return element

    assert len(list(mapped(function).batch(8).double_buffer())) == COUNT // 8


class Data:
    """What reads with a method of its own."""

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
    list(mapped(lambda e: e).batch(8))  # what the core has dropped is let go when Python runs
    assert gone() is None


def test_a_loop_keeps_what_it_calls() -> None:
    loop = iter(Data().reader)
    gc.collect()
    assert len(list(loop)) == COUNT // 8
