# SPDX-License-Identifier: Apache-2.0
"""Decorators of readers; those that work ahead are in `threads` and `processes`.

A *reader* is a function without parameters that returns an iterable of items; every call starts
another pass, and several passes may run at once. A *decorator* takes readers and returns a reader.
It reads nothing before a pass over the result is iterated, and ends the passes it has opened when
its consumer leaves: at the end, at a `break`, by `close()`, by garbage collection or by an
exception. Exceptions of readers and functions reach the consumer as they are.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader, 2018.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

from millhopper.base.integers import integer
from millhopper.base.python_reader import PythonReader, opened
from millhopper.errors import Error
from millhopper.fluid.reader.pipe import PipeReader
from millhopper.fluid.reader.processes import multiprocess_reader
from millhopper.fluid.reader.threads import buffered, xmap_readers

__all__ = [
    "ComposeNotAligned",
    "Fake",
    "PipeReader",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

T = TypeVar("T")
R = TypeVar("R")


def map_readers(func: Callable[..., R], *readers: PythonReader[Any]) -> PythonReader[R]:
    """Returns a reader of `func(a, b, ...)` for the items a, b, ... of the readers.

    Order: that of the readers. A pass ends with the shortest of them.

    Raises ValueError if no reader is given. What `func` raises reaches the consumer; a
    StopIteration becomes a RuntimeError, because it would be mistaken for the end of the data.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    _require_readers("map_readers", readers)

    def read(start: int = 0) -> Iterator[R]:
        with ExitStack() as passes:
            # map() is not used, because it ends without an error if `func` raises StopIteration.
            items_of_each = [passes.enter_context(opened(reader, start)) for reader in readers]
            for items in zip(*items_of_each):
                yield func(*items)

    return read


class ComposeNotAligned(ValueError):
    """Readers that were composed do not yield the same number of items.

    Source: PaddlePaddle's paddle.reader, 2018.
    """


def compose(
    *readers: PythonReader[Any], check_alignment: bool = True
) -> PythonReader[tuple[Any, ...]]:
    """Returns a reader whose items are those of all the readers, side by side in one tuple.

    An item that is a tuple adds its members, any other item adds itself: (1, 2), 3 and (4, 5)
    become (1, 2, 3, 4, 5). None is an item like any other. Order: that of the readers.

    If one reader ends before another, a pass first yields all complete tuples and then raises
    ComposeNotAligned; with `check_alignment=False` it ends instead. Raises ValueError if no reader
    is given.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    _require_readers("compose", readers)
    missing = object()

    def rows(passes: list[Iterator[Any]]) -> Iterator[tuple[Any, ...]]:
        if not check_alignment:
            yield from zip(*passes)
            return
        for count, row in enumerate(itertools.zip_longest(*passes, fillvalue=missing)):
            ended = [str(i) for i, item in enumerate(row) if item is missing]
            if ended:
                raise ComposeNotAligned(
                    f"after {count} items reader {', '.join(ended)}, of {len(row)} readers "
                    "counted from 0, ended before the others"
                )
            yield row

    def read() -> Iterator[tuple[Any, ...]]:
        with ExitStack() as stack:
            for row in rows([stack.enter_context(opened(reader)) for reader in readers]):
                wrapped = (item if isinstance(item, tuple) else (item,) for item in row)
                yield tuple(itertools.chain.from_iterable(wrapped))

    return read


def chain(*readers: PythonReader[T]) -> PythonReader[T]:
    """Returns a reader of all items of the first reader, then of the second, and so on.

    Items stay as they are, lists are not flattened. A reader is called when the previous one has
    ended, so that only one pass is open at a time.

    Raises nothing of its own; a pass raises what a reader raises.

    Source: PaddlePaddle's paddle.reader, 2018, which calls all readers at the start of a pass.
    """

    def read() -> Iterator[T]:
        for reader in readers:
            with opened(reader) as items:
                yield from items

    return read


def shuffle(reader: PythonReader[T], buf_size: int, seed: int | None = None) -> PythonReader[T]:
    """Returns a reader that yields the items block by block, each block in random order.

    A block has `buf_size` items, the last block may have fewer; with 0 or 1 the order stays. With a
    `seed` every pass has the same order, which depends only on the seed, `buf_size` and the number
    of items; without a seed each pass has a new order. The global generator of the `random` module
    is neither used nor changed.

    Raises TypeError if `buf_size` is no integer, ValueError if it is negative.

    Source: PaddlePaddle's paddle.reader, 2018, which has no seed.
    """
    if integer("shuffle: buf_size", buf_size) < 0:
        raise ValueError(f"shuffle: buf_size is {buf_size}, it must not be negative")

    def read() -> Iterator[T]:
        order = random.Random(seed)
        with opened(reader) as items:
            while block := list(itertools.islice(items, max(buf_size, 1))):
                order.shuffle(block)
                yield from block

    return read


def firstn(reader: PythonReader[T], n: int) -> PythonReader[T]:
    """Returns a reader of the first `n` items, or of all if there are fewer.

    No more than `n` items are read. Order: that of the reader.

    Raises TypeError if `n` is no integer, ValueError if it is negative.

    Source: PaddlePaddle's paddle.reader, 2018, which reads one item more.
    """
    if integer("firstn: n", n) < 0:
        raise ValueError(f"firstn: n is {n}, it must not be negative")

    def read(start: int = 0) -> Iterator[T]:
        if start > n:
            raise Error(
                f"firstn: a pass was to continue after {start} items, but it has {n} at most"
            )
        with opened(reader, start) as items:
            yield from itertools.islice(items, n - start)

    return read


def cache(reader: PythonReader[T]) -> PythonReader[T]:
    """Returns a reader that reads all items once, keeps them in memory and replays them.

    A pass yields items as it reads them. When it comes to the end, its items are kept, and passes
    that start later replay them. A pass that is left early or that fails keeps nothing. Passes that
    run at once before anything is kept read each for itself, and the items of the pass that ends
    first are kept. The items are not copied.

    Raises nothing of its own; a pass raises what the reader raises.

    Source: PaddlePaddle's paddle.reader, 2019, which reads everything when it is called.
    """
    kept: list[T] | None = None

    def read() -> Iterator[T]:
        nonlocal kept
        if kept is not None:
            yield from kept
            return
        seen: list[T] = []
        with opened(reader) as items:
            for item in items:
                seen.append(item)
                yield item
        if kept is None:
            kept = seen

    return read


class Fake:
    """Repeats one item, to measure how fast a training loop is when reading costs nothing.

    `Fake()(reader, data_num)` returns a reader whose passes yield the first item of `reader`
    `data_num` times. The first pass reads the item, and later passes repeat the same one, so that a
    measurement can be repeated. Each returned reader keeps its own item, and passes that run at
    once count separately.

    Raises TypeError if `data_num` is no integer and ValueError if it is negative. A pass raises
    ValueError if `reader` yields nothing.

    Source: PaddlePaddle's paddle.reader, 2018, where item and count belong to the Fake object.
    """

    def __call__(self, reader: PythonReader[T], data_num: int) -> PythonReader[T]:
        if integer("Fake: data_num", data_num) < 0:
            raise ValueError(f"Fake: data_num is {data_num}, it must not be negative")
        first = cache(firstn(reader, 1))

        def read() -> Iterator[T]:
            kept = list(first())
            if not kept:
                raise ValueError("Fake: the reader yields nothing that could be repeated")
            yield from itertools.repeat(kept[0], data_num)

        return read


def _require_readers(name: str, readers: tuple[PythonReader[Any], ...]) -> None:
    if not readers:
        raise ValueError(f"{name}: no reader is given")
