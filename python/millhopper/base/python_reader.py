# SPDX-License-Identifier: Apache-2.0
"""The type of readers in Python, functions that start a pass, and how a pass is closed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from itertools import islice
from typing import Any, TypeVar

from millhopper.errors import Error

T = TypeVar("T")

PythonReader = Callable[..., Iterable[T]]
"""A function that starts a pass over data and returns its items.

It is called without arguments, or, if it has a parameter ``start`` whose default is 0, also with
``start=n``: then the pass begins after its first n items.
"""


@contextmanager
def opened(reader: PythonReader[T], start: int = 0) -> Iterator[Iterator[T]]:
    """One pass over `reader`, which ends with the `with` block, without its first `start` items.

    A reader that has no parameter ``start`` makes them, and they are dropped.

    A generator is closed at the end of the block. The garbage collector would come too late,
    because the traceback of an exception keeps the generator alive, with its threads and files.
    Other iterators are not closed: they may not belong to the pass alone.

    Raises:
        Error: the pass ends before `start` items.
    """
    begins_there = start > 0 and takes_start(reader)
    items = iter(reader(start=start) if begins_there else reader())
    try:
        if not begins_there:
            pass_over(items, start)
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()


def pass_over(items: Iterator[Any], count: int) -> None:
    """Drops the first ``count`` items. Raises Error if there are not so many."""
    if sum(1 for _ in islice(items, count)) < count:
        raise Error(f"a pass was to continue after {count} items, but it has ended before them")


def takes_start(reader: Callable[..., Any]) -> bool:
    """Whether a reader has the parameter ``start``, see ``PythonReader``."""
    try:
        start = signature(reader).parameters.get("start")
    except (TypeError, ValueError):  # a function in C has none
        return False
    # With another default it would mean something else.
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return (
        start is not None
        and start.kind in by_name
        and type(start.default) is int
        and start.default == 0
    )
