# SPDX-License-Identifier: Apache-2.0
"""Reading in child processes.

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
from millhopper.generators import wire
from millhopper.generators.passes import PATIENCE, Entries, Pass, leave_all
from millhopper.generators.python_reader import PythonReader, opened


class ReaderProcessError(RuntimeError):
    """A reader failed in its child process, or the process ended before its reader did.

    `index` is the reader's position in the list, from 0 on; `traceback` the text of the child's
    traceback, None if the process ended without one; `status` the exit status of a process that
    did, negative for the signal that killed it, None if it lives or ended as it should.

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
    """Returns a reader of the items of all `readers`, each of which runs in a process of its own.

    Order: with `use_pipe` one item of each reader in turn, leaving out those that have ended, so
    that it depends on the readers alone; what is read ahead is what fits into a pipe (64 KiB)
    each. Without `use_pipe` items come as they arrive, and up to `queue_size` of them (0: no
    limit) and one of each reader are read ahead, beside what the pipes hold. The items of one
    reader stay in order.

    Items consist of None, bool, int, float, str, bytes, tuples, lists, dicts, and of numpy arrays
    and numpy scalars that hold no objects. They arrive as equal values of the same type;
    `millhopper.generators.wire` says how they travel. Nothing is pickled: the processes are
    forked, so a reader may be any function. The readers must not need locks that threads of the
    parent may hold at that moment.

    A pass starts its processes when its first item is asked for, and without `use_pipe` a thread
    for each. They end at the end of the data, and when the consumer leaves (by `break`, `close()`,
    an exception or garbage collection): a child gets SIGTERM, which closes its generators, and
    SIGKILL if it is still alive after a second. A child whose parent is gone ends at its next item.
    Children ignore Ctrl-C; the parent ends them.

    Raises TypeError if `queue_size` is no integer, ValueError if it is negative or there are no
    readers and, in a pass, ReaderProcessError with the traceback of what a reader raised, a
    TypeError for an item of another type included, or with the exit status of a process that died.

    Source: PaddlePaddle's paddle.reader, 2018, which sends JSON (`use_pipe`) or pickles.
    """
    readers = list(readers)
    if not readers:
        raise ValueError("multiprocess_reader: no reader is given")
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
        finally:  # and not before: the pass may be left by another thread meanwhile
            this_pass.on_leave(lambda: _stop(children))
        return children

    # The streams outlive the pass: until it has been left, threads may read from them.
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
        # A thread holds a permit while it waits for its process. So each thread has one permit
        # besides those of the queue; otherwise a slow reader would hold up the others.
        ahead = queue_size and queue_size + len(readers)
        with ExitStack() as streams, Pass(ahead) as this_pass:
            entries: Entries[Any] = SimpleQueue()
            children = start(this_pass, streams)
            for child in children:
                this_pass.start(partial(this_pass.read, child.items, entries))
            for _, item in this_pass.arrivals(entries, len(children)):
                yield this_pass.deliver(item)

    return read_in_turn if use_pipe else read_as_they_arrive


# A message is a tuple of its kind and of
_ITEM = 0  # the item
_END = 1  # None
_ERROR = 2  # the exception in one line and its traceback


class _Child:
    """A forked process that reads, and the end of the pipe at which its items arrive."""

    def __init__(self, index: int, reader: PythonReader[Any]) -> None:
        self._index = index
        self._status: int | None = None
        self._ended = False
        # Guards the process id, which the system may give to another process once the status has
        # been taken. It is an RLock because garbage collection may end the pass while this thread
        # holds it.
        self._waiting = threading.RLock()
        receiving, sending = os.pipe()
        self._stream = end_of_pipe(receiving, "rb")
        with end_of_pipe(sending, "wb") as stream:
            _flush_output()  # or the child would write it once more
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
        """What the reader yields. May be called once."""
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
        """Waits until the process has ended, or `deadline` has come, and says whether it has."""
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
                except ChildProcessError:  # other code, which waits for any child, has taken it
                    self._ended = True
            return self._ended

    def _death(self) -> ReaderProcessError:
        # A process whose pipe is closed is about to die, or its reader closes descriptors that it
        # did not open.
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
    """Ends the processes; from then on the streams are at their ends."""
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
    """SIGTERM as an exception, by which the generators of a reader are closed."""


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one is enough
    raise _Terminated


def _run_child(reader: PythonReader[Any], stream: io.FileIO, mask: set[Any]) -> NoReturn:
    """The whole life of a child. Nothing may get past it: there the parent's code goes on."""
    status = 1
    try:
        try:
            gc.freeze()  # what was garbage in the parent must not be finalized here as well
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, _terminate)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _send_all(reader, stream)
            leave_all()
            status = 0
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _flush_output()
    except _Terminated:  # dies of the signal, which may not have come from the parent
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
    except BrokenPipeError:  # the parent is gone
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
        text = "".join(traceback.format_exception(error))
        last = wire.encode((_ERROR, (summary, text)))
    _flush_output()  # now: the parent may terminate this process when it has the last message
    yield last


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there may be none, or a closed one
            stream.flush()
