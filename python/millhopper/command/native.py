# SPDX-License-Identifier: Apache-2.0
"""The commands that the package brings: ``millhopper-executor``, ``-peek`` and ``-recordio``.

They are separate programs in C++, which know nothing of Python. Each function becomes one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

_PROGRAMS = Path(__file__).resolve().parent.parent / "bin"


def _become(name: str) -> NoReturn:
    os.execv(_PROGRAMS / name, [f"millhopper-{name}", *sys.argv[1:]])


def executor() -> NoReturn:
    """Checks and runs programs; lists operators and formats."""
    _become("executor")


def peek() -> NoReturn:
    """Shows what a reader yields, or what files hold."""
    _become("peek")


def recordio() -> NoReturn:
    """Writes, checks and shows RecordIO files."""
    _become("recordio")
