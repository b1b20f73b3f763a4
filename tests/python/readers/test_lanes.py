# SPDX-License-Identifier: Apache-2.0
"""Lanes: the same elements for any number of threads, and of ranks that divide the lanes."""

from collections.abc import Callable
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from number_files import write_number_chunks

RECORDS = 3000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_number_chunks(tmp_path_factory.mktemp("lanes"), RECORDS)


def source(files: str, lanes: int = 8) -> millhopper.Reader:
    return millhopper.Reader.open_files(files, lanes=lanes, seed=3)


def numbers(batch: Any) -> list[int]:
    return [int(x) for x in batch["x"].ravel()]


def epoch(reader: millhopper.Reader) -> list[list[int]]:
    return [numbers(batch) for batch in reader]


def test_elements_depend_on_lanes_and_not_on_threads(files: str) -> None:
    orders = {}
    for lanes in (1, 3, 8):
        for threads in (0, 1, 2, 7):
            millhopper.set_threads(threads)
            reader = source(files, lanes).shuffle(100).batch(24).double_buffer()
            batches = epoch(reader)
            assert sorted(sum(batches, [])) == list(range(RECORDS))
            assert all(len(batch) == 24 for batch in batches[:-1])
            assert orders.setdefault(lanes, batches) == batches, (lanes, threads)
    assert len({str(order) for order in orders.values()}) == 3
    millhopper.set_threads(1)


def test_goes_on_where_it_was_saved(files: str) -> None:
    def chain() -> millhopper.Reader:
        return source(files).shuffle(64).batch(16)

    whole = epoch(chain())
    for read in (0, 1, 57, len(whole) - 1):
        reader = chain()
        iterator = iter(reader)
        before = [numbers(next(iterator)) for _ in range(read)]
        state = reader.state_dict()
        again = chain()
        again.load_state_dict(state)
        assert before + epoch(again) == whole


def of_rank(files: str, ranks: int, rank: int) -> list[list[int]]:
    return epoch(source(files).shard(ranks, rank).shuffle(64).batch(16))


def test_ranks_share_each_batch(files: str) -> None:
    whole = of_rank(files, 1, 0)
    for ranks in (2, 4, 8):
        of_ranks = [of_rank(files, ranks, rank) for rank in range(ranks)]
        everything = [x for batches in of_ranks for batch in batches for x in batch]
        assert sorted(everything) == list(range(RECORDS))
        # Chunks have 20 records, so that lanes differ by 20: beyond lie those that have ended.
        for step in range(len(whole) - 20):
            assert all(len(batches[step]) == 16 // ranks for batches in of_ranks)
            together = [x for batches in of_ranks for x in batches[step]]
            assert sorted(together) == sorted(whole[step]), (ranks, step)


def test_a_number_of_ranks_that_does_not_divide_the_lanes_is_refused(files: str) -> None:
    with pytest.raises(millhopper.Error, match="the number of ranks can be 1, 2, 4, 8"):
        epoch(source(files).shard(3, 0).batch(12))
    with pytest.raises(millhopper.Error, match="batches of 6 cannot be shared by 4 ranks"):
        epoch(source(files).shard(4, 0).batch(6))


@pytest.mark.parametrize("even", ["pad", "drop"])
def test_parts_that_are_even_end_together(files: str, even: str) -> None:
    def parts(ranks: int) -> list[millhopper.Reader]:
        lanes = source(files).shuffle(64)
        return [lanes.shard(ranks, rank, even=even).batch(16) for rank in range(ranks)]

    whole = [sorted(batch) for batch in epoch(parts(1)[0])]
    for ranks in 2, 4, 8:
        of_ranks = [epoch(part) for part in parts(ranks)]
        assert [sorted(sum(own, [])) for own in zip_strict(*of_ranks)] == whole, ranks
        assert {len(part) for part in parts(ranks)} == {len(whole)}


@pytest.mark.parametrize(
    "make",
    [
        lambda part, _: part.repeat(2),
        lambda part, other: part.zip(other, check_alignment=False, names=["x", "y"]),
        lambda part, other: other.mix(part),
        lambda part, other: other.concat(part),
    ],
)
def test_what_needs_the_stream_of_all_lanes_is_below_shard(files: str, make: Any) -> None:
    other = millhopper.Reader.open_files(files, seed=3)
    with pytest.raises(millhopper.Error, match="one of 2 ranks.*below create_shard_reader"):
        epoch(make(source(files).shard(2, 0), other))
    # Of one rank there is such a stream.
    epoch(make(source(files).shard(1, 0), other))


def test_ranks_repeat_and_keep_the_batches_that_they_share(files: str) -> None:
    def parts(ranks: int) -> list[millhopper.Reader]:
        batches = [source(files).shard(ranks, rank).shuffle(64).batch(16) for rank in range(ranks)]
        return [part.repeat(2) for part in batches]

    both = sorted([*range(RECORDS), *range(RECORDS)])
    for ranks in 1, 2, 4:
        assert sorted(sum((sum(epoch(part), []) for part in parts(ranks)), [])) == both
    (whole,) = map(epoch, parts(1))
    first = parts(2)
    for part in first:
        iterator = iter(part)
        for _ in range(5):
            next(iterator)
    (alone,) = parts(1)
    alone.load_state_dict(millhopper.merge_states([part.state_dict() for part in first]))
    assert [sorted(batch) for batch in epoch(alone)] == [sorted(batch) for batch in whole[5:]]
    kept = [source(files).shard(2, rank).batch(16).cache(memory_bytes=1 << 20) for rank in range(2)]
    for _ in range(2):
        assert sorted(sum((sum(epoch(part), []) for part in kept), [])) == list(range(RECORDS))


def test_ranks_take_and_leave_out_their_part_of_the_first(files: str) -> None:
    def numbers_of(make: Callable[[millhopper.Reader], millhopper.Reader], ranks: int) -> list[int]:
        parts = [make(source(files).shard(ranks, rank)) for rank in range(ranks)]
        assert all(part.num_lanes == 8 for part in parts)
        return sorted(sum((sum(epoch(part.shuffle(64).batch(16)), []) for part in parts), []))

    first = sorted(sum(epoch(source(files).take(1000)), []))
    rest = sorted(sum(epoch(source(files).skip(1000)), []))
    assert sorted(first + rest) == list(range(RECORDS))
    for ranks in 1, 2, 4, 8:
        assert numbers_of(lambda part: part.take(1000), ranks) == first
        assert numbers_of(lambda part: part.skip(1000), ranks) == rest


def test_what_is_zipped_and_mixed_keeps_equal_lanes(files: str) -> None:
    def other(lanes: int = 8) -> millhopper.Reader:
        return millhopper.Reader.open_files(files, lanes=lanes, seed=3, name="other")

    pairs = source(files).zip(other(), names=["x", "y"])
    assert pairs.num_lanes == 8
    assert source(files).zip(other(4), names=["x", "y"]).num_lanes == 1
    for batch in pairs.batch(16):
        np.testing.assert_array_equal(batch["x"], batch["y"])
    mixed = source(files).mix(other(), when_exhausted="continue")
    assert mixed.num_lanes == 8
    assert source(files).mix(other(), when_exhausted="repeat").num_lanes == 1
    both = sorted([*range(RECORDS), *range(RECORDS)])
    for ranks in 1, 2, 4:
        parts = [mixed.shard(ranks, rank).batch(16) for rank in range(ranks)]
        assert sorted(sum((sum(epoch(part), []) for part in parts), [])) == both


def test_ranks_share_padded_batches(files: str) -> None:
    parts = [source(files).shard(2, rank).padded_batch(16) for rank in range(2)]
    whole = [sorted(batch) for batch in epoch(source(files).padded_batch(16))]
    steps = [sorted(a + b) for a, b in zip(*(epoch(part) for part in parts))]
    assert steps[:100] == whole[:100]


def test_lanes_are_in_the_program(files: str) -> None:
    text = " ".join(source(files, lanes=5).batch(10).to_text().split())
    assert 'name: "lanes" type: INT i: 5' in text


def test_sources_without_files_have_lanes(files: str) -> None:
    arrays = millhopper.Reader.from_arrays({"x": np.arange(1000).reshape(-1, 1)})
    data_set = millhopper.Reader.from_dataset([{"x": np.int64([x])} for x in range(1000)])
    shuffled = millhopper.Reader.from_arrays(
        {"x": np.arange(1000).reshape(-1, 1)}, shuffle=True, seed=7
    )
    one_file = millhopper.Reader.create("create_range_reader", count=1000, names=["x"])
    orders = []
    for threads in (0, 1, 2, 7):
        millhopper.set_threads(threads)
        order = []
        for source in (arrays, data_set, shuffled, one_file):
            source.set_epoch(0)
            batches = epoch(source.lanes(8).shuffle(64, seed=2).batch(24))
            assert sorted(sum(batches, [])) == list(range(1000))
            order.append(batches)
        orders.append(order)
    assert all(order == orders[0] for order in orders)
    millhopper.set_threads(1)


def test_lanes_stand_on_a_source(files: str) -> None:
    shuffled = millhopper.Reader.from_arrays({"x": np.arange(90).reshape(-1, 1)}).shuffle(20)
    with pytest.raises(millhopper.Error, match="lanes stand on a source of records"):
        epoch(shuffled.lanes(3))
    with pytest.raises(millhopper.Error, match="has lanes already"):
        epoch(source(files).lanes(3))


def test_statistics_show_lanes(files: str) -> None:
    reader = source(files, 8).shuffle(64).batch(24)
    epoch(reader)
    stats = reader.stats()
    assert sum(lane.elements for lane in stats.lanes) == RECORDS
    assert all(lane.seconds > 0 for lane in stats.lanes)
    assert stats.load_seconds >= sum(lane.seconds for lane in stats.lanes)
    assert "8 lanes, which have planned 3" in str(reader)
    assert reader.stats().below[0].lanes == ()


def test_statistics_show_the_source_of_lanes() -> None:
    reader = millhopper.Reader.create("create_range_reader", count=1000, names=["x"])
    batches = reader.lanes(4).shuffle(64).batch(8)
    epoch(batches)
    kinds = []
    stats = batches.stats()
    while True:
        kinds.append(stats.kind)
        assert stats.elements > 0, stats.kind
        if not stats.below:
            break
        stats = stats.below[0]
    assert kinds == [
        "create_batch_reader",
        "create_shuffle_reader",
        "create_lanes_reader",
        "create_range_reader",
    ]
