# SPDX-License-Identifier: Apache-2.0
"""Readers whose records the parser of a plugin turns into tensors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from millhopper import _core
from millhopper.base.paths import Path as AnyPath
from millhopper.readers.reader import Reader


class LowLevelReader:
    """What ``low_level_reader`` returns: a loaded parser, and how its files are read.

    Attributes:
        parser: the absolute path of its library.
        buffer_size: as given.
        buffer_type: as given.
        thread_num: as given.

    Source: PaddlePaddle's design doc of a low-level data reader, 2017.
    """

    def __init__(self, parser: str, buffer_size: int, buffer_type: str, thread_num: int) -> None:
        """Use ``low_level_reader``, which also loads the parser."""
        self.parser = parser
        self.buffer_size = buffer_size
        self.buffer_type = buffer_type
        self.thread_num = thread_num

    def open(
        self,
        files: AnyPath | Iterable[AnyPath],
        *,
        names: Iterable[str] | None = None,
        seed: int = 0,
        name: str = "parsed",
        **attributes: Any,
    ) -> Reader:
        """A reader of files, whose records the parser turns into tensors.

        Records come one of each file in turn. On top, ``.batch(64).double_buffer()`` has batches
        parsed ahead, on all threads that ``thread_num`` allows.

        Args:
            files: paths, patterns and ranges as for ``Reader.open_files``. Their records are lines,
                unless a prefix (``tfrecord:``) or an extension names another format of bytes.
            names: names of the slots, in the order in which the parser declares them.
            seed: seed of all random choices in this chain.
            name: the reader's name in error messages and programs.
            attributes: those of the format.

        Raises:
            Error: there are no files, or an attribute is unknown or has a wrong value. For missing
                files the first pass raises it; for a record that the parser refuses, and where the
                parser misbehaves, the loop raises it, with file, place, record and plugin.
        """
        paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        return Reader.create(
            "create_plugin_reader",
            names=names,
            seed=seed,
            name=name,
            parser=self.parser,
            file_names=[os.fspath(path) for path in paths],
            buffer_size=self.buffer_size,
            buffer_type=self.buffer_type,
            thread_num=self.thread_num,
            **attributes,
        )


def low_level_reader(
    parser: AnyPath, buffer_size: int = 256, buffer_type: str = "memory", thread_num: int = 0
) -> LowLevelReader:
    """Loads the parser of a plugin, which turns the bytes of a record into tensors. ::

        reader = api.low_level_reader(parser="myparser.so", buffer_size=8192, buffer_type="mmap")
        for batch in reader.open("train-*.txt").batch(64).double_buffer():
            ...

    ``readers/README.md`` shows how to write one, in C or as a class of C++; ``include_folder`` has
    the headers. The library runs as part of this process, so load only what you trust.

    Args:
        parser: the library; a relative path is taken from the current folder.
        buffer_size: how many records are read ahead; the threads wait while there are so many.
        buffer_type: ``"memory"``, or ``"mmap"`` to map plain files on local disks.
        thread_num: how many threads read, and how many parse, at once; 0: as many as there are
            CUDA devices, or all of them where there are none.

    Raises:
        Error: the library is refused; the message says why.

    Source: PaddlePaddle's design doc of a low-level data reader, 2017.
    """
    path = os.path.abspath(os.fsdecode(parser))
    _core.load_plugin(os.fsencode(path))
    return LowLevelReader(path, buffer_size, buffer_type, thread_num)


def include_folder() -> str:
    """The folder with ``datafeeder.h`` and ``millhopper_parser.h``, for the compiler's ``-I``.

    There are no errors.

    Source: Millhopper's own.
    """
    return str(Path(__file__).resolve().parent.parent / "include")
