# SPDX-License-Identifier: Apache-2.0
"""Fields of structured formats, from Python."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from millhopper.readers.fields import field_entries


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
    fields = ["genres bytes[-1] separator=|"]
    fields += ["seen int64[] decode=timestamp null=NULL default=-9223372036854775808"]
    (batch,) = millhopper.Reader.open_files(path, fields=fields).batch(3)
    assert batch["seen"].astype("datetime64[s]").astype(str).tolist() == [
        "2024-01-31T12:00:05",
        "NaT",
        "2024-02-29T00:00:00",
    ]
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
        match=r"no attribute 'skipfooter'; .*; here they are comment, .*fields, header, ",
    ):
        millhopper.Reader.open_files(rides, fields=["fare float32[]"], skipfooter=1)


def test_fields_that_fit_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", x=np.zeros((4, 3), np.float32), y=np.arange(4), z=np.arange(3))
    problem = r"'z': it has 3 rows, 'x' has 4.*fields: \[\"x float32\[3\]\", \"y int64\[\]\"\]"
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(tmp_path / "two.npz"))
    # What is wrong with the file would be wrong with any fields.
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{')
    problem = (
        r"bad.jsonl: the record is no JSON: .*\n  in line 2, which begins at byte 9"
        r"\n  while looking for fields that fit it, since none are given\n"
    )
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(tmp_path / "bad.jsonl"))


# ---- JSON, against Python's json. ----


class JsonWriter:
    """Writes random objects, so that the keys of ``JSON_FIELDS`` have values of their types."""

    TEXTS = (
        "",
        "a",
        "\u00e9\u4e2d",
        "\U0001f600",
        'q"\\/',
        "\b\f\n\r\t\x00\x1f",
        "\u2028 z",
        "[{]}",
    )

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def blank(self) -> str:
        return self.dice.choice(["", "", "", " ", "\t", "  \t "])

    def text(self, text: str) -> str:
        """The text with escapes wherever JSON allows some."""
        written = ""
        for char in text:
            short = json.dumps(char)[1:-1]
            units = char.encode("utf-16-be")
            long = "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
            plain = char if char >= " " and char not in '"\\' else short
            written += self.dice.choice([plain, plain, short, long, "\\/" if char == "/" else long])
        return f'"{written}"'

    def number(self) -> str:
        dice = self.dice
        return dice.choice(
            [
                str(dice.randint(-(2**63), 2**64)),
                str(dice.randint(-9, 9)),
                "".join(dice.choices("123456789", k=dice.randint(1, 30))),
                repr(dice.uniform(-1e9, 1e9)),
                f"{dice.randint(0, 10**25)}.{dice.randint(0, 10**25)}e{dice.randint(-340, 250)}",
                f"-0.{dice.randint(0, 999)}E+{dice.randint(0, 30)}",
                dice.choice(["NaN", "Infinity", "-Infinity", "-0", "0.0", "1e-400"]),
            ]
        )

    def listed(self, brackets: str, items: list[str]) -> str:
        body = ",".join(f"{self.blank()}{item}{self.blank()}" for item in items)
        return f"{brackets[0]}{body or self.blank()}{brackets[1]}"

    def members(self, members: list[tuple[str, str]]) -> str:
        return self.listed(
            "{}", [f"{self.text(k)}{self.blank()}:{self.blank()}{v}" for k, v in members]
        )

    def junk(self, depth: int = 0) -> str:
        """Any value, of those that Python reads."""
        kind = self.dice.randint(0, 5 if depth > 4 else 8)
        if kind == 0:
            return self.dice.choice(["true", "false", "null"])
        if kind < 3:
            return self.dice.choice([self.number(), "1" * 400, "1e9999"])
        if kind < 6:
            half = self.dice.choice(["\\ud83d", "\\udc00", "\\uD800x", ""])
            return self.text(self.dice.choice(self.TEXTS))[:-1] + half + '"'
        items = [self.junk(depth + 1) for _ in range(self.dice.randint(0, 4))]
        if kind == 6:
            return self.listed("[]", items)
        return self.members(
            [(self.dice.choice(["x", "in", "", "int", "k\u00e9"]), i) for i in items]
        )

    def value(self, key: str) -> str:
        dice = self.dice
        if key in ("int", "id"):
            return str(dice.randint(-(2**63), 2**63 - 1))
        if key == "float":
            return self.number()
        if key == "k\u00e9/~":
            return self.text("".join(dice.choices(self.TEXTS, k=dice.randint(0, 5))))
        if key == "ints":
            return self.listed(
                "[]", [str(dice.randint(-99, 99)) for _ in range(dice.randint(0, 9))]
            )
        if key == "texts":
            return self.listed(
                "[]", [self.text(t) for t in dice.choices(self.TEXTS, k=dice.randint(0, 5))]
            )
        if key == "pair":
            return self.listed("[]", [self.number(), self.number()])
        return self.object(["id", "in"] if key == "in" and dice.random() < 0.3 else ["id"])

    def object(self, keys: list[str]) -> str:
        """An object in which a key may stand several times or not at all; the last has its type."""
        members = []
        for key in keys:
            if self.dice.random() < 0.1:
                continue
            last = "null" if self.dice.random() < 0.1 else self.value(key)
            others = [(key, self.junk()) for _ in range(self.dice.choice([0, 0, 0, 1, 2]))]
            members.append([*others, (key, last)])
        members += [[(f"other{i}", self.junk())] for i in range(self.dice.randint(0, 4))]
        turns = [i for i, of_key in enumerate(members) for _ in of_key]
        self.dice.shuffle(turns)
        return self.members([members[turn].pop(0) for turn in turns])


# Each field, and what it is of an object of Python's.
JSON_FIELDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "int int64[] default=-1": lambda o: -1 if o.get("int") is None else o["int"],
    "float float64[] default=-1": lambda o: -1.0 if o.get("float") is None else float(o["float"]),
    "k\u00e9/~ bytes missing=default": lambda o: (o.get("k\u00e9/~") or "").encode(),
    "ints int64[-1] missing=default": lambda o: o.get("ints") or [],
    "texts bytes[-1] missing=default": lambda o: [t.encode() for t in o.get("texts") or []],
    "pair float64[2] default=-1": lambda o: [float(n) for n in o.get("pair") or [-1, -1]],
    "/in/id int64[] default=-1": lambda o: within(o, "in", "id"),
    "/in/in/id int64[] default=-1": lambda o: within(o, "in", "in", "id"),
    "/ints/1 int64[] default=-1": lambda o: [*(o.get("ints") or [])[:2], -1, -1][1],
}


def within(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return -1 if value is None else value


@pytest.mark.parametrize("seed", range(8))
def test_json_is_read_as_python_reads_it(tmp_path: Path, seed: int) -> None:
    writer = JsonWriter(seed)
    keys = ["int", "float", "k\u00e9/~", "ints", "texts", "pair", "in"]
    lines = [writer.object(keys) for _ in range(400)]
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode())
    fields = writer.dice.sample(list(JSON_FIELDS), k=writer.dice.randint(1, len(JSON_FIELDS)))
    reader = millhopper.Reader.open_files(path, fields={f"s{i}": f for i, f in enumerate(fields)})
    batches = list(reader)
    assert len(batches) == len(lines)
    for line, batch in zip_strict(lines, batches):
        truth = json.loads(line)
        for i, field in enumerate(fields):
            found, expected = batch[f"s{i}"], JSON_FIELDS[field](truth)
            if isinstance(expected, bytes):
                assert found.to_bytes() == [expected], line
            elif isinstance(expected, list) and "bytes" in field:
                assert [text.to_bytes() for text in found] == [expected], line
            else:
                value = found if isinstance(found, np.ndarray) else found.values
                np.testing.assert_array_equal(np.asarray(value).ravel(), expected, line)


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
    assert field_entries({"a": "int64[] missing=mask", "b c": None, "d": "x missing"}) == (
        ["a int64[] missing=mask", '"b c"', "x missing"],
        ["a", "b c", "d", "a.valid"],
    )
    assert field_entries(['"b c" bytes', "jpg;png bytes"]) == (
        ['"b c" bytes', "jpg;png bytes"],
        ["b c", "jpg;png"],
    )
    for wrong in ("a int64[]", [7], {"a": 7}):
        with pytest.raises(TypeError):
            field_entries(wrong)  # type: ignore[arg-type]
