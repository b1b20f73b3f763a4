# SPDX-License-Identifier: Apache-2.0
"""What a reader in Python is: a function that starts a pass; and how a pass is closed."""

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

    A generator is closed there instead of being left to the garbage collector, because the
    traceback of an exception would keep it, and the threads and files behind it, alive. Other
    iterables are left alone: the reader may return something that is not the pass's own.
    """
    items = iter(reader())
    try:
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()
