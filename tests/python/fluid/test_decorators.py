# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from millhopper.reader import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)


def ten() -> Iterator[int]:
    yield from range(10)


def of(*items: Any) -> Callable[[], Iterable[Any]]:
    return lambda: iter(items)


class Source:
    """A reader that counts what happens to it and may fail instead of yielding an item."""

    def __init__(self, length: int = 10, error: Exception | None = None) -> None:
        self.length = length
        self.error = error
        self.calls = 0
        self.pulled = 0
        self.closed = 0

    def __call__(self) -> Iterator[int]:
        self.calls += 1
        return self._items()

    def _items(self) -> Iterator[int]:
        try:
            for i in range(self.length):
                self.pulled += 1
                yield i
            if self.error:
                raise self.error
        finally:
            self.closed += 1


# Each keeps the items of its reader, at least as a multiset.
KEEPING: dict[str, Callable[[Any], Any]] = {
    "map_readers": lambda reader: map_readers(lambda x: x, reader),
    "compose": lambda reader: map_readers(lambda row: row[0], compose(reader)),
    "chain": lambda reader: chain(reader),
    "shuffle": lambda reader: shuffle(reader, 1),
    "firstn": lambda reader: firstn(reader, 1000),
    "cache": lambda reader: cache(reader),
}


@pytest.mark.parametrize("name", KEEPING)
class TestEveryDecorator:
    def test_consumes_nothing_until_it_is_iterated(self, name: str) -> None:
        source = Source()
        passes = KEEPING[name](source)()
        assert (source.calls, source.pulled) == (0, 0)
        assert list(passes) == list(range(10))

    def test_yields_the_same_in_every_pass(self, name: str) -> None:
        decorated = KEEPING[name](Source())
        for _ in range(3):
            assert list(decorated()) == list(range(10))

    def test_runs_several_passes_at_once(self, name: str) -> None:
        decorated = KEEPING[name](Source())
        assert list(zip_strict(decorated(), decorated())) == [(i, i) for i in range(10)]

    @pytest.mark.parametrize("taken", range(11))
    def test_closes_its_reader_when_the_consumer_leaves(self, name: str, taken: int) -> None:
        source = Source()
        items = KEEPING[name](source)()
        assert list(itertools.islice(items, taken)) == list(range(taken))
        items.close()
        assert source.closed == source.calls == (1 if taken else 0)

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_passes_exceptions_on_and_closes(self, name: str, length: int) -> None:
        source = Source(length, KeyError("damaged"))
        seen = []
        with pytest.raises(KeyError) as caught:
            for item in KEEPING[name](source)():
                seen.append(item)
        assert caught.value is source.error
        assert seen == list(range(length))
        assert source.closed == 1

    def test_takes_none_and_arrays_for_items(self, name: str) -> None:
        array = np.arange(3)
        items = list(KEEPING[name](of(None, array, None))())
        assert items[0] is None and items[1] is array and items[2] is None

    def test_leaves_iterators_open_that_are_no_generators(self, name: str) -> None:
        shared = iter(range(10))
        assert next(iter(KEEPING[name](lambda: shared)())) == 0
        assert next(shared) == 1


class TestMapReaders:
    def test_maps(self) -> None:
        words = {"h": 0, "i": 1}
        assert list(map_readers(words.__getitem__, of("h", "i"))()) == [0, 1]

    def test_calls_the_function_with_an_item_of_each_reader(self) -> None:
        assert list(map_readers(lambda a, b: a - b, ten, of(1, 1, 1))()) == [-1, 0, 1]

    def test_ends_with_the_shortest_reader(self) -> None:
        assert len(list(map_readers(lambda a, b: 0, ten, of(1, 2))())) == 2

    def test_passes_exceptions_of_the_function_on(self) -> None:
        source = Source()
        with pytest.raises(ZeroDivisionError) as caught:
            list(map_readers(lambda x: 1 // (3 - x), source)())
        assert source.pulled == 4 and source.closed == 1, caught  # which holds the traceback

    def test_does_not_take_a_stop_iteration_for_the_end(self) -> None:
        def stop(item: int) -> int:
            raise StopIteration

        with pytest.raises(RuntimeError):
            list(map_readers(stop, ten)())

    def test_needs_a_reader(self) -> None:
        with pytest.raises(ValueError):
            map_readers(len)


class TestCompose:
    def test_splices_tuples_and_wraps_the_rest(self) -> None:
        rows = list(compose(of((1, 2)), of(3), of((4, 5)), of([6, 7]), of(()))())
        assert rows == [(1, 2, 3, 4, 5, [6, 7])]

    def test_composes_readers_of_the_same_length(self) -> None:
        assert list(compose(ten, ten)()) == [(i, i) for i in range(10)]

    @pytest.mark.parametrize("swapped", [False, True])
    def test_raises_after_the_aligned_items(self, swapped: bool) -> None:
        readers = [chain(ten, ten), ten]
        rows = []
        with pytest.raises(ComposeNotAligned, match="after 10 items"):
            for row in compose(*(readers[::-1] if swapped else readers))():
                rows.append(row)
        assert rows == [(i, i) for i in range(10)]

    def test_raises_a_value_error(self) -> None:
        with pytest.raises(ValueError, match="reader 0, 2,"):
            list(compose(of(), ten, of())())

    @pytest.mark.parametrize("readers", [(chain(ten, ten), ten), (ten, chain(ten, ten))])
    def test_ends_with_the_shortest_if_told_so(self, readers: Any) -> None:
        assert list(compose(*readers, check_alignment=False)()) == [(i, i) for i in range(10)]

    def test_takes_none_for_an_item(self) -> None:
        rows = list(compose(of(None, 1, None), of(2, None, None))())
        assert rows == [(None, 2), (1, None), (None, None)]

    def test_composes_arrays(self) -> None:
        array = np.arange(3)
        ((a, b),) = compose(of(array), of(array))()
        assert a is array and b is array

    def test_rejects_unknown_arguments(self) -> None:
        with pytest.raises(TypeError):
            compose(ten, check_aligment=False)  # type: ignore[call-arg]

    def test_needs_a_reader(self) -> None:
        with pytest.raises(ValueError):
            compose()

    def test_closes_all_readers(self) -> None:
        sources = [Source(10), Source(3), Source(5)]
        with pytest.raises(ComposeNotAligned) as caught:
            list(compose(*sources)())
        assert [source.closed for source in sources] == [1, 1, 1], caught


class TestChain:
    def test_reads_one_after_the_other(self) -> None:
        assert list(chain(ten, ten)()) == [*range(10), *range(10)]

    def test_does_not_flatten(self) -> None:
        assert list(chain(of([0, 0]), of((1, 1)))()) == [[0, 0], (1, 1)]

    def test_calls_a_reader_when_its_turn_comes(self) -> None:
        first, second = Source(), Source()
        items = iter(chain(first, second)())
        assert list(itertools.islice(items, 10)) == list(range(10))
        assert second.calls == 0
        assert list(items) == list(range(10))

    def test_of_nothing_is_empty(self) -> None:
        assert list(chain()()) == []


class TestShuffle:
    @pytest.mark.parametrize("size, ordered", [(0, True), (1, True), (10, False), (100, False)])
    def test_keeps_order_or_count(self, size: int, ordered: bool) -> None:
        items = list(shuffle(ten, size)())
        assert len(items) == 10
        assert not ordered or items == list(range(10))

    @pytest.mark.parametrize("size", range(25))
    def test_shuffles_blocks(self, size: int) -> None:
        source = list(range(22))
        items = list(shuffle(lambda: source, size, seed=3)())
        for start in range(0, 22, max(size, 1)):
            block = slice(start, start + max(size, 1))
            assert Counter(items[block]) == Counter(source[block])

    def test_has_one_order_for_a_seed(self) -> None:
        orders = [tuple(shuffle(lambda: range(100), 50, seed)()) for seed in (1, 1, 2)]
        assert orders[0] == orders[1] != orders[2]
        seeded = shuffle(lambda: range(100), 50, seed=1)
        assert tuple(seeded()) == tuple(seeded()) == orders[0] != tuple(range(100))

    def test_has_another_order_every_time_without_a_seed(self) -> None:
        unseeded = shuffle(lambda: range(1000), 1000)
        assert list(unseeded()) != list(unseeded())

    def test_leaves_the_random_module_alone(self) -> None:
        state = random.getstate()
        list(shuffle(ten, 5)())
        list(shuffle(ten, 5, seed=1)())
        assert random.getstate() == state

    def test_rejects_a_negative_size(self) -> None:
        with pytest.raises(ValueError):
            shuffle(ten, -1)


class TestFirstn:
    @pytest.mark.parametrize("n", range(13))
    def test_pulls_no_more_than_it_yields(self, n: int) -> None:
        source = Source()
        assert list(firstn(source, n)()) == list(range(min(n, 10)))
        assert source.pulled == min(n, 10)

    def test_rejects_a_negative_number(self) -> None:
        with pytest.raises(ValueError):
            firstn(ten, -1)


class TestCache:
    def test_reads_once(self) -> None:
        source = Source()
        cached = cache(source)
        assert source.calls == 0
        for _ in range(3):
            assert list(cached()) == list(range(10))
        assert source.calls == 1

    def test_hands_items_on_as_they_are_read(self) -> None:
        source = Source()
        next(iter(cache(source)()))
        assert source.pulled == 1

    @pytest.mark.parametrize("taken", range(11))
    def test_keeps_nothing_of_a_pass_that_was_left(self, taken: int) -> None:
        source = Source()
        cached = cache(source)
        for _ in itertools.islice(cached(), taken):
            pass
        assert list(cached()) == list(range(10))
        assert list(cached()) == list(range(10))
        assert source.calls == (2 if taken else 1)

    def test_keeps_nothing_of_a_pass_that_failed(self) -> None:
        source = Source(5, OSError("unplugged"))
        cached = cache(source)
        for _ in range(2):
            with pytest.raises(OSError):
                list(cached())
        source.error = None
        assert list(cached()) == list(cached()) == list(range(5))
        assert source.calls == 3

    def test_keeps_what_the_first_pass_to_end_has_read(self) -> None:
        lengths = iter([3, 5])
        cached = cache(lambda: range(next(lengths)))
        slow = iter(cached())
        next(slow)
        assert list(cached()) == list(range(5))
        assert list(slow) == [1, 2]
        assert list(cached()) == list(range(5))

    def test_keeps_an_empty_pass(self) -> None:
        source = Source(0)
        cached = cache(source)
        assert list(cached()) == list(cached()) == []
        assert source.calls == 1


class TestFake:
    def test_repeats_the_first_item(self) -> None:
        fake = Fake()(ten, 100)
        for _ in range(10):
            assert list(fake()) == [0] * 100

    def test_reads_one_item_once(self) -> None:
        source = Source()
        fake = Fake()(source, 5)
        assert source.calls == 0
        assert list(fake()) == list(fake()) == [0] * 5
        assert (source.calls, source.pulled, source.closed) == (1, 1, 1)

    def test_counts_each_pass_for_itself(self) -> None:
        fake = Fake()(ten, 5)
        left = iter(fake())
        next(left)
        assert list(zip_strict(fake(), fake())) == [(0, 0)] * 5
        assert list(left) == [0] * 4

    def test_shares_nothing_between_readers(self) -> None:
        make = Fake()
        first, second = make(of("a"), 2), make(of("b"), 3)
        assert list(first()) == ["a"] * 2
        assert list(second()) == ["b"] * 3

    def test_repeats_none(self) -> None:
        assert list(Fake()(of(None), 3)()) == [None] * 3

    def test_says_when_there_is_nothing_to_repeat(self) -> None:
        with pytest.raises(ValueError, match="nothing"):
            list(Fake()(of(), 3)())

    def test_rejects_a_negative_number(self) -> None:
        with pytest.raises(ValueError):
            Fake()(ten, -1)
