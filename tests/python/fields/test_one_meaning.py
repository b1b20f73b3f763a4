# SPDX-License-Identifier: Apache-2.0
"""The same columns of dates and times in files of several formats, opened without fields."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import millhopper
import pytest

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

FORMATS = ["parquet", "arrow", "csv", "jsonl"]
ZONES = [None, "UTC", "Europe/Berlin", "-03:30"]
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.fixture(scope="module", autouse=True)
def plugin(parquet_plugin: Path) -> None:
    millhopper.load_plugin(parquet_plugin)


def write(table: Any, path: Path) -> None:
    """Texts are those that pyarrow makes of the values."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        texts = pa.table(
            [
                column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
                for column in table.columns
            ],
            names=table.schema.names,
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in texts.to_pylist()))


def whole(path: Path, **options: Any) -> dict[str, Any]:
    (batch,) = millhopper.Reader.open_files(path, **options).batch(1000)
    return {name: values.tolist() for name, values in batch.items()}


def random_column(draw: random.Random, rows: int) -> Any:
    """Dates, times of any unit whose values may all be coarser, integers or booleans."""
    kind = draw.choice(["date32", "date64", "timestamp", "timestamp", "timestamp", "int", "bool"])
    nulls = draw.choice([0, 0, 0.3])
    if kind.startswith("date"):
        make = lambda: draw.randint(-10000, 40000)  # noqa: E731
        type, scale = (pa.date32(), 1) if kind == "date32" else (pa.date64(), 86400000)
    elif kind == "timestamp":
        unit, finest = draw.choice(list(PER_SECOND)), draw.choice(list(PER_SECOND))
        type = pa.timestamp(unit, draw.choice(ZONES))
        ticks = min(PER_SECOND[unit], PER_SECOND[finest])
        make = lambda: draw.randint(-(2**31) * ticks, 2**32 * ticks)  # noqa: E731
        scale = PER_SECOND[unit] // ticks
    elif kind == "int":
        make, type, scale = lambda: draw.randint(-(2**62), 2**62), pa.int64(), 1
    else:
        make, type, scale = lambda: draw.randint(0, 1), pa.bool_(), 1
    values = [None if draw.random() < nulls else make() * scale for _ in range(rows)]
    values[draw.randrange(rows)] = make() * scale  # a text column without any has no type
    if pa.types.is_boolean(type):
        return pa.array([None if value is None else bool(value) for value in values])
    whole = pa.int32() if type.bit_width == 32 else pa.int64()
    return pa.array(values, whole).cast(type)


@pytest.mark.parametrize("seed", range(60))
def test_columns_have_the_same_values_in_all_formats(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = draw.choice([1, 3, 30])
    # A row of one empty cell is an empty line, and no row.
    columns = {f"c{i}": random_column(draw, rows) for i in range(draw.randint(2, 8))}
    found = {}
    for format in FORMATS:
        write(pa.table(columns), tmp_path / f"a.{format}")
        found[format] = whole(tmp_path / f"a.{format}")
        for name, column in columns.items():
            there = column.is_valid().to_pylist()
            assert found[format].get(f"{name}.valid", there) == there
            if pa.types.is_temporal(column.type):  # whose values are numpy's NaT where it is not
                assert [read != -(2**63) for read in found[format][name]] == there
    for format in FORMATS[1:]:
        assert list(found[format]) == list(found["parquet"]), format
        assert found[format] == found["parquet"], format


@pytest.mark.parametrize("format", FORMATS)
def test_a_date_that_is_null_is_neither_before_nor_after_another(
    tmp_path: Path, format: str
) -> None:
    days = [-43_200_000_000, None, 1_706_659_200_000_000, None, 1_706_767_200_000_000]
    path = tmp_path / f"a.{format}"
    write(pa.table({"id": range(5), "day": pa.array(days).cast(pa.timestamp("us"))}), path)
    reader = millhopper.Reader.open_files(path)
    (batch,) = reader.batch(8)
    assert batch["day.valid"].tolist() == [day is not None for day in days]
    assert str(batch["day"].view("datetime64[us]")[1]) == "NaT"

    def ids(condition: str) -> list[int]:
        return [int(element["id"][0]) for element in reader.filter(condition)]

    assert ids("day < 0") == [0]
    assert ids("not day < 0") == ids("day > 0") == [2, 4]
    assert ids("day is missing") == [1, 3]
    found = reader.statistics(["day"])["day"]
    assert (found["count"], found["nulls"]) == (3, 2)
    assert (found["min"], found["max"]) == (days[0], days[4])


def test_a_date_that_is_null_within_a_list_counts_as_null(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    lists = pa.array([[1, None], None, [3]], pa.list_(pa.timestamp("us")))
    write(pa.table({"t": lists}), path)
    (batch,) = millhopper.Reader.open_files(path).batch(4)
    assert [list(row) for row in batch["t"]] == [[1, -(2**63)], [-(2**63)], [3]]
    assert batch["t.valid"].tolist() == [True, False, True]
    found = millhopper.Reader.open_files(path).statistics()["t"]
    assert (found["count"], found["nulls"], found["min"], found["max"]) == (2, 2, 1, 3)


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_with_the_name_of_a_mask_is_no_mask(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    write(pa.table({"a": [1, None], "a.valid": [True, True]}), path)
    with pytest.raises(millhopper.Error, match=r'fields: \["\*", "other = a\.valid"\]'):
        list(millhopper.Reader.open_files(path))
    found = whole(path, fields=["*", "other = a.valid"])
    assert found == {"a": [1, 0], "other": [True, True], "a.valid": [True, False]}
    # Beside a column without nulls, too, whose mask filter and others would take it for.
    write(pa.table({"a": [1, 2], "a.valid": [False, True]}), path)
    with pytest.raises(millhopper.Error, match=r'fields: \["\*", "other = a\.valid"\]'):
        list(millhopper.Reader.open_files(path))
    assert whole(path, fields=["*", "other = a.valid"]) == {"a": [1, 2], "other": [False, True]}
    reader = millhopper.Reader.open_files(path, fields=["*", "other = a.valid"])
    assert [int(element["a"][0]) for element in reader.filter("other == false")] == [1]


LATE = 100_000  # a row that is not looked at, of four times as many


@pytest.mark.parametrize("format", FORMATS)
def test_a_later_value_that_is_finer_is_an_error_at_its_place(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    values = [0] * (4 * LATE)
    values[LATE] = 1
    table = pa.table({"t": pa.array(values).cast(pa.timestamp("ns"))})
    if format == "parquet":
        parquet.write_table(table, path, write_statistics=False)
    else:
        write(table, path)
    check_late(path, "ns", 1)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_later_value_that_is_no_date_is_an_error_at_its_place(
    tmp_path: Path, format: str
) -> None:
    path = tmp_path / f"a.{format}"
    texts = ["1970-01-01"] * (4 * LATE)
    texts[LATE] = "1970-01-01 00:00:01"
    write(pa.table({"t": texts}), path)
    check_late(path, "us", 1_000_000)


def check_late(path: Path, unit: str, value: int) -> None:
    with pytest.raises(millhopper.Error, match=f"unit={unit} after") as caught:
        list(millhopper.Reader.open_files(path).batch(1000))
    assert str(path) in str(caught.value) and "'t'" in str(caught.value)
    fields = {"t": f"int64[] decode=timestamp unit={unit}"}
    (batch,) = millhopper.Reader.open_files(path, fields=fields).batch(10**6)
    assert batch["t"][LATE] == value


def test_statistics_of_parquet_tell_nanoseconds(tmp_path: Path) -> None:
    column = pa.array([*range(0, 10_000_000, 1000), 10_000_001]).cast(pa.timestamp("ns"))
    parquet.write_table(pa.table({"t": column}), tmp_path / "a.parquet", row_group_size=5000)
    assert "t int64[] decode=timestamp unit=ns" in str(
        millhopper.Reader.open_files(tmp_path / "a.parquet")
    )


def test_declared_types_keep_their_meaning(tmp_path: Path) -> None:
    column = pa.array([5, 7]).cast(pa.timestamp("ms"))
    parquet.write_table(pa.table({"t": column}), tmp_path / "a.parquet")
    assert whole(tmp_path / "a.parquet", fields=["t int64[]"]) == {"t": [5, 7]}
    assert whole(tmp_path / "a.parquet", fields=["t"]) == {"t": [5000, 7000]}


NANOSECONDS = pa.timestamp("ns")


def write_parts(tmp_path: Path, format: str, parts: dict[str, Any]) -> Path:
    for name, table in parts.items():
        write(pa.table(table), tmp_path / f"{name}.{format}")
    return tmp_path / f"*.{format}"


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("first", [{}, {"n": [7]}])
def test_what_lies_beside_a_column_does_not_change_its_unit(
    tmp_path: Path, format: str, first: dict[str, Any]
) -> None:
    """In files of two schemas, and after one without rows."""
    times = pa.array([1000, 2000]).cast(NANOSECONDS)
    empty = {"t": times[:0]} if not first else {"t": times[:1], **first}
    reader = millhopper.Reader.open_files(
        write_parts(tmp_path, format, {"a": empty, "b": {"t": times}})
    )
    assert "t int64[] decode=timestamp unit=us" in str(reader)
    assert [time for batch in reader.batch(9) for time in batch["t"].tolist()][-2:] == [1, 2]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_finer_value_that_is_looked_at_does(tmp_path: Path, format: str) -> None:
    times = pa.array([1000, 2001]).cast(NANOSECONDS)
    reader = millhopper.Reader.open_files(
        write_parts(tmp_path, format, {"a": {"t": times}, "b": {"t": times[:1], "n": [7]}})
    )
    assert "t int64[] decode=timestamp unit=ns" in str(reader)


def test_tables_in_memory_have_the_unit_of_files(tmp_path: Path) -> None:
    whole_microseconds = pa.table({"t": pa.array([1000, 2000]).cast(NANOSECONDS)})
    finer = pa.table({"t": pa.array([1000, 2001]).cast(NANOSECONDS)})
    for source in (whole_microseconds, whole_microseconds.to_reader()):
        (batch,) = millhopper.Reader.from_arrow(source).batch(9)
        assert batch["t"].tolist() == [1, 2]
    (batch,) = millhopper.Reader.from_arrow(finer).batch(9)
    assert batch["t"].tolist() == [1000, 2001]
    with pytest.raises(millhopper.Error, match="unit=ns after decode=timestamp keeps it"):
        list(millhopper.Reader.from_arrow(finer.to_reader()).batch(9))


def test_lists_of_times_are_such_in_all_formats(tmp_path: Path) -> None:
    rows = [[0, 86_400_000_000], [], [1]]
    table = pa.table({"t": pa.array(rows, pa.list_(pa.timestamp("us")))})
    write(table, tmp_path / "a.parquet")
    texts = [
        [str(time) for time in row] for row in table["t"].cast(pa.list_(pa.string())).to_pylist()
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"t": row}) + "\n" for row in texts))
    for format in ("parquet", "jsonl"):
        (batch,) = millhopper.Reader.open_files(tmp_path / f"a.{format}").batch(9)
        assert [times.tolist() for times in batch["t"]] == rows


def test_a_date_with_a_time_of_day_is_read(tmp_path: Path) -> None:
    """date64 has milliseconds, which should be whole days."""
    days = pa.Array.from_buffers(pa.date64(), 2, [None, pa.array([86_400_000, 1]).buffers()[1]])
    write(pa.table({"t": days}), tmp_path / "a.arrow")
    assert whole(tmp_path / "a.arrow") == {"t": [86_400_000_000, 1000]}


def test_null_lists_of_times_are_text(tmp_path: Path) -> None:
    type = pa.list_(pa.list_(pa.timestamp("s")))
    write(pa.table({"t": pa.array([[[0], None], [[1, None]]], type)}), tmp_path / "a.parquet")
    assert whole(tmp_path / "a.parquet") == {
        "t": ['[["1970-01-01 00:00:00.000"], null]', '[["1970-01-01 00:00:01.000", null]]']
    }


def test_no_format_with_a_schema_takes_infer_all(tmp_path: Path) -> None:
    write(pa.table({"t": [1]}), tmp_path / "a.parquet")
    with pytest.raises(millhopper.Error, match="no attribute 'infer'"):
        list(millhopper.Reader.open_files(tmp_path / "a.parquet", infer="all"))
