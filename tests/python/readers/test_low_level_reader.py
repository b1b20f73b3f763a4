# SPDX-License-Identifier: Apache-2.0
"""The usage of the design doc of a low-level data reader: its class in C++ and its line of Python.

Nothing is changed in either: the class has neither ``override`` nor a semicolon after it, and the
library is named by a relative path.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import api, layers

CLASS = """
    #include "datafeeder.h"

    class MyFeeder : public DataFeeder {
        Tensor* parse(const std::string& line) {
            IMPLEMENTATION
        }
    }
"""
IMPLEMENTATION = """
            size_t end = 0;
            const float x = std::stof(line, &end);
            if (end != line.size()) return nullptr;
            return new Tensor({1, 1}, std::vector<float>{x});
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with myparser.so, built by one call of the compiler."""
    folder = tmp_path_factory.mktemp("parser")
    (folder / "my_feeder.cc").write_text(
        CLASS.replace("IMPLEMENTATION", IMPLEMENTATION)
        + "MILLHOPPER_DATA_FEEDER(MyFeeder, MILLHOPPER_FP32, {1, 1});\n"
    )
    subprocess.run(
        ["g++", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        + [f"-I{api.include_folder()}", "my_feeder.cc", "-o", "myparser.so"],
        cwd=folder,
        check=True,
        timeout=50,
    )
    (folder / "lines.txt").write_text("0.5\n1\n1.5\n2\n2.5\n")
    return folder


@pytest.fixture
def reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> api.LowLevelReader:
    monkeypatch.chdir(folder)
    reader = api.low_level_reader(parser="myparser.so", buffer_size=8192, buffer_type="mmap")
    return reader


def test_the_usage_of_the_design_doc(reader: api.LowLevelReader, folder: Path) -> None:
    assert reader.parser == str(folder / "myparser.so")
    parsed = reader.open("lines.txt", names=["x"]).batch(2).double_buffer()
    for _ in range(2):
        batches = [batch["x"] for batch in parsed]
        assert [batch.shape for batch in batches] == [(2, 1), (2, 1), (1, 1)]
        assert np.concatenate(batches).ravel().tolist() == [0.5, 1, 1.5, 2, 2.5]


@pytest.mark.usefixtures("fresh_programs")
def test_a_trainer_takes_it(reader: api.LowLevelReader) -> None:
    x = layers.data("x", [1])
    mean = layers.mean(x)
    means = []
    millhopper.train(
        reader.open("lines.txt").batch(2),
        {"x": 0},
        pass_num=2,
        event_handler=lambda number, batch, values: means.append(
            (number, batch, np.asarray(values[0]).item())
        ),
        fetch_list=[mean],
    )
    one_pass = [(0, 0.75), (1, 1.75), (2, 2.5)]
    assert means == [(number, *batch) for number in range(2) for batch in one_pass]
    with pytest.raises(ValueError, match="'x' is item 1, counted from 0, but the reader has 1"):
        millhopper.train(reader.open("lines.txt").batch(2), {"x": 1})


@pytest.mark.parametrize(
    ("line", "words"),
    [("1 2", "parse has returned null"), ("one", "refuses the record: stof")],
)
def test_a_line_that_is_refused_is_an_error(
    reader: api.LowLevelReader, tmp_path: Path, line: str, words: str
) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"1\n{line}\n")
    with pytest.raises(millhopper.Error, match=words) as caught:
        for _ in reader.open(path).batch(2):
            pass
    assert caught.value.code == "data loss"
    assert caught.value.file == str(path)
    assert f"while parsing it with {reader.parser}" in str(caught.value)


def test_a_library_that_is_no_parser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(millhopper.Error, match="cannot open"):
        api.low_level_reader(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(millhopper.Error, match="no plugin of Millhopper"):
        api.low_level_reader(tmp_path / "text.so")
