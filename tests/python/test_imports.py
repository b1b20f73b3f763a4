# SPDX-License-Identifier: Apache-2.0
"""Importing the package: it brings all that the core uses of Python, and has one interpreter."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import LONGEST_TEST, run_python

# An import may release the interpreter. If a thread of the core began one while it initialises
# something, other threads would wait for that thread while they hold the interpreter.
SLOW_IMPORTS = """
import builtins, time
import millhopper
import numpy as np

begun = []
original = builtins.__import__

def slow_import(name, *arguments):
    begun.append(name)
    time.sleep(0.02)
    return original(name, *arguments)

slots = {"x": ("float32", [1, 2])}
numbers = millhopper.Reader.create("create_random_data_generator", slots=slots, count=64)
"""

WAYS = {
    "map": """
assert len(list(numbers.map(lambda e: e, slots=slots).batch(2).double_buffer())) == 32
""",
    "learned": """
assert len(list(numbers.map(lambda e: e).map(lambda e: e).double_buffer())) == 64
""",
    "other values": """
def function(element):
    rows = np.zeros((2, 1), np.float32)
    tensor = millhopper.LoDTensor([[1, 1]])
    tensor.set(rows.T)
    tensor.set(rows)
    return millhopper.Ragged(rows, ([0, 2],)), 5, [1.0, 2.0], tensor
assert len(list(numbers.map(function).batch(2).double_buffer())) == 32
""",
    "errors": """
def function(element):
    raise ValueError("on purpose")
for _ in range(3):
    try:
        list(numbers.map(function, slots=slots).double_buffer())
    except millhopper.Error as error:
        assert isinstance(error.__cause__, ValueError)
""",
    "py_reader": """
reader = millhopper.layers.py_reader(4, [(-1, 2)], ["float32"])
out = millhopper.layers.read_file(reader)
reader.decorate_tensor_provider(lambda: iter([[np.zeros((8, 2), np.float32)]] * 20))
executor = millhopper.Executor()
executor.run(millhopper.default_startup_program())
reader.start()
for _ in range(20):
    executor.run(fetch_list=[out])
reader.reset()
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_core_imports_nothing_while_it_works(way: str) -> None:
    ended = run_python(
        SLOW_IMPORTS
        + "builtins.__import__ = slow_import\n"
        + WAYS[way]
        + "builtins.__import__ = original\nprint(begun)\n"
    )
    assert ended.returncode == 0, ended.stderr
    used_by_the_core = {"millhopper.errors", "millhopper.ragged", "numpy", "signal"}
    used_by_the_core |= {"numpy.core.multiarray", "numpy._core.multiarray"}
    assert used_by_the_core.isdisjoint(ast.literal_eval(ended.stdout))


def test_a_subinterpreter_is_refused() -> None:
    # Whether it is the first to import the package, and when the main one already has it.
    ended = run_python(
        """
try:
    import _xxsubinterpreters as interpreters
except ImportError:  # from Python 3.13 on
    import _interpreters as interpreters

def refused():
    inner = interpreters.create()
    try:
        failed = interpreters.run_string(inner, "import millhopper")
        print(failed.formatted)  # from Python 3.13 on an error is returned
    except interpreters.RunFailedError as error:
        print(error)
    interpreters.destroy(inner)

refused()
import millhopper
refused()
numbers = millhopper.Reader.create(
    "create_random_data_generator", slots={"x": ("float32", [1, 2])}, count=8)
print(len(list(numbers.map(lambda element: element).double_buffer())))
"""
    )
    lines = ended.stdout.splitlines()
    assert len(lines) == 3, ended.stderr
    for line in lines[:2]:
        assert "ImportError" in line and "subinterpreter" in line
    assert lines[2] == "8"


def test_the_package_may_be_imported_anew() -> None:
    ended = run_python(
        """
import sys, millhopper
first = millhopper
for name in [name for name in sys.modules if name.split(".")[0] == "millhopper"]:
    del sys.modules[name]
import millhopper
print(millhopper is first, millhopper._core.Queue is first._core.Queue)
"""
    )
    assert ended.stdout == "False True\n", ended.stderr


AFTER_TENSORFLOW = """
import tensorflow
import millhopper
import numpy as np

reader = millhopper.Reader.from_arrays({"x": np.arange(4)}).batch(4)
assert "create_batch_reader" in reader.to_text()
assert next(iter(reader))["x"].tolist() == [0, 1, 2, 3]
assert int(tensorflow.reduce_sum(tensorflow.constant([1, 2]))) == 3
"""
MALLOC = """
#include <stddef.h>
extern void* __libc_malloc(size_t);
void* malloc(size_t size) { return __libc_malloc(size); }
"""


@pytest.mark.parametrize(
    ("preloaded", "first"),
    [("", ""), ("int nothing;", ""), (MALLOC, ""), (MALLOC, "import millhopper\n")],
)
def test_other_libraries_that_were_loaded_before_are_not_its_own(
    preloaded: str, first: str, tmp_path: Path
) -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    library = ""
    if preloaded:
        library = str(tmp_path / "preloaded.so")
        source = tmp_path / "preloaded.c"
        source.write_text(preloaded)
        cc = shutil.which("cc") or pytest.skip("there is no C compiler")
        subprocess.run([cc, "-shared", "-fPIC", "-o", library, source], check=True)
    # The import of TensorFlow takes seconds, and more on a machine that is busy.
    ran = run_python(first + AFTER_TENSORFLOW, timeout=LONGEST_TEST - 5, LD_PRELOAD=library)
    if preloaded != MALLOC or first:
        assert ran.returncode == 0, ran.stderr
        return
    assert "ImportError: millhopper would crash in the protobuf that tensorflow" in ran.stderr
    assert f"LD_PRELOAD={library} brings a malloc: import millhopper before" in ran.stderr
