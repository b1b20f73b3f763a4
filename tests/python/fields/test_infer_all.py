# SPDX-License-Identifier: Apache-2.0
"""``infer="all"``: a first pass over all records tells the types."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from field_tables import tar_bytes, tfrecord_bytes
from millhopper import Reader

MANY = 200_000  # rows of a table, of which no sample of it has the one in the 3rd tenth


def table(path: Path, odd: str, usual: str = "1") -> Path:
    rest = "x" * 30 + "\n"
    rows = [f"{usual},{rest}"] * MANY
    rows[MANY * 3 // 10] = f"{odd},{rest}"
    path.write_text("n,t\n" + "".join(rows))
    return path


def entries(reader: Any) -> str:
    return str(reader).split("fields of files: ")[1].splitlines()[0]


def test_a_sample_misses_what_all_rows_tell(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "1.5")
    sampled = Reader.open_files(path)
    assert entries(sampled) == "n int64[], t str"
    with pytest.raises(millhopper.Error, match='without types, infer "all" finds those that read'):
        list(sampled.batch(10_000))
    reader = Reader.open_files(path, infer="all")
    assert entries(reader) == "n float64[], t str"
    assert sum(batch["n"].sum() for batch in reader.batch(10_000)) == MANY + 0.5
    assert "infer" not in reader.to_text()


@pytest.mark.parametrize(
    ("odd", "usual", "wanted"),
    [
        ("", "1", "n int64[] missing=mask"),
        ("NA", "1", "n int64[] null=NA missing=mask"),
        ("NA", "1.5", "n float64[] null=NA default=nan"),
        ("18446744073709551615", "1", "n uint64[]"),
        ("007", "1", "n str"),
        ("12345678901234567.5", "1", "n str"),
        ("no", "yes", "n bool[] format=yes/no"),
        ("yes", "yes", "n str"),
        ("13.01.2024", "01.02.2024", 'n int64[] decode=timestamp unit=d format="%d.%m.%Y"'),
        ("2024-01-31T12:00:05.25Z", "2024-01-31", "n int64[] decode=timestamp unit=us"),
        ("2024", "2024-01-31", "n str"),
        ("01/02/2024", "05/05/2024", "n str"),
        ("05/13/2024", "05/05/2024", 'n int64[] decode=timestamp unit=d format="%m/%d/%Y"'),
    ],
)
def test_every_cell_counts(odd: str, usual: str, wanted: str, tmp_path: Path) -> None:
    reader = Reader.open_files(table(tmp_path / "a.csv", odd, usual), infer="all")
    assert entries(reader) == f"{wanted}, t str"


def test_all_files_count(tmp_path: Path) -> None:
    for i, cell in enumerate(["1", "2.5", ""]):
        (tmp_path / f"{i}.csv").write_text(f"n,m\n{cell},7\n")
    reader = Reader.open_files(tmp_path / "*.csv", infer="all")
    assert entries(reader) == "n float64[] default=nan, m int64[]"
    (batch,) = reader.batch(5)
    np.testing.assert_array_equal(batch["n"], [1, 2.5, np.nan])


def test_names_alone_and_commands_have_it_too(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "1.5")
    reader = Reader.open_files(path, fields={"x": "n"}, infer="all")
    assert entries(reader) == "x = n float64[]"
    with pytest.raises(millhopper.Error, match="infer"):
        list(Reader.open_files(path, infer="most"))


@pytest.mark.parametrize("tag", ["jsonl", "json"])
def test_records_of_json(tag: str, tmp_path: Path) -> None:
    records: list[Any] = [{"a": 1, "b": [1, 2], "c": "2024-01-31"} for _ in range(100_000)]
    records[30_000] = {"a": None, "b": [1.5], "c": "no date", "d": {"e": True}}
    path = tmp_path / f"a.{tag}"
    lines = [json.dumps(record) for record in records]
    path.write_text("[" + ",\n".join(lines) + "]" if tag == "json" else "\n".join(lines))
    reader = Reader.open_files(path, infer="all")
    assert entries(reader) == (
        "a int64[] missing=mask, b float64[-1], c str, /d/e bool[] missing=mask"
    )
    count = 0
    for batch in reader.batch(1000):
        count += len(batch["c"])
        if count == 31_000:
            assert batch["b"][0].tolist() == [1.5]
            assert batch["c"][0] == "no date"
            assert not batch["a.valid"][0]
    assert count == len(records)


def test_a_record_that_is_none_is_an_error_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n' * 200_000 + "[1\n" + '{"a": 1}\n' * 200_000)
    with pytest.raises(millhopper.Error, match="the record is no JSON: no bracket") as raised:
        list(Reader.open_files(path, infer="all"))
    assert raised.value.file == str(path)
    assert raised.value.offset == 9 * 200_000
    assert "line 200001" in str(raised.value)
    assert "while looking for fields that fit it" in str(raised.value)


def test_examples_and_tar(tmp_path: Path) -> None:
    rows = [{"num": 1, "text": "ab"} for _ in range(60_000)]
    rows[30_000] = {"num": 1, "text": "ab", "more": 0.5}  # type: ignore[dict-item]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(tfrecord_bytes(rows))
    assert entries(Reader.open_files(path)) == "num int64[], text bytes"
    reader = Reader.open_files(path, infer="all")
    assert entries(reader) == "more float32[] default=nan, num int64[], text bytes"
    members = [{"num": n, "cls": n} for n in range(2000)]
    members[1500] = {"num": 1500, "cls": "x", "txt": "y"}  # type: ignore[dict-item]
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes(members))
    reader = Reader.open_files(path, infer="all")
    assert entries(reader) == "__key__ bytes, cls bytes, num bytes, txt bytes missing=mask"
    assert sum(len(batch["num"]) for batch in reader.batch(100)) == 2000


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_are_read_to_their_end(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    kinds = ["1", "-5", "2.5", "1e5", "true", "no", "yes", "2024-01-31", "1.2.2024", "13.1.2024"]
    kinds += ["NA", "", "x", "007", "9" * 19, "9" * 20, "9" * 40, "2024-01-31 10:00:00.125"]
    usual = draw.sample(kinds, draw.randrange(1, 4))
    cells = [draw.choice(usual) for _ in range(60_000)]
    for _ in range(draw.randrange(4)):
        cells[draw.randrange(20_000, 40_000)] = draw.choice(kinds)
    path = tmp_path / "a.csv"
    path.write_text("n,t\n" + "".join(f"{cell},{'x' * 30}\n" for cell in cells))
    reader = Reader.open_files(path, infer="all")
    assert sum(len(batch["t"]) for batch in reader.batch(1000)) == len(cells)
    small = tmp_path / "small.csv"  # a sample of which is all of it
    small.write_text("n,t\n" + "".join(f"{cell},x\n" for cell in dict.fromkeys(cells)))
    assert entries(reader) == entries(Reader.open_files(small))
