# SPDX-License-Identifier: Apache-2.0
"""The end of the process: threads end first, those that read in Python and those of the core."""

from __future__ import annotations

import atexit

from millhopper import _core
from millhopper.process.passes import PATIENCE, leave_all


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
