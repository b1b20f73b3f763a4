# SPDX-License-Identifier: Apache-2.0
"""Functions that a reader calls must not wait for their own caller: each attempt is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millhopper
import pytest
from conftest import run_python
from millhopper import _core

Element = dict[str, Any]
SLOTS = {"x": ("float32", [1, 2])}
COUNT = 64
MAIN = """
blocks {
  idx: 0 parent_idx: -1
  vars { name: "batch" type { type: LOD_TENSOR } }
  ops {
    type: "read"
    inputs { parameter: "Reader" arguments: "batches" }
    outputs { parameter: "Out" arguments: "batch" }
  }
}"""
# Reads nothing.
PLAIN = """
blocks {
  idx: 0 parent_idx: -1
  vars { name: "one" type { type: LOD_TENSOR } }
  ops {
    type: "fill_constant" outputs { parameter: "Out" arguments: "one" }
    attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 5 } attrs { name: "value" f: 1 }
  }
}"""


def mapped(function: Callable[[Element], object]) -> millhopper.Reader:
    numbers = millhopper.Reader.create("create_random_data_generator", slots=SLOTS, count=COUNT)
    return numbers.map(function, slots=SLOTS).batch(4).double_buffer(2, name="batches")


class Calls:
    """A function for map that does something once and keeps the outcome."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act
        self.raised: list[Exception] = []
        self.done = False

    def __call__(self, element: Element) -> Element:
        if not self.done:
            self.done = True
            try:
                self.act()
            except millhopper.Error as error:
                self.raised.append(error)
        return element


def test_they_cannot_set_the_number_of_threads(threads: int) -> None:
    function = Calls(lambda: millhopper.set_threads(3))
    assert len(list(mapped(function))) == COUNT // 4
    assert "set by a function that a reader calls" in str(function.raised[0])


def test_others_may_set_it_while_a_reader_is_read() -> None:
    # A provider runs on its own thread, which no worker waits for.
    ended = run_python(
        """
import millhopper
import numpy as np
row = millhopper.layers.data("row", [2])
reader = millhopper.io.PyReader([row], 3)
def provider():
    for threads in (1, 3, 0, 2):
        millhopper.set_threads(threads)
        yield [np.zeros((1, 2), np.float32)]
reader.decorate_batch_generator(provider)
print(len(list(reader())))
"""
    )
    assert ended.stdout == "4\n", ended.stderr


@pytest.mark.parametrize(
    "use",
    [
        lambda scope, programs: programs["startup"].run({}, []),
        lambda scope, programs: programs["main"].run({}, []),
        lambda scope, programs: scope.find_var("batches").get_reader().read_next(),
        lambda scope, programs: scope.new_scope().find_var("batches").get_reader().has_next(),
        lambda scope, programs: scope.find_var("batches").get_reader().reset(),
        lambda scope, programs: scope.find_var("batches").clear(),
        lambda scope, programs: scope.find_var("batches").get_tensor(),
    ],
    ids=["startup", "main", "read_next", "has_next", "reset", "clear", "get_tensor"],
)
def test_they_cannot_use_the_readers_in_the_scope_of_their_own(
    use: Callable[[Any, Any], object], threads: int
) -> None:
    scope = _core.Scope()
    programs: dict[str, Any] = {}
    function = Calls(lambda: use(scope, programs))
    reader = mapped(function)
    for name, text in ("startup", reader.to_text()), ("main", MAIN):
        programs[name] = _core.prepare(_core.Program(text, name), scope, "cpu", 0)
        if name == "startup":
            programs[name].run({}, [])
    for _ in range(COUNT // 4):
        programs["main"].run({}, [])
    assert "a reader in the same scope calls" in str(function.raised[0])


def test_they_may_run_what_does_not_read_and_read_in_other_scopes(threads: int) -> None:
    scope, other = _core.Scope(), _core.Scope()
    plain = _core.prepare(_core.Program(PLAIN, "plain"), scope, "cpu", 0)
    inner = mapped(lambda element: element)

    def act() -> None:
        plain.run({}, ["one"])
        _core.prepare(_core.Program(inner.to_text(), "inner"), other, "cpu", 0).run({}, [])
        found = other.find_var("batches")
        assert found is not None
        assert len(found.get_reader().read_next()) == 1

    function = Calls(act)
    reader = mapped(function)
    startup = _core.Program(reader.to_text(), "startup")
    _core.prepare(startup, scope, "cpu", 0).run({}, [])
    found = scope.find_var("batches")
    assert found is not None
    batches = found.get_reader()
    for _ in range(COUNT // 4):
        batches.read_next()
    assert function.done and not function.raised


def test_what_a_program_prints_to_cannot_run_it_again() -> None:
    ended = run_python(
        """
import sys
import millhopper
from millhopper import layers

layers.Print(layers.fill_constant([1], "float32", 1.0))
executor = millhopper.Executor()
out = sys.stdout

class Output:
    def write(self, text):
        sys.stdout = out
        try:
            executor.run()
        except millhopper.Error as error:
            print(error.message)

sys.stdout = Output()
executor.run()
"""
    )
    assert ended.stdout == "a program is run by what it calls itself, while it runs\n", ended.stderr


def test_variables_are_equal_if_they_are_the_same() -> None:
    scope = _core.Scope()
    assert scope.var("a") == scope.find_var("a") == scope.new_scope().find_var("a")
    assert scope.var("a") != scope.var("b")
    assert len({scope.var("a"), scope.find_var("a"), scope.var("b")}) == 2
    assert scope.find_var("c") is None
    variable = _core.Scope().new_scope().var("a")  # which keeps its scope
    variable.get_tensor()
    assert variable.is_initialized()


@pytest.mark.parametrize("kind", ["map", "filter", "dataset"])
@pytest.mark.parametrize("use", ["next", "slots"])
def test_two_functions_cannot_wait_for_each_others_readers(kind: str, use: str) -> None:
    ended = run_python(
        """
import sys
import threading

import millhopper

kind, use, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
millhopper.set_threads(threads)
readers, loops, problems, used = {}, {}, [], set()
both_are_in = threading.Barrier(2)

def use_other(own):
    if own in used:
        return
    used.add(own)
    other = "b" if own == "a" else "a"
    both_are_in.wait(20)
    try:
        if use == "next":
            next(loops[other], None)
        else:
            readers[other].slots()
    except millhopper.Error as error:
        problems.append(str(error))

class Samples:
    def __init__(self, own):
        self.own = own
    def __len__(self):
        return 20
    def __getitem__(self, number):
        if number == 3:
            use_other(self.own)
        return number

def function(own):
    def call(element):
        if element["slot0"][0] == 3:
            use_other(own)
        return True if kind == "filter" else element
    return call

for own in "ab":
    if kind == "dataset":
        readers[own] = millhopper.Reader.from_dataset(Samples(own), slots={"x": ("int64", [1])})
    else:
        source = millhopper.Reader.from_dataset(range(20), slots={"slot0": ("int64", [1])})
        mapped = {"slots": {"slot0": ("int64", [1])}} if kind == "map" else {}
        readers[own] = getattr(source, kind)(function(own), **mapped)
    loops[own] = iter(readers[own])

counts = {}
def count(own):
    counts[own] = sum(1 for _ in loops[own])

working = [threading.Thread(target=count, args=[own]) for own in "ab"]
for thread in working:
    thread.start()
for thread in working:
    thread.join()
assert counts["a"] + counts["b"] in ((39, 40) if use == "next" else (40,)), counts
assert any("each would wait for the other" in problem for problem in problems), problems
print("ended")
""",
        kind,
        use,
        "3",
    )
    assert ended.stdout == "ended\n", ended.stderr


def test_a_function_cannot_use_its_reader_through_another_one(threads: int) -> None:
    readers: dict[str, millhopper.Reader] = {}

    def nested(other: str) -> Callable[[Element], Element]:
        def function(element: Element) -> Element:
            list(readers[other])
            return element

        return function

    for own, other in (("a", "b"), ("b", "c"), ("c", "a")):
        readers[own] = mapped(nested(other))
    with pytest.raises(millhopper.Error, match="each would wait for the other"):
        list(readers["a"])


def test_a_function_cannot_read_what_its_reader_feeds() -> None:
    ended = run_python(
        """
import millhopper as fluid

scope_of_queue = fluid.global_scope()
reader = fluid.layers.py_reader(2, [(-1, 1)], ["int64"])
value = fluid.layers.read_file(reader)
executor = fluid.Executor()
executor.run(fluid.default_startup_program())
problems = []

def function(element):
    if element["slot0"][0] == 5:
        try:
            executor.run(fetch_list=[value])
        except fluid.Error as error:
            problems.append(str(error))
    return element

slots = {"slot0": ("int64", [1])}
mapped = fluid.Reader.from_dataset(range(20), slots=slots).map(function, slots=slots)

def provider():
    for element in mapped:
        yield [element["slot0"].reshape(1, 1)]

reader.decorate_tensor_provider(provider)
reader.start()
count = 0
try:
    while True:
        executor.run(fetch_list=[value])
        count += 1
except fluid.core.EOFException:
    pass
assert count == 20, count
assert "each would wait for the other" in problems[0], problems
print("ended")
"""
    )
    assert ended.stdout == "ended\n", ended.stderr
