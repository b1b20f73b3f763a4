# SPDX-License-Identifier: Apache-2.0
"""Decorators that read and map on threads, ahead of the consumer.

``millhopper.process.passes`` says when the threads start and end.

Names, signatures and meaning are those of PaddlePaddle's paddle.reader, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TypeVar

from millhopper.base.integers import integer
from millhopper.base.python_reader import PythonReader
from millhopper.process.passes import Entries, Failure, Pass

T = TypeVar("T")
R = TypeVar("R")


def _in_order(numbered: Iterator[tuple[int, T | Failure]]) -> Iterator[T | Failure]:
    """Yields the results by number, from 0 on, and holds back those that come too early."""
    held: dict[int, T | Failure] = {}
    turn = 0
    for number, result in numbered:
        held[number] = result
        while turn in held:
            yield held.pop(turn)
            turn += 1


def buffered(reader: PythonReader[T], size: int) -> PythonReader[T]:
    """Returns a reader that reads ahead on a thread, up to `size` items.

    A `size` of 0 is no limit: the thread then reads as fast as it can, until memory is full if the
    reader does not end. Order: that of the reader. An exception of the reader reaches the consumer
    after the items that came before it.

    Each pass starts one thread; ``passes`` says when it ends. Raises TypeError if `size` is no
    integer, ValueError if it is negative.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    if integer("buffered: size", size) < 0:
        raise ValueError(f"buffered: size is {size}, it must not be negative")

    def read() -> Iterator[T]:
        with Pass(ahead=size) as this_pass:
            entries: Entries[T] = SimpleQueue()
            this_pass.start(lambda: this_pass.read(reader, entries))
            for _, item in this_pass.arrivals(entries, 1):
                yield this_pass.deliver(item)

    return read


def xmap_readers(
    mapper: Callable[[T], R],
    reader: PythonReader[T],
    process_num: int,
    buffer_size: int,
    order: bool = False,
) -> PythonReader[R]:
    """Returns a reader of `mapper(item)`, computed on `process_num` threads.

    One more thread calls the reader. It reads up to `buffer_size` items ahead of the consumer, and
    one more for each mapping thread, counting mapped and unmapped items; a `buffer_size` of 0 is no
    limit. With `order` results come in the order of the reader, without it as they get ready. In
    spite of the name `process_num` these are threads: a mapper runs in parallel only while it waits
    or releases the GIL, as numpy and decoders do.

    An exception of `reader` or `mapper` reaches the consumer: with `order` after all results that
    come before it, without it as soon as it is raised.

    Each pass starts `process_num` + 1 threads; ``passes`` says when they end. Raises TypeError if
    `process_num` or `buffer_size` is no integer, ValueError if `process_num` is less than 1 or
    `buffer_size` negative.

    Source: PaddlePaddle's paddle.reader, 2018.
    """
    if integer("xmap_readers: process_num", process_num) < 1:
        raise ValueError(f"xmap_readers: process_num is {process_num}, it must be at least 1")
    if integer("xmap_readers: buffer_size", buffer_size) < 0:
        raise ValueError(f"xmap_readers: buffer_size is {buffer_size}, it must not be negative")
    # Items get their permits in the order in which they are read, so the item whose turn is next
    # always has one. That is why `order` cannot deadlock, however few permits there are.
    ahead = buffer_size and buffer_size + process_num

    def read() -> Iterator[R]:
        samples: Entries[T] = SimpleQueue()
        results: Entries[R] = SimpleQueue()

        def map_samples() -> None:
            while (entry := samples.get()) is not None and not this_pass.left:
                number, sample = entry
                results.put((number, _mapped(mapper, sample)))
            samples.put(None)  # for the next thread
            results.put(None)

        with Pass(ahead) as this_pass:
            this_pass.on_leave(lambda: samples.put(None))
            this_pass.start(lambda: this_pass.read(reader, samples))
            for _ in range(process_num):
                this_pass.start(map_samples)
            numbered = this_pass.arrivals(results, process_num)
            for result in _in_order(numbered) if order else (result for _, result in numbered):
                yield this_pass.deliver(result)

    return read


def _mapped(mapper: Callable[[T], R], sample: T | Failure) -> R | Failure:
    if isinstance(sample, Failure):
        return sample
    try:
        return mapper(sample)
    except BaseException as error:
        return Failure(error)
