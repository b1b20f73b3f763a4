# SPDX-License-Identifier: Apache-2.0
"""A thread that leaves does not wait: silent servers, pipes and functions hold up no one."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import run_python
from millhopper.loader.dataset_batches import samples_of
from silent_server import Moment, SilentServer

# How long leaving may take: far less than the server's silence of 30 s that is waited for, and far
# more than it takes, because other tests may have the processors. To measure it on a quiet machine:
# MILLHOPPER_LEAVINGS=200 pytest -s -k random_times, which prints the longest.
ENOUGH = 5.0
LEAVINGS = int(os.environ.get("MILLHOPPER_LEAVINGS", "6"))
MOMENTS: list[Moment] = ["answer", "body", "headers"]


@contextmanager
def serving(moment: Moment) -> Iterator[SilentServer]:
    server = SilentServer(moment)
    try:
        yield server
    finally:
        server.close()


LEAVES = """
import sys, threading, time
import millhopper
from millhopper import Reader

url, threads, buffered = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
millhopper.set_threads(threads)

def reader():
    made = Reader.open_files("text:" + url, names=["line"]).shuffle(50).batch(10)
    return made.double_buffer() if buffered else made

def timed(what, step):
    began = time.monotonic()
    step()
    print(what, time.monotonic() - began)

def leave():
    for _ in reader():
        break

first = reader()
loop = iter(first)
for _ in range(5):
    next(loop)
time.sleep(0.3)  # workers come to where the server is silent
states = []
timed("state", lambda: states.append(first.state_dict()))
timed("close", loop.close)
timed("again", lambda: next(iter(first)))
timed("load", lambda: reader().load_state_dict(states[0]))
timed("break", leave)
time.sleep(0.3)
timed("threads", lambda: millhopper.set_threads(2))
waits = iter(Reader.open_files("text:" + url, names=["line"]).batch(100))
threading.Timer(0.5, lambda: timed("close of another thread", waits.close)).start()
timed("closed by another thread", lambda: list(waits))
"""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("buffered", [False, True])
def test_a_loop_is_left(threads: int, moment: Moment, buffered: bool) -> None:
    with serving(moment) as server:
        ended = run_python(LEAVES, server.url, str(threads), str(buffered))
    assert ended.returncode == 0, ended.stderr
    took = [line.rsplit(" ", 1) for line in ended.stdout.splitlines()]
    assert len(took) == 8
    for what, seconds in took:
        assert float(seconds) < ENOUGH, what


PROLOGUE = """
import sys, threading, time
import millhopper
from millhopper import Reader

url = sys.argv[1]
millhopper.set_threads(int(sys.argv[2]))
ticks = [time.monotonic()]
def tick():
    while True:
        time.sleep(0.005)
        ticks.append(time.monotonic())
threading.Thread(target=tick, daemon=True).start()
lines = lambda: Reader.open_files("text:" + url, names=["line"])
numbers = lambda: Reader.create("create_range_reader", count=5000, names=["x"])
def run():
    print("begun", flush=True)
"""
EPILOGUE = """
try:
    run()
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - ticks[-1], flush=True)
"""
# What waits, and where the server falls silent.
WAITS: dict[str, tuple[Moment, str]] = {
    "first answer": ("accept", "list(lines())"),
    "next part": ("answer", "list(lines().batch(100))"),
    "rest of a part": ("body", "list(lines().shuffle(100).batch(10).double_buffer())"),
    "length": ("accept", "len(Reader.open_files('recordio:' + url, names=['x']))"),
    "slots": ("accept", "Reader.open_files('recordio:' + url, slots='infer')"),
    "writer": ("accept", "millhopper.recordio_writer.create_recordio_writer(url).__enter__()"),
    "credentials": ("accept", "list(Reader.open_files('text:s3://bucket/key', names=['x']))"),
    "command": (
        "accept",
        "millhopper.allow_exec(); list(Reader.open_files('text:pipe:sleep 100', names=['x']))",
    ),
    "fifo": ("accept", "list(Reader.open_files('text:' + sys.argv[3], names=['x']))"),
    "reader in a function": ("answer", "list(numbers().map(lambda e: (list(lines()), e)[1]))"),
    "function": ("accept", "list(numbers().map(lambda e: (time.sleep(0.05), e)[1]).batch(1000))"),
    "function behind a buffer": (
        "accept",
        "list(numbers().map(lambda e: (time.sleep(0.05), e)[1]).batch(1000).double_buffer())",
    ),
    "filter": (
        "accept",
        "list(numbers().filter(lambda e: (time.sleep(0.05), True)[1]).shuffle(500).batch(500))",
    ),
    "passes without elements": (
        "accept",
        "list(Reader.create('create_range_reader', count=1, names=['x'])"
        ".batch(2, drop_last=True).repeat(2**31 - 1))",
    ),
    "cache": ("answer", "millhopper.set_cache(sys.argv[3] + '.cache'); list(lines().batch(100))"),
}


def interrupt(what: str, threads: int, after: float, tmp_path: Path) -> float:
    """Presses Ctrl-C in a process that waits; returns after how many seconds it has ended."""
    moment, wait = WAITS[what]
    fifo = tmp_path / f"fifo-{threads}-{time.monotonic_ns()}"
    if what == "fifo":
        os.mkfifo(fifo)
    with serving(moment) as server:
        origin = server.url.rsplit("/", 1)[0]
        script = f"{PROLOGUE}    {wait}\n{EPILOGUE}"
        child = subprocess.Popen(
            [sys.executable, "-c", script, server.url, str(threads), fifo],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": origin,
                "AWS_ENDPOINT_URL": origin,
                "AWS_REGION": "here",
            },
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n", child.communicate()[1]
        time.sleep(after)
        pressed = time.monotonic()
        child.send_signal(signal.SIGINT)
        try:
            output, errors = child.communicate(timeout=ENOUGH + 15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise AssertionError(f"Ctrl-C is ignored while it waits: {what}") from None
        took = time.monotonic() - pressed
    words = output.split()
    assert words[:1] == ["interrupted"], errors
    assert float(words[1]) < ENOUGH, "another thread of Python could not run"
    return took


@pytest.mark.parametrize("what", WAITS)
def test_ctrl_c_ends_each_wait(what: str, tmp_path: Path) -> None:
    assert interrupt(what, len(what) % 3, 0.5, tmp_path) < ENOUGH


@pytest.fixture(scope="module")
def longest() -> Iterator[list[float]]:
    taken = [0.0]
    yield taken
    print(f"\nAt most {max(taken) * 1000:.0f} ms from Ctrl-C to the end of the process")


@pytest.mark.parametrize("number", range(LEAVINGS))
def test_ctrl_c_at_random_times(number: int, tmp_path: Path, longest: list[float]) -> None:
    draw = random.Random(number)
    what = draw.choice(list(WAITS))
    longest.append(interrupt(what, draw.choice([0, 1, 3]), draw.uniform(0, 0.5), tmp_path))
    assert longest[-1] < ENOUGH


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("moment", MOMENTS)
def test_commands_end(moment: Moment, threads: int) -> None:
    peek = [str(Path(sys.executable).parent / "millhopper-peek"), f"--threads={threads}"]
    with serving(moment) as server:
        one = subprocess.run(
            [*peek, "--count=1", "--digest", f"text:{server.url}"],
            capture_output=True,
            timeout=ENOUGH,
        )
        assert one.returncode == 0, one.stderr
        for extra, press in ([], signal.SIGINT), ([], signal.SIGTERM), (["--timeout=1s"], None):
            command = subprocess.Popen(
                [*peek, "--digest", *extra, f"text:{server.url}"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            if press is not None:
                server.silent.wait(ENOUGH)
                command.send_signal(press)
            _, errors = command.communicate(timeout=ENOUGH + 1)
            assert command.returncode != 0, errors


def test_whoever_leaves_ends_threads_between_two_samples() -> None:
    taken: list[int] = []

    class Slow:
        def __len__(self) -> int:
            return 10_000

        def __getitem__(self, number: int) -> int:
            time.sleep(0.01)
            taken.append(number)
            return number

    numbers = (list(range(first, first + 300)) for first in range(0, 9000, 300))
    batches = samples_of(Slow(), numbers, len, True, 2, 2)
    assert next(batches) == 300
    batches.close()  # type: ignore[attr-defined]
    time.sleep(0.1)  # for the calls that had begun
    before = len(taken)
    assert before < 900
    time.sleep(0.2)
    assert len(taken) == before
