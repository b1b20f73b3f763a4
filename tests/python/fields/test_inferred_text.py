# SPDX-License-Identifier: Apache-2.0
"""Random tables and records, opened without any option, against Python's csv and json."""

from __future__ import annotations

import csv
import json
import math
import random
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
UNITS = {"d": timedelta(1), "us": timedelta(microseconds=1)}

NULL_WORDS = ["", "NULL", "null", "NA", "N/A", "<NA>", "\\N", "None", "NaN", "nan", "?"]
TRUE_WORDS = ["true", "True", "TRUE", "yes", "Yes", "YES", "t", "T", "y", "Y"]
FALSE_WORDS = ["false", "False", "FALSE", "no", "No", "NO", "f", "F", "n", "N"]
TEXTS = ["a", "Zürich", "x y", "it's", 'say "hi"', "a,b", "c;d", "e|f", "g\th", "line\nend", "日本"]
TEXTS += ["😀", " padded ", "#5", "1,000", "1_000", "0x1f", "12:30", "-", ".", "e5", "\\", "'", '"']
TEXTS += ["007", "-05", "+5", " 5 ", "1e400", "1e5", "inf", "-Infinity", "9" * 19, "9" * 30, "True"]
TEXTS += ["0.1234567890123456789", "2024-01-31", "31.01.2024", "01/02/2024", "5 Jan 2024", "\r", ""]


def columns_of(path: Path) -> dict[str, list[Any]]:
    """The slots of all records: texts as bytes, lists as lists."""
    (batch,) = millhopper.Reader.open_files(path).batch(10**6)
    return {name: plain(values) for name, values in batch.items()}


def plain(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return values.tolist()
    if len(values.offsets) > 1:
        return [plain(inner) for inner in values]
    return values.to_bytes() if values.values.dtype == np.uint8 else [x.tolist() for x in values]


# --- Tables ---


def cell_maker(draw: random.Random) -> Any:
    """A function that makes the cells of a column."""

    def number() -> str:
        return repr(draw.choice([0, -7, 3.5, 1e300, 2**63, -(2**63), 0.1, 123456789012345678901]))

    kinds = [
        lambda: str(draw.randrange(-(10 ** draw.randrange(1, 22)), 10 ** draw.randrange(1, 22))),
        lambda: repr(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-20, 20)),
        number,
        lambda: draw.choice(TEXTS),
        lambda: draw.choice(["true", "false", "TRUE"]),
        lambda: draw.choice(["yes", "no"]),
        lambda: draw.choice(["t", "f", "T"]),
        lambda: f"2024-0{draw.randrange(1, 10)}-1{draw.randrange(10)} 12:00:0{draw.randrange(10)}",
        lambda: f"{draw.randrange(1, 29)}.0{draw.randrange(1, 10)}.2024",
        lambda: f"0{draw.randrange(1, 10)}/{draw.randrange(10, 32)}/2024",
        lambda: draw.choice(TRUE_WORDS + FALSE_WORDS),
    ]
    usual, other = draw.choice(kinds), draw.choice(kinds)
    nulls = draw.sample(NULL_WORDS, 2)
    odd, null = draw.choice([0, 0, 0.02, 0.3]), draw.choice([0, 0, 0.3])

    def make() -> str:
        if draw.random() < null:
            return draw.choice(nulls)
        return other() if draw.random() < odd else usual()

    return make


def same_cell(text: str, value: Any, entry: str) -> bool:
    """Whether a value of a field is what stands in a cell."""
    (kind,) = re.findall(r" (str|bool|u?int64|float64)(?:\[(?:-1)?\])?(?= |$)", entry)
    if kind == "str":
        return value == text.encode()
    if kind == "bool":
        return text in (TRUE_WORDS if value else FALSE_WORDS)
    if "decode=timestamp" in entry:
        if text in NULL_WORDS:
            return value == -(2**63)
        for form in (
            "%Y-%m-%d %H:%M:%S",
            "%Y-%m-%d",
            "%d.%m.%Y",
            "%m/%d/%Y",
            "%d/%m/%Y",
            "%d %b %Y",
        ):
            try:
                moment = datetime.strptime(text, form).replace(tzinfo=timezone.utc)
            except ValueError:
                continue
            if (moment - EPOCH) // UNITS[re.findall(r"unit=(\w+)", entry)[0]] == value:
                return True
        return False
    if kind == "float64":
        if math.isnan(value):
            return text in NULL_WORDS or text.strip().lower() == "nan"
        return float(text) == value
    return int(text) == value


@pytest.mark.parametrize("seed", range(300))
def test_random_tables_are_read_as_csv_reads_them(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    path = tmp_path / draw.choice(["a.csv", "a.csv", "a.tsv"])
    delimiter = "\t" if path.suffix == ".tsv" else draw.choice([",", ",", ";", "\t", "|"])
    columns = draw.randrange(1, 6)
    names = [
        draw.choice(["id", "the name", "größe", "x.1", "a,b"]) + str(i) for i in range(columns)
    ]
    makers = [cell_maker(draw) for _ in range(columns)]
    rows = [[make() for make in makers] for _ in range(draw.randrange(1, 60))]
    end = draw.choice(["\n", "\r\n", "\r"])
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    with path.open("w", newline="", encoding=draw.choice(["utf-8", "utf-8-sig", "utf-16"])) as file:
        encoding = file.encoding
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
        writer.writerows([names, *rows])
    with path.open(newline="", encoding=encoding) as file:
        header, *expected = [row for row in csv.reader(file, delimiter=delimiter) if row]
    try:
        found = columns_of(path)
    except millhopper.Error as error:
        assert "title" not in str(error)
        return
    entries = millhopper._core.inferred_fields([str(path)], {})
    slots = [name for name in found if not name.endswith(".valid")]
    assert len(entries) == len(slots) == len(header), (entries, header)
    for column, (slot, entry) in enumerate(zip(slots, entries)):
        if not slot.startswith("#"):
            assert slot == header[column]
        valid = found.get(slot + ".valid", [True] * len(expected))
        assert len(found[slot]) == len(expected), entry
        for row, value, there in zip(expected, found[slot], valid):
            text = row[column]
            if there:
                assert same_cell(text, value, entry), (text, value, entry)
            else:
                assert text in NULL_WORDS, (text, entry)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('a\n日本\n"x\ny"\n"c\rd\r\ne"\n', [["日本", "x\ny", "c\rd\r\ne"]]),
        ('a\tb\n1\t"x\ny"\n2\tz\n', [[1, 2], ["x\ny", "z"]]),
        # Text of words one by one, as it is: all lines have two cells.
        ('a\tb\n"\tP\nHi\tI\n"\tP\n', [['"', "Hi", '"'], ["P", "I", "P"]]),
        ('a\tb\n"Hi\tP\ny\tI\nz"\tP\n', [['"Hi', "y", 'z"'], ["P", "I", "P"]]),
    ],
)
def test_quotes_of_tsv_go_on_across_lines(
    tmp_path: Path, text: str, wanted: list[list[Any]]
) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(text.encode())
    found = columns_of(path).values()
    assert [
        [value.decode() if isinstance(value, bytes) else value for value in values]
        for values in found
    ] == wanted


# --- Records ---


def value_maker(draw: random.Random, depth: int = 0) -> Any:
    """A function that makes the values of a key, most of which are alike."""
    numbers = [0, -1, 2**53 + 1, 2**63, 2**64, -(2**63), 10**25, 7]
    inner = [value_maker(draw, depth + 1) for _ in range(2)] if depth < 2 else [lambda: 1]
    keys = draw.sample(["id", "a b", "x/y", "~", "größe", "/", "é", "", "k.l", "[0]"], 2)
    lists = draw.randrange(4)
    kinds = [
        lambda: draw.choice(numbers),
        lambda: draw.randrange(100),
        lambda: draw.choice([0.5, -1e-7, 1e300, 0.1 + 0.2, math.inf]),
        lambda: draw.choice(TEXTS),
        lambda: draw.choice([True, False]),
        lambda: None,
        lambda: [draw.randrange(9) for _ in range(draw.choice([lists, draw.randrange(4)]))],
        lambda: [draw.choice([1, 2.5, None]) for _ in range(lists)],
        lambda: [draw.choice(TEXTS) for _ in range(draw.randrange(3))],
        lambda: [inner[0]() for _ in range(draw.randrange(3))],
        lambda: {key: make() for key, make in zip(keys, inner)},
        lambda: {key: make() for key, make in zip(keys, inner) if draw.random() < 0.7},
        lambda: {},
        lambda: [],
        lambda: f"2024-0{draw.randrange(1, 10)}-1{draw.randrange(10)}",
    ]
    usual, other = draw.choice(kinds), draw.choice(kinds)
    odd, null = draw.choice([0, 0, 0, 0.3]), draw.choice([0, 0, 0.3])

    def make() -> Any:
        if draw.random() < null:
            return None
        return other() if draw.random() < odd else usual()

    return make


ABSENT = object()


def at_pointer(record: Any, name: str) -> Any:
    keys = name[1:].split("/") if name.startswith("/") else [name]
    if name.startswith("/"):
        keys = [key.replace("~1", "/").replace("~0", "~") for key in keys]
    for key in keys:
        if not isinstance(record, dict) or key not in record:
            return ABSENT
        record = record[key]
    return record


def leaves_of(value: Any, pointer: str = "") -> list[str]:
    """Pointers to all that is in an object, but to objects with something in them."""
    if not isinstance(value, dict) or not value:
        return [pointer] if pointer else []
    found = []
    for key, inner in value.items():
        found += leaves_of(inner, pointer + "/" + key.replace("~", "~0").replace("/", "~1"))
    return found


def same_value(expected: Any, value: Any, entry: str) -> bool:
    if "decode=json" in entry:
        read = json.loads(value)
        return type(read) is type(expected) and repr(read) == repr(expected)
    if expected is None or expected is ABSENT:
        return "float" in entry and math.isnan(value) or value == -(2**63)
    if isinstance(expected, list):
        value = value if isinstance(value, list) else [value]
        return len(value) == len(expected) and all(
            same_value(x, y, entry) for x, y in zip(expected, value)
        )
    if isinstance(expected, str):
        if "decode=timestamp" in entry:
            return same_cell(expected, value, entry)
        return value == expected.encode()
    return isinstance(expected, bool) == isinstance(value, bool) and value == expected


@pytest.mark.parametrize("seed", range(300))
def test_random_records_are_read_as_json_reads_them(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    makers = {key: value_maker(draw) for key in draw.sample(["a", "b c", "/d", "e~", "ß", "f"], 3)}
    present = draw.choice([1, 1, 0.7])
    records = [
        {key: make() for key, make in makers.items() if draw.random() < present}
        for _ in range(draw.randrange(1, 40))
    ]
    ascii = draw.choice([True, False])
    form = draw.choice(["a.jsonl", "list.json", "lines.json", "values.json"])
    if form == "list.json":
        text = json.dumps(records, indent=draw.choice([None, 2]), ensure_ascii=ascii)
    else:
        indent = 1 if form == "values.json" else None
        texts = [json.dumps(record, indent=indent, ensure_ascii=ascii) for record in records]
        text = "\n".join(texts) + "\n"
    path = tmp_path / form
    path.write_text(text, encoding=draw.choice(["utf-8", "utf-8-sig"]), newline="")
    try:
        found = columns_of(path)
    except millhopper.Error as error:
        assert any(
            word in str(error) for word in ("cannot be written", "needs the attribute")
        ), error
        return
    entries = millhopper._core.inferred_fields([str(path)], {})
    slots = [name for name in found if not name.endswith(".valid")]
    assert len(slots) == len(entries)
    escape = lambda name: "/" + name.replace("~", "~0").replace("/", "~1")  # noqa: E731
    pointers = [slot if slot.startswith("/") else escape(slot) for slot in slots]
    for number, record in enumerate(records):
        for leaf in leaves_of(record):
            named = any(leaf == at or leaf.startswith(at + "/") for at in pointers)
            # null or {} in the place of an object has no value for what is in it.
            is_object = any(at.startswith(leaf + "/") for at in pointers)
            assert named or (is_object and not at_pointer(record, leaf)), (leaf, entries)
        for slot, entry in zip(slots, entries):
            expected, value = at_pointer(record, slot), found[slot][number]
            there = found.get(slot + ".valid", [True] * len(records))[number]
            if not there:
                assert expected is ABSENT or expected is None, (slot, entry)
            else:
                assert same_value(expected, value, entry), (expected, value, entry)
