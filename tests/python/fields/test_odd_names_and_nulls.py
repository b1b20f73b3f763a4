# SPDX-License-Identifier: Apache-2.0
"""What is not there: columns that no file has, and values that are null in all records.

What other readers make of the same is written here as they gave it (polars 1.31, pandas 2.3).
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Reader
from millhopper.base.zipped import zip_strict


def rows(reader: Reader) -> list[dict[str, Any]]:
    return [{name: value.tolist()[0] for name, value in element.items()} for element in reader]


@pytest.mark.parametrize("option", ["default=0", "missing=mask", "missing=default", "missing=skip"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_column_that_no_file_has_is_an_error(option: str, lanes: int, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("p0,p1,label\n1,2,0\n")
    fields = {"x": f"pp1 float32[] {option}", "label": "label int64[]"}
    reader = Reader.open_files(f"{tmp_path}/*.csv", fields=fields, lanes=lanes)
    with pytest.raises(
        millhopper.Error,
        match=r"no column is named 'pp1'; the header has p0, p1, label; did you mean 'p1'\?",
    ):
        list(reader)
    (tmp_path / "d.csv").write_text("p0,p1,pp1,label\n1,2,3,0\n")
    reader = Reader.open_files(f"{tmp_path}/*.csv", fields=fields, lanes=lanes)
    found = sorted(row["x"] for row in rows(reader))
    assert found == ([3] if option == "missing=skip" else [0, 0, 0, 3])


def test_npz_and_mds_name_what_no_file_has(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.arange(3))
    with pytest.raises(millhopper.Error, match=r"no member is named 'yy'.*none has this one"):
        list(Reader.open_files(tmp_path / "a.npz", fields=["x", "yy int64[] default=0"]))
    (tmp_path / "mds").mkdir()
    Reader.from_arrays({"x": np.arange(3)}).write(f"{tmp_path}/mds/shard.{{shard:05}}.mds")
    with pytest.raises(millhopper.Error, match=r"no column is named 'xx'.*none has this one"):
        list(Reader.open_files(tmp_path / "mds/index.json", fields=["xx int64[] default=0"]))


def test_a_range_in_one_field_is_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("p0,p1,p2,label\n1,2,3,0\n4,,6,1\n")
    (batch,) = Reader.open_files(path, fields={"x": "p0-p2 float32[3] default=nan"}).batch(2)
    np.testing.assert_array_equal(batch["x"], np.array([[1, 2, 3], [4, np.nan, 6]], np.float32))
    (batch,) = Reader.open_files(path, fields=["p0-p2 int64[3] default=0", "*"]).batch(2)
    assert list(batch) == ["p0-p2", "label"]
    with pytest.raises(millhopper.Error, match=r"with a type they are its values.*float32\[3\]"):
        list(Reader.open_files(path, fields={"x": "p0-p2"}))


def test_files_with_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    draw = random.Random(1)
    names = ["id", "city", "km", "x"]
    for number in range(20):
        order = draw.sample(names, len(names))
        cells = {"id": number, "city": f"c{number}", "km": number / 2, "x": -number}
        text = ",".join(order) + "\n" + ",".join(str(cells[name]) for name in order) + "\n"
        (tmp_path / f"{number:02}.csv").write_text(text)
    for fields in (None, ["city str", "id int64[]", "x int64[]", "km float64[]"]):
        found = rows(Reader.open_files(f"{tmp_path}/*.csv", fields=fields))
        found.sort(key=lambda row: row["id"])
        for number, row in enumerate(found):
            city = row["city"]
            assert (row["id"], row["km"], row["x"]) == (number, number / 2, -number)
            assert (city if isinstance(city, str) else city.decode()) == f"c{number}"


RECORDS: list[list[dict[str, Any]]] = [
    [{"id": 1, "f": None}, {"id": 2, "f": None}, {"id": 3}],
    [{"id": 1, "f": {"g": None}}, {"id": 2, "f": {"g": None}}],
    [{"id": 1, "f": None, "s": "a"}, {"id": 2, "s": None}, {"id": 3, "f": None, "s": "null"}],
]


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("infer", ["sample", "all"])
def test_null_in_all_records_is_no_value(
    records: list[dict[str, Any]], infer: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = list(Reader.open_files(path, infer=infer))
    for record, element in zip_strict(records, found):
        name = "/f/g" if isinstance(record.get("f"), dict) else "f"
        assert not element[f"{name}.valid"][0]
        assert element[name].to_bytes() == [b""]
        if "s" in record:
            assert bool(element["s.valid"][0]) == (record["s"] is not None)


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl"])
def test_no_number_is_written_as_a_null(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{end}"
    values = np.array([1.5, np.nan, -0.0, np.nan], np.float32)
    pairs = np.array([[1, np.nan], [np.nan, 2], [3, 4], [np.nan, np.nan]], np.float64)
    source = Reader.from_arrays({"n": np.arange(4), "x": values, "pair": pairs})
    written = source.write(path)
    text = path.read_text()
    assert "nan" not in text.lower()
    if end == "jsonl":
        assert [
            json.loads(line, parse_constant=pytest.fail)["x"] for line in text.splitlines()
        ] == [
            1.5,
            None,
            -0.0,
            None,
        ]
    read = Reader.open_files(written.files, **written.attributes)
    (batch,) = read.batch(4)
    np.testing.assert_array_equal(batch["x"], values)
    np.testing.assert_array_equal(batch["pair"], pairs)
    (batch,) = Reader.open_files(path).batch(4)
    np.testing.assert_array_equal(batch["x"], values)
    assert math.copysign(1, batch["x"][2]) == -1


def test_infinity_is_written_where_the_format_has_it(tmp_path: Path) -> None:
    source = Reader.from_arrays({"x": np.array([np.inf, -np.inf])})
    source.write(tmp_path / "a.csv")
    assert [row["x"] for row in rows(Reader.open_files(tmp_path / "a.csv"))] == [np.inf, -np.inf]
    with pytest.raises(
        millhopper.Error, match="slot 'x': it is infinite, for which jsonl has no number"
    ):
        source.write(tmp_path / "a.jsonl")
