# SPDX-License-Identifier: Apache-2.0
"""Loops over one reader at the same time: each has readers, files and memory of its own."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from number_files import open_numbers, write_numbers

RECORDS = 100


@pytest.fixture
def numbers(tmp_path: Path) -> millhopper.Reader:
    return open_numbers(write_numbers(tmp_path / "numbers.bin", RECORDS))


def first_column(batches: Any) -> list[int]:
    return [int(number) for batch in batches for number in batch["row"][:, 0]]


def test_a_loop_within_another(numbers: millhopper.Reader) -> None:
    whole = list(range(0, 4 * RECORDS, 4))
    seen = []
    for at, batch in enumerate(numbers.batch(10).double_buffer()):
        seen += first_column([batch])
        if at % 3 == 0:
            assert first_column(numbers.batch(7)) == whole
    assert seen == whole
    batched = numbers.batch(10).double_buffer()
    seen = []
    for at, batch in enumerate(batched):
        seen += first_column([batch])
        if at in (0, 4):
            assert first_column(batched) == whole
        if at == 6:
            next(iter(batched))  # and one that is left at once
    assert seen == whole


def test_iterators_take_turns(numbers: millhopper.Reader) -> None:
    loops = [iter(numbers) for _ in range(3)]
    for at in range(RECORDS):
        assert [int(next(loop)["row"][0, 0]) for loop in loops] == [4 * at] * 3
    assert [list(loop) for loop in loops] == [[]] * 3
    assert first_column(numbers) == list(range(0, 4 * RECORDS, 4))


def test_each_loop_is_a_pass_of_its_own(numbers: millhopper.Reader) -> None:
    shuffled = numbers.shuffle(RECORDS, seed=1)
    orders = [first_column(shuffled) for _ in range(3)]
    assert orders[0] != orders[1] != orders[2]
    shuffled.set_epoch(0)
    loops = [iter(shuffled) for _ in range(3)]
    interleaved: list[list[int]] = [[], [], []]
    for _ in range(RECORDS):
        for order, loop in zip_strict(interleaved, loops):
            order += first_column([next(loop)])
    assert interleaved == orders


def test_a_loop_that_is_left_leaves_the_others_alone(numbers: millhopper.Reader) -> None:
    first, second = iter(numbers), iter(numbers)
    assert first_column([next(first), next(second)]) == [0, 0]
    first.close()
    assert list(first) == []
    third = iter(numbers)
    assert first_column([next(second), next(third)]) == [4, 0]
    del second
    assert first_column(third) == list(range(4, 4 * RECORDS, 4))


def test_loops_of_several_threads(numbers: millhopper.Reader) -> None:
    reader = numbers.map(lambda e: {"row": e["row"] + 1}).batch(9).double_buffer()
    seen: list[list[int]] = []
    threads = [threading.Thread(target=lambda: seen.append(first_column(reader))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [list(range(1, 4 * RECORDS, 4))] * 4


def test_an_error_ends_its_own_loop_only(numbers: millhopper.Reader) -> None:
    fails = [False]

    def function(element: dict[str, Any]) -> dict[str, Any]:
        if fails[0]:
            raise ValueError("on purpose")
        return {"row": element["row"]}

    reader = numbers.map(function, slots={"row": ("int64", [1, 4])})
    first = iter(reader)
    next(first)
    second = iter(reader)
    fails[0] = True
    with pytest.raises(millhopper.Error, match="on purpose"):
        next(second)
    fails[0] = False
    assert first_column(first) == list(range(4, 4 * RECORDS, 4))


def test_statistics_are_those_of_all_loops(numbers: millhopper.Reader) -> None:
    first = iter(numbers)
    for _ in range(10):
        next(first)
    assert len(list(numbers)) == RECORDS
    assert numbers.stats().elements == 10 + RECORDS
    assert len(list(first)) == RECORDS - 10
    assert numbers.stats().elements == 2 * RECORDS
    first = iter(numbers)
    next(first)
    del first
    assert numbers.stats().elements == 2 * RECORDS + 1


def test_a_stream_that_can_be_read_once_only_says_so() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    batches = [pyarrow.record_batch({"n": np.arange(5)})] * 2
    once = pyarrow.RecordBatchReader.from_batches(batches[0].schema, batches)
    reader = millhopper.Reader.from_arrow(once, fields=["n int64[]"])
    first = iter(reader)
    next(first)
    message = "this RecordBatchReader can be read once only, and has been; give from_arrow a table"
    with pytest.raises(millhopper.Error, match=message):
        next(iter(reader))
    assert len(list(first)) == 9
