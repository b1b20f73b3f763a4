# SPDX-License-Identifier: Apache-2.0
import itertools
from collections.abc import Iterator

import pytest
from millhopper.minibatch import batch


def ten() -> Iterator[int]:
    yield from range(10)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", range(1, 13))
def test_gathers_items(size: int, drop_last: bool) -> None:
    reader = batch(ten, size, drop_last)
    for _ in range(2):
        batches = list(reader())
        kept = 10 // size * size if drop_last else 10
        assert [item for items in batches for item in items] == list(range(kept))
        assert all(len(items) == size for items in batches[:-1])
        assert not drop_last or all(len(items) == size for items in batches)


def test_keeps_the_last_batch_unless_told_otherwise() -> None:
    assert list(batch(ten, 4)()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_makes_every_list_anew() -> None:
    batches = list(batch(ten, 2)())
    assert len({id(items) for items in batches}) == 5


@pytest.mark.parametrize("size", [0, -1, 0.5])
def test_rejects_sizes_that_are_not_positive(size: int) -> None:
    with pytest.raises(ValueError):
        batch(ten, size)


def test_reads_no_further_than_the_batch() -> None:
    source = itertools.count()
    batches = iter(batch(lambda: source, 3)())
    assert next(source) == 0
    assert next(batches) == [1, 2, 3]
    assert next(source) == 4


def test_passes_exceptions_on_after_the_full_batches() -> None:
    def failing() -> Iterator[int]:
        yield from range(5)
        raise OSError("damaged")

    batches = iter(batch(failing, 2)())
    assert [next(batches), next(batches)] == [[0, 1], [2, 3]]
    with pytest.raises(OSError, match="damaged"):
        next(batches)


def test_closes_the_reader_when_the_consumer_leaves() -> None:
    closed = []

    def endless() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    for items in batch(endless, 2)():
        assert items == [0, 1]
        break
    assert closed
