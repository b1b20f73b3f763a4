# SPDX-License-Identifier: Apache-2.0
"""Reader.stats and print(reader): what each reader of a chain has done."""

from __future__ import annotations

import time
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import Reader, ReaderStats


@pytest.fixture
def numbers(tmp_path: Path) -> Reader:
    path = tmp_path / "numbers.bin"
    np.arange(100, dtype=np.int64).tofile(path)
    return Reader.open_files(f"fixed:{path}", slots={"number": ("int64", [1, 1])})


def chain(top: ReaderStats) -> list[ReaderStats]:
    readers = [top]
    while readers[-1].below:
        readers.extend(readers[-1].below)
    return readers


def test_counts_before_and_after_loops(numbers: Reader) -> None:
    reader = numbers.shuffle(10).batch(8).double_buffer()
    kinds = ["create_double_buffer_reader", "create_batch_reader", "create_shuffle_reader"]
    before = chain(reader.stats())
    assert [one.kind for one in before] == [*kinds, "open_files"]
    assert [one.name for one in before][-1] == "files"
    assert all(one.elements == one.planned == one.bytes_read == 0 for one in before)
    assert all(one.load_seconds == one.wait_seconds == 0 for one in before)
    for epoch in (1, 2):
        assert sum(len(batch["number"]) for batch in reader) == 100
        counted = chain(reader.stats())
        assert [one.kind for one in counted] == [*kinds, "open_files"]
        assert [one.elements for one in counted] == [
            13 * epoch,
            13 * epoch,
            100 * epoch,
            100 * epoch,
        ]
        assert [one.planned for one in counted] == [one.elements for one in counted]
        assert [one.bytes_read for one in counted[:3]] == [0, 0, 0]
        assert 800 * epoch <= counted[3].bytes_read <= 820 * epoch
        assert counted[0].wait_seconds > 0


def test_counts_stay_when_a_loop_is_left(numbers: Reader) -> None:
    reader = numbers.batch(10)
    for _batch in reader:
        break
    left = reader.stats()
    assert left.elements == 1
    assert left.below[0].elements == 10
    assert left.memory_bytes == left.below[0].memory_bytes == left.below[0].in_store == 0
    assert sum(1 for _ in reader) == 10
    assert reader.stats().elements == 11
    assert reader.stats().below[0].elements == 110


def test_the_loop_waits_for_a_slow_function(numbers: Reader) -> None:
    def slow(element: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        return element

    reader = numbers.batch(50).map(slow, slots={"number": ("int64", [-1, 1])})
    begin = time.monotonic()
    assert sum(1 for _ in reader) == 2
    took = time.monotonic() - begin
    stats = reader.stats()
    assert 0.04 <= stats.wait_seconds <= took
    assert stats.load_seconds >= 0.04
    assert stats.kind == "create_python_map_reader"


def test_print_shows_the_chain(numbers: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    reader = numbers.batch(10)
    assert sum(1 for _ in reader) == 10
    print(reader)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["reader", "elements", "planned"]
    assert lines[1].split()[:4] == ["files.batch", "(create_batch_reader)", "10", "10"]
    assert lines[2].startswith("  files (open_files) ")
    assert lines[2].split()[2:4] == ["100", "100"]
    assert len(lines) == 3
    assert repr(reader) == "<millhopper.Reader 'files.batch'>"


def test_a_function_of_the_reader_cannot_ask(numbers: Reader) -> None:
    reader: Reader

    def ask(element: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        reader.stats()
        return element

    reader = numbers.batch(50).map(ask, slots={"number": ("int64", [-1, 1])})
    with pytest.raises(millhopper.Error, match="used by a function that it calls itself"):
        list(reader)
