# SPDX-License-Identifier: Apache-2.0
"""Batches of a reader's items."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeVar

from millhopper.base.python_reader import PythonReader, opened
from millhopper.errors import Error

__all__ = ["batch"]

T = TypeVar("T")


def batch(
    reader: PythonReader[T], batch_size: int, drop_last: bool = False
) -> PythonReader[list[T]]:
    """Returns a reader of lists of `batch_size` items.

    Order: that of the reader. The last list may be shorter; with `drop_last` a shorter list is
    dropped. Every list is a new object.

    Raises ValueError if `batch_size` is not a positive whole number.

    Source: PaddlePaddle's paddle.batch, 2018.
    """
    try:
        size = int(batch_size)
    except (TypeError, ValueError, OverflowError):
        size = 0
    if size <= 0 or size != batch_size:
        raise ValueError(f"batch: batch_size is {batch_size!r}, it must be a positive integer")

    def read(start: int = 0) -> Iterator[list[T]]:
        # The last batch before `start` is made again, because it may have been the last one of all,
        # and shorter than others.
        with opened(reader, max(start - 1, 0) * size) as items:
            before = sum(1 for _ in itertools.islice(items, size)) if start > 0 else size
            if before < (size if drop_last else 1):
                raise Error(
                    f"batch: a pass was to continue after {start} batches, but it has fewer"
                )
            while items_of_batch := list(itertools.islice(items, size)):
                if drop_last and len(items_of_batch) < size:
                    return
                yield items_of_batch

    return read
