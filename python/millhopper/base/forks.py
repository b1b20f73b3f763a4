# SPDX-License-Identifier: Apache-2.0
"""What a forked process may do with what its parent has made, and what is done at a fork.

A fork copies memory and descriptors, and of the threads only the one that forks. So objects with
threads, queues and pipes continue to work in the process that made them; a child may drop its copy,
and makes its own. ``framework/base/forks.h`` says the same of what the core makes.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
import weakref
from collections.abc import Iterator

from millhopper import _core


class OwnProcess:
    """The process that made this object."""

    def __init__(self) -> None:
        self.id = os.getpid()

    @property
    def is_this(self) -> bool:
        """Whether this is that process, and not one that was forked later."""
        return os.getpid() == self.id


# All ends of pipes that this process has. A forked process gets copies of them, and a pipe is at
# its end, or broken, only when no copy is left. By this a parent notices that a child has died, and
# a child that its parent has. So a forked process closes its copies, except the end that it is
# forked to write to.
_ends: weakref.WeakSet[io.FileIO] = weakref.WeakSet()
_forking = threading.local()


def end_of_pipe(descriptor: int, mode: str) -> io.FileIO:
    """One end of a pipe as a file, which forked processes close."""
    end = io.FileIO(descriptor, mode)
    _ends.add(end)
    return end


@contextlib.contextmanager
def left_open_in_child(end: io.FileIO) -> Iterator[None]:
    """Within it a process that this thread forks keeps this end of a pipe."""
    _forking.kept = end
    try:
        yield
    finally:
        _forking.kept = None


def _close_copies() -> None:
    kept = getattr(_forking, "kept", None)
    for end in list(_ends):
        if end is not kept:
            end.close()
    _forking.kept = None  # a child of the child does not need this end


# A fork waits for the worker threads of the core, while it holds the interpreter. A function of map
# on a worker thread may be waiting for the interpreter. So the forking thread waits for the workers
# before, without the interpreter.
os.register_at_fork(
    before=_core.pause_workers,
    after_in_parent=_core.resume_workers,
    after_in_child=_close_copies,
)
