# SPDX-License-Identifier: Apache-2.0
"""Fields of structured formats, from Python."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.iterating.fields import field_entries


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    path = tmp_path / "rides.csv"
    path.write_text("vendor id,fare,stops\n7,2.5,1 2\n8,,3\n9,4,\n")
    return path


def test_a_dict_names_the_slots(rides: Path) -> None:
    reader = millhopper.Reader.open_files(
        rides, fields={"fare": "float32[] default=-1", "vendor": '"vendor id" int64[]'}
    ).batch(3)
    (batch,) = reader
    np.testing.assert_array_equal(batch["fare"], np.array([2.5, -1, 4], np.float32))
    np.testing.assert_array_equal(batch["vendor"], [7, 8, 9])


def test_a_list_names_the_slots_by_their_fields(rides: Path) -> None:
    reader = millhopper.Reader.open_files(rides, fields=['"vendor id" int64[]', "stops int64[-1]"])
    batches = list(reader)
    assert [batch["vendor id"].tolist() for batch in batches] == [[7], [8], [9]]
    assert [np.asarray(batch["stops"].values).tolist() for batch in batches] == [[1, 2], [3], []]


def test_records_without_a_value_may_be_skipped(rides: Path) -> None:
    reader = millhopper.Reader.open_files(rides, fields={"fare": "float32[] missing=skip"})
    assert [batch["fare"].tolist() for batch in reader] == [[2.5], [4.0]]


def test_errors_name_line_and_column(rides: Path) -> None:
    reader = millhopper.Reader.open_files(rides, fields={"fare": "float32[]"})
    with pytest.raises(millhopper.Error, match=r"column #1 'fare': the cell is empty.*\n.*line 3"):
        list(reader)
    with pytest.raises(millhopper.Error, match="'int65' is no type"):
        list(millhopper.Reader.open_files(rides, fields=["fare int65[]"]))


def test_tables_of_text(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    path.write_text(
        "id,genres,seen\n1,Crime|Drama,2024-01-31 12:00:05\n2,,NULL\n3,Drama,2024-02-29\n"
    )
    with pytest.raises(millhopper.Error, match="these fit") as caught:
        list(millhopper.Reader.open_files(path))
    told = ast.literal_eval(caught.value.message.partition(": fields: ")[2])
    assert told == [
        "id int64[]",
        "genres bytes[-1] separator=|",
        "seen int64[] decode=timestamp null=NULL default=0",
    ]
    (batch,) = millhopper.Reader.open_files(path, fields=told).batch(3)
    assert batch["seen"].tolist() == [1706702405, 0, 1709164800]
    assert [row.to_numpy().tolist() for row in batch["genres"]] == [
        ["Crime", "Drama"],
        [],
        ["Drama"],
    ]
    with pytest.raises(TypeError, match="a loop over it yields a Ragged for each list of texts$"):
        batch["genres"].to_numpy()
    with pytest.raises(AttributeError, match="its values are an array, which has tolist"):
        batch["genres"].tolist()
    milliseconds = {"at": "seen int64[] decode=timestamp unit=ms null=NULL missing=skip"}
    (batch,) = millhopper.Reader.open_files(path, fields=milliseconds).batch(3)
    assert batch["at"].astype("datetime64[ms]").astype(str).tolist() == [
        "2024-01-31T12:00:05.000",
        "2024-02-29T00:00:00.000",
    ]


def test_dates_of_any_format(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("order,at\n1,11/15/2019 9:05 AM\n2,2/3/2020 12:30 PM\n")
    fields = ['at int64[] decode=timestamp format="%m/%d/%Y %I:%M %p"']
    (batch,) = millhopper.Reader.open_files(path, fields=fields).batch(2)
    assert batch["at"].astype("datetime64[s]").astype(str).tolist() == [
        "2019-11-15T09:05:00",
        "2020-02-03T12:30:00",
    ]
    fields = ["at int64[] decode=timestamp format=%Y%m%d"]
    told = (
        "column #1 'at': '11/15/2019 9:05 AM' is no timestamp of format=\"%Y%m%d\": it has another "
        "form"
    )
    with pytest.raises(millhopper.Error, match=re.escape(told)):
        list(millhopper.Reader.open_files(path, fields=fields))


def test_pasted_backslashes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "dump.tsv"
    path.write_text("1\n\\N\n3\n")
    with pytest.raises(millhopper.Error, match="these fit") as caught:
        list(millhopper.Reader.open_files(path))
    told = ast.literal_eval(caught.value.message.partition(": fields: ")[2])
    (batch,) = millhopper.Reader.open_files(path, fields=told).batch(3)
    assert told == ["#0 int64[] null=\\N default=0"] and batch["#0"].tolist() == [1, 0, 3]


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [
        ("sep", "delimiter is"),
        ("na_values", "null=NA"),
        ("parse_dates", "decode=timestamp"),
        ("date_format", 'decode=timestamp format="%d.%m.%Y"'),
    ],
)
def test_keywords_of_other_libraries_are_answered(rides: Path, keyword: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"^open_files\(\) has no keyword {keyword}; {meant}"):
        millhopper.Reader.open_files(rides, fields=["fare float32[]"], **{keyword: "x"})


def test_an_unknown_attribute_is_answered_with_those_of_the_format(rides: Path) -> None:
    with pytest.raises(
        millhopper.Error,
        match=r"no attribute 'skiprows'; .*; here they are comment, delimiter, fields, header, ",
    ):
        millhopper.Reader.open_files(rides, fields=["fare float32[]"], skiprows=1)


def test_fields_that_fit_are_told(rides: Path, tmp_path: Path) -> None:
    with pytest.raises(millhopper.Error, match="these fit .*rides.csv: fields: ") as caught:
        list(millhopper.Reader.open_files(rides))
    told = caught.value.message.partition(": fields: ")[2]
    assert told == """['"vendor id" int64[]', "fare float32[] default=0", "stops int64[-1]"]"""
    (batch,) = millhopper.Reader.open_files(rides, fields=ast.literal_eval(told)).batch(3)
    assert batch["fare"].tolist() == [2.5, 0, 4]
    np.savez(tmp_path / "two.npz", x=np.zeros((4, 3), np.float32), y=np.arange(4))
    with pytest.raises(millhopper.Error, match=r'fields: \["x float32\[3\]", "y int64\[\]"\]'):
        list(millhopper.Reader.open_files(tmp_path / "two.npz"))
    # What is wrong with the file would be wrong with any fields.
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{')
    problem = (
        r"bad.jsonl: the record is no JSON: .*\n  in line 2, which begins at byte 9"
        r"\n  while looking for fields that fit it, since none are given\n"
    )
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(tmp_path / "bad.jsonl"))


def test_what_can_be_read_once_is_not_read_for_fields(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.jsonl")  # opening it would wait for a writer
    with pytest.raises(millhopper.Error, match="needs the attribute fields"):
        list(millhopper.Reader.open_files(tmp_path / "fifo.jsonl"))


def test_entries() -> None:
    assert field_entries({"a": "int64[]", "b c": "bytes", "d": "x/y float32[2] scale=2"}) == (
        ["a int64[]", '"b c" bytes', "x/y float32[2] scale=2"],
        ["a", "b c", "d"],
    )
    assert field_entries({"a": "int64 default=1", "b": "c"})[0] == ["a int64 default=1", "c"]
    assert field_entries(['"b c" bytes', "jpg;png bytes"]) == (
        ['"b c" bytes', "jpg;png bytes"],
        ["b c", "jpg;png"],
    )
    for wrong in ("a int64[]", [7], {"a": 7}):
        with pytest.raises(TypeError):
            field_entries(wrong)  # type: ignore[arg-type]
