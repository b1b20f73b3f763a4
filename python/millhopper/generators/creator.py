# SPDX-License-Identifier: Apache-2.0
"""Functions that make readers: of arrays, of text files and of RecordIO files.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader.creator, 2018.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from millhopper.base.integers import integer
from millhopper.errors import Error
from millhopper.generators.python_reader import PythonReader
from millhopper.iterating import reader as pipeline
from millhopper.ragged import Ragged

__all__ = ["np_array", "recordio", "text_file"]

T = TypeVar("T")
Path = str | bytes | os.PathLike[str]
Paths = Path | Iterable[Path]


def np_array(x: npt.ArrayLike) -> PythonReader[Any]:
    """Returns a reader of `x[0]`, `x[1]` and so on: elements of a vector, rows of a matrix.

    Order: that of the first axis. Rows are views, nothing is copied. An array without axes is
    yielded once, as it is. Anything that is not an array is made one, with the dtype that numpy
    gives it.

    Raises ValueError when numpy makes no array of it, as of rows of different lengths.

    Source: PaddlePaddle's paddle.reader.creator, 2018.
    """
    array = np.asarray(x)

    def read() -> Iterator[Any]:
        if array.ndim == 0:
            yield array
        else:
            yield from array

    return read


def text_file(path: str | os.PathLike[str]) -> PythonReader[str]:
    """Returns a reader of the lines of a text file in UTF-8, without their line ends.

    Order: that of the file. A line ends with "\\n", "\\r\\n" or "\\r"; only that is removed, and
    the last line needs none. The file is opened by each pass and closed when the consumer leaves.

    Raises, in a pass, OSError when the file cannot be read and UnicodeDecodeError when it is not
    UTF-8.

    Source: PaddlePaddle's paddle.reader.creator, 2018.
    """

    def read() -> Iterator[str]:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield line.removesuffix("\n")

    return read


@overload
def recordio(paths: Paths, buf_size: int = 100) -> PythonReader[bytes]: ...
@overload
def recordio(
    paths: Paths, buf_size: int = 100, *, decoder: Callable[[bytes], T]
) -> PythonReader[T]: ...
def recordio(
    paths: Paths, buf_size: int = 100, *, decoder: Callable[[bytes], T] | None = None
) -> PythonReader[bytes] | PythonReader[T]:
    """Returns a reader of the records of RecordIO files, as bytes or as `decoder` makes of them.

    The files may be of any dialect, the Go package's included. `paths` is one path or several, also
    as text with commas between them, and patterns such as "train-*.recordio". Order: that of the
    paths, those of a pattern sorted, and in a file that of its records. `buf_size` records are read
    ahead by the C++ core.

    Nothing is unpickled: records that the lineage's `convert` wrote are pickles, which run code
    when they are read. For files that you trust, pass `decoder=pickle.loads`.

    Raises TypeError if `buf_size` is no integer, ValueError if it is negative, and in a pass
    `millhopper.Error` for a missing or damaged file, and whatever `decoder` raises.

    Source: PaddlePaddle's paddle.reader.creator, 2018.
    """
    if integer("recordio: buf_size", buf_size) < 0:
        raise ValueError(f"recordio: buf_size is {buf_size}, it must not be negative")
    if isinstance(paths, str):
        names: list[str] = paths.split(",")
    elif isinstance(paths, bytes | os.PathLike):
        names = [os.fsdecode(paths)]
    else:
        names = [os.fsdecode(path) for path in paths]

    def read() -> Iterator[Any]:
        files = pipeline.Reader.open_files(
            [f"recordio:{name}" for name in names],
            names=["record"],
            content="bytes",
            buffer_size=max(1, buf_size),
            cycle_length=1,
        )
        for record in _records(files, max(1, buf_size)):
            yield record if decoder is None else decoder(record)

    return read


def _records(files: pipeline.Reader, at_once: int) -> Iterator[bytes]:
    given = 0
    batches = iter(files.batch(at_once))
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except Error:
            break
        content = batch["record"]
        assert isinstance(content, Ragged)  # what content "bytes" gives
        yield from content.to_bytes()
        given += len(content)
    # An error ends a batch, and the records of that batch before the error are lost. They are read
    # again here, one by one.
    for element in itertools.islice(files, given, None):
        content = element["record"]
        assert isinstance(content, Ragged)
        yield from content.to_bytes()
