# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the core is at work."""

import signal

import pytest
from conftest import run_python

# A program that never ends, and a way to press Ctrl-C while it runs.
ENDLESS = '''
import os, signal, threading, time
from millhopper import _core

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

class Press(threading.Thread):
    """Presses Ctrl-C a moment after go()."""
    def __init__(self):
        super().__init__()
        self.gone = threading.Event()
        self.go = self.gone.set
        self.start()
    def run(self):
        self.gone.wait()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
'''


def test_a_running_program_is_interrupted_and_can_run_again() -> None:
    ended = run_python(
        ENDLESS
        + """
for _ in range(3):
    thread = Press()
    try:
        thread.go()
        endless.run({}, [])
    except KeyboardInterrupt:
        print("interrupted")
    thread.join()
print(scope.names())
"""
    )
    assert ended.stdout == "interrupted\n" * 3 + "[]\n", ended.stderr


def test_it_ends_an_interpreter_as_it_ends_others() -> None:
    ended = run_python(ENDLESS + "Press().go()\nendless.run({}, [])\n")
    assert ended.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


def test_a_handler_of_the_program_is_left_alone() -> None:
    # It runs when the core is done, and stops nothing by itself.
    ended = run_python(
        ENDLESS
        + """
signal.signal(signal.SIGINT, lambda *_: print("handled"))
import millhopper
thread = Press()
thread.go()
reader = millhopper.Reader.create("create_random_data_generator",
                                slots={"x": ("float32", [1, 4])}, count=1000000).batch(1000000)
while thread.is_alive():
    assert sum(len(batch["x"]) for batch in reader) == 1000000
thread.join()
signal.signal(signal.SIGINT, signal.default_int_handler)
thread = Press()
try:
    thread.go()
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
import millhopper
passes = []
leave = threading.Event()
def read():
    reader = millhopper.Reader.create("create_random_data_generator",
                                    slots={"x": ("float32", [1, 4])}, count=1000).batch(10)
    while True:
        left = leave.is_set()
        passes.append(sum(1 for _ in reader))  # the last pass begins after the interrupt
        if left:
            break
reading = threading.Thread(target=read)
reading.start()
pressing = Press()
try:
    pressing.go()
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
import millhopper
endless = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 4])}).batch(1 << 20).multi_pass(2)
for _ in range(2):
    thread = Press()
    try:
        thread.go()
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
import millhopper
inner = iter(millhopper.Reader.create("create_random_data_generator",
                                    slots={"x": ("float32", [1, 4])}))
def function(element):
    next(inner)
    endless.run({}, [])
outer = millhopper.Reader.create("create_random_data_generator",
                               slots={"x": ("float32", [1, 4])}, count=5).map(function)
millhopper.set_threads(0)  # so that this thread calls the function
thread = Press()
try:
    thread.go()
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
import millhopper, os, signal, threading, time
millhopper.set_threads(3)
numbers = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=6000)
def function(element):
    time.sleep(0.002)
    return element
raised = set()
for _ in range(80):
    timer = threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
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
import millhopper, os, signal, threading, time
numbers = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=6000)
calls = []
press_at = None
def function(element):
    calls.append(time.sleep(0.005))
    if len(calls) == press_at:
        os.kill(os.getpid(), signal.SIGINT)
    return element
for threads in (0, 1, 3):
    millhopper.set_threads(threads)
    batches = iter(numbers.map(function).batch(400))
    next(batches)  # from now on it is known that calls are worth sharing
    calls.clear()
    press_at = 20
    try:
        next(batches)
    except KeyboardInterrupt:
        print(len(calls) < 300)
    press_at = None
"""
    )
    assert ended.stdout == "True\n" * 3, ended.stderr


# Another process presses Ctrl-C again and again, each time after the last one has been seen.
PRESSES = """
import collections, mmap, os, random, signal, struct, sys, time
import millhopper

slots = {"x": ("float32", [1, 3])}
numbers = millhopper.Reader.create("create_random_data_generator", slots=slots, count=3000)
seen = collections.Counter()
shared = mmap.mmap(-1, 16)
READY, SEEN = 0, 8

def get(place):
    return struct.unpack_from("q", shared, place)[0]

def put(place, value):
    struct.pack_into("q", shared, place, value)

def press_while(work, presses):
    for place in (READY, SEEN):
        put(place, 0)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        def wait_for(place, press):
            while get(place) <= press and os.getppid() == parent:
                time.sleep(0.0001)

        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            random.seed(presses)
            for press in range(presses):
                wait_for(READY, press)
                time.sleep(random.random() * 0.006)
                if os.getppid() != parent:  # which has been ended
                    break
                os.kill(parent, signal.SIGINT)
                wait_for(SEEN, press)
        finally:
            os._exit(0)
    for press in range(presses):
        try:
            put(READY, press + 1)
            while True:
                work()
        except BaseException as error:
            seen[repr(error)] += 1
        put(SEEN, press + 1)
    os.waitpid(child, 0)
"""

# What the main thread does, again and again.
AT_WORK = {
    "a batch": """
reader = numbers.shuffle(300).batch(10)
def work():
    for batch in reader:
        pass
""",
    "a double buffer": """
reader = numbers.shuffle(300).batch(10).double_buffer(3)
def work():
    for batch in reader:
        pass
""",
    "a map": """
reader = numbers.map(lambda e: e, slots=slots).batch(10).double_buffer(3)
def work():
    for batch in reader:
        pass
""",
    "a slow map": """
def function(element):
    time.sleep(0.0001)
    return element
reader = numbers.map(function, slots=slots).batch(10)
def work():
    for batch in reader:
        pass
""",
    "a map that catches everything": """
def function(element):
    try:
        for _ in range(100):
            pass
    except BaseException:
        pass
    return element
reader = numbers.map(function, slots=slots).batch(10).double_buffer(3)
def work():
    for batch in reader:
        pass
""",
    "a map that reads": """
inner = numbers.batch(20).double_buffer(2)
def function(element):
    next(iter(millhopper.Reader(inner.to_text())))
    return element
reader = numbers.map(function, slots=slots).batch(10).double_buffer(3)
def work():
    for batch in reader:
        pass
""",
    "readers in a scope": """
from millhopper import _core
reader = numbers.map(lambda e: e, slots=slots).batch(10).double_buffer(3)
scope = _core.Scope()
_core.prepare(_core.Program(reader.to_text(), "startup"), scope, "cpu", 0).run({}, [])
in_scope = scope.find_var(reader._variable).get_reader()
def work():
    in_scope.reset()
    while in_scope.has_next():
        in_scope.read_next()
""",
}


@pytest.mark.parametrize("at_work", AT_WORK)
def test_each_becomes_one_keyboard_interrupt_and_nothing_else(at_work: str) -> None:
    ended = run_python(
        PRESSES
        + AT_WORK[at_work]
        + """
for threads in (0, 2):
    millhopper.set_threads(threads)
    press_while(work, 40)
print(dict(seen))
"""
    )
    assert ended.stdout == "{'KeyboardInterrupt()': 80}\n", ended.stderr


def test_one_that_a_function_has_swallowed_stops_the_core_all_the_same() -> None:
    # Loads that were under way have been stopped, so the loop cannot go on.
    ended = run_python(
        """
import millhopper, os, signal
millhopper.set_threads(0)
numbers = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=60)
calls = []
def function(element):
    calls.append(1)
    if len(calls) == 6:  # the last one of a batch
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print("swallowed")
    return element
read = 0
try:
    for batch in numbers.map(function, slots={"x": ("float32", [1, 3])}).batch(3):
        read += 1
except KeyboardInterrupt:
    print(read, len(calls))
"""
    )
    assert ended.stdout == "swallowed\n1 6\n", ended.stderr


def test_one_that_comes_just_before_the_work_is_not_left_for_its_end() -> None:
    ended = run_python(
        """
import functools, itertools, millhopper, os, signal, warnings
warnings.simplefilter("ignore")  # of what is no int exactly: that would be code of Python
endless = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 4])}).batch(10)
next(iter(endless))

os.setsid()
class Pressed:  # by C++ that asks for the number of a pass: no code of Python looks at it there
    __index__ = functools.partial(
        any, itertools.starmap(os.killpg, [(os.getpid(), signal.SIGINT)]))

try:
    endless._core.read_through(Pressed())
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert ended.stdout == "interrupted\n", ended.stderr


def test_it_tells_where_a_function_was() -> None:
    ended = run_python(
        """
import millhopper, os, signal, traceback
millhopper.set_threads(0)
def deep():
    os.kill(os.getpid(), signal.SIGINT)
numbers = millhopper.Reader.create("create_random_data_generator",
                                 slots={"x": ("float32", [1, 3])}, count=60)
try:
    list(numbers.map(lambda element: deep()).batch(3))
except KeyboardInterrupt as interrupt:
    print([frame.name for frame in traceback.extract_tb(interrupt.__traceback__)][-2:])
"""
    )
    assert ended.stdout == "['<lambda>', 'deep']\n", ended.stderr


def test_a_reader_in_a_scope_says_by_what_its_pass_has_ended() -> None:
    ended = run_python(
        """
import millhopper, os, signal
from millhopper import _core
millhopper.set_threads(0)
pressed = []
def function(element):
    if len(pressed) < 1:
        pressed.append(1)
        os.kill(os.getpid(), signal.SIGINT)
    return element
slots = {"x": ("float32", [1, 3])}
numbers = millhopper.Reader.create("create_random_data_generator", slots=slots, count=60)
reader = numbers.map(function, slots=slots).batch(3)
scope = _core.Scope()
_core.prepare(_core.Program(reader.to_text(), "startup"), scope, "cpu", 0).run({}, [])
in_scope = scope.find_var(reader._variable).get_reader()
for _ in range(3):
    try:
        in_scope.read_next()
    except KeyboardInterrupt:
        print("interrupted")
    except millhopper.Error as error:
        print(error.code, "by a Ctrl-C" in str(error))
in_scope.reset()
batches = 0
while in_scope.has_next():
    in_scope.read_next()
    batches += 1
print(batches)
"""
    )
    assert ended.stdout == "interrupted\n" + "cancelled True\n" * 2 + "20\n", ended.stderr
