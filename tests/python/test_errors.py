# SPDX-License-Identifier: Apache-2.0
"""Errors of the core as exceptions: what their attributes say."""

import os
import pickle
from pathlib import Path

import pytest
from millhopper import Error, Reader

SLOTS = {"x": ("float32", [1])}


def error_of(path: str) -> Error:
    with pytest.raises(Error) as failed:
        list(Reader.open_files(path, slots=SLOTS, name="junk").batch(2))
    return failed.value


def test_an_error_of_data_says_file_offset_and_operator(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    path.write_bytes(b"junk" * 100)
    error = error_of(str(path))
    assert (error.code, error.file, error.offset) == ("data loss", str(path), 0)
    assert error.operator == "open_files"
    assert any("record 0 of reader 'junk'" in step for step in error.context)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.operator == error.operator


def test_an_error_names_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Error) as failed:
        list(Reader.open_files([f"text:{tmp_path}/no1", f"text:{tmp_path}/no2"]).batch(2))
    assert (failed.value.code, failed.value.file) == ("input/output error", f"{tmp_path}/no1")
    assert f"{tmp_path}/no2: No such file" in str(failed.value)


def test_the_name_of_a_file_may_be_any_bytes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.recordio")).write_bytes(b"junk" * 100)
    error = error_of(f"recordio:{tmp_path}/*.recordio")
    assert os.fsencode(error.file) == bytes(tmp_path) + b"/a\xff.recordio"
    assert "a\\xff.recordio" in str(error)
