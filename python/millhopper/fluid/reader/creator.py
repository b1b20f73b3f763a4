# SPDX-License-Identifier: Apache-2.0
"""Functions that make readers of arrays, of text files and of RecordIO files.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader.creator, 2018.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from millhopper.base.integers import integer
from millhopper.base.python_reader import PythonReader
from millhopper.errors import Error
from millhopper.ragged import Ragged
from millhopper.readers import reader as pipeline

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

__all__ = ["np_array", "recordio", "text_file"]

T = TypeVar("T")
Path: TypeAlias = "str | bytes | os.PathLike[str]"
Paths: TypeAlias = "Path | Iterable[Path]"


def np_array(x: npt.ArrayLike) -> PythonReader[Any]:
    """Returns a reader of `x[0]`, `x[1]` and so on: elements of a vector, rows of a matrix.

    Order: that of the first axis. Rows are views, nothing is copied. An array without axes is
    yielded once, as it is. If `x` is not an array, numpy converts it and chooses the dtype.

    Raises ValueError if numpy cannot convert `x`, for example rows of different lengths.

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

    Order: that of the file. A line ends with "\\n", "\\r\\n" or "\\r", and only this is removed;
    the last line may lack it. Each pass opens the file and closes it when the consumer leaves.

    A pass raises OSError if the file cannot be read and UnicodeDecodeError if it is not UTF-8.

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
    """Returns a reader of the records of RecordIO files: bytes, or what `decoder` returns for them.

    The files may be of any dialect, also that of the Go package. `paths` is one path, several paths
    or text with commas between the paths. A path may be a pattern such as "train-*.recordio".
    Order: the files in the order of `paths`, those of one pattern sorted, and the records of a file
    in its order. The C++ core reads `buf_size` records ahead.

    Nothing is unpickled, because unpickling can run any code that a file contains. The records that
    PaddlePaddle's `convert` wrote are pickles: if you trust the files, pass `decoder=pickle.loads`.

    Raises TypeError if `buf_size` is no integer and ValueError if it is negative. A pass raises
    `millhopper.Error` for a missing or damaged file, and whatever `decoder` raises.

    Source: PaddlePaddle's paddle.reader.creator, 2018.
    """
    if integer("recordio: buf_size", buf_size) < 0:
        raise ValueError(f"recordio: buf_size is {buf_size}, it must not be negative")
    if isinstance(paths, str):
        names: list[str] = paths.split(",")
    elif isinstance(paths, (bytes, os.PathLike)):
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
        assert isinstance(content, Ragged)  # because of content="bytes"
        yield from content.to_bytes()
        given += len(content)
    # An error discards the whole batch, with the good records before it. So they are read again
    # here one by one, until the error comes once more.
    for element in itertools.islice(files, given, None):
        content = element["record"]
        assert isinstance(content, Ragged)
        yield from content.to_bytes()
