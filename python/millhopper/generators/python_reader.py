# SPDX-License-Identifier: Apache-2.0
"""The type of readers in Python, functions that start a pass, and how a pass is closed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

PythonReader = Callable[[], Iterable[T]]
"""A function that starts a pass over data and returns its items."""


@contextmanager
def opened(reader: PythonReader[T]) -> Iterator[Iterator[T]]:
    """One pass over `reader`, which ends with the `with` block.

    A generator is closed at the end of the block. The garbage collector would come too late,
    because the traceback of an exception keeps the generator alive, with its threads and files.
    Other iterators are not closed: they may not belong to the pass alone.
    """
    items = iter(reader())
    try:
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()
