# SPDX-License-Identifier: Apache-2.0
"""What holds for the whole process: the threads that load, and plugins."""

from __future__ import annotations

import os

from millrace import _core


def set_threads(threads: int) -> None:
    """Sets how many worker threads load data, for all readers; by default one a core.

    With 0 whoever reads does all the work. Streams are the same with any number. Ends the present
    workers, so call it while no reader is being read.

    Raises:
        Error: the number is not 0 to 1024.
    """
    _core.set_threads(threads)


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared library that adds operators, readers and formats, as ``--plugin`` does.

    It runs as part of this process, so load only what you trust. Loading it again does nothing.

    Args:
        path: an absolute path of a file that not everybody may write.

    Raises:
        Error: with the code ``"plugin error"``, saying why it is refused.
    """
    _core.load_plugin(os.fspath(path))
