# SPDX-License-Identifier: Apache-2.0
"""Batches of a data set in Python: what DataLoader makes of one that is no Reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

from millhopper.readers.memory_sources import Dataset

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# How many seconds the closing of an iterator waits for calls that have begun: such a call may take
# longer.
_LONGEST_LEAVING = 0.15

# What a sampler yields: the number of a sample, or those of the samples of a batch.
Numbers: TypeAlias = "Any"


def batched(items: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Lists of ``size`` items; the last one is shorter, or left out."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        if drop_last and len(batch) != size:
            return
        yield batch


def samples_of(
    dataset: Dataset,
    numbers: Iterable[Numbers],
    collate: Callable[[Any], Any],
    in_batches: bool,
    threads: int,
    ahead: int,
) -> Iterator[Any]:
    """What ``collate`` makes of the samples of these numbers, in their order.

    Args:
        dataset: whose ``__getitem__`` is called, or, for a batch, ``__getitems__`` if it has that.
        numbers: lists of those of batches, or what ``__getitem__`` is called with.
        collate: gets the samples of a batch, or what ``__getitem__`` returns.
        in_batches: whether numbers are those of batches.
        threads: call ``__getitem__`` and ``collate`` ahead of the consumer; 0: the consumer does.
        ahead: how many batches are kept ready, if there are threads.

    Raises what ``__getitem__`` and ``collate`` raise, in place of the batch. Leaving the iterator,
    by Ctrl-C or otherwise, ends the threads between two calls of ``__getitem__``.
    """

    at_once = getattr(dataset, "__getitems__", None) if in_batches else None
    left = Event()  # no more batches are wanted

    def sample(i: Any) -> Any:
        if left.is_set():
            raise CancelledError
        return dataset[i]

    def make(number: Numbers) -> Any:
        if at_once is not None:
            return collate(at_once(number))
        return collate([sample(i) for i in number] if in_batches else dataset[number])

    if threads == 0:
        # map() is not used, because it ends without an error if make raises StopIteration.
        return (make(number) for number in numbers)
    return _made_ahead(make, numbers, threads, ahead, left)


def _made_ahead(
    make: Callable[[Numbers], Any],
    numbers: Iterable[Numbers],
    threads: int,
    ahead: int,
    left: Event,
) -> Iterator[Any]:
    pool = ThreadPoolExecutor(threads, "millhopper.DataLoader")
    waiting: deque[Future[Any]] = deque()
    try:
        for number in numbers:
            waiting.append(pool.submit(make, number))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        left.set()
        pool.shutdown(wait=False, cancel_futures=True)
        wait([one for one in waiting if not one.cancelled()], _LONGEST_LEAVING)
