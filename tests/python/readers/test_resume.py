# SPDX-License-Identifier: Apache-2.0
"""Reader.state_dict and load_state_dict: a loop that is resumed in another reader or process.

The scenarios are those of the tests of torchdata's StatefulDataLoader and of Grain's checkpoints,
written anew.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from number_files import open_numbers, write_numbers

RECORDS = 200
Make = Callable[[], millhopper.Reader]


@pytest.fixture(params=[0, 2, 7])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    millhopper.set_threads(request.param)
    yield request.param
    millhopper.set_threads(os.cpu_count() or 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", RECORDS)


def shuffled(path: Path) -> millhopper.Reader:
    return open_numbers(path).shuffle(37, seed=3).batch(7).double_buffer(4)


def rows(batches: Any) -> list[list[int]]:
    return [batch["row"][:, 0].tolist() for batch in batches]


def chains(path: Path) -> dict[str, Make]:
    numbers = np.arange(RECORDS, dtype=np.int64).reshape(RECORDS, 1)

    def doubled(element: dict[str, Any]) -> dict[str, Any]:
        return {"row": 2 * element["row"]}

    return {
        "plain": lambda: open_numbers(path),
        "shuffled": lambda: shuffled(path),
        "arrays": lambda: millhopper.Reader.from_arrays({"row": numbers}, shuffle=True).batch(7),
        "mapped": lambda: open_numbers(path).map(doubled).batch(7).double_buffer(4),
        "passes": lambda: open_numbers(path).shuffle(50).multi_pass(2).batch(9),
    }


@pytest.mark.parametrize("name", ["plain", "shuffled", "arrays", "mapped", "passes"])
def test_a_new_reader_yields_the_rest_and_the_passes_after(
    path: Path, name: str, threads: int
) -> None:
    make = chains(path)[name]
    first = make()
    passes = [rows(first) for _ in range(3)]
    for taken in (0, 1, 2, 11, len(passes[0]) - 1, len(passes[0])):
        reader = make()
        loop = iter(reader)
        assert rows(islice(loop, taken)) == passes[0][:taken]
        state = reader.state_dict()
        again = make()
        again.load_state_dict(state)
        assert rows(again) == passes[0][taken:]
        assert rows(again) == passes[1]
        assert rows(again) == passes[2]
        assert rows(loop) == passes[0][taken:], "saving changes nothing"


def test_a_second_and_a_third_resume_stay_aligned(path: Path) -> None:
    reader = shuffled(path)
    expected = rows(reader) + rows(reader)
    seen: list[list[int]] = []
    state: dict[str, Any] | None = None
    while len(seen) < len(expected):
        reader = shuffled(path)
        if state is not None:
            reader.load_state_dict(state)
        seen += rows(islice(reader, 4))
        state = reader.state_dict()  # the loop was left
    assert seen == expected


def test_a_state_at_the_end_begins_the_next_pass(path: Path) -> None:
    reader = shuffled(path)
    passes = [rows(reader) for _ in range(2)]
    reader = shuffled(path)
    assert rows(reader) == passes[0]
    again = shuffled(path)
    again.load_state_dict(reader.state_dict())
    assert rows(again) == passes[1]


def test_a_state_before_the_first_loop_is_the_beginning(path: Path) -> None:
    reader = shuffled(path)
    reader.set_epoch(5)
    again = shuffled(path)
    again.load_state_dict(reader.state_dict())
    assert rows(again) == rows(reader)


def test_a_state_that_was_loaded_is_returned_until_a_loop_begins(path: Path) -> None:
    reader = shuffled(path)
    list(islice(reader, 3))
    state = reader.state_dict()
    again = shuffled(path)
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_the_reader_that_was_saved_can_go_back(path: Path) -> None:
    reader = shuffled(path)
    loop = iter(reader)
    list(islice(loop, 5))
    state = reader.state_dict()
    rest = rows(loop)
    reader.load_state_dict(state)
    assert rows(reader) == rest


def test_the_pass_that_goes_on_may_be_named_and_another_one_chosen(path: Path) -> None:
    reader = shuffled(path)
    list(reader)
    loop = iter(reader)
    list(islice(loop, 5))
    state, rest = reader.state_dict(), rows(loop)
    again = shuffled(path)
    again.load_state_dict(state)
    again.set_epoch(1)  # as Accelerate and Lightning do at each pass
    assert rows(again) == rest
    again.load_state_dict(state)
    again.set_epoch(0)
    assert rows(again) == rows(shuffled(path))


def test_another_process_goes_on_with_bytes_of_json(path: Path) -> None:
    reader = shuffled(path)
    loop = iter(reader)
    list(islice(loop, 9))
    state = reader.get_state()
    assert json.loads(state)["epoch"] == 0
    program = (
        "import sys, millhopper\n"
        "millhopper.set_threads(3)\n"
        "reader = millhopper.Reader.open_files('fixed:' + sys.argv[1], "
        "slots={'row': ('int64', [1, 4])}).shuffle(37, seed=3).batch(7).double_buffer(4)\n"
        "reader.set_state(sys.argv[2])\n"
        "print([batch['row'][:, 0].tolist() for batch in reader])\n"
    )
    run = [sys.executable, "-c", program, str(path), state.decode()]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == rows(loop)


def test_a_state_holds_nothing_but_numbers_and_bytes(path: Path) -> None:
    reader = shuffled(path)
    list(islice(reader, 3))
    state = reader.state_dict()
    assert {type(value) for value in state.values()} <= {int, str, bytes}
    assert pickle.loads(pickle.dumps(state)) == state


def test_what_differs_is_said(path: Path, tmp_path: Path) -> None:
    reader = shuffled(path)
    list(islice(reader, 3))
    state = reader.state_dict()
    other = open_numbers(path).shuffle(38, seed=3).batch(7).double_buffer(4)
    other.load_state_dict(state)
    with pytest.raises(millhopper.Error, match="buffer_size was 37, now it is 38"):
        iter(other)
    with pytest.raises(millhopper.Error):  # nor does the next loop begin anywhere else
        iter(other)
    longer = shuffled(write_numbers(tmp_path / "numbers.bin", RECORDS + 1))
    longer.load_state_dict(state)
    with pytest.raises(millhopper.Error, match=r"numbers\.bin' had 6400 bytes, now it has 6432"):
        iter(longer)
    longer.set_epoch(7)  # another pass than the one that was saved
    assert len(rows(longer)) == 29


def test_bad_states_are_refused(path: Path) -> None:
    reader = shuffled(path)
    list(islice(reader, 3))
    state = reader.state_dict()
    with pytest.raises(TypeError, match="must be the dict"):
        reader.load_state_dict([])  # type: ignore[arg-type]
    for wrong, words in (
        ({}, "no state of a millhopper.Reader"),
        ({**state, "millhopper": 2}, "version 2"),
        ({**state, "of": "DataLoader"}, "state of a millhopper.DataLoader"),
        ({**state, "epoch": -1}, "epoch"),
        ({**state, "epoch": "1"}, "epoch"),
        ({**state, "position": 1}, "position"),
    ):
        with pytest.raises(millhopper.Error, match=words):
            reader.load_state_dict(wrong)
    for text in (b"", b"{", b"[" * 100000, b'{"base64": 1}', b'{"base64": "*"}'):
        with pytest.raises(millhopper.Error, match="no state that get_state"):
            reader.set_state(text)
    position = state["position"]
    for damaged in (b"", position[:-1], position[:50] + b"x" + position[51:]):
        reader.load_state_dict({**state, "position": damaged})
        with pytest.raises(millhopper.Error, match="no position of a chain of readers"):
            iter(reader)


def test_a_reader_that_cannot_say_where_it_stands_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a\nb\n",), daemon=True)
    writer.start()
    reader = millhopper.Reader.open_files(f"text:{pipe}")
    loop = iter(reader)
    next(loop)
    with pytest.raises(millhopper.Error, match="pipe.*to continue from a place"):
        reader.state_dict()
    assert len(list(loop)) == 1
    writer.join()


@pytest.mark.parametrize("window", [False, True])
def test_a_table_of_arrow_is_asked_for_anew(window: bool) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"x": list(range(RECORDS))})

    def make() -> millhopper.Reader:
        reader = millhopper.Reader.from_arrow(arrow.Table.from_batches(table.to_batches(30)))
        return (reader.shuffle(20) if window else reader).batch(7).double_buffer(3)

    def numbers(batches: Any) -> list[list[int]]:
        return [batch["x"].tolist() for batch in batches]

    reader = make()
    passes = [numbers(reader), numbers(reader)]
    for taken in (0, 1, 11, len(passes[0])):
        reader = make()
        loop = iter(reader)
        assert numbers(islice(loop, taken)) == passes[0][:taken]
        again = make()
        again.load_state_dict(reader.state_dict())
        assert numbers(again) == passes[0][taken:]
        assert numbers(again) == passes[1]


def test_an_iterator_of_arrow_is_asked_for_once() -> None:
    arrow = pytest.importorskip("pyarrow")
    batches = arrow.table({"x": list(range(RECORDS))}).to_batches(30)

    def make() -> millhopper.Reader:
        stream = arrow.RecordBatchReader.from_batches(batches[0].schema, batches)
        return millhopper.Reader.from_arrow(stream, fields=["x int64[]"]).batch(7)

    reader = make()
    loop = iter(reader)
    list(islice(loop, 11))
    again = make()
    again.load_state_dict(reader.state_dict())
    rest = [batch["x"].tolist() for batch in loop]
    assert [batch["x"].tolist() for batch in again] == rest


def test_after_an_error_the_loop_goes_on_at_the_element(path: Path) -> None:
    failing = True

    def function(element: dict[str, Any]) -> dict[str, Any]:
        if failing and element["row"][0, 0] == 4 * 60:
            raise ValueError("not this one")
        return element

    def make() -> millhopper.Reader:
        return open_numbers(path).map(function).batch(7)

    reader = make()
    seen = []
    with pytest.raises(millhopper.Error, match="not this one"):
        for batch in reader:
            seen += batch["row"][:, 0].tolist()
    state = reader.state_dict()
    failing = False
    again = make()
    again.load_state_dict(state)
    for batch in again:
        seen += batch["row"][:, 0].tolist()
    assert seen == list(range(0, 4 * RECORDS, 4))


def test_a_loop_that_is_closed_while_others_read_keeps_its_place(tmp_path: Path) -> None:
    many = 100_000
    path = write_numbers(tmp_path / "many.bin", many)
    for _ in range(20):
        reader = open_numbers(path)
        loop = iter(reader)
        next(loop)
        taken: list[int] = [1]

        def take(loop: Any = loop, taken: list[int] = taken) -> None:
            taken.append(sum(1 for _ in loop))

        # They wait for one another, so that the one that closes the loop comes before some of them.
        readers = [threading.Thread(target=take) for _ in range(8)]
        for thread in readers:
            thread.start()
        loop.close()
        for thread in readers:
            thread.join()
        again = open_numbers(path)
        again.load_state_dict(reader.state_dict())
        assert next(iter(again))["row"][0, 0] == 4 * (sum(taken) % many)
