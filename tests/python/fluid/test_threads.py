# SPDX-License-Identifier: Apache-2.0
import gc
import itertools
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import run_python, until
from millhopper.base.zipped import zip_strict
from millhopper.reader import PipeReader, buffered, chain, firstn, multiprocess_reader, xmap_readers


def ten() -> Iterator[int]:
    yield from range(10)


def of(*items: Any) -> Callable[[], Iterable[Any]]:
    return lambda: iter(items)


def same(item: Any) -> Any:
    return item


def until_there_are(threads: int) -> None:
    """Leaving waits for threads, but a machine may be too busy for its patience."""
    until(lambda: threading.active_count() == threads)


class Source:
    """An endless reader that says how far it has been read and whether it has been closed."""

    def __init__(self) -> None:
        self.pulled = 0
        self.closed = 0

    def __call__(self) -> Iterator[int]:
        try:
            for i in itertools.count():
                self.pulled += 1
                yield i
        finally:
            self.closed += 1


# The readers, each with the number of items that it reads ahead.
AHEAD: dict[str, tuple[Callable[[Any], Any], int]] = {
    "buffered 1": (lambda reader: buffered(reader, 1), 1),
    "buffered 5": (lambda reader: buffered(reader, 5), 5),
    "xmap 1x1": (lambda reader: xmap_readers(same, reader, 1, 1), 2),
    "xmap 4x2": (lambda reader: xmap_readers(same, reader, 4, 2), 6),
    "xmap 1x1 ordered": (lambda reader: xmap_readers(same, reader, 1, 1, True), 2),
    "xmap 4x2 ordered": (lambda reader: xmap_readers(same, reader, 4, 2, order=True), 6),
    "buffered buffered": (lambda reader: buffered(buffered(reader, 2), 3), 5),
    "buffered xmap": (lambda reader: buffered(xmap_readers(same, reader, 2, 2), 3), 7),
}
UNBOUNDED: dict[str, Callable[[Any], Any]] = {
    "buffered": lambda reader: buffered(reader, 0),
    "xmap": lambda reader: xmap_readers(same, reader, 3, 0),
    "xmap ordered": lambda reader: xmap_readers(same, reader, 3, 0, True),
}
ALL = {**{name: make for name, (make, _) in AHEAD.items()}, **UNBOUNDED}


@pytest.mark.parametrize("name", ALL)
class TestEveryDecorator:
    def test_consumes_nothing_until_it_is_iterated(self, name: str) -> None:
        threads = threading.active_count()
        source = Source()
        passes = iter(ALL[name](source)())
        assert (source.pulled, threading.active_count()) == (0, threads)
        assert next(passes) >= 0

    def test_yields_every_item_in_every_pass(self, name: str) -> None:
        decorated = ALL[name](ten)
        for _ in range(3):
            assert sorted(decorated()) == list(range(10))

    def test_runs_several_passes_at_once(self, name: str) -> None:
        decorated = ALL[name](ten)
        pairs = list(zip_strict(decorated(), decorated()))
        assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == list(range(10))

    def test_takes_none_and_arrays_for_items(self, name: str) -> None:
        array = np.arange(3)
        items = list(ALL[name](of(None, array, None, None))())
        assert Counter(map(id, items)) == {id(None): 3, id(array): 1}

    def test_passes_exceptions_of_the_reader_on(self, name: str) -> None:
        error = KeyError("damaged")

        def failing() -> Iterator[int]:
            yield from range(5)
            raise error

        for _ in range(2):
            with pytest.raises(KeyError) as caught:
                for item in ALL[name](failing)():
                    assert item in range(5)
            assert caught.value is error
            assert "failing" in str(caught.traceback[-1].name)

    def test_passes_exceptions_of_the_call_on(self, name: str) -> None:
        def closed() -> Iterator[int]:
            raise ConnectionRefusedError

        with pytest.raises(ConnectionRefusedError):
            list(ALL[name](closed)())

    @pytest.mark.parametrize("taken", range(12))
    def test_ends_when_the_consumer_breaks(self, name: str, taken: int) -> None:
        threads = threading.active_count()
        items = iter(ALL[name](ten)())
        assert len(list(itertools.islice(items, taken))) == min(taken, 10)
        items.close()
        until_there_are(threads)

    def test_ends_when_the_consumer_raises(self, name: str) -> None:
        source = Source()
        threads = threading.active_count()
        with pytest.raises(ZeroDivisionError) as caught:
            for _ in firstn(ALL[name](source), 10)():
                _ = 1 // 0
        del caught
        until_there_are(threads)
        assert source.closed == 1

    def test_ends_while_an_exception_is_kept(self, name: str) -> None:
        threads = threading.active_count()

        def failing() -> Iterator[int]:
            raise OSError
            yield

        with pytest.raises(OSError) as caught:
            list(ALL[name](chain(ten, failing))())
        until_there_are(threads)
        assert caught.value is not None

    def test_ends_with_the_garbage(self, name: str) -> None:
        source = Source()
        items = ALL[name](source)()
        next(items)
        del items
        assert source.closed == 1

        class Cycle:
            pass

        cycle: Any = Cycle()
        cycle.itself, cycle.items = cycle, ALL[name](source)()
        next(cycle.items)
        del cycle
        gc.collect()
        assert source.closed == 2

    def test_ends_when_its_reader_stands_still(self, name: str) -> None:
        resume_at = threading.Event()

        def standing() -> Iterator[int]:
            yield from range(10)
            resume_at.wait()
            yield 10

        items = ALL[name](standing)()
        assert sorted(itertools.islice(items, 10)) == list(range(10))
        # All threads end, the one inside the reader at the latest after its item.
        threading.Timer(0.05, resume_at.set).start()
        items.close()

    def test_frees_items_and_errors(self, name: str) -> None:
        class Item:
            pass

        alive: weakref.WeakSet[Item] = weakref.WeakSet()

        def failing() -> Iterator[Item]:
            for _ in range(5):
                item = Item()
                alive.add(item)
                yield item
            del item
            raise OSError

        gc.collect()
        gc.disable()
        try:
            with pytest.raises(OSError):
                for item in ALL[name](failing)():
                    del item
            until(lambda: not alive)
        finally:
            gc.enable()


@pytest.mark.parametrize("name", AHEAD)
class TestBounds:
    def test_reads_ahead_without_being_asked(self, name: str) -> None:
        decorate, ahead = AHEAD[name]
        source = Source()
        items = decorate(source)()
        next(items)
        until(lambda: source.pulled >= 1 + ahead)
        items.close()

    @pytest.mark.parametrize("taken", [1, 2, 20])
    def test_reads_no_further_than_that(self, name: str, taken: int) -> None:
        decorate, ahead = AHEAD[name]
        source = Source()
        items = decorate(source)()
        for _ in itertools.islice(items, taken):
            assert source.pulled <= 20 + ahead
        until(lambda: source.pulled >= taken + ahead)
        items.close()
        assert source.pulled == taken + ahead

    def test_ends_while_it_waits_for_room(self, name: str) -> None:
        decorate, ahead = AHEAD[name]
        threads = threading.active_count()
        source = Source()
        items = decorate(source)()
        next(items)
        until(lambda: source.pulled == 1 + ahead)
        items.close()
        until_there_are(threads)
        assert source.closed == 1


class TestBuffered:
    @pytest.mark.parametrize("size", range(20))
    def test_keeps_the_order(self, size: int) -> None:
        assert list(buffered(ten, size)()) == list(range(10))

    def test_reads_to_the_end_without_a_limit(self) -> None:
        done = threading.Event()

        def many() -> Iterator[int]:
            yield from range(10_000)
            done.set()

        items = iter(buffered(many, 0)())
        next(items)
        assert done.wait(30)
        assert list(items) == list(range(1, 10_000))

    @pytest.mark.parametrize("length", [0, 1, 7])
    def test_raises_after_what_came_before(self, length: int) -> None:
        def failing() -> Iterator[int]:
            yield from range(length)
            raise OSError

        seen = []
        with pytest.raises(OSError):
            for item in buffered(failing, 3)():
                seen.append(item)
        assert seen == list(range(length))

    def test_passes_every_kind_of_exception_on(self) -> None:
        for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, StopAsyncIteration):

            def failing(kind: type[BaseException] = kind) -> Iterator[int]:
                yield 0
                raise kind

            items = iter(buffered(failing, 3)())
            assert next(items) == 0
            with pytest.raises(kind):
                next(items)

    def test_passes_exceptions_of_closing_on(self) -> None:
        class Closing(Iterator[int]):
            def __iter__(self) -> Iterator[int]:
                return self

            def __next__(self) -> int:
                raise PermissionError

        with pytest.raises(PermissionError):
            list(buffered(Closing, 1)())

    def test_rejects_a_negative_size(self) -> None:
        with pytest.raises(ValueError):
            buffered(ten, -1)


class TestXmapReaders:
    @pytest.mark.parametrize("order", [True, False])
    @pytest.mark.parametrize("threads", [1, 2, 4, 8, 16])
    @pytest.mark.parametrize("size", [0, 1, 2, 4, 8, 16])
    def test_maps_every_item(self, size: int, threads: int, order: bool) -> None:
        reader = xmap_readers(lambda x: x + 1, ten, threads, size, order)
        for _ in range(3):
            results = list(reader())
            assert (results if order else sorted(results)) == list(range(1, 11))

    @pytest.mark.parametrize("threads, size", [(2, 4), (4, 1), (16, 1), (3, 0)])
    def test_works_ahead_of_a_slow_item(self, threads: int, size: int) -> None:
        ahead = size + threads if size else 100
        mapped: list[int] = []

        def mapper(item: int) -> int:
            if item == 0:
                until(lambda: len(mapped) == ahead - 1)
            mapped.append(item)
            return item

        items = xmap_readers(mapper, lambda: range(100), threads, size, order=True)()
        assert list(items) == list(range(100))
        assert mapped.index(0) == ahead - 1

    def test_does_not_wait_for_a_slow_item_without_order(self) -> None:
        last = threading.Event()

        def mapper(item: int) -> int:
            if item == 0:
                last.wait()
            return item

        results = []
        for item in xmap_readers(mapper, ten, 2, 1)():
            results.append(item)
            if len(results) == 9:
                last.set()
        assert sorted(results) == list(range(10)) and results[-1] == 0

    def test_keeps_the_order_whatever_the_threads_do(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            reader = xmap_readers(lambda x: -x, lambda: range(3000), 8, 3, order=True)
            assert list(reader()) == [-x for x in range(3000)]
        finally:
            sys.setswitchinterval(interval)

    @pytest.mark.parametrize("failing", [0, 1, 5, 9])
    @pytest.mark.parametrize("threads, size", [(1, 1), (4, 1), (4, 16)])
    def test_raises_in_order(self, threads: int, size: int, failing: int) -> None:
        error = ValueError("unreadable")

        def mapper(item: int) -> int:
            if item == failing:
                raise error
            return item

        seen = []
        with pytest.raises(ValueError) as caught:
            for item in xmap_readers(mapper, ten, threads, size, order=True)():
                seen.append(item)
        assert caught.value is error
        assert seen == list(range(failing))

    def test_raises_without_order(self) -> None:
        def mapper(item: int) -> int:
            if item == 5:
                raise SystemExit(3)
            return item

        with pytest.raises(SystemExit):
            list(xmap_readers(mapper, ten, 4, 2)())

    def test_does_not_take_a_stop_iteration_for_the_end(self) -> None:
        def mapper(item: int) -> int:
            raise StopIteration

        for order in (True, False):
            with pytest.raises(RuntimeError):
                list(xmap_readers(mapper, ten, 2, 2, order)())

    def test_raises_what_the_reader_raised_in_its_place(self) -> None:
        def failing() -> Iterator[int]:
            yield from range(7)
            raise OSError

        seen = []
        with pytest.raises(OSError):
            for item in xmap_readers(same, failing, 4, 2, order=True)():
                seen.append(item)
        assert seen == list(range(7))

    def test_reads_on_one_thread(self) -> None:
        readers = set()

        def source() -> Iterator[int]:
            for i in range(100):
                readers.add(threading.get_ident())
                yield i

        list(xmap_readers(same, source, 4, 4)())
        assert len(readers) == 1

    @pytest.mark.parametrize("threads, size", [(0, 1), (-1, 1), (1, -1)])
    def test_rejects_numbers_that_make_no_sense(self, threads: int, size: int) -> None:
        with pytest.raises(ValueError):
            xmap_readers(same, ten, threads, size)


def never_ending() -> Iterator[str]:
    return PipeReader("sleep 1000").get_line()


def never_ending_process() -> Iterator[int]:
    threading.Event().wait()
    yield 0


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "inner",
    [
        never_ending,
        multiprocess_reader([never_ending_process]),
        multiprocess_reader([never_ending_process], use_pipe=False),
    ],
    ids=["pipe", "process", "process and thread"],
)
def test_ends_what_its_threads_wait_for(inner: Any, name: str, depth: int) -> None:
    threads = threading.active_count()
    reader = chain(ten, inner)
    for _ in range(depth):
        reader = ALL[name](reader)
    items: Any = reader()
    assert sorted(itertools.islice(items, 10)) == list(range(10))
    items.close()
    until_there_are(threads)


def test_says_that_a_pass_does_not_go_on_in_a_forked_process() -> None:
    for reader in (
        buffered(ten, 20),
        xmap_readers(same, ten, 2, 20, order=True),
        multiprocess_reader([ten]),
        multiprocess_reader([ten], use_pipe=False),
    ):
        items: Any = reader()
        next(items)
        child = os.fork()
        if child == 0:
            try:
                list(items)
            except RuntimeError:
                os._exit(42)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        assert list(items) == list(range(1, 10))


def test_interpreter_exit_ends_passes() -> None:
    done = run_python(
        """
        import itertools, sys, threading
        from millhopper.reader import buffered, xmap_readers

        def closing():
            try:
                yield from itertools.count()
            finally:
                sys.stdout.write("closed\\n")

        readers = [
            buffered(closing, 2),
            xmap_readers(abs, closing, 3, 2),
            xmap_readers(abs, closing, 3, 2, True),
            buffered(buffered(closing, 2), 2),
        ]
        passes = [iter(reader()) for reader in readers]
        for items in passes:
            next(items)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n" * 4, "")
