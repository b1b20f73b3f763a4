# SPDX-License-Identifier: Apache-2.0
"""Interpreters that exit while readers are at work: none hangs, crashes or prints anything.

MILLHOPPER_EXIT_RUNS is the number of interpreters. Each way of working is combined with each way of
leaving before a combination is repeated.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

RUNS = int(os.environ.get("MILLHOPPER_EXIT_RUNS", "88"))
AT_ONCE = 16  # in one test, which may not take long
LONGEST = 40.0

# Each defines step(), which reads one element, and leaves threads at work ahead of it.
AT_WORK = {
    "py_reader": """
reader = millhopper.layers.py_reader(4, [(-1, 1000)], ["float32"])
out = millhopper.layers.read_file(reader)
def provider():
    while True:
        yield [np.zeros((64, 1000), np.float32)]
reader.decorate_tensor_provider(provider)
executor = millhopper.Executor(millhopper.CPUPlace())
executor.run(millhopper.default_startup_program())
reader.start()
def step():
    return executor.run(fetch_list=[out])
""",
    "py_reader of a buffered reader": """
reader = millhopper.layers.py_reader(2, [(-1, 10)], ["float32"])
out = millhopper.layers.read_file(reader)
def samples():
    while True:
        yield (np.zeros(10),)
ahead = millhopper.reader.xmap_readers(lambda sample: sample, samples, 2, 4)
reader.decorate_paddle_reader(millhopper.batch(millhopper.reader.buffered(ahead, 4), 8))
executor = millhopper.Executor(millhopper.CPUPlace())
executor.run(millhopper.default_startup_program())
reader.start()
def step():
    return executor.run(fetch_list=[out])
""",
    "iterable PyReader": """
row = millhopper.layers.data("row", [10])
reader = millhopper.io.PyReader([row], 3)
def provider():
    while True:
        yield [np.zeros((8, 10), np.float32)]
reader.decorate_batch_generator(provider)
batches = iter(reader)
def step():
    return next(batches)
""",
    "map": """
def function(element):
    return {"x": np.sqrt(element["slot0"])}
numbers = millhopper.Reader.create(
    "create_random_data_generator", slots={"slot0": ("float32", [1, 50])})
batches = iter(numbers.map(function).map(lambda e: e["x"] + 1).batch(16).double_buffer(4))
def step():
    return next(batches)
""",
    "a map that takes its time": """
import time
def function(element):
    time.sleep(0.001)
    return element
numbers = millhopper.Reader.create(
    "create_random_data_generator", slots={"slot0": ("float32", [1, 50])})
batches = iter(numbers.map(function).batch(16).double_buffer(4))
def step():
    return next(batches)
""",
    "double_buffer": """
numbers = millhopper.Reader.create(
    "create_random_data_generator", slots={"slot0": ("float32", [1, 1000])})
batches = iter(numbers.shuffle(100).batch(64).double_buffer(8))
def step():
    return next(batches)
""",
    "a queue that is filled by hand": """
from millhopper import _core
queue = _core.Queue(3, [("float32", [1], 0)])
def step():
    queue.push((np.zeros(1, np.float32),))
    return queue.take()
""",
    "buffered": """
import itertools
items = millhopper.reader.buffered(itertools.count, 4)()
def step():
    return next(items)
""",
    "xmap_readers": """
import itertools
items = millhopper.reader.xmap_readers(lambda item: item + 1, itertools.count, 3, 4)()
def step():
    return next(items)
""",
    "multiprocess_reader": """
import itertools
items = millhopper.reader.multiprocess_reader([itertools.count, itertools.count])()
def step():
    return next(items)
""",
    "PipeReader": """
import time
lines = millhopper.reader.PipeReader("yes and no").get_line()
def step():
    time.sleep(0.0001)
    return next(lines)
""",
}

# The code that follows, and its exit status.
LEAVE = {
    "the end": ("", 0),
    "an exception": ("raise LookupError('on purpose')", 1),
    "sys.exit": ("sys.exit(3)", 3),
    "a break": ("while True:\n    step()\n    break", 0),
    "a daemon that goes on": (
        "import time\n"
        "def resume_at():\n"
        "    while True:\n"  # the exit ends its data without telling it
        "        step()\n"
        "threading.Thread(target=resume_at, daemon=True).start()\n"
        "time.sleep(0.01)",
        0,
    ),
    "a thread that goes on": (
        "threading.Thread(target=lambda: [step() for _ in range(5)]).start()",
        0,
    ),
    "a forked child": (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit(5)\n"
        "step()\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
        5,
    ),
    "Ctrl-C": ("print('ready', flush=True)\nwhile True:\n    step()", -signal.SIGINT),
}

PROGRAM = """
import os, sys, threading
import millhopper
import numpy as np
{at_work}
for _ in range(3):
    step()
{leave}
"""


def run(at_work: str, leave: str, delay: float) -> None:
    action, status = LEAVE[leave]
    program = PROGRAM.format(at_work=AT_WORK[at_work], leave=action)
    with subprocess.Popen(
        # From Python 3.12 on it warns of any fork in a process with threads.
        [sys.executable, "-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"]
        + ["-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        try:
            if leave == "Ctrl-C":
                assert process.stdout.readline() == "ready\n"
                time.sleep(delay)
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler tells where it hangs
            _, errors = process.communicate()
            pytest.fail(f"{at_work}, {leave}: it hangs\n{errors}")
    assert process.returncode == status, f"{at_work}, {leave}\n{errors}"
    said = {"an exception": "LookupError: on purpose", "Ctrl-C": "KeyboardInterrupt"}.get(leave)
    if said is None:
        assert errors == "", f"{at_work}, {leave}"
    else:
        assert errors.rstrip().splitlines()[-1] == said, f"{at_work}, {leave}\n{errors}"


@pytest.mark.parametrize("first", range(0, RUNS, AT_ONCE))
def test_every_way_of_leaving_ends_every_way_of_working(first: int) -> None:
    cases = itertools.cycle(itertools.product(AT_WORK, LEAVE))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [
            pool.submit(run, at_work, leave, (first % 170) / 10000)
            for at_work, leave in itertools.islice(cases, first, min(first + AT_ONCE, RUNS))
        ]
        for future in futures:
            future.result()


# If they were waited for one after another, the run would take too long.
def test_passes_that_nobody_can_end_are_waited_for_together() -> None:
    program = f"""
import threading, time
import millhopper
def stalled():
    time.sleep(600)
    yield 1
def wait(items):
    next(items)  # there will be none
at_work = []
for _ in range({int(LONGEST)}):
    reader = millhopper.layers.py_reader(2, [(-1, 1)], ["float32"])
    reader.decorate_tensor_provider(stalled)
    reader.start()
    ahead = millhopper.reader.buffered(stalled, 2)()
    threading.Thread(target=wait, args=(ahead,), daemon=True).start()
    at_work += [reader, ahead]
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=LONGEST,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.stderr == ""


def test_a_thread_that_outlasted_its_pass_has_time_again_at_exit() -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import time\n"
            "from millhopper.process.passes import Pass\n"
            "late = Pass()\n"
            "late.start(lambda: (time.sleep(1.3), print('ended', flush=True)))\n"
            "late.leave()\n"
            "print('left', flush=True)\n",
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.stdout == "left\nended\n"
