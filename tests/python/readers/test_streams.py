# SPDX-License-Identifier: Apache-2.0
"""Reader.filter, repeat, cache on a disk, and chunks in a random order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest


def lines(path: Path, texts: list[str], **attributes: object) -> millhopper.Reader:
    path.write_text("\n".join(texts) + "\n")
    return millhopper.Reader.open_files(f"text:{path}", names=["text"], **attributes)


def texts_of(reader: millhopper.Reader) -> list[str]:
    return [bytes(element["text"][0]).decode() for element in reader]


WORDS = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]


def test_filter_takes_a_function(tmp_path: Path) -> None:
    long = lines(tmp_path / "words", WORDS).filter(lambda e: len(e["text"][0]) > 2)
    for _ in range(2):
        assert texts_of(long) == ["not", "that", "the", "question"]
    # Names that only a pass tells, and functions below and above.
    upper = lines(tmp_path / "words", WORDS).map(lambda e: {"size": len(e["text"][0])})
    sizes = upper.filter(lambda e: e["size"][0] % 2 == 0).map(lambda e: {"half": e["size"] // 2})
    assert [int(element["half"][0]) for element in sizes] == [1, 1, 1, 1, 1, 2, 1, 4]


def test_a_filter_cannot_change_elements(tmp_path: Path) -> None:
    def spoils(element: dict[str, np.ndarray]) -> bool:
        element["number"][:] = 0
        return True

    np.save(tmp_path / "n.npy", np.arange(5))
    reader = millhopper.Reader.open_files(tmp_path / "n.npy", names=["number"]).filter(spoils)
    with pytest.raises(millhopper.Error, match="read-only"):
        next(iter(reader))


def test_errors_of_the_function_come_in_place_of_the_element(tmp_path: Path) -> None:
    def fails(element: dict[str, millhopper.Ragged]) -> bool:
        if bytes(element["text"][0]) == b"that":
            raise ValueError("no that")
        return True

    read = []
    with pytest.raises(millhopper.Error, match="no that") as raised:
        for element in lines(tmp_path / "words", WORDS).filter(fails):
            read.append(bytes(element["text"][0]).decode())
    assert isinstance(raised.value.__cause__, ValueError)
    assert read == WORDS[:6]


def test_a_function_that_returns_nothing_filters_nothing_out(tmp_path: Path) -> None:
    reader = lines(tmp_path / "words", WORDS).filter(lambda e: None)
    with pytest.raises(
        millhopper.Error, match="it is None: does the function end without a return"
    ):
        next(iter(reader))


def test_errors_name_the_function_of_a_filter(tmp_path: Path) -> None:
    def fails(element: dict[str, millhopper.Ragged]) -> bool:
        raise ValueError

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(function)(lambda element: function(element))

    place = rf"fails' \({__file__}:{fails.__code__.co_firstlineno}\)"
    reader = lines(tmp_path / "words", WORDS)
    for failing in reader.filter(fails), reader.filter(counted(fails)), reader.map(counted(fails)):
        with pytest.raises(millhopper.Error, match=place):
            next(iter(failing))


def test_a_filter_keeps_the_names_that_a_function_tells(tmp_path: Path) -> None:
    told = lines(tmp_path / "words", WORDS).map(lambda e: {"size": len(e["text"][0])})
    kept = told.filter(lambda e: True)
    for reader in kept, kept.batch(2), kept.filter(lambda e: True), kept.filter("size"):
        assert reader.to_text()
    assert [list(element) for element in kept.take(1)] == [["size"]]
    missing = millhopper.Reader.open_files(tmp_path / "later.npy").filter(lambda e: e["slot0"] > 1)
    np.save(tmp_path / "later.npy", np.arange(4))  # making the reader has opened no file
    assert [int(element["slot0"][0]) for element in missing] == [2, 3]


def test_filter_takes_a_slot(tmp_path: Path) -> None:
    reader = lines(tmp_path / "words", ["a", "", "b"])
    empty = reader.apply("is_empty", "text", "empty")
    assert texts_of(empty.filter("empty")) == [""]
    kept = empty.apply("logical_not", "empty").filter("empty")
    assert texts_of(kept) == ["a", "b"]
    assert set(next(iter(kept))) == {"text", "empty"}


def test_wrong_conditions_are_errors(tmp_path: Path) -> None:
    reader = lines(tmp_path / "words", WORDS)
    with pytest.raises(TypeError, match="filter takes a slot or a function"):
        reader.filter(3)  # type: ignore[arg-type]
    with pytest.raises(millhopper.Error, match="there is no slot 'txt'"):
        reader.filter("txt")
    with pytest.raises(millhopper.Error, match="one bool"):
        list(reader.filter("text"))


def test_repeat_is_several_passes(tmp_path: Path) -> None:
    assert texts_of(lines(tmp_path / "words", WORDS).repeat(2)) == 2 * WORDS


def test_a_cache_on_a_disk_is_used_by_later_readers(tmp_path: Path) -> None:
    calls = []

    def called(element: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        calls.append(1)
        return {"number": element["number"] * 2}

    rows = np.arange(1000)
    np.save(tmp_path / "n.npy", rows)

    def make() -> millhopper.Reader:
        reader = millhopper.Reader.open_files(tmp_path / "n.npy", names=["number"])
        return reader.map(called, slots={"number": ("int64", [1])}).cache(
            directory=tmp_path / "cache", disk_bytes=1 << 30, data_version="1"
        )

    first = make().batch(64)
    for _ in range(2):
        read = np.concatenate([batch["number"] for batch in first])
        np.testing.assert_array_equal(read, 2 * rows)
    assert len(calls) == 1000
    read = np.concatenate([batch["number"] for batch in make().batch(10)])
    np.testing.assert_array_equal(read, 2 * rows)
    assert len(calls) == 1000
    np.save(tmp_path / "n.npy", rows[:900])
    assert sum(len(batch["number"]) for batch in make().batch(10)) == 900


def test_functions_of_python_need_a_data_version(tmp_path: Path) -> None:
    reader = lines(tmp_path / "words", WORDS).map(lambda e: e)
    with pytest.raises(millhopper.Error, match="give data_version"):
        list(reader.cache(directory=tmp_path, disk_bytes=1 << 20))
    with pytest.raises(millhopper.Error, match="memory_bytes"):
        list(reader.cache())


def test_chunks_come_once_in_each_pass_in_another_order(tmp_path: Path) -> None:
    rows = np.arange(400_000).reshape(-1, 2)  # about three chunks a file
    np.save(tmp_path / "0.npy", rows[:100_000])
    np.save(tmp_path / "1.npy", rows[100_000:])
    reader = millhopper.Reader.open_files(
        str(tmp_path / "*.npy"), names=["row"], shuffle_chunks=True
    ).batch(1000)
    passes = [np.concatenate([batch["row"] for batch in reader]) for _ in range(4)]
    for one in passes:
        np.testing.assert_array_equal(one[one[:, 0].argsort()], rows)
    assert any((passes[0] != one).any() for one in passes[1:])
