# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole process: worker threads, plugins and the exit."""

from __future__ import annotations

import atexit
import os

from millhopper import _core
from millhopper.base.integers import integer
from millhopper.generators.passes import PATIENCE, leave_all


def _leave() -> None:
    # While CPython exits, it ends every thread that takes the interpreter back, at any point of the
    # thread's code. So this function first ends the threads that read ahead in Python. Then the
    # core calls no more functions of `map`, and waits for those that are running. After that, no
    # other thread gets the interpreter back from the core. Daemon threads of the program that are
    # reading at that time see neither an end of the data nor an error.
    _core.only_those_waited_for_come_back()
    leave_all()
    _core.end_functions(PATIENCE)
    _core.nobody_else_comes_back()


atexit.register(_leave)


def set_threads(threads: int) -> None:
    """Sets how many worker threads load data, for all readers.

    The default is the number of cores minus one, but at least one. The consumer's thread uses the
    remaining core, because it loads data, too, instead of waiting. With 0 threads the consumer's
    thread does all the work. Streams are the same with any number. The call ends the present
    workers, so do not call it while a reader is being read.

    Raises:
        TypeError: ``threads`` is no integer.
        Error: the number is not 0 to 1024, or a function that a reader calls makes this call, which
            would wait for itself.

    Source: Millhopper's own.
    """
    _core.set_threads(integer("threads", threads))


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared library that adds operators, readers and formats, as ``--plugin`` does.

    The library runs as part of this process, so load only libraries that you trust. Loading one
    again does nothing.

    Args:
        path: an absolute path of a file that is not writable for everybody.

    Raises:
        Error: the library is refused; the code is ``"plugin error"`` and the message says why.

    Source: Millhopper's own.
    """
    _core.load_plugin(os.fsencode(path))
