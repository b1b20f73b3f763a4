# SPDX-License-Identifier: Apache-2.0
import functools
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import children, run_python, until
from millhopper.base.zipped import zip_strict
from millhopper.reader import ReaderProcessError, buffered, multiprocess_reader
from test_pipe import is_gone

both_ways = pytest.mark.parametrize("use_pipe", [True, False], ids=["pipe", "queue"])


def ten() -> Iterator[int]:
    yield from range(10)


def of(*items: Any) -> Callable[[], Iterable[Any]]:
    return lambda: iter(items)


def asleep() -> Iterator[int]:
    yield 0
    time.sleep(1000)


@both_ways
class TestItems:
    def test_yields_those_of_all_readers(self, use_pipe: bool) -> None:
        samples = [[[i], [i + 1, i + 2], i + 3] for i in range(1000)]

        def part(index: int) -> Iterator[Any]:
            return itertools.islice(samples, index, None, 3)

        readers = [functools.partial(part, index) for index in range(3)]
        for arguments in ((use_pipe, 100), (use_pipe,), (100, use_pipe)):
            reader = multiprocess_reader(readers, *arguments)
            for _ in range(2):
                assert sorted(reader()) == samples

    def test_keeps_the_order_of_each_reader(self, use_pipe: bool) -> None:
        readers = [lambda n=n: ((n, i) for i in range(50 * n)) for n in range(4)]
        items = list(multiprocess_reader(readers, use_pipe, 7)())
        for n in range(4):
            assert [i for reader, i in items if reader == n] == list(range(50 * n))

    @pytest.mark.parametrize("size", [0, 1, 2, 19])
    def test_yields_the_same_for_any_queue(self, use_pipe: bool, size: int) -> None:
        reader = multiprocess_reader([ten, ten, ten], use_pipe, size)
        assert sorted(reader()) == sorted([*range(10)] * 3)

    def test_keeps_types(self, use_pipe: bool) -> None:
        plain = [None, True, 1, 1.5, "größer", b"\0", (1, (2,)), [3, [4]], {"a": (None,)}, 1 << 100]
        assert list(multiprocess_reader([of(*plain)], use_pipe)()) == plain
        arrays: list[Any] = [np.arange(6.0).reshape(2, 3), np.float32(1.5), np.array(["a", "bc"])]
        for got, sent in zip_strict(multiprocess_reader([of(*arrays)], use_pipe)(), arrays):
            assert type(got) is type(sent) and got.dtype == sent.dtype
            assert got.tobytes() == sent.tobytes()

    def test_passes_items_larger_than_a_pipe(self, use_pipe: bool) -> None:
        array = np.random.default_rng(1).integers(0, 256, 3_000_000, np.uint8)
        for got in multiprocess_reader([of(array, array), of(array)], use_pipe)():
            assert np.array_equal(got, array)

    def test_reads_nothing_in_the_parent(self, use_pipe: bool) -> None:
        def where() -> Iterator[int]:
            yield os.getpid()

        pids = list(multiprocess_reader([where, where], use_pipe)())
        assert len({*pids, os.getpid()}) == 3

    def test_starts_nothing_until_it_is_iterated(self, use_pipe: bool) -> None:
        before = children()
        multiprocess_reader([ten], use_pipe)()
        assert children() == before

    def test_runs_several_passes_at_once(self, use_pipe: bool) -> None:
        reader = multiprocess_reader([ten], use_pipe)
        assert list(zip_strict(reader(), reader())) == [(i, i) for i in range(10)]

    def test_runs_on_several_threads_at_once(self, use_pipe: bool) -> None:
        reader = multiprocess_reader([ten, ten], use_pipe)
        results: list[list[int]] = []

        def run() -> None:
            for _ in range(5):
                results.append(sorted(reader()))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [sorted([*range(10)] * 2)] * 20

    def test_may_be_nested(self, use_pipe: bool) -> None:
        inner = multiprocess_reader([ten, buffered(ten, 2)], use_pipe)
        assert sorted(multiprocess_reader([inner, ten], use_pipe)()) == sorted([*range(10)] * 3)

    def test_passes_what_a_reader_prints_on(self, use_pipe: bool, capfd: Any) -> None:
        def printing() -> Iterator[int]:
            print("printed")
            yield 1

        sys.stdout.write("before\n")
        list(multiprocess_reader([printing], use_pipe)())
        assert capfd.readouterr().out == "before\nprinted\n"


def test_takes_an_item_of_each_reader_in_turn() -> None:
    reader = multiprocess_reader([of("a", "b", "c"), of(1), of(None, None)])
    for _ in range(3):
        assert list(reader()) == ["a", 1, None, "b", None, "c"]


def test_does_not_wait_for_a_reader_without_items() -> None:
    items: Any = multiprocess_reader([asleep, ten], use_pipe=False)()
    assert sorted(itertools.islice(items, 11)) == sorted([0, *range(10)])
    items.close()


def test_reads_ahead_into_the_queue() -> None:
    ends, begins = os.pipe()

    def telling() -> Iterator[bytes]:
        for _ in range(8):
            yield bytes(1 << 20)  # more than a pipe holds
        os.write(begins, b"x")

    items: Any = multiprocess_reader([telling], use_pipe=False, queue_size=6)()
    next(items)
    assert os.read(ends, 1) == b"x"  # the reader has come to its end
    assert len(list(items)) == 7
    os.close(ends)
    os.close(begins)


def test_rejects_what_makes_no_sense() -> None:
    with pytest.raises(ValueError):
        multiprocess_reader([])
    with pytest.raises(ValueError):
        multiprocess_reader([ten], queue_size=-1)


class Unsafe:
    def __reduce__(self) -> Any:
        raise AssertionError("somebody pickles")


@both_ways
class TestErrors:
    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_raises_with_the_traceback(self, use_pipe: bool, length: int) -> None:
        def damaged_reader() -> Iterator[int]:
            yield from range(length)
            raise KeyError("the reason")

        seen = []
        with pytest.raises(ReaderProcessError, match="reader 0 raised KeyError: 'the reason'") as e:
            for item in multiprocess_reader([damaged_reader], use_pipe)():
                seen.append(item)
        assert seen == list(range(length))
        assert e.value.index == 0 and e.value.status is None
        assert e.value.traceback and "in damaged_reader" in e.value.traceback
        assert e.value.traceback in str(e.value)

    def test_raises_while_other_readers_go_on(self, use_pipe: bool) -> None:
        def failing() -> Iterator[int]:
            raise OSError
            yield

        endless = functools.partial(itertools.count, 0)
        with pytest.raises(ReaderProcessError, match="reader 1 raised OSError"):
            for _ in multiprocess_reader([endless, failing, endless], use_pipe)():
                pass

    def test_raises_when_the_call_fails(self, use_pipe: bool) -> None:
        def failing() -> Iterator[int]:
            raise OSError("unplugged")

        with pytest.raises(ReaderProcessError, match="unplugged"):
            list(multiprocess_reader([failing], use_pipe)())

    @pytest.mark.parametrize("item", [Unsafe(), {1, 2}, np.array([None])], ids=str)
    def test_names_the_type_of_what_cannot_pass(self, use_pipe: bool, item: Any) -> None:
        with pytest.raises(ReaderProcessError, match="TypeError: an item holds") as caught:
            list(multiprocess_reader([of(1, (item,))], use_pipe)())
        name = "dtype object" if isinstance(item, np.ndarray) else type(item).__name__
        assert name in str(caught.value)

    @pytest.mark.parametrize(
        "die, status, words",
        [
            (lambda: os._exit(3), 3, "exited with status 3"),
            (lambda: os._exit(0), 0, "exited with status 0"),
            (lambda: sys.exit(4), 4, "exited with status 4"),
            (lambda: sys.exit("a reason"), 1, "exited with status 1"),
            (lambda: os.kill(os.getpid(), signal.SIGKILL), -9, "was killed by SIGKILL"),
            (lambda: os.kill(os.getpid(), signal.SIGUSR1), -10, "was killed by SIGUSR1"),
            (lambda: os.kill(os.getpid(), signal.SIGTERM), -15, "was killed by SIGTERM"),
        ],
        ids=["exit 3", "exit 0", "SystemExit", "SystemExit str", "KILL", "USR1", "TERM"],
    )
    @pytest.mark.parametrize("length", [0, 4])
    def test_says_how_a_process_died(
        self, use_pipe: bool, length: int, die: Any, status: int, words: str
    ) -> None:
        def dying() -> Iterator[int]:
            yield from range(length)
            die()

        seen = []
        with pytest.raises(ReaderProcessError, match=f"reader 1 {words} before") as caught:
            for item in multiprocess_reader([of(), dying], use_pipe)():
                seen.append(item)
        assert seen == list(range(length))
        assert (caught.value.index, caught.value.status) == (1, status)
        assert caught.value.traceback is None

    def test_notices_a_death_in_the_midst_of_an_item(self, use_pipe: bool) -> None:
        def dying() -> Iterator[bytes]:
            threading.Timer(0.05, os._exit, [5]).start()
            yield bytes(100 << 20)

        items: Any = multiprocess_reader([of(1), dying], use_pipe)()
        assert next(items) == 1
        time.sleep(0.2)  # the pipe is full, the process gone
        with pytest.raises(ReaderProcessError, match="status 5"):
            next(items)

    def test_notices_a_death_while_others_hold_the_pipe(self, use_pipe: bool) -> None:
        def forking() -> Iterator[int]:
            pid = os.fork()
            if pid == 0:
                time.sleep(1000)
            yield pid
            os._exit(6)

        items: Any = multiprocess_reader([forking], use_pipe)()
        grandchild = next(items)
        try:
            with pytest.raises(ReaderProcessError, match="status 6"):
                next(items)
        finally:
            os.kill(grandchild, signal.SIGKILL)

    def test_survives_that_its_status_is_taken(self, use_pipe: bool) -> None:
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            assert list(multiprocess_reader([ten], use_pipe)()) == list(range(10))
            with pytest.raises(ReaderProcessError, match="taken elsewhere"):
                list(multiprocess_reader([lambda: os._exit(1)], use_pipe)())
        finally:
            signal.signal(signal.SIGCHLD, before)


@both_ways
class TestLeaving:
    @pytest.mark.parametrize("taken", range(0, 24, 4))
    def test_ends_the_processes(self, use_pipe: bool, taken: int) -> None:
        before = children()
        items: Any = multiprocess_reader([ten, ten], use_pipe, 3)()
        assert len(list(itertools.islice(items, taken))) == min(taken, 20)
        items.close()
        assert children() == before

    @pytest.mark.parametrize(
        "reader",
        [
            asleep,
            functools.partial(itertools.count, 0),
            functools.partial(itertools.repeat, bytes(1 << 20)),
        ],
        ids=["asleep", "full pipe", "in an item"],
    )
    def test_ends_them_wherever_they_are(self, use_pipe: bool, reader: Any) -> None:
        before = children()
        for _ in multiprocess_reader([reader, reader], use_pipe, 2)():
            break
        assert children() == before

    def test_closes_their_readers(self, use_pipe: bool, tmp_path: Path) -> None:
        def closing() -> Iterator[int]:
            try:
                yield from asleep()
            finally:
                (tmp_path / "closed").touch()

        items: Any = multiprocess_reader([closing], use_pipe)()
        next(items)
        items.close()
        assert (tmp_path / "closed").exists()

    def test_kills_those_that_do_not_listen(self, use_pipe: bool) -> None:
        def deaf() -> Iterator[int]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            yield from asleep()

        before = children()
        items: Any = multiprocess_reader([deaf], use_pipe)()
        next(items)
        items.close()
        assert children() == before

    def test_ends_them_when_the_consumer_raises(self, use_pipe: bool) -> None:
        before = children()
        with pytest.raises(ZeroDivisionError) as caught:
            for _ in multiprocess_reader([asleep], use_pipe)():
                _ = 1 // 0
        del caught
        assert children() == before

    def test_ends_them_while_an_exception_is_kept(self, use_pipe: bool) -> None:
        before = (children(), threading.active_count(), len(os.listdir("/proc/self/fd")))
        with pytest.raises(ReaderProcessError) as caught:
            list(multiprocess_reader([lambda: os._exit(1), asleep], use_pipe)())
        after = (children(), threading.active_count(), len(os.listdir("/proc/self/fd")))
        assert after == before, caught

    def test_ends_nested_ones(self, use_pipe: bool) -> None:
        def nested() -> Iterator[int]:
            def inner() -> Iterator[int]:
                yield os.getpid()
                time.sleep(1000)

            return iter(multiprocess_reader([inner], use_pipe)())

        items: Any = multiprocess_reader([nested], use_pipe)()
        grandchild = next(items)
        assert not is_gone(grandchild)
        items.close()
        until(lambda: is_gone(grandchild))

    def test_leaves_handlers_of_the_parent_alone(self, use_pipe: bool) -> None:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        list(multiprocess_reader([ten], use_pipe)())
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask


PROGRAM = """
    import itertools, os, sys, time
    from millhopper.reader import multiprocess_reader

    def reader():
        yield os.getpid()
        yield from itertools.repeat(bytes(100000))

    passes = [iter(multiprocess_reader([reader, reader], use)()) for use in (True, False)]
    for items in passes:
        print(next(item for item in items if isinstance(item, int)), flush=True)
"""


def test_interpreter_exit_ends_processes() -> None:
    done = run_python(PROGRAM)
    assert (done.returncode, done.stderr) == (0, "")
    for pid in map(int, done.stdout.split()):
        until(functools.partial(is_gone, pid))


def test_processes_end_when_their_parent_was_killed() -> None:
    done = run_python(PROGRAM + "    os.kill(os.getpid(), 9)")
    assert done.returncode == -signal.SIGKILL
    for pid in map(int, done.stdout.split()):
        until(functools.partial(is_gone, pid))


def test_an_interrupt_ends_the_pass_quietly() -> None:
    done = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time\n"
            "from millhopper.reader import multiprocess_reader\n"
            "def reader():\n"
            "    yield 1\n"
            "    time.sleep(1000)\n"
            "try:\n"
            "    for item in multiprocess_reader([reader, reader])():\n"
            "        print(item, flush=True)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout is not None
    assert [done.stdout.readline() for _ in range(2)] == ["1\n", "1\n"]
    os.killpg(done.pid, signal.SIGINT)
    assert done.communicate(timeout=30) == ("interrupted\n", "")
    assert done.returncode == 0
