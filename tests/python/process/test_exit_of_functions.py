# SPDX-License-Identifier: Apache-2.0
"""Interpreters that exit while a function of map runs longer than the exit waits for it."""

from __future__ import annotations

import pytest
from conftest import run_python

PROGRAM = """
import sys, threading, time
import millhopper

begun = threading.Event()
slots = {"x": ("float32", [1, 2])}

def function(element, begun=begun, sleep=time.sleep):
    begun.set()
    sleep(float(sys.argv[1]))
    return element

numbers = millhopper.Reader.create("create_random_data_generator", slots=slots)
reader = numbers.map(function, slots=slots).batch(8).double_buffer()
threading.Thread(target=lambda: next(iter(reader)), daemon=True).start()
begun.wait()

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(2)  # the function ends meanwhile

sys.slow = Slow()
print("bye")
"""


@pytest.mark.parametrize("seconds", ["1.5", "100"])
def test_a_function_that_outlasts_the_interpreter_harms_nobody(seconds: str) -> None:
    ended = run_python(PROGRAM, seconds)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "bye\n", "")
