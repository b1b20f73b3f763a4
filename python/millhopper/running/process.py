# SPDX-License-Identifier: Apache-2.0
"""What holds for the whole process: the threads that load, plugins, how it exits."""

from __future__ import annotations

import atexit
import os

from millhopper import _core
from millhopper.base.integers import integer
from millhopper.generators.passes import PATIENCE, leave_all


def _leave() -> None:
    # While CPython exits, it ends a thread that comes back to it at any point of its code. So this
    # first ends the threads that read ahead in Python. Then no function of map is called any more,
    # and the running ones are waited for. At last no thread gets the interpreter back from the
    # core. Daemon threads of the program that read meanwhile get neither an end nor an error.
    _core.only_those_waited_for_come_back()
    leave_all()
    _core.end_functions(PATIENCE)
    _core.nobody_else_comes_back()


atexit.register(_leave)


def set_threads(threads: int) -> None:
    """Sets how many worker threads load data, for all readers.

    By default there is one for every core except the first (and one on a single core), since the
    consumer's thread works as well where it would have to wait; with 0 it does all the work.
    Streams are the same with any number. Ends the present workers, so call it while no reader is
    being read.

    Raises:
        TypeError: it is no integer.
        Error: the number is not 0 to 1024, or a function that a reader calls says it, which would
            wait for itself.

    Source: Millhopper's own.
    """
    _core.set_threads(integer("threads", threads))


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared library that adds operators, readers and formats, as ``--plugin`` does.

    It runs as part of this process, so load only what you trust. Loading it again does nothing.

    Args:
        path: an absolute path of a file that not everybody may write.

    Raises:
        Error: with the code ``"plugin error"``, saying why it is refused.

    Source: Millhopper's own.
    """
    _core.load_plugin(os.fsencode(path))
