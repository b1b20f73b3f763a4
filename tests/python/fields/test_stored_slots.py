# SPDX-License-Identifier: Apache-2.0
"""Slots and names that are stored beside RecordIO files, so that they need not be declared."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import dtype_name
from millhopper.recordio_writer import (
    convert_reader_to_recordio_file,
    convert_reader_to_recordio_files,
    create_recordio_writer,
)

SLOTS = [("float32", [1, 3], 0), ("int64", [1, 1], 0)]
ARGUMENTS = 'shapes=[[1, 3], [1, 1]], dtypes=["float32", "int64"]'
DECLARATION = 'slots={"x": ("float32", [1, 3]), "label": ("int64", [1, 1])}'


def write(path: Path, *numbers: int, names: list[str] | None = None) -> Path:
    with create_recordio_writer(path, names=names) as writer:
        for number in numbers:
            writer.append_tensor(np.full((1, 3), number, np.float32))
            writer.append_tensor(np.array([[number]], np.int64))
            writer.complete_append_tensor()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "numbers.recordio", 1, 2, 3, names=["x", "label"])


def test_readers_need_no_declaration(path: Path) -> None:
    reader = millhopper.Reader.open_files(path)
    assert reader.slots() == SLOTS
    assert [int(element["label"][0, 0]) for element in reader] == [1, 2, 3]
    assert [list(batch) for batch in reader.batch(2)] == [["x", "label"]] * 2
    # Methods that take names know them before anything is read.
    assert list(next(iter(reader.apply("scale", "x", scale=2.0))))[:2] == ["x", "label"]
    again = pickle.loads(pickle.dumps(reader))
    assert [list(element) for element in again] == [["x", "label"]] * 3


def test_other_names_can_be_given(path: Path) -> None:
    reader = millhopper.Reader.open_files(path, names=["a", "b"])
    assert list(next(iter(reader))) == ["a", "b"]
    inferred = millhopper.Reader.open_files(path, slots="infer")
    assert (inferred.slots(), list(next(iter(inferred)))) == (SLOTS, ["x", "label"])
    inferred = millhopper.Reader.open_files(path, slots="infer", names=["a", "b"])
    assert list(next(iter(inferred))) == ["a", "b"]


def test_files_without_names_have_slots(tmp_path: Path) -> None:
    reader = millhopper.Reader.open_files(write(tmp_path / "numbers.recordio", 1))
    assert (reader.slots(), list(next(iter(reader)))) == (SLOTS, ["slot0", "slot1"])


def test_an_axis_that_differs_among_records_has_any_length(tmp_path: Path) -> None:
    path = tmp_path / "ragged.recordio"
    with create_recordio_writer(path, names=["x", "text"]) as writer:
        for length in (2, 3):
            writer.append_tensor(np.zeros((1, length), np.float32))
            text = millhopper.LoDTensor.from_array(np.zeros(5, np.uint8))
            text.set_lod([[0, 5]])
            writer.append_tensor(text)
            writer.complete_append_tensor()
    reader = millhopper.Reader.open_files(path)
    assert reader.slots() == [("float32", [1, -1], 0), ("uint8", [-1], 1)]
    assert [element["x"].shape for element in reader] == [(1, 2), (1, 3)]


def test_records_of_several_kinds_store_none(tmp_path: Path) -> None:
    path = tmp_path / "mixed.recordio"
    with create_recordio_writer(path) as writer:
        for dtype in ("float32", "float64"):
            writer.append_tensor(np.zeros((1, 2), dtype))
            writer.complete_append_tensor()
    with pytest.raises(millhopper.Error, match="the slots of a record are not known"):
        list(millhopper.Reader.open_files(path))


def test_a_file_that_is_copied_without_its_manifest_has_types_and_no_names(path: Path) -> None:
    copy = path.parent / "copy.recordio"
    copy.write_bytes(path.read_bytes())
    (element, *_) = millhopper.Reader.open_files(copy)
    assert list(element) == ["slot0", "slot1"]
    assert millhopper.Reader.open_files(copy, slots="infer").slots() == SLOTS
    # With one file of a set that does not tell, the first records do.
    assert millhopper.Reader.open_files([path, copy]).slots() == SLOTS


def test_wrong_slots_are_answered_with_the_right_ones(path: Path) -> None:
    reader = millhopper.Reader.open_files(path, slots={"x": ("float32", [1, 4])})
    with pytest.raises(millhopper.Error, match="numbers.recordio: 1 slots are declared") as caught:
        list(reader)
    assert caught.value.message.endswith(f"; its records have {DECLARATION}")
    right = ast.literal_eval(DECLARATION.removeprefix("slots="))
    assert len(list(millhopper.Reader.open_files(path, slots=right))) == 3


def test_bytes_have_no_stored_slots(path: Path) -> None:
    reader = millhopper.Reader.open_files(path, content="bytes")
    assert list(next(iter(reader))) == ["slot0"]


def test_a_damaged_manifest_is_an_error_of_the_first_pass(path: Path) -> None:
    manifest = path.parent / "numbers.recordio.manifest.json"
    manifest.write_text(manifest.read_text().replace(" x ", " y "))
    reader = millhopper.Reader.open_files(path)
    with pytest.raises(millhopper.Error, match="slots of a file that do not fit their checksum"):
        list(reader)
    missing = millhopper.Reader.open_files(path.parent / "nowhere.recordio")
    with pytest.raises(millhopper.Error, match="No such file"):
        list(missing)


def test_names_of_a_writer_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    with pytest.raises(ValueError, match="two slots have one name"):
        write(path, 1, names=["x", "x"])
    with pytest.raises(TypeError, match="a slot's name is 1"):
        write(path, 1, names=["x", 1])  # type: ignore[list-item]
    with pytest.raises(millhopper.Error, match="a record of 2 tensors, but 3 names of slots"):
        write(path, 1, names=["x", "y", "z"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fresh_programs")
def test_converted_readers_store_the_names_of_the_feeder(tmp_path: Path) -> None:
    feeder = millhopper.DataFeeder(
        [layers.data("x", [2]), layers.data("label", [1], dtype="int64")], millhopper.CPUPlace()
    )

    def batches() -> list[list[tuple[list[float], int]]]:
        return [[([number, 0.5], number)] * 2 for number in range(3)] + [[([9, 9], 9)]]

    convert_reader_to_recordio_file(tmp_path / "one.recordio", batches, feeder)
    one = millhopper.Reader.open_files(tmp_path / "one.recordio")
    assert one.slots() == [("float32", [-1, 2], 0), ("int64", [-1, 1], 0)]
    assert [batch["label"].tolist() for batch in one][2:] == [[[2], [2]], [[9]]]
    order = ["label", "x"]
    convert_reader_to_recordio_files(
        tmp_path / "many.recordio", 3, batches, feeder, feed_order=order
    )
    many = millhopper.Reader.open_files(tmp_path / "many-*.recordio")
    assert many.slots() == [("int64", [-1, 1], 0), ("float32", [-1, 2], 0)]
    assert [list(batch) for batch in many] == [order] * 4


@pytest.mark.usefixtures("fresh_programs")
def test_layers_need_no_declaration(path: Path) -> None:
    for reader in (layers.open_files(str(path)), layers.open_recordio_file(path, name="again")):
        assert reader.shapes == ((1, 3), (1, 1))
        x, label = layers.read_file(reader)
        assert [dtype_name(variable.dtype) for variable in (x, label)] == ["float32", "int64"]
    executor = millhopper.Executor()
    executor.run(millhopper.default_startup_program())
    found = executor.run(fetch_list=[x, label])
    assert [np.asarray(value).tolist() for value in found] == [[[1, 1, 1]], [[1]]]


@pytest.mark.usefixtures("fresh_programs")
def test_layers_say_what_is_missing(tmp_path: Path) -> None:
    with create_recordio_writer(tmp_path / "a.recordio"):
        pass  # no records
    (tmp_path / "a.recordio.manifest.json").unlink()
    layers.open_files(str(tmp_path / "a.recordio"))
    with pytest.raises(millhopper.Error, match="the slots of a record are not known: give shapes"):
        millhopper.Executor().run(millhopper.default_startup_program())
    # The same program as text is answered as texts declare slots.
    text = millhopper.default_startup_program().to_text()
    parsed = millhopper.Program.parse_from_string(text)
    for program in (parsed, parsed.clone()):
        with pytest.raises(millhopper.Error, match="type { type: READER reader { lod_tensor"):
            millhopper.Executor().run(program)


@pytest.mark.usefixtures("fresh_programs")
def test_layers_say_which_arguments_are_right(path: Path) -> None:
    x = layers.read_file(layers.open_files(str(path), shapes=[[1, 4]], name="wrong"))
    executor = millhopper.Executor()
    with pytest.raises(millhopper.Error, match="1 slots are declared") as caught:
        executor.run(millhopper.default_startup_program())
        executor.run(fetch_list=[x])
    assert caught.value.message.endswith(f"; its records have {ARGUMENTS}")
    del caught  # its traceback holds the executor, which holds the open file
    right = eval(f"dict({ARGUMENTS})")
    with millhopper.program_guard(millhopper.Program(), millhopper.Program()):
        reader = layers.open_files(str(path), **right)
        executor.run(millhopper.default_startup_program())
        assert len(executor.run(fetch_list=list(layers.read_file(reader)))) == 2
