# SPDX-License-Identifier: Apache-2.0
"""Variables in scopes: values that are replaced, and readers that threads share."""

import threading

import millhopper as fluid
import numpy as np
import pytest
from conftest import run_python
from millhopper import Reader, _core
from millhopper.errors import EndOfData

COUNT = 3000


def run_startup(reader: Reader) -> _core.Scope:
    scope = _core.Scope()
    _core.prepare(_core.Program(reader.to_text(), "startup"), scope, "cpu", 0).run({}, [])
    return scope


def numbers(count: int = COUNT) -> Reader:
    return Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1, 2])}, count=count
    )


def test_scopes_are_nested() -> None:
    outer = fluid.Scope()
    outer.var("x").get_tensor().set(np.ones(2))
    inner = outer.new_scope()
    found = inner.find_var("x")
    assert found is not None
    assert np.asarray(found.get_tensor()).tolist() == [1, 1]
    inner.var("y")
    assert outer.find_var("y") is None
    assert (outer.names(), inner.names()) == (["x"], ["y"])
    outer.drop_kids()


def test_a_reader_may_be_replaced_while_it_works() -> None:
    # The old reader's workers may need the interpreter, which the replacing thread holds.
    for take in (
        lambda variable: variable.get_tensor(),
        lambda variable: variable.get_lod_tensor_array(),
        lambda variable: variable.clear(),
        lambda variable: _core.Queue(3, [("float32", [1], 0)]).put_into(variable),
    ):
        mapped = numbers().map(lambda element: element, slots={"x": ("float32", [1, 2])})
        scope = run_startup(reader := mapped.batch(2).double_buffer())
        variable = scope.find_var(reader.slots() and reader._variable)
        assert variable is not None
        assert len(variable.get_reader().read_next()) == 1
        take(variable)
        with pytest.raises(fluid.Error):
            variable.get_reader()


def test_threads_that_share_a_reader_lose_nothing() -> None:
    scope = run_startup(reader := numbers().shuffle(100).batch(4))
    variable = scope.find_var(reader._variable)
    assert variable is not None
    shared = variable.get_reader()
    rows: list[int] = []

    def read() -> None:
        while True:
            try:
                (tensor,) = shared.read_next()
            except EndOfData:
                return
            rows.append(tensor.shape()[0])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(rows) == COUNT


def test_an_interpreter_ends_while_threads_make_and_drop_readers() -> None:
    ended = run_python(
        """
import threading, time, sys, os
from millhopper import Reader, _core

text = Reader.create("create_random_data_generator", slots={"x": ("float32", [1])}).to_text()
def make(Reader=_core.Reader):
    while True:
        Reader(text, "p", "", 0, {})
for _ in range(3):
    threading.Thread(target=make, daemon=True).start()
time.sleep(0.2)
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)
sys.slow = Slow()
"""
    )
    assert ended.returncode == 0, ended.stderr
