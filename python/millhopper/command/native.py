# SPDX-License-Identifier: Apache-2.0
"""The commands that the package brings: ``millhopper-executor``, ``-peek`` and ``-recordio``.

They are separate programs in C++, which know nothing of Python. Each function becomes one, with the
plugin that ``pip install millhopper[parquet]`` has brought, if a file may need it.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from millhopper.programs.extras import may_be_columns, parquet_plugin

_PROGRAMS = Path(__file__).resolve().parent.parent / "bin"


def _become(name: str) -> NoReturn:
    program, words = _PROGRAMS / name, [f"millhopper-{name}", *sys.argv[1:]]
    plugin = _plugin(sys.argv[1:])
    if plugin is None:
        os.execv(program, words)
    # The libraries that the plugin needs lie where pyarrow does, which need not be beside it.
    pyarrow = importlib.import_module("pyarrow")
    known = os.environ.get("LD_LIBRARY_PATH")
    folders = [*pyarrow.get_library_dirs(), *([known] if known else [])]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}
    os.execve(program, [*words, f"--plugin={plugin}"], environment)


def _plugin(arguments: list[str]) -> str | None:
    """The plugin of columns, if a file may need it and the command names none."""
    if any(one.startswith("--plugin") for one in arguments):
        return None
    if not any(may_be_columns(one) for one in arguments if not one.startswith("--")):
        return None
    return parquet_plugin()


def executor() -> NoReturn:
    """Checks and runs programs; lists operators and formats."""
    _become("executor")


def peek() -> NoReturn:
    """Shows what a reader yields, or what files hold."""
    _become("peek")


def recordio() -> NoReturn:
    """Writes, checks and shows RecordIO files."""
    _become("recordio")
