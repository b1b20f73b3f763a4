# SPDX-License-Identifier: Apache-2.0
"""Threads that work ahead of a consumer: when they start, and how they end.

The threads of a pass start when its first item is asked for. They end with the pass, which is at
the end of the data or when the consumer leaves: by `break`, `close()`, an exception, or because the
garbage collector finds the pass. They end even while they wait for room or for work. A thread that
is inside the caller's reader or mapper at that moment ends after its current item; the consumer
waits for that, once, and at most `PATIENCE` seconds. Passes that threads of a pass have started,
such as those of `buffered` over a PipeReader, end with it wherever they wait. At interpreter exit
all open passes are ended in the same way, at once. Their consumers, which are daemon threads of the
program, see neither an end nor an error and sleep until the process is gone.

A pass belongs to the process that started it, because a fork does not copy threads: a forked
process that goes on with it gets a RuntimeError, and one that leaves it does nothing.
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
from millhopper.base.forks import OwnProcess
from millhopper.generators.python_reader import PythonReader, opened

T = TypeVar("T")

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
    """The threads that work ahead of one consumer, from its first item until it leaves.

    The threads read at most `ahead` items more than the consumer has taken (0: no limit). Permits
    see to that: reading an item takes one, delivering it gives it back. Threads talk through
    `SimpleQueue`s only, because garbage collection may end a pass at any allocation, even at one
    inside a queue of the same pass on the same thread. `SimpleQueue.put` may be called there; code
    that uses `Condition` could deadlock or miss the wake-up.
    """

    def __init__(self, ahead: int = 0) -> None:
        self.left = False
        self._process = OwnProcess()
        self._permits = ahead or math.inf
        self._taken = itertools.count()  # next() is atomic, and as fast for any number of permits
        self._given_back: SimpleQueue[None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._stops: list[Callable[[], object]] = []
        self._inner: weakref.WeakSet[Pass] = weakref.WeakSet()
        self._deadline = math.inf  # of all waiting for threads, however often leave() is called
        _passes.add(self)
        outer: Pass | None = getattr(_this_thread, "owner", None)
        if outer is not None and outer._process.is_this:
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
        _core.come_back()  # sleeps at exit: the consumer is not told that the exit ended its pass

    def start(self, work: Callable[[], None]) -> threading.Thread:
        """Runs `work` on a thread of this pass. It must end soon after `left` is set."""

        # It is a daemon, so that the exit of the interpreter does not wait for it before leave_all
        # ends it.
        def run() -> None:
            _this_thread.owner = self
            _core.this_thread_is_waited_for()
            work()

        thread = threading.Thread(target=run, name="millhopper reader", daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def on_leave(self, stop: Callable[[], object]) -> None:
        """Registers `stop`, which is called when the consumer leaves, before it waits for threads.

        `stop` may be called more than once and from any thread.
        """
        self._stops.append(stop)
        if self.left:
            stop()

    def read(self, reader: PythonReader[T], entries: Entries[T]) -> None:
        """Puts the items of `reader`, or the exception that ends them, into `entries`, then None.

        For a thread of this pass.
        """
        number = 0
        try:
            with opened(reader) as items:
                while self._take_permit():
                    try:
                        item = next(items)
                    except StopIteration:
                        self._give_permit_back()
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
                if self.left:  # the consumer has left and waits for nothing any more
                    raise RuntimeError("the pass was ended while it waited for an item")
                if entry is None:
                    break
                yield entry

    def check_process(self) -> None:
        """Raises RuntimeError in a process that was forked during the pass."""
        if not self._process.is_this:
            raise RuntimeError(
                f"process {os.getpid()} was forked during this pass and has no part in it: the "
                f"pass goes on in process {self._process.id} only, start another one here"
            )

    def deliver(self, result: T | Failure) -> T:
        """Gives the permit of an item back and returns the item, or raises what took its place."""
        self._give_permit_back()
        if not isinstance(result, Failure):
            return result
        # The traceback will refer to the frames that hold `result`: without the two `del` there
        # would be a cycle that keeps them until the garbage collector runs.
        error = result.error
        del result.error
        try:
            raise error
        finally:
            del error

    def leave(self) -> None:
        """Ends all that the pass has started, and waits for it up to `PATIENCE` seconds.

        May be called more than once and from any thread.
        """
        self.stop()
        self.join(min(self._deadline, time.monotonic() + PATIENCE))

    def stop(self) -> None:
        """The first half of `leave`: tells the threads to end, and does not wait."""
        if not self._process.is_this:
            return
        self.left = True
        self._given_back.put(None)
        for inner in _snapshot(self._inner):
            inner.stop()
        for stop in list(self._stops):
            stop()

    def join(self, deadline: float) -> None:
        """The second half: waits until the threads have ended, or until the deadline.

        No later `leave` waits beyond this deadline.
        """
        if not self._process.is_this:
            return
        self._deadline = min(self._deadline, deadline)
        for inner in _snapshot(self._inner):
            inner.join(deadline)
        for thread in self._threads:
            if thread is not threading.current_thread():  # where the collector may call this
                thread.join(max(0.0, deadline - time.monotonic()))

    def _take_permit(self) -> bool:
        """Waits until one more item may be read; false when the consumer has left."""
        if not self.left and next(self._taken) >= self._permits:
            self._given_back.get()
        if self.left:
            self._given_back.put(None)  # for the next thread that waits
        return not self.left

    def _give_permit_back(self) -> None:
        if self._permits is not math.inf:
            self._given_back.put(None)


_passes: weakref.WeakSet[Pass] = weakref.WeakSet()
_this_thread = threading.local()


def _snapshot(passes: weakref.WeakSet[Pass]) -> list[Pass]:
    # There is no lock against other threads that start passes meanwhile, because a fork could copy
    # it in its locked state.
    while True:
        try:
            return list(passes)
        except RuntimeError:  # the set has changed during the iteration
            continue


# Called at exit: no thread may come back from C++ into an interpreter that is gone.
def leave_all() -> None:
    """Ends all open passes of this process, and waits for all of them up to `PATIENCE` seconds."""
    passes = _snapshot(_passes)
    for open_pass in passes:
        open_pass.stop()
    deadline = time.monotonic() + PATIENCE
    for open_pass in passes:
        open_pass.join(deadline)
