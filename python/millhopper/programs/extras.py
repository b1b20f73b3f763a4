# SPDX-License-Identifier: Apache-2.0
"""Formats and stores of the package's extras: separate packages, loaded when needed.

That such a package is installed (``pip install millhopper[parquet]``) is the user's permission to
load its plugin. An import of Millhopper looks for none: the first program that names one of their
formats, or a file in one of their stores, does.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
from collections.abc import Sequence

from millhopper import _core

# Names of operators, formats before a colon, extensions of file names, and schemes of stores.
_PARQUET = re.compile(
    rb"(?:parquet|arrow|feather)(?:_file_reader|:)"
    rb"|\.(?i:parquet|parq|pq|arrows?|ipc|feather)(?![\w.])"
    rb"|(?<![0-9A-Za-z])(?:gs|abfss?|hdfs)://"
)
# The first bytes of Parquet and Arrow files.
_MAGIC = (b"PAR1", b"PARE", b"ARROW1", b"\xff\xff\xff\xff")

_MOST_NAMES = 1000  # in a folder, that are looked at

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
    if _PARQUET.search(program) is not None:
        _load_parquet()


def load_extras_for(paths: Sequence[str | bytes]) -> None:
    """The same for files, by their names and the first bytes of the first one, and for folders."""
    for path in paths:
        load_extras(path)
    if may_be_columns(paths[0]):
        _load_parquet()


def may_be_columns(path: str | bytes) -> bool:
    """Whether a local file may be one of Parquet or Arrow, or a folder hold such files."""
    name = os.fsencode(path)
    if _PARQUET.search(name) is not None:
        return True
    if os.path.isfile(name):
        with open(name, "rb", buffering=0) as file:
            return file.read(6).startswith(_MAGIC)
    if not os.path.isdir(name):
        return False
    inside = (file for _, _, files in os.walk(name) for file in files)
    return any(map(_PARQUET.search, itertools.islice(inside, _MOST_NAMES)))


def parquet_plugin() -> str | None:
    """The path of the plugin that ``pip install millhopper[parquet]`` has brought, if it has.

    Raises:
        ImportError: the package is installed, but what it needs is not.
    """
    try:
        package = importlib.import_module("millhopper_parquet")
    except ModuleNotFoundError as error:
        if error.name != "millhopper_parquet":
            raise
        return None
    path: str = package.plugin()
    return path


def _load_parquet() -> None:
    if _is_registered("parquet"):
        return
    plugin = parquet_plugin()
    if plugin is not None:
        _core.load_plugin(plugin.encode())


def _is_registered(tag: str) -> bool:
    """Asks the core until it knows the format, since a format is never taken back."""
    if tag not in _registered and any(one["tag"] == tag for one in _core.format_schemas()):
        _registered.add(tag)
    return tag in _registered
