# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the core is at work."""

import signal

from conftest import run_python

# A program that never ends, and a way to press Ctrl-C while it runs.
ENDLESS = '''
import os, signal, threading, time
from millrace import _core

program = _core.Program("""
blocks {
  idx: 0 parent_idx: -1
  vars { name: "more" type { type: LOD_TENSOR } }
  ops {
    type: "fill_constant" outputs { parameter: "Out" arguments: "more" }
    attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 0 } attrs { name: "value" f: 1 }
  }
  ops {
    type: "while" inputs { parameter: "Condition" arguments: "more" }
    attrs { name: "sub_block" block_idx: 1 }
  }
}
blocks { idx: 1 parent_idx: 0 }""", "endless")
scope = _core.Scope()
endless = _core.prepare(program, scope, "cpu", 0)

def press(times=1):
    def loop():
        for _ in range(times):
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=loop)
    thread.start()
    return thread
'''


def test_a_running_program_is_interrupted_and_can_run_again() -> None:
    ended = run_python(
        ENDLESS
        + """
for _ in range(3):
    thread = press()
    try:
        endless.run({}, [])
    except KeyboardInterrupt:
        print("interrupted")
    thread.join()
print(scope.names())
"""
    )
    assert ended.stdout == "interrupted\n" * 3 + "[]\n", ended.stderr


def test_it_ends_an_interpreter_as_it_ends_others() -> None:
    ended = run_python(ENDLESS + "press()\nendless.run({}, [])\n")
    assert ended.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


def test_a_handler_of_the_program_is_left_alone() -> None:
    # It runs when the core is done, and stops nothing by itself.
    ended = run_python(
        ENDLESS
        + """
signal.signal(signal.SIGINT, lambda *_: print("handled"))
import millrace
thread = press()
reader = millrace.Reader.create("create_random_data_generator",
                                slots={"x": ("float32", [1, 4])}, count=1000000).batch(1000000)
began = time.monotonic()
while time.monotonic() < began + 0.3:
    assert sum(len(batch["x"]) for batch in reader) == 1000000
thread.join()
signal.signal(signal.SIGINT, signal.default_int_handler)
thread = press()
try:
    endless.run({}, [])
except KeyboardInterrupt:
    print("interrupted")
thread.join()
"""
    )
    assert ended.stdout == "handled\ninterrupted\n", ended.stderr


def test_another_thread_reads_on_when_python_is_interrupted() -> None:
    ended = run_python(
        ENDLESS
        + """
import millrace
passes = []
leave = threading.Event()
def read():
    reader = millrace.Reader.create("create_random_data_generator",
                                    slots={"x": ("float32", [1, 4])}, count=1000).batch(10)
    while not leave.is_set():
        passes.append(sum(1 for _ in reader))
reading = threading.Thread(target=read)
reading.start()
pressing = press()
try:
    while True:
        time.sleep(0.001)
except KeyboardInterrupt:
    print("interrupted")
leave.set()
reading.join()
pressing.join()
print(set(passes))
"""
    )
    assert ended.stdout == "interrupted\n{100}\n", ended.stderr


def test_a_loop_over_a_reader_is_interrupted_and_can_begin_again() -> None:
    ended = run_python(
        ENDLESS
        + """
import millrace
endless = millrace.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 4])}).batch(1 << 20).multi_pass(2)
for _ in range(2):
    thread = press()
    try:
        for batch in endless:
            assert len(batch["x"]) == 1 << 20
    except KeyboardInterrupt:
        print("interrupted")
    thread.join()
print(len(next(iter(endless))["x"]))
"""
    )
    assert ended.stdout == f"interrupted\ninterrupted\n{1 << 20}\n", ended.stderr


def test_work_within_work_does_not_hide_it() -> None:
    ended = run_python(
        ENDLESS
        + """
import millrace
inner = iter(millrace.Reader.create("create_random_data_generator",
                                    slots={"x": ("float32", [1, 4])}))
def function(element):
    next(inner)
    endless.run({}, [])
outer = millrace.Reader.create("create_random_data_generator",
                               slots={"x": ("float32", [1, 4])}, count=5).map(function)
millrace.set_threads(0)  # so that this thread calls the function
thread = press()
try:
    list(outer)
except KeyboardInterrupt:
    print("interrupted")
thread.join()
"""
    )
    assert ended.stdout == "interrupted\n", ended.stderr


def test_it_is_no_error_of_the_core_where_a_function_met_it_first() -> None:
    # Python raises KeyboardInterrupt within the function, and the core stops for the same Ctrl-C.
    ended = run_python(
        """
import millrace, os, signal, threading, time
millrace.set_threads(3)
numbers = millrace.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=6000)
def function(element):
    time.sleep(0.002)
    return element
raised = set()
for _ in range(80):
    threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        for batch in numbers.map(function).batch(10).double_buffer(2):
            pass
    except BaseException as error:
        raised.add(repr(error))
print(raised)
"""
    )
    assert ended.stdout == "{'KeyboardInterrupt()'}\n", ended.stderr


def test_it_does_not_wait_for_a_batch_of_slow_calls() -> None:
    ended = run_python(
        """
import millrace, os, signal, threading, time
numbers = millrace.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=6000)
calls = []
def function(element):
    calls.append(time.sleep(0.005))
    return element
for threads in (0, 1, 3):
    millrace.set_threads(threads)
    batches = iter(numbers.map(function).batch(400))
    next(batches)  # from now on it is known that calls are worth sharing
    calls.clear()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        next(batches)
    except KeyboardInterrupt:
        print(len(calls) < 300)
"""
    )
    assert ended.stdout == "True\n" * 3, ended.stderr
