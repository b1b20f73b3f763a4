# SPDX-License-Identifier: Apache-2.0
"""``slots="infer"``: what the first records of a RecordIO file have."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.recordio_writer import create_recordio_writer


def write(path: Path, *elements: list[np.ndarray]) -> Path:
    """Writes a file without the manifest that would tell its slots."""
    with create_recordio_writer(path) as writer:
        for element in elements:
            for values in element:
                writer.append_tensor(millhopper.LoDTensor.from_array(values))
            writer.complete_append_tensor()
    (path.parent / f"{path.name}.manifest.json").unlink()
    return path


def element(number: int, width: int = 3) -> list[np.ndarray]:
    return [np.full((1, width), number, np.float32), np.array([[number]], np.int64)]


def test_slots_are_inferred(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers.recordio", *map(element, range(5)))
    inferred = millhopper.Reader.open_files(path, slots="infer", names=["x", "label"])
    assert list(next(iter(inferred))) == ["x", "label"]
    slots = {"x": ("float32", [1, 3]), "label": ("int64", [1, 1])}
    declared = millhopper.Reader.open_files(path, slots=slots)
    assert inferred.to_text() == declared.to_text()
    assert [int(batch["label"][0, 0]) for batch in inferred] == [0, 1, 2, 3, 4]
    nameless = millhopper.Reader.open_files(path, slots="infer")
    assert list(next(iter(nameless))) == ["slot0", "slot1"]


def test_an_axis_that_differs_has_any_length(tmp_path: Path) -> None:
    path = write(tmp_path / "ragged.recordio", element(1, 2), element(2, 4))
    reader = millhopper.Reader.open_files([path], slots="infer")
    assert [batch["slot0"].shape for batch in reader] == [(1, 2), (1, 4)]


def test_what_tells_no_slots_is_refused(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.recordio")
    with pytest.raises(millhopper.Error, match="empty.recordio: its first records tell no slots"):
        millhopper.Reader.open_files(empty, slots="infer")
    (tmp_path / "lines.txt").write_text("no records\n")
    with pytest.raises(millhopper.Error, match="lines.txt"):
        millhopper.Reader.open_files(tmp_path / "lines.txt", slots="infer")
    with pytest.raises(millhopper.Error, match="nowhere"):
        millhopper.Reader.open_files(tmp_path / "nowhere", slots="infer")


def test_names_fit_the_slots(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers.recordio", element(1))
    for names in ["x"], ["x", "x"], ["x", "y", "z"]:
        with pytest.raises(ValueError, match="the records have 2 slots"):
            millhopper.Reader.open_files(path, slots="infer", names=names)


def test_wrong_slots_are_answered_with_the_right_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers.recordio", element(1))
    reader = millhopper.Reader.open_files(path, slots={"x": ("float32", [1, 4])})
    with pytest.raises(millhopper.Error, match="record has slots=") as caught:
        list(reader)
    assert caught.value.message.endswith(
        'a record of 2 tensors, but 1 slot is declared; the record has slots={"slot0": ("float32", '
        '[1, 3]), "slot1": ("int64", [1, 1])}'
    )


def test_undeclared_slots_are_those_of_the_first_records(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers.recordio", element(1), element(2))
    inferred = millhopper.Reader.open_files(path)
    assert inferred.to_text() == millhopper.Reader.open_files(path, slots="infer").to_text()
    assert [int(batch["slot1"][0, 0]) for batch in inferred] == [1, 2]
    named = millhopper.Reader.open_files(path, names=["x", "label"])
    assert list(next(iter(named))) == ["x", "label"]
    by_content = tmp_path / "numbers.dat"
    path.rename(by_content)
    assert len(list(millhopper.Reader.open_files(by_content))) == 2
