# SPDX-License-Identifier: Apache-2.0
"""Formats and stores of the package's extras: separate packages, loaded when needed.

That such a package is installed (``pip install millhopper[parquet]``) is the user's permission to
load its plugin. An import of Millhopper looks for none: the first program that names one of their
formats, or a file in one of their stores, does.
"""

from __future__ import annotations

import importlib
import re

from millhopper import _core

# Names of operators, formats before a colon, extensions of file names, and schemes of stores.
_PARQUET = re.compile(
    rb"(?:parquet|arrow|feather)(?:_file_reader|:)|\.(?:parquet|pq|arrows?|ipc|feather)(?![\w.])"
    rb"|(?<![0-9A-Za-z])(?:gs|abfss?|hdfs)://"
)

_registered: set[str] = set()


def load_extras(program: bytes | str) -> None:
    """Loads the plugins of installed extras whose formats or stores are named in a program, text or
    binary, or in one of its texts.

    Without the package nothing happens, and the core says that it does not know the format or the
    store.

    Raises:
        ImportError: the package is installed, but what it needs is not; the message says what.
        Error: the core refuses the plugin; the code is ``"plugin error"``.
    """
    if isinstance(program, str):
        program = program.encode(errors="surrogateescape")
    if _PARQUET.search(program) is None or _is_registered("parquet"):
        return
    try:
        package = importlib.import_module("millhopper_parquet")
    except ModuleNotFoundError as error:
        if error.name != "millhopper_parquet":
            raise
        return
    _core.load_plugin(package.plugin().encode())


def _is_registered(tag: str) -> bool:
    """Asks the core until it knows the format, since a format is never taken back."""
    if tag not in _registered and any(one["tag"] == tag for one in _core.format_schemas()):
        _registered.add(tag)
    return tag in _registered
