# SPDX-License-Identifier: Apache-2.0
"""Threads that work ahead of a consumer: when they start, and how they end.

The threads of a pass start when the consumer asks for the first item. They end with the pass: at
the end of the data, and when the consumer leaves by `break`, by `close()`, by garbage collection or
by an exception, also if they are waiting for room or for work at that moment. A thread that is
inside the caller's reader or mapper ends after the current item. The consumer that leaves waits for
the threads, for at most `PATIENCE` seconds in all.

Passes that the threads of a pass have started, such as the one of a PipeReader under `buffered`,
end with that pass, also if they are waiting. When the interpreter exits, all passes that are still
open are ended in the same way, at the same time. Their consumers, which are daemon threads of the
program, see neither an end of the data nor an error: they sleep until the process is gone.

A pass belongs to the process that started it, because a fork does not copy threads. In a forked
process the next item of the pass raises RuntimeError, and leaving the pass does nothing.
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
from typing import TYPE_CHECKING, TypeVar

from millhopper import _core
from millhopper.base.forks import OwnProcess
from millhopper.base.python_reader import PythonReader, opened

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds for which a consumer that leaves waits until threads and processes have ended."""


class Failure:
    """An entry of a queue that holds an exception in place of an item."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


# An entry is an item with its number in the pass. A thread puts None when it has ended.
Entries: TypeAlias = "SimpleQueue[tuple[int, T | Failure] | None]"


class Pass:
    """The threads that work ahead of one consumer, from its first item until it leaves.

    Permits keep the threads from reading more than `ahead` items further than the consumer (0: no
    limit): a thread takes a permit to read an item, and the consumer gives it back when the item is
    delivered. Items and permits travel in `SimpleQueue`s, because garbage collection may end a pass
    at any allocation, even at one inside a queue operation of the same pass and thread.
    `SimpleQueue.put` may be called there, but a class that uses `Condition` could deadlock or miss
    the wake-up.
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
        self._deadline = math.inf  # when the consumer stops waiting for threads, set by join()
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
        _core.come_back()  # at interpreter exit the consumer sleeps here and never sees the end

    def start(self, work: Callable[[], None]) -> threading.Thread:
        """Runs `work` on a thread of this pass. It must end soon after `left` is set."""

        # A daemon thread, because otherwise the interpreter would wait for it at exit, before
        # leave_all ends it.
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

        `stop` may be called more than once and on any thread; it is called at once if the consumer
        has left already.
        """
        self._stops.append(stop)
        if self.left:
            stop()

    def read(self, reader: PythonReader[T], entries: Entries[T]) -> None:
        """Puts the items of `reader` into `entries`, then None; an exception is put as a Failure.

        Runs on a thread of this pass.
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
        """The entries that `threads` threads put, with numbers, until all threads have ended."""
        self.on_leave(lambda: entries.put(None))
        for _ in range(threads):
            while True:
                self.check_process()
                entry = entries.get()
                if self.left:
                    raise RuntimeError("the pass was ended while it waited for an item")
                if entry is None:
                    break
                yield entry

    def check_process(self) -> None:
        """Raises RuntimeError in a process that was forked during the pass."""
        if not self._process.is_this:
            raise RuntimeError(
                f"process {os.getpid()} was forked during this pass and has no part in it: the "
                f"pass continues in process {self._process.id} only, start another one here"
            )

    def deliver(self, result: T | Failure) -> T:
        """Gives the permit of an item back and returns the item, or raises the failure's error."""
        self._give_permit_back()
        if not isinstance(result, Failure):
            return result
        # The traceback refers to this frame, and the frame to `result` and `error`. The two `del`
        # break this cycle, which would otherwise live until the next garbage collection.
        error = result.error
        del result.error
        try:
            raise error
        finally:
            del error

    def leave(self) -> None:
        """Ends the threads and calls the stops, then waits up to `PATIENCE` seconds for threads.

        May be called more than once and on any thread.
        """
        self.stop()
        self.join(min(self._deadline, time.monotonic() + PATIENCE))

    def stop(self) -> None:
        """The first half of `leave`: tells the threads to end, and does not wait for them."""
        if not self._process.is_this:
            return
        self.left = True
        self._given_back.put(None)
        for inner in _snapshot(self._inner):
            inner.stop()
        for stop in list(self._stops):
            stop()

    def join(self, deadline: float) -> None:
        """The second half of `leave`: waits for the threads until `deadline`.

        Later calls of `leave` wait no longer than until this deadline, too.
        """
        if not self._process.is_this:
            return
        self._deadline = min(self._deadline, deadline)
        for inner in _snapshot(self._inner):
            inner.join(deadline)
        for thread in self._threads:
            # The garbage collector may call this on a thread of the pass.
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _take_permit(self) -> bool:
        """Waits until one more item may be read; returns False if the consumer has left."""
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
    # Other threads may start passes meanwhile. A lock would keep them out, but a fork could copy
    # it while it is locked.
    while True:
        try:
            return list(passes)
        except RuntimeError:  # the set has changed during the iteration
            continue


# Called at exit, because no thread may return from C++ into an interpreter that is gone.
def leave_all() -> None:
    """Ends all open passes of this process, and waits for all of them up to `PATIENCE` seconds."""
    passes = _snapshot(_passes)
    for open_pass in passes:
        open_pass.stop()
    deadline = time.monotonic() + PATIENCE
    for open_pass in passes:
        open_pass.join(deadline)
