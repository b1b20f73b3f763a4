# SPDX-License-Identifier: Apache-2.0
"""Batches of a reader's items."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeVar

from millrace.reader.decorators import Reader, opened

__all__ = ["batch"]

T = TypeVar("T")


def batch(reader: Reader[T], batch_size: int, drop_last: bool = False) -> Reader[list[T]]:
    """Returns a reader of lists of `batch_size` items.

    Order: that of the reader. The last list holds what is left, which may be less; with
    `drop_last` a shorter one is dropped. Every list is a new one.

    Raises ValueError if `batch_size`, as an int, is not positive.

    Source: PaddlePaddle's paddle.batch, 2018.
    """
    size = int(batch_size)
    if size <= 0:
        raise ValueError(f"batch: batch_size is {batch_size}, it must be positive")

    def read() -> Iterator[list[T]]:
        with opened(reader) as items:
            while items_of_batch := list(itertools.islice(items, size)):
                if drop_last and len(items_of_batch) < size:
                    return
                yield items_of_batch

    return read
