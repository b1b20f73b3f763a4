# SPDX-License-Identifier: Apache-2.0
"""Decorators that read and map on threads, ahead of the consumer.

The threads of a pass start when its first item is asked for. They end with the pass: at the end of
the data, and when the consumer leaves, be it by `break`, by `close()`, by garbage collection or by
an exception, also while they wait for room or for work. A thread that is inside the caller's
reader or mapper at that moment ends after the item it is at; leaving waits for that, but no longer
than `PATIENCE` seconds, and once. Passes that were started on threads of a pass, as those of
`buffered` over a PipeReader, end with it wherever they wait. At interpreter exit the passes that
are still open are ended in the same way, all at once; their consumers, daemon threads of the
program, are told neither of an end nor of an error, and sleep until the process is gone.

A pass belongs to the process that started it, since a fork does not copy threads: going on with it
in a forked process raises RuntimeError, and leaving it there does nothing.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader, 2018.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import TypeVar

from millhopper import _core
from millhopper.integers import integer
from millhopper.reader.decorators import Reader, opened

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 1.0
"""Seconds for which a consumer that leaves waits for threads and processes to end."""


class Failure:
    """Stands in a queue for the exception that takes the place of an item."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


# An item with its number in the pass; None says that the thread which put it there has ended.
Entries = SimpleQueue[tuple[int, T | Failure] | None]


class Pass:
    """What works ahead of one consumer, from its first item until it leaves.

    The threads read no more than `ahead` items further than the consumer has got (0: no limit),
    by slots: reading an item takes one, delivering it gives it back. Both ways between threads are
    `SimpleQueue`s, because garbage collection may end a pass at any allocation, even one inside of
    a queue of the same pass and thread: `SimpleQueue.put` may be called there, whereas whatever
    uses `Condition` could deadlock or miss the wake-up.
    """

    def __init__(self, ahead: int = 0) -> None:
        self.left = False
        self._process = os.getpid()
        self._slots = ahead or math.inf
        self._taken = itertools.count()  # next() is atomic, and as fast for any number of slots
        self._given_back: SimpleQueue[None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._stops: list[Callable[[], object]] = []
        self._inner: weakref.WeakSet[Pass] = weakref.WeakSet()
        self._deadline = math.inf  # of waiting for threads, however often they are left
        _passes.add(self)
        outer: Pass | None = getattr(_this_thread, "owner", None)
        if outer is not None and outer._process == self._process:
            outer._inner.add(self)
            if outer.left:
                self.leave()

    def __enter__(self) -> Pass:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()
        _core.come_back()  # but not at exit: a program is not told what that has done to its pass

    def start(self, work: Callable[[], None]) -> threading.Thread:
        """Runs `work` on a thread of this pass. It must end soon after `left` is set."""

        # A daemon, so that interpreter exit gets as far as leave_all, which ends it.
        def run() -> None:
            _this_thread.owner = self
            _core.this_thread_is_waited_for()
            work()

        thread = threading.Thread(target=run, name="millhopper reader", daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def on_leave(self, stop: Callable[[], object]) -> None:
        """Has `stop` called when the consumer leaves, before threads are waited for.

        It may be called more than once and from any thread.
        """
        self._stops.append(stop)
        if self.left:
            stop()

    def read(self, reader: Reader[T], entries: Entries[T]) -> None:
        """Puts the items of `reader`, or the exception that ends them, into `entries`, then None.

        For a thread of this pass.
        """
        number = 0
        try:
            with opened(reader) as items:
                while self._take_slot():
                    try:
                        item = next(items)
                    except StopIteration:
                        self._give_slot_back()
                        break
                    entries.put((number, item))
                    number += 1
        except BaseException as error:
            entries.put((number, Failure(error)))
        entries.put(None)

    def arrivals(self, entries: Entries[T], threads: int) -> Iterator[tuple[int, T | Failure]]:
        """The entries of `threads` threads with their numbers, until all of them have ended."""
        self.on_leave(lambda: entries.put(None))
        for _ in range(threads):
            while True:
                self.check_process()
                entry = entries.get()
                if self.left:  # on behalf of the consumer, who waits for nothing any more
                    raise RuntimeError("the pass was ended while it waited for an item")
                if entry is None:
                    break
                yield entry

    def check_process(self) -> None:
        """Raises RuntimeError in a process that was forked during the pass."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"process {os.getpid()} was forked during this pass and has no part in it: the "
                f"pass goes on in process {self._process} only, start another one here"
            )

    def deliver(self, result: T | Failure) -> T:
        """Gives the slot of an item back and returns the item, or raises what took its place."""
        self._give_slot_back()
        if not isinstance(result, Failure):
            return result
        # The traceback will refer to the frames that hold `result`: without the two `del` there
        # would be a cycle that keeps them until the garbage collector comes by.
        error = result.error
        del result.error
        try:
            raise error
        finally:
            del error

    def leave(self) -> None:
        """Ends the threads and whatever else was started; waits for it up to `PATIENCE` seconds.

        May be called more than once and from any thread.
        """
        self.stop()
        self.join(min(self._deadline, time.monotonic() + PATIENCE))

    def stop(self) -> None:
        """The first half of `leave`: has the threads end, and waits for none."""
        if os.getpid() != self._process:
            return
        self.left = True
        self._given_back.put(None)
        for inner in _snapshot(self._inner):
            inner.stop()
        for stop in list(self._stops):
            stop()

    def join(self, deadline: float) -> None:
        """The second half: waits until the threads have ended, or the deadline, which then is that
        of each `leave` behind it, too.
        """
        if os.getpid() != self._process:
            return
        self._deadline = min(self._deadline, deadline)
        for inner in _snapshot(self._inner):
            inner.join(deadline)
        for thread in self._threads:
            if thread is not threading.current_thread():  # the garbage collector runs anywhere
                thread.join(max(0.0, deadline - time.monotonic()))

    def _take_slot(self) -> bool:
        """Waits until one more item may be read; false when the consumer has left."""
        if not self.left and next(self._taken) >= self._slots:
            self._given_back.get()
        if self.left:
            self._given_back.put(None)  # for the next thread that waits
        return not self.left

    def _give_slot_back(self) -> None:
        if self._slots is not math.inf:
            self._given_back.put(None)


_passes: weakref.WeakSet[Pass] = weakref.WeakSet()
_this_thread = threading.local()


def _snapshot(passes: weakref.WeakSet[Pass]) -> list[Pass]:
    # No lock keeps other threads from starting passes meanwhile, since a fork could copy it locked.
    while True:
        try:
            return list(passes)
        except RuntimeError:  # the set has changed during the iteration
            continue


# At exit: no thread may be left that comes back from C++ into an interpreter that is gone.
def leave_all() -> None:
    """Ends all open passes of this process, and waits for all of them up to `PATIENCE` seconds."""
    passes = _snapshot(_passes)
    for open_pass in passes:
        open_pass.stop()
    deadline = time.monotonic() + PATIENCE
    for open_pass in passes:
        open_pass.join(deadline)


def _in_order(numbered: Iterator[tuple[int, T | Failure]]) -> Iterator[T | Failure]:
    """The results by number, from 0 on; those that come before their turn are held back."""
    held: dict[int, T | Failure] = {}
    turn = 0
    for number, result in numbered:
        held[number] = result
        while turn in held:
            yield held.pop(turn)
            turn += 1


def buffered(reader: Reader[T], size: int) -> Reader[T]:
    """Returns a reader that reads ahead on a thread, up to `size` items.

    A `size` of 0 is no limit: the thread then reads as fast as it can, until memory is full if the
    reader does not end. Order: that of the reader. An exception of the reader reaches the consumer
    after the items that came before it.

    Starts one thread a pass; see the module for when it ends. Raises TypeError if `size` is no
    integer, ValueError if it is negative.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    if integer("buffered: size", size) < 0:
        raise ValueError(f"buffered: size is {size}, it must not be negative")

    def read() -> Iterator[T]:
        with Pass(ahead=size) as this_pass:
            entries: Entries[T] = SimpleQueue()
            this_pass.start(lambda: this_pass.read(reader, entries))
            for _, item in this_pass.arrivals(entries, 1):
                yield this_pass.deliver(item)

    return read


def xmap_readers(
    mapper: Callable[[T], R],
    reader: Reader[T],
    process_num: int,
    buffer_size: int,
    order: bool = False,
) -> Reader[R]:
    """Returns a reader of `mapper(item)`, computed on `process_num` threads.

    One more thread reads. Up to `buffer_size` items beside those that the threads are at, one
    each, are read ahead of the consumer, mapped or not; 0 is no limit. With `order` results come
    in the order of the reader, without it as they get ready. These are threads, in spite of the
    name: a mapper gains from them as far as it waits or lets go of the GIL, as numpy and decoders
    do.

    An exception of `reader` or `mapper` reaches the consumer: with `order` after all that came
    before it, without it as soon as it is met.

    Starts `process_num` + 1 threads a pass; see the module for when they end. Raises TypeError if
    `process_num` or `buffer_size` is no integer, ValueError if the one is less than 1 or the other
    negative.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    if integer("xmap_readers: process_num", process_num) < 1:
        raise ValueError(f"xmap_readers: process_num is {process_num}, it must be at least 1")
    if integer("xmap_readers: buffer_size", buffer_size) < 0:
        raise ValueError(f"xmap_readers: buffer_size is {buffer_size}, it must not be negative")
    # An item takes its slot when it is read, in order, so the item whose turn is next always has
    # one: no number of threads or slots lets results wait for each other.
    ahead = buffer_size and buffer_size + process_num

    def read() -> Iterator[R]:
        samples: Entries[T] = SimpleQueue()
        results: Entries[R] = SimpleQueue()

        def map_samples() -> None:
            while (entry := samples.get()) is not None and not this_pass.left:
                number, sample = entry
                results.put((number, _mapped(mapper, sample)))
            samples.put(None)  # for the next thread
            results.put(None)

        with Pass(ahead) as this_pass:
            this_pass.on_leave(lambda: samples.put(None))
            this_pass.start(lambda: this_pass.read(reader, samples))
            for _ in range(process_num):
                this_pass.start(map_samples)
            numbered = this_pass.arrivals(results, process_num)
            for result in _in_order(numbered) if order else (result for _, result in numbered):
                yield this_pass.deliver(result)

    return read


def _mapped(mapper: Callable[[T], R], sample: T | Failure) -> R | Failure:
    if isinstance(sample, Failure):
        return sample
    try:
        return mapper(sample)
    except BaseException as error:
        return Failure(error)
