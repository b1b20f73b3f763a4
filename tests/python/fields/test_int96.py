# SPDX-License-Identifier: Apache-2.0
"""Timestamps of Parquet's INT96, beside what pyarrow makes of them in microseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FAR = ["9999-12-31T23:59:59.999999", "0001-01-01T00:00:00.000001", "2262-04-12", "1677-09-20"]
DAY = 86_400_000_000


@pytest.fixture(scope="module", autouse=True)
def plugin(parquet_plugin: Path) -> None:
    millhopper.load_plugin(parquet_plugin)


def write(path: Path, **columns: Any) -> Path:
    """A file whose columns of timestamps are INT96."""
    parquet.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=True)
    return path


def times(*texts: str | None) -> Any:
    """Timestamps of microseconds; None is null."""
    values = [None if text is None else np.datetime64(text, "us").item() for text in texts]
    return pa.array(values, pa.timestamp("us"))


def wanted(path: Path, column: str) -> list[int]:
    table = parquet.read_table(path, coerce_int96_timestamp_unit="us")
    return table[column].cast(pa.int64()).to_pylist()


def column(reader: millhopper.Reader, name: str) -> list[Any]:
    return [value for batch in reader.batch(3) for value in batch[name].tolist()]


def test_far_times_are_read_without_fields(tmp_path: Path) -> None:
    far = times(*FAR, "1970-01-01T00:00:01")
    path = write(tmp_path / "t.parquet", t=far, n=pa.array(range(5)))
    reader = millhopper.Reader.open_files(path)
    assert "t int64[] decode=timestamp unit=us" in str(reader)
    assert column(reader, "t") == wanted(path, "t") == far.cast(pa.int64()).to_pylist()
    shuffled = millhopper.Reader.open_files(path).shuffle(2)
    assert sorted(column(shuffled, "t")) == sorted(wanted(path, "t"))


def test_far_times_in_later_rows_nulls_lists_and_structs(tmp_path: Path) -> None:
    near = ["2024-01-31"] * 3000
    flat = times(*near, *FAR)
    nulls = times(*near, None, *FAR[1:])
    lists = pa.ListArray.from_arrays(range(len(flat) + 1), flat)
    inner = pa.StructArray.from_arrays([flat], names=["t"])
    path = write(tmp_path / "t.parquet", flat=flat, nulls=nulls, l=lists, inner=inner)
    truth = flat.cast(pa.int64()).to_pylist()
    batch = next(iter(millhopper.Reader.open_files(path).batch(len(flat))))
    assert batch["flat"].tolist() == truth
    assert batch["inner.t"].tolist() == truth
    assert np.concatenate([np.asarray(one) for one in batch["l"]]).tolist() == truth
    assert batch["nulls.valid"].tolist() == [i != 3000 for i in range(len(flat))]
    assert batch["nulls"][batch["nulls.valid"]].tolist() == truth[:3000] + truth[3001:]


@pytest.mark.parametrize(("unit", "ticks"), [("us", 1), ("ms", 1000), ("s", 10**6), ("d", DAY)])
def test_units_of_far_times(tmp_path: Path, unit: str, ticks: int) -> None:
    far = times("9999-12-31", "0001-01-01", "2024-02-29")
    path = write(tmp_path / "t.parquet", t=far)
    field = f"t int64[] decode=timestamp unit={unit}"
    assert column(millhopper.Reader.open_files(path, fields=[field]), "t") == [
        time // ticks for time in wanted(path, "t")
    ]


def test_a_unit_that_is_too_coarse_is_an_error(tmp_path: Path) -> None:
    fine = times("2024-02-29T00:00:00.001", "2024-02-29T00:00:00.001001")
    path = write(tmp_path / "t.parquet", t=fine)
    reader = millhopper.Reader.open_files(path, fields=["t int64[] decode=timestamp unit=ms"])
    problem = "row 1: column 't': 1709164800001001 us since 1970 is no int64 of ms; unit=us"
    with pytest.raises(millhopper.Error, match=problem):
        list(reader)


def test_row_groups_and_files_have_one_unit(tmp_path: Path) -> None:
    """What the first rows tell holds for all: far times anywhere are read, nanoseconds refused."""

    def write_groups(name: str, *values: Any) -> Path:
        path = tmp_path / name
        table = pa.table({"t": pa.concat_arrays(values)})
        parquet.write_table(
            table, path, use_deprecated_int96_timestamps=True, row_group_size=len(values[0])
        )
        assert parquet.ParquetFile(path).num_row_groups == len(values)
        return path

    near, far = times("2024-01-31", "2024-02-01"), times(*FAR[:2])
    groups = write_groups("groups.parquet", near, far, near)
    other = write_groups("other.parquet", far)
    read = column(millhopper.Reader.open_files([groups, other], cycle_length=1), "t")
    assert read == wanted(groups, "t") + wanted(other, "t")
    fine = pa.array([1_000_000_000, 1_000_000_123], pa.timestamp("ns"))
    later = write_groups("later.parquet", near.cast(pa.timestamp("ns")), fine)
    problem = f"{later.name}.*row group 1: row 1: column 't': an INT96 timestamp of 1970-01-01 is"
    for files in ([later], [groups, later]):
        with pytest.raises(millhopper.Error, match=f"(?s){problem}"):
            list(millhopper.Reader.open_files(files, cycle_length=1))


def test_nanoseconds_are_kept_or_an_error(tmp_path: Path) -> None:
    fine = pa.array([1_000_000_000, 1_000_000_123], pa.timestamp("ns"))
    path = write(tmp_path / "t.parquet", t=fine)
    assert column(millhopper.Reader.open_files(path), "t") == [1_000_000_000, 1_000_000_123]
    problem = "row group 0: row 1: column 't': an INT96 timestamp of 1970-01-01 is finer than its"
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(path, fields=["t int64[] decode=timestamp unit=us"]))
    # Beyond the rows that are looked at for the unit.
    later = pa.array([1_000_000_000] * 3000 + [1_000_000_123], pa.timestamp("ns"))
    path = write(tmp_path / "later.parquet", t=later)
    with pytest.raises(millhopper.Error, match="row 3000: column 't': an INT96 .* unit=ns after"):
        list(millhopper.Reader.open_files(path).batch(100))


def test_one_column_of_nanoseconds_is_one_for_all(tmp_path: Path) -> None:
    far = times("9999-12-31", "2024-02-29")
    path = write(tmp_path / "t.parquet", far=far, near=times("2024-01-31", "2024-02-01"))
    fields = ["far int64[] decode=timestamp unit=us", "near int64[] decode=timestamp unit=ns"]
    problem = (
        "column 'far': the INT96 timestamp 9999-12-31 is outside of what int64 nanoseconds hold.*; "
        "decode=timestamp unit=us after this field, and after all others of INT96, reads it"
    )
    with pytest.raises(millhopper.Error, match=problem):
        list(millhopper.Reader.open_files(path, fields=fields))
    coarse = [fields[0], fields[1].replace("ns", "us")]
    reader = millhopper.Reader.open_files(path, fields=coarse)
    assert column(reader, "far") == wanted(path, "far")


@pytest.mark.parametrize("name", ["pages", "lists"])
def test_nanoseconds_of_later_pages_and_of_long_lists_are_seen(tmp_path: Path, name: str) -> None:
    numbers = np.arange(3200) * 1_000_000
    numbers[600 if name == "pages" else 2800] += 1  # in row 600, or in row 700 of lists of 4
    times = pa.array(numbers, pa.timestamp("ns"))
    if name == "lists":
        times = pa.ListArray.from_arrays(range(0, 3201, 4), times)
    path = tmp_path / "t.parquet"
    parquet.write_table(
        pa.table({"t": times}),
        path,
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
        data_page_size=64,
        write_batch_size=16,
    )
    reader = millhopper.Reader.open_files(path)
    assert "unit=ns" in str(reader)
    batch = next(iter(reader.batch(len(times))))
    assert np.concatenate([np.ravel(one) for one in batch["t"]]).tolist() == numbers.tolist()
