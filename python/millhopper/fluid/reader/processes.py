# SPDX-License-Identifier: Apache-2.0
"""Readers that run in child processes.

Name, signature and meaning are those of PaddlePaddle's paddle.reader, 2018.
"""

from __future__ import annotations

import gc
import io
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

from millhopper.base.forks import end_of_pipe, left_open_in_child
from millhopper.base.integers import integer
from millhopper.base.python_reader import PythonReader, opened
from millhopper.fluid.reader import wire
from millhopper.process.passes import PATIENCE, Entries, Pass, leave_all


class ReaderProcessError(RuntimeError):
    """A reader failed in its child process, or the process ended before its reader did.

    `index` is the reader's position in the list, from 0 on. `traceback` is the text of the child's
    traceback, or None if the process ended without sending one. In that case `status` is the exit
    status of the process, or minus the number of the signal that killed it; it is None if the
    status is not known.

    Source: Millhopper's own.
    """

    def __init__(
        self, message: str, index: int, traceback: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.index = index
        self.traceback = traceback
        self.status = status


def multiprocess_reader(
    readers: Sequence[PythonReader[Any]], use_pipe: bool = True, queue_size: int = 1000
) -> PythonReader[Any]:
    """Returns a reader of the items of all `readers`, each of which runs in its own process.

    Order: with `use_pipe` a pass takes one item of each reader in turn and leaves out readers that
    have ended, so the order depends on the readers alone; each reader reads ahead what fits into
    its pipe (64 KiB). Without `use_pipe` items come as they arrive; besides what the pipes hold, up
    to `queue_size` items (0: no limit) and one of each reader are read ahead. The items of one
    reader stay in order.

    Items consist of None, bool, int, float, str, bytes, tuples, lists, dicts, and of numpy arrays
    and numpy scalars that hold no Python objects. They arrive as equal values of the same type;
    `millhopper.fluid.reader.wire` says how they travel. Nothing is pickled. The processes are
    forked, so a reader may be any function, but threads of the parent must not hold locks that the
    readers need.

    A pass starts its processes when the consumer asks for the first item, and without `use_pipe`
    one thread for each process. They end at the end of the data, and when the consumer leaves by
    `break`, by `close()`, by garbage collection or by an exception: a child gets SIGTERM, which
    closes its generators, and SIGKILL if it still lives after a second. A child whose parent is
    gone ends at its next item. Children ignore Ctrl-C, which the parent handles.

    Raises TypeError if `queue_size` is no integer, ValueError if it is negative or there are no
    readers. A pass raises ReaderProcessError with the traceback if a reader raised an exception or
    yielded an item of another type, and with the exit status if a process died.

    Source: PaddlePaddle's paddle.reader, 2018, which sends JSON (`use_pipe`) or pickles.
    """
    readers = list(readers)
    if not readers:
        raise ValueError("multiprocess_reader: no reader is given")
    # The lineage's callers may give the two in the other order, so that this is True or False.
    if isinstance(queue_size, bool):
        queue_size = int(queue_size)
    if integer("multiprocess_reader: queue_size", queue_size) < 0:
        raise ValueError(
            f"multiprocess_reader: queue_size is {queue_size}, it must not be negative"
        )

    def start(this_pass: Pass, streams: ExitStack) -> list[_Child]:
        children: list[_Child] = []
        try:
            for index, reader in enumerate(readers):
                children.append(_Child(index, reader))
                streams.callback(children[-1].close)
        # The list must be complete, because another thread may leave the pass during the loop.
        finally:
            this_pass.on_leave(lambda: _stop(children))
        return children

    # The streams are closed after the pass has been left, because its threads may read from them.
    def read_in_turn() -> Iterator[Any]:
        with ExitStack() as streams, Pass() as this_pass:
            passes = [child.items() for child in start(this_pass, streams)]
            end = object()
            while passes:
                for items in list(passes):
                    this_pass.check_process()
                    item = next(items, end)
                    if item is end:
                        passes.remove(items)
                    else:
                        yield item

    def read_as_they_arrive() -> Iterator[Any]:
        # A thread holds a permit while it waits for its process. So each thread has one permit in
        # addition to those of the queue; otherwise a slow reader would hold up the others.
        ahead = queue_size and queue_size + len(readers)
        with ExitStack() as streams, Pass(ahead) as this_pass:
            entries: Entries[Any] = SimpleQueue()
            children = start(this_pass, streams)
            for child in children:
                this_pass.start(partial(this_pass.read, child.items, entries))
            for _, item in this_pass.arrivals(entries, len(children)):
                yield this_pass.deliver(item)

    return read_in_turn if use_pipe else read_as_they_arrive


# A message is a tuple of its kind and a value. The kinds, with their values:
_ITEM = 0  # the item
_END = 1  # None
_ERROR = 2  # the exception in one line, and its traceback


class _Child:
    """A forked process that runs a reader, and the pipe on which its items arrive."""

    def __init__(self, index: int, reader: PythonReader[Any]) -> None:
        self._index = index
        self._status: int | None = None
        self._ended = False
        # Guards the process id, which the system may give to another process as soon as the status
        # has been taken. It is an RLock because garbage collection may end the pass on a thread
        # that holds it.
        self._waiting = threading.RLock()
        receiving, sending = os.pipe()
        self._stream = end_of_pipe(receiving, "rb")
        with end_of_pipe(sending, "wb") as stream:
            _flush_output()  # otherwise the child would write the buffered output once more
            # These signals may reach the child only after it has set its own handlers.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            try:
                with left_open_in_child(stream):
                    self._pid = os.fork()
                if self._pid == 0:
                    _run_child(reader, stream, mask)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def items(self) -> Iterator[Any]:
        """Yields the items of the reader. May be called once."""
        while True:
            try:
                kind, value = wire.decode(wire.read(self._stream))
            except EOFError:
                raise self._death() from None
            if kind == _END:
                return
            if kind == _ERROR:
                summary, text = value
                raise ReaderProcessError(
                    f"reader {self._index} raised {summary}\n\nIn its process:\n{text}",
                    self._index,
                    traceback=text,
                )
            yield value

    def signal(self, number: int) -> None:
        with self._waiting, suppress(ProcessLookupError):
            if not self._has_ended():
                os.kill(self._pid, number)

    def wait(self, deadline: float) -> bool:
        """Waits for the end of the process until `deadline`; returns whether it has ended."""
        pause = 0.0005
        while not self._has_ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def close(self) -> None:
        self._stream.close()

    def _has_ended(self) -> bool:
        with self._waiting:
            if not self._ended:
                try:
                    pid, status = os.waitpid(self._pid, os.WNOHANG)
                    if pid:
                        self._status = os.waitstatus_to_exitcode(status)
                        self._ended = True
                except ChildProcessError:  # other code that waits for any child took the status
                    self._ended = True
            return self._ended

    def _death(self) -> ReaderProcessError:
        # The pipe was closed because the process is dying, or because its reader closed descriptors
        # that it did not open. In the latter case the wait fails.
        if not self.wait(time.monotonic() + PATIENCE):
            how = "has closed its pipe"
        elif self._status is None:
            how = "ended with a status that was taken elsewhere"
        elif self._status < 0:
            how = f"was killed by {_signal_name(-self._status)}"
        else:
            how = f"exited with status {self._status}"
        return ReaderProcessError(
            f"the process of reader {self._index} {how} before its reader was at the end",
            self._index,
            status=self._status,
        )


def _stop(children: list[_Child]) -> None:
    """Ends the processes, so that reading from their streams comes to the end."""
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    for child in children:
        if not child.wait(deadline):
            child.signal(signal.SIGKILL)
            child.wait(math.inf)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


class _Terminated(BaseException):
    """Raised on SIGTERM, so that the generators of a reader are closed."""


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt the closing
    raise _Terminated


def _run_child(reader: PythonReader[Any], stream: io.FileIO, mask: set[Any]) -> NoReturn:
    """The whole life of a child. It never returns, because the parent's code would run after it."""
    status = 1
    try:
        try:
            gc.freeze()  # the garbage of the parent must not be finalized here as well
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, _terminate)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _send_all(reader, stream)
            leave_all()
            status = 0
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _flush_output()
    except _Terminated:  # dies of the signal, so that the parent sees it if others sent it
        os.kill(os.getpid(), signal.SIGTERM)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status & 0xFF)


def _send_all(reader: PythonReader[Any], stream: io.FileIO) -> None:
    messages = _messages(reader)
    try:
        for message in messages:
            wire.write(stream, message)
    except BrokenPipeError:  # the parent has closed the pipe or is gone
        pass
    finally:
        messages.close()


def _messages(reader: PythonReader[Any]) -> Generator[bytes, None, None]:
    try:
        with opened(reader) as items:
            for item in items:
                yield wire.encode((_ITEM, item))
        last = wire.encode((_END, None))
    except Exception as error:
        summary = "".join(traceback.format_exception_only(type(error), error)).strip()
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        last = wire.encode((_ERROR, (summary, text)))
    _flush_output()  # here, because the parent may terminate this process after the last message
    yield last


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the stream may be None or closed
            stream.flush()
