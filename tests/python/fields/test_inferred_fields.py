# SPDX-License-Identifier: Apache-2.0
"""Files that are opened without fields, and the fields that peek proposes for them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import millhopper
import numpy as np
import pytest

PEEK = [sys.executable, "-c", "from millhopper.command.native import peek; peek()"]

PROGRAM = """blocks {{
  idx: 0
  parent_idx: -1
  vars {{ name: "files" persistable: true type {{ type: READER }} }}
  ops {{
    type: "open_files"
    outputs {{ parameter: "Out" arguments: "files" }}
    attrs {{ name: "file_names" strings: "{path}" }}
    attrs {{ name: "fields" strings: {fields} }}
    {attributes}
  }}
}}
"""

# What is wrong with a file of $MILLHOPPER_TEST_DATA that cannot be read as a whole.
PROBLEMS = {
    "csv/duckdb/empty.csv": "is empty",
    "npy/npyz/compressed.npz": "'floats': it has 2 rows, 'ints' has 4; \"floats float64",
    "npy/npyz/pickle.npy": "object arrays are pickles, which are never loaded",
    "npy/npyz/structured.npy": "save each of its fields as an array",
    "npy/npyz/uncompressed.npz": "'floats': it has 2 rows, 'ints' has 4; \"floats float64",
    "csv/duckdb/encodings/all_latin1.csv": "is none of a text in UTF-8; encoding: ",
    "csv/duckdb/encodings/latin1.csv": "is none of a text in UTF-8; encoding: ",
    "csv/duckdb/encodings/latin1.csv.gz": "is none of a text in UTF-8; encoding: ",
    "csv/duckdb/encodings/only_latin1.csv": "is none of a text in UTF-8; encoding: ",
    "csv/duckdb/encodings/shift_jis.csv": "is none of a text in UTF-8; encoding: ",
    "parquet/bad_data/ARROW-GH-41317.parquet": "row group 0: it has 0 rows, but the footer says 3",
    "parquet/bad_data/ARROW-GH-41321.parquet": "row group 0: Invalid or corrupted bit_width",
    "parquet/bad_data/ARROW-GH-45185.parquet": "row group 0: The repetition level at the start",
    "parquet/bad_data/ARROW-GH-47662.parquet": "row group 0: Unexpected end of stream",
    "parquet/bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet": "row group 0: Invalid column metadata",
    "parquet/bad_data/ARROW-RS-GH-6229-LEVELS.parquet": "row group 0: Number of decoded rep / def",
    "parquet/bad_data/PARQUET-1481.parquet": "its footer cannot be read",
    "recordio_paddle/test_reader_recordio.dat": 'content "bytes" reads them as bytes',
    "recordio_paddle/test_recordio_creator.dat": 'content "bytes" reads them as bytes',
    "truth/image_truth.tsv": "the first row has 1 cell, and most have 11; if rows before the table",
}


# The names of files of formats that have fields, and of others.
FIELDS = r"\.(csv|tsv|jsonl?|tfrecords?|parquet|npz|tar|rec)(\.gz|\.zst)?$|data_tfrecord-"
SLOTS = r"\.(npy|recordio|dat)$|-ubyte\.gz$"


def sample_files(pattern: str = f"{FIELDS}|{SLOTS}") -> Iterator[str]:
    """The files with such names among the samples, by their paths in it."""
    folder = Path(os.environ.get("MILLHOPPER_TEST_DATA", "/nonexistent"))
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.search(pattern, path.name):
            yield path.relative_to(folder).as_posix()


def file_of(name: str, request: pytest.FixtureRequest) -> Path:
    """The path of a sample, with the plugin that reads it."""
    if name.endswith(".parquet"):
        millhopper.load_plugin(request.getfixturevalue("parquet_plugin"))
    return Path(os.environ["MILLHOPPER_TEST_DATA"]) / name


def values_of(reader: millhopper.Reader) -> list[list[object]]:
    """The bytes of all elements."""
    return [
        [part.tobytes() if isinstance(part, np.ndarray) else part.values.tobytes() for part in row]
        for row in (list(element.values()) for element in reader)
    ]


@pytest.mark.parametrize("name", sample_files())
def test_samples_are_read_without_any_option(name: str, request: pytest.FixtureRequest) -> None:
    path = file_of(name, request)
    if name in PROBLEMS:
        with pytest.raises(millhopper.Error, match=re.escape(PROBLEMS[name])):
            list(millhopper.Reader.open_files(path))
    else:
        list(millhopper.Reader.open_files(path))


@pytest.mark.parametrize("name", [name for name in sample_files(FIELDS) if name not in PROBLEMS])
def test_what_peek_prints_reads_the_same(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = file_of(name, request)
    plugin = [f"--plugin={request.getfixturevalue('parquet_plugin')}"] * name.endswith(".parquet")

    def peek(*flags: object) -> str:
        command = [*PEEK, *flags, *plugin]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    shown = peek(path, "--count=0")
    pattern = (
        r"fields that fit the first records:\n(  \[.*?\])\n(with the attributes:\n(?:  [^\n]*\n)+)?"
        r"(?:note: [^\n]*\n)*" + re.escape(str(path)) + r": [^\n]*\nreader "
    )
    printed = re.match(pattern, shown, re.DOTALL)
    assert (printed is None) == ("fields that fit" not in shown)
    reader = millhopper.Reader.open_files(path)
    if printed is None:  # records of bytes
        assert len(reader.slots()) == 1
        return
    fields = ast.literal_eval(printed[1].strip())
    pairs = re.findall(r"^  (\w+): (.*)$", printed[2] or "", re.MULTILINE)
    attributes = {name: ast.literal_eval(value) for name, value in pairs}
    again = millhopper.Reader.open_files(path, fields=fields, **attributes)
    assert again.to_text() == reader.to_text()
    assert values_of(again) == values_of(reader)
    # The same text is the value of attributes in a program.
    startup = tmp_path / "startup.pbtxt"
    given = "".join(f'attrs {{ name: "{name}" s: {value} }}' for name, value in pairs)
    startup.write_text(PROGRAM.format(path=path, fields=printed[1].strip(), attributes=given))
    assert peek("--startup", startup, "--json", "--count=20") == peek(path, "--json", "--count=20")


def test_peek_tells_the_unit_of_a_time_of_day(tmp_path: Path, parquet_plugin: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"t": pa.array([1], pa.time64("us"))}), path)
    command = [*PEEK, path, "--count=0", f"--plugin={parquet_plugin}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "note: 't' has the numbers of time64[us], as they are stored\n" in shown


def test_all_columns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rides.csv"
    path.write_text("vendor id,fare,stops,ok\n7,2.5,3,true\n8,,4,false\n")
    reader = millhopper.Reader.open_files(path)
    (batch,) = reader.batch(2)
    assert list(batch) == ["vendor id", "fare", "stops", "ok"]
    np.testing.assert_array_equal(batch["fare"], [2.5, np.nan])
    assert batch["fare"].dtype == np.float64
    assert batch["stops"].tolist() == [3, 4]
    assert batch["ok"].tolist() == [True, False]
    fields = '"vendor id" int64[], fare float64[] default=nan, stops int64[], ok bool[]'
    assert str(reader).splitlines()[-2:] == [
        "attributes of files: encoding 'utf-8', numbers 'exact'",
        f"fields of files: {fields}",
    ]
    assert 'name: "encoding"' in reader.to_text()


def test_names_alone_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "rides.csv"
    path.write_text("vendor id,I1,I2,I3,t\n7,1,2,3,x\n8,,5,6,y\n")
    open_files = millhopper.Reader.open_files
    (batch,) = open_files(path, fields=["t", "I1-I2"]).batch(2)
    assert list(batch) == ["t", "I1", "I2", "I1.valid"]
    assert [batch["I1"].tolist(), batch["I1.valid"].tolist()] == [[1, 0], [True, False]]
    fields = {"vendor": "vendor id", "I2": None, "x": "I3 float32[]", "gap": "I1"}
    reader = open_files(path, fields=fields)
    (batch,) = reader.batch(2)
    assert list(batch) == ["vendor", "I2", "x", "gap", "gap.valid"]
    assert [batch["vendor"].tolist(), batch["x"].tolist()] == [[7, 8], [3.0, 6.0]]
    # What is inferred is exact, what is declared beside it is not.
    shown = 'vendor = "vendor id" int64[], I2 int64[], x = I3 float32[] numbers=nearest'
    assert str(reader).splitlines()[-1] == (
        f"fields of files: {shown}, gap = I1 int64[] missing=mask"
    )
    (batch,) = open_files(path, fields=["t", "*"], exclude=["I1-I3"]).batch(2)
    assert list(batch) == ["t", "vendor id"]
    (batch,) = open_files(path, exclude=["I1-I3", "t"]).batch(2)
    assert list(batch) == ["vendor id"]
    with pytest.raises(millhopper.Error, match=r"rides.csv: there is no 'I4', of 'I1-I4'"):
        list(open_files(path, fields=["I1-I4"]))
    assert list(next(iter(open_files(path, exclude="t")))) == list(
        next(iter(open_files(path, exclude=["t"])))
    )
    with pytest.raises(millhopper.Error, match="exclude is for readers without fields"):
        list(open_files(path, fields=["t bytes"], exclude=["I1"]))


def test_a_header_is_said_as_pandas_says_it(tmp_path: Path) -> None:
    open_files = millhopper.Reader.open_files
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    path = str(tmp_path / "a.csv")
    assert list(next(iter(open_files(path, header=True)))) == ["x", "y"]
    (batch,) = open_files(path, header=False).batch(5)
    assert [column.tolist() for column in batch.values()] == [["x", "1"], ["y", "2"]]
    for header in (None, 0, 1):
        with pytest.raises(TypeError, match=f'header is {header}; header="no": there is none'):
            open_files(path, header=header)
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (batch,) = open_files(str(tmp_path / "a.txt"), names="line").batch(5)
    assert batch["line"].to_bytes() == [b"one", b"two"]


def test_names_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (batch,) = millhopper.Reader.open_files(tmp_path / "a.csv", names=["x", "y"]).batch(1)
    assert [batch["x"].tolist(), batch["y"].tolist()] == [[1], [2]]
    (tmp_path / "b.csv").write_text("1,2\n,3\n")
    (batch,) = millhopper.Reader.open_files(tmp_path / "b.csv", names=["x", "y"]).batch(2)
    assert list(batch) == ["x", "y", "x.valid"]


def test_attributes_count_for_what_is_inferred(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n1;0.5\n")
    (batch,) = millhopper.Reader.open_files(tmp_path / "a.csv", delimiter=";").batch(1)
    assert [batch["x"].tolist(), batch["y"].tolist()] == [[1], [0.5]]


def test_a_state_tells_that_other_fields_are_inferred_now(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4\n")
    reader = millhopper.Reader.open_files(path)
    next(iter(reader))
    state = reader.get_state()
    again = millhopper.Reader.open_files(path)
    again.set_state(state)
    assert [element["x"].tolist() for element in again] == [[3]]
    path.write_text("x,y\n1,2\n3,q\n")
    other = millhopper.Reader.open_files(path)
    other.set_state(state)
    changed = r'format.fields was \["x .*", "y int64\[\]"\], now it is \[.*, "y str"\]'
    with pytest.raises(millhopper.Error, match=changed):
        list(other)


def test_what_cannot_be_read_is_named_with_fields_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "a\u2028b": 2}\n', encoding="utf-8")
    problem = "a.jsonl: not all that is in it can be read: 'a.*b': its name cannot be written"
    with pytest.raises(millhopper.Error, match=problem) as caught:
        list(millhopper.Reader.open_files(path))
    rest = re.search(r"the rest is read with fields: (\[.*\])", caught.value.message)
    assert rest is not None
    (batch,) = millhopper.Reader.open_files(path, fields=ast.literal_eval(rest[1])).batch(1)
    assert batch["id"].tolist() == [1]


def test_examples_are_bytes_where_that_is_declared() -> None:
    data = os.environ.get("MILLHOPPER_TEST_DATA")
    if data is None:
        pytest.skip("MILLHOPPER_TEST_DATA names no folder of sample files")
    path = f"{data}/tfrecord/pytorch_data/example.tfrecord"
    (batch,) = millhopper.Reader.open_files(path).batch(4)
    assert batch["x_int"][0].tolist() == list(range(0, 100, 10))
    (batch,) = millhopper.Reader.open_files(path, slots={"record": ("uint8", [-1], 1)}).batch(4)
    assert len(batch["record"]) == 4


def test_nulls_of_later_row_groups_are_seen(tmp_path: Path, parquet_plugin: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    millhopper.load_plugin(parquet_plugin)
    table = pyarrow.table({"f": [1.5] * 5000 + [None], "i": [1] * 5000 + [None], "n": range(5001)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    *_, batch = millhopper.Reader.open_files(tmp_path / "a.parquet").batch(1000)
    assert batch["n"].tolist() == [5000]
    assert np.isnan(batch["f"]).tolist() == [True]
    assert [batch["i"].tolist(), batch["i.valid"].tolist()] == [[0], [False]]


def test_columns_without_names_are_chosen_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,same,same\nx,a,b\ny,c,d\n")
    for options in ({"fields": ["#1"]}, {"exclude": ["id", "#2"]}):
        (batch,) = millhopper.Reader.open_files(path, **options).batch(9)
        assert batch["#1"].to_bytes() == [b"a", b"c"]


@pytest.mark.parametrize("character", "\x01\t\n\x1b\x7f")
def test_keys_with_control_characters_are_slots(tmp_path: Path, character: str) -> None:
    key = f"a{character}b"
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": 1, key: 2}) + "\n")
    (batch,) = millhopper.Reader.open_files(path).batch(1)
    assert [batch["id"].tolist(), batch[key].tolist()] == [[1], [2]]
    (batch,) = millhopper.Reader.open_files(path, fields=[f'"{key}"']).batch(1)
    assert batch[key].tolist() == [2]


def test_a_name_that_no_file_can_have_is_an_error_of_millhopper() -> None:
    with pytest.raises(millhopper.Error):
        list(millhopper.Reader.open_files("a\0b.csv"))
