# SPDX-License-Identifier: Apache-2.0
"""Reader.map: functions of Python that the core's threads call for every element."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
import weakref
from itertools import islice
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

RECORDS = 300
Element = dict[str, Any]


@pytest.fixture
def numbers(tmp_path: Path) -> millhopper.Reader:
    """RECORDS records: int64 [1, 4], of which record i holds 4 * i up to 4 * i + 3."""
    path = tmp_path / "numbers.bin"
    np.arange(4 * RECORDS, dtype=np.int64).tofile(path)
    return millhopper.Reader.open_files(f"fixed:{path}", slots={"row": ("int64", [1, 4])})


def test_elements_become_what_the_function_makes_of_them_in_order(
    numbers: millhopper.Reader, threads: int
) -> None:
    def double(element: Element) -> Element:
        return {"double": 2 * element["row"], "first": int(element["row"][0, 0])}

    for reader in (numbers.map(double), numbers.map(double).double_buffer(5)):
        for _ in range(2):
            elements = list(reader)
            assert [element["first"].tolist() for element in elements] == [
                [4 * i] for i in range(RECORDS)
            ]
            rows = np.concatenate([element["double"] for element in elements])
            np.testing.assert_array_equal(rows.ravel(), np.arange(0, 8 * RECORDS, 2))
    batches = list(numbers.map(double).batch(64).double_buffer())
    assert [batch["double"].shape for batch in batches] == [(64, 4)] * 4 + [(44, 4)]
    firsts = np.concatenate([batch["first"] for batch in batches])
    np.testing.assert_array_equal(firsts, np.arange(0, 4 * RECORDS, 4))


def test_a_function_is_told_the_name_of_its_element(
    numbers: millhopper.Reader, threads: int
) -> None:
    def named(element: Element) -> Element:
        at = millhopper.current_record()
        rng = np.random.default_rng([11, at.pass_number, at.sample])
        return {"row": element["row"], "at": np.array([at]), "noise": rng.random(2)}

    whole: dict[tuple[int, int], list[float]] = {}
    for epoch, reader in enumerate([numbers.map(named).shuffle(50, seed=1)] * 2):
        for element in reader:
            pass_number, sample, *rest = element["at"][0].tolist()
            assert (pass_number, 4 * sample) == (epoch, element["row"][0, 0])
            assert rest == [0, 0, sample, 0]
            whole[pass_number, sample] = element["noise"].tolist()
    assert len(whole) == len({noise for pair in whole.values() for noise in pair}) / 2
    assert len(whole) == 2 * RECORDS
    for index in range(2):
        for element in numbers.shard(2, index).shuffle(50, seed=2).map(named):
            pass_number, sample, *_ = element["at"][0].tolist()
            assert element["noise"].tolist() == whole[pass_number, sample]
    with pytest.raises(millhopper.Error, match="only by a function that a reader"):
        millhopper.current_record()


def test_an_error_takes_its_elements_place_at_any_number_of_threads(
    numbers: millhopper.Reader, threads: int
) -> None:
    def picky(element: Element) -> Element:
        if element["row"][0, 0] in (4 * 100, 4 * 101):
            raise LookupError(f"no word {element['row'][0, 0]}")
        return element

    for reader, before in (
        (numbers.map(picky), 100),
        (numbers.map(picky).double_buffer(3), 100),
        (numbers.map(picky).batch(32).double_buffer(3), 3),
    ):
        for _ in range(2):
            elements = iter(reader)
            for _ in range(before):
                next(elements)
            with pytest.raises(millhopper.Error, match="picky.*LookupError: no word 400") as error:
                next(elements)
            assert isinstance(error.value.__cause__, LookupError)
            assert error.value.__cause__.__traceback__ is not None
            assert "while processing element 100" in str(error.value)


def test_interrupts_of_a_function_are_no_errors(numbers: millhopper.Reader) -> None:
    def interrupted(element: Element) -> Element:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(iter(numbers.map(interrupted)))


@pytest.mark.parametrize(
    ("result", "names", "values"),
    [
        (lambda e: e["row"] + 1, ["row"], [[[1, 2, 3, 4]]]),
        (lambda e: (e["row"][0, 0], 2.5, True), ["slot0", "slot1", "slot2"], [[0], [2.5], [True]]),
        (lambda e: [[1, 2], np.float32(3)], ["slot0", "slot1"], [[1, 2], [3.0]]),
        (lambda e: {"b": np.float64(1), "a": e["row"][0, ::2]}, ["b", "a"], [[1.0], [0, 2]]),
    ],
)
def test_what_a_function_may_return(
    numbers: millhopper.Reader, result: Any, names: list[str], values: list[object]
) -> None:
    element = next(iter(numbers.map(result)))
    assert list(element) == names
    assert [value.tolist() for value in element.values()] == values


def test_declared_slots_give_dtypes_and_dims(numbers: millhopper.Reader) -> None:
    slots = {"row": ("float32", [1, 4]), "label": ("int64", [1])}
    for result in (
        lambda e: (e["row"].astype(np.float32), 7),
        lambda e: {"label": np.array([7]), "row": e["row"].tolist()},
    ):
        reader = numbers.map(result, slots=slots)
        assert reader.slots() == [("float32", [1, 4], 0), ("int64", [1], 0)]
        batch = next(iter(reader.batch(10)))
        assert (batch["row"].dtype, batch["row"].shape) == (np.float32, (10, 4))
        assert batch["label"].tolist() == [7] * 10


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda e: (e["row"], 7), "slot 'row': float32 .* is declared, but this is int64"),
        (lambda e: (np.zeros((1, 5), np.float32), 7), r"slot 'row': .*\[1, 5\]"),
        (lambda e: e["row"], "an element of 2 slots is a tuple or list"),
        (lambda e: (1, 2, 3), "a tuple of 3 values for 2 slots"),
        (lambda e: {"row": [[1, 2, 3, 4]], "lable": 1}, "no value for slot 'label'.*lable"),
        (lambda e: {"row": [[1, 2, 3, 4]], "label": 1, "more": 2}, "3 values for 2 slots"),
        (lambda e: None, "it is None: does the function end without a return?"),
        (lambda e: ([[1, 2, 3, 4]], "seven"), "invalid literal"),
        (lambda e: ([[1, 2, 3, 4]], np.zeros(1, np.complex64)), "slot 'label': .*complex64"),
    ],
)
def test_what_is_not_as_declared_is_an_error(
    numbers: millhopper.Reader, result: Any, words: str
) -> None:
    slots = {"row": ("float32", [1, 4]), "label": ("int64", [1])}
    with pytest.raises(millhopper.Error, match=words):
        next(iter(numbers.map(result, slots=slots)))


def test_elements_may_differ_in_dims_and_not_in_dtype(numbers: millhopper.Reader) -> None:
    def grows(element: Element) -> np.ndarray:
        length = int(element["row"][0, 0]) // 4 % 5 + 1
        return np.ones((length, length), np.float32 if length < 5 else np.float64)

    elements = iter(numbers.map(grows))
    assert [next(elements)["row"].shape[0] for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(millhopper.Error, match=r"float32 \[-1, -1\].*float64"):
        next(elements)


def test_images_of_other_sizes_are_no_batch(numbers: millhopper.Reader) -> None:
    images = numbers.map(lambda element: np.ones((1, int(element["row"][0, 0]) + 1, 2, 3)))
    with pytest.raises(
        millhopper.Error, match="only the leading axis may differ; resize, crop or pad before"
    ):
        next(iter(images.batch(2)))


def test_text_and_ragged_values_go_in_and_out(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one two three\nfour\nfive six\n")
    lines = millhopper.Reader.open_files(f"text:{path}", names=["line"])

    def words(element: Element) -> Element:
        split = element["line"].to_bytes()[0].split()
        values = np.frombuffer(b"".join(split), np.uint8)
        ends = np.cumsum([0] + [len(word) for word in split])
        return {"words": millhopper.Ragged(values, (np.array([0, len(split)]), ends))}

    batch = next(iter(lines.map(words).batch(3)))["words"]
    assert [len(line) for line in batch] == [3, 1, 2]
    assert [line.to_bytes() for line in batch] == [
        [b"one", b"two", b"three"],
        [b"four"],
        [b"five", b"six"],
    ]
    upper = lines.map(lambda e: {"n": e["line"].lengths(), "line": e["line"]}).batch(3)
    batch = next(iter(upper))
    assert batch["n"].tolist() == [13, 4, 8]
    assert batch["line"].to_bytes()[1] == b"four"


def test_elements_may_be_written_and_large_results_are_not_copied() -> None:
    addresses: list[int] = []
    source = millhopper.Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1, 50000])}, count=4
    )

    def made(element: Element) -> np.ndarray:
        element["x"] *= 0
        result = element["x"] + 1
        addresses.append(result.ctypes.data)
        return result

    millhopper.set_threads(0)
    mapped = source.map(made, slots={"x": ("float32", [1, 50000])})
    elements = [element["x"] for element in mapped]
    assert [array.ctypes.data for array in elements] == addresses
    assert all((array == 1).all() for array in elements)


def test_chains_of_functions_know_each_others_names(numbers: millhopper.Reader) -> None:
    chain = (
        numbers.map(lambda e: {"a": e["row"], "b": 1})
        .map(lambda e: {"c": e["a"] + e["b"]})
        .shuffle(10, seed=1)
        .map(lambda e: e["c"] * 2)
        .batch(RECORDS)
    )
    [batch] = list(chain)
    assert list(batch) == ["c"]
    np.testing.assert_array_equal(np.sort(batch["c"].ravel()), np.arange(2, 8 * RECORDS + 2, 2))


def test_functions_live_as_long_as_readers_that_call_them(numbers: millhopper.Reader) -> None:
    class Function:
        def __call__(self, element: Element) -> Element:
            return element

    function = Function()
    gone = weakref.ref(function)
    reader = numbers.map(function).batch(10)
    program = reader.to_text()
    del function
    assert len(list(reader)) == RECORDS // 10
    other = millhopper.Reader(program, names=["row"])
    assert len(list(other)) == RECORDS // 10  # the text means something while the reader exists
    del reader, other
    gc.collect()
    for _ in range(3):  # what threads have dropped is released when Python runs
        list(numbers.map(lambda e: e).batch(RECORDS))
    gc.collect()
    assert gone() is None
    with pytest.raises(millhopper.Error, match="there is no function"):
        next(iter(millhopper.Reader(program)))


def test_programs_with_functions_show_it_and_the_commands_refuse_them(
    numbers: millhopper.Reader, tmp_path: Path
) -> None:
    def decode(element: Element) -> Element:
        return element

    text = numbers.map(decode).to_text()
    assert 'type: "create_python_map_reader"' in text and "decode" in text
    peek = Path(__file__).parents[3] / "bazel-bin/tools/peek"
    if not os.access(peek, os.X_OK):
        pytest.skip("tools/peek is not built")
    path = tmp_path / "startup.pbtxt"
    path.write_text(text)
    told = subprocess.run([peek, f"--startup={path}"], capture_output=True, text=True)
    assert told.returncode == 2
    assert "create_python_map_reader" in told.stderr


def test_misuse_is_refused(numbers: millhopper.Reader) -> None:
    with pytest.raises(TypeError, match="takes a function"):
        numbers.map("upper")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="slot 'row'"):
        numbers.map(lambda e: e, slots={"row": ("no such dtype", [1])})
    empty = millhopper.Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1])}, count=1
    ).batch(2, drop_last=True)
    with pytest.raises(millhopper.Error, match=r"say it with slots=\{"):
        iter(empty.map(lambda e: e))
    assert list(empty.map(lambda e: e, slots={"x": ("float32", [-1])})) == []


def test_leaving_a_loop_ends_the_calls(numbers: millhopper.Reader) -> None:
    calls = []

    def counted(element: Element) -> Element:
        calls.append(threading.get_ident())
        return element

    for _ in islice(numbers.map(counted).double_buffer(4), 2):
        pass
    after = len(calls)
    assert after < RECORDS
    list(numbers.batch(10).double_buffer())
    assert len(calls) == after


def test_forks_while_functions_are_at_work_do_not_hang(numbers: millhopper.Reader) -> None:
    def slow(element: Element) -> Element:
        np.linalg.norm(np.ones((50, 50)))
        return element

    elements = iter(numbers.map(slow).batch(4).double_buffer(8))
    for _ in range(10):
        next(elements)
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert len(list(elements)) == RECORDS // 4 - 10


@pytest.mark.parametrize(
    ("dtype", "value"), [("int64", 1.5), ("uint8", [1, 300]), ("uint8", -1), ("bool", 2)]
)
def test_numbers_that_do_not_fit_are_no_others(dtype: str, value: object) -> None:
    numbers = millhopper.Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1])}, count=1
    )
    with pytest.raises(
        millhopper.Error, match=f"slot 'y': {dtype} is declared, which does not hold"
    ):
        list(numbers.map(lambda e: {"y": value}, slots={"y": (dtype, [-1])}))
    (fitting,) = numbers.map(lambda e: {"y": [1, 0]}, slots={"y": (dtype, [-1])})
    assert (fitting["y"].dtype, fitting["y"].tolist()) == (np.dtype(dtype), [1, 0])
    (text,) = numbers.map(lambda e: {"y": ["1", "1"]}, slots={"y": (dtype, [-1])})
    assert text["y"].tolist() == [1, 1]
