# SPDX-License-Identifier: Apache-2.0
"""Functions that make readers: of arrays and of text files.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader.creator, 2018.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from millrace.reader.decorators import Reader

__all__ = ["np_array", "text_file"]


def np_array(x: npt.ArrayLike) -> Reader[Any]:
    """Returns a reader of `x[0]`, `x[1]` and so on: elements of a vector, rows of a matrix.

    Order: that of the first axis. Rows are views, nothing is copied. An array without axes is
    yielded once, as it is. Anything that is not an array is made one, with the dtype that numpy
    gives it.

    Source: PaddlePaddle's paddle.reader.creator, 2018.
    """
    array = np.asarray(x)

    def read() -> Iterator[Any]:
        if array.ndim == 0:
            yield array
        else:
            yield from array

    return read


def text_file(path: str | os.PathLike[str]) -> Reader[str]:
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
