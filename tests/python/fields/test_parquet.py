# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow IPC and Feather, by the plugin that tools/build_parquet_plugin builds.

What pyarrow reads is the truth. Without pyarrow all of it is skipped.
"""

from __future__ import annotations

import ast
import base64
import csv
import datetime
import decimal
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
encryption = pytest.importorskip("pyarrow.parquet.encryption", reason="pyarrow has no encryption")

DATA = os.environ.get("MILLHOPPER_TEST_DATA")
FILES = sorted((Path(DATA) / "parquet").rglob("*.parquet")) if DATA else []
GOOD = [path for path in FILES if path.parent.name != "bad_data"]
BAD = [path for path in FILES if path.parent.name == "bad_data"]
# A file of one dictionary word, whose places in the dictionary need no bits: Arrow reads it.
NOT_SO_BAD = "ARROW-GH-43605.parquet"
needs_data = pytest.mark.skipif(
    not FILES, reason="MILLHOPPER_TEST_DATA names no folder of sample files"
)


@pytest.fixture(scope="session", autouse=True)
def plugin(parquet_plugin: Path) -> Path:
    millhopper.load_plugin(parquet_plugin)
    return parquet_plugin


# ---- What a column is in a field and in Python ----


def number_type(kind: Any) -> str | None:
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_decimal(kind):
        return "float64"
    if pa.types.is_floating(kind):
        return {16: "float16", 32: "float32", 64: "float64"}[kind.bit_width]
    if pa.types.is_unsigned_integer(kind):
        return f"uint{kind.bit_width}"
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return f"int{kind.bit_width}" if not pa.types.is_interval(kind) else None
    return None


def is_text(kind: Any) -> bool:
    tests = ("string", "large_string", "binary", "large_binary", "fixed_size_binary")
    views = ("string_view", "binary_view")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests + views)


def item_of(kind: Any) -> Any:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return kind.value_type if lists or pa.types.is_fixed_size_list(kind) else None


def field_of(name: str, kind: Any) -> str | None:
    """An entry that fits a column; None if the notation has none."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    item = item_of(kind)
    inner = kind if item is None else item
    if pa.types.is_dictionary(inner):
        inner = inner.value_type
    if is_text(inner):
        return f'"{name}" bytes{"" if item is None else "[-1]"} missing=default'
    number = number_type(inner)
    if number is None:
        return None
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else -1
    return f'"{name}" {number}[{"" if item is None else size}] missing=default'


def plain(column: Any) -> list[Any]:
    """The values of a column as a batch has them: text as bytes, times as whole numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.cast(kind.value_type))
    if is_text(kind):
        return [as_bytes(value) for value in column.to_pylist()]
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return [0 if value is None else value for value in column.cast(whole).to_pylist()]
    if pa.types.is_decimal(kind):
        return [0.0 if value is None else float(value) for value in column.to_pylist()]
    if item_of(kind) is None:
        return [0 if value is None else value for value in column.to_pylist()]
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else 0
    return [item_values(value, size, kind) for value in column.to_pylist()]


def item_values(values: list[Any] | None, size: int, kind: Any) -> list[Any]:
    nothing: Any = b"" if is_text(item_of(kind)) else 0
    if values is None:
        return [nothing] * size
    return [nothing if v is None else as_bytes(v) if isinstance(v, str) else v for v in values]


def as_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def values_of(batch: Any, name: str) -> list[Any]:
    values = batch[name]
    if isinstance(values, np.ndarray):
        return values.tolist()
    if values.values.dtype == np.uint8:
        if len(values.offsets) == 1:
            return values.to_bytes()
        return [inner.to_bytes() for inner in values]
    return [np.asarray(row).tolist() for row in values]


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Equal; a NaN is equal to a NaN."""
    return repr(found) == repr(wanted) or found == wanted


def check(path: Path | str, table: Any, tag: str = "") -> int:
    """Compares what a reader yields with a table; returns how many columns that were."""
    fields = [field_of(f.name, f.type) for f in table.schema]
    names = [f.name for f, field in zip_strict(table.schema, fields) if field is not None]
    if not names:
        return 0
    reader = millhopper.Reader.open_files(
        f"{tag}{path}", fields=[field for field in fields if field is not None]
    )
    batches = list(reader.batch(1000).double_buffer())
    assert sum(len(batch[names[0]]) for batch in batches) == table.num_rows
    for name in names:
        found = [value for batch in batches for value in values_of(batch, name)]
        wanted = plain(table[name].combine_chunks())
        assert same(found, wanted), (name, found[:5], wanted[:5])
    return len(names)


# ---- Files of others ----


@needs_data
@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name[:40])
def test_files_read_as_pyarrow_reads_them(path: Path) -> None:
    check(path, parquet.ParquetFile(path).read(), "parquet:")


@needs_data
def test_as_many_records_as_the_footers_have() -> None:
    assert DATA is not None
    with open(Path(DATA) / "truth" / "parquet_footers.tsv", encoding="utf-8") as truth:
        for row in csv.DictReader(truth, delimiter="\t"):
            path = Path(DATA) / row["file"]
            if path not in GOOD:
                continue
            name = row["leaves"].split("(")[0].removeprefix("schema(req).")
            schema = parquet.ParquetFile(path).schema_arrow
            names = [f.name for f in schema if number_type(f.type) is not None]
            if not names:
                continue
            assert name
            reader = millhopper.Reader.open_files(
                f"parquet:{path}", fields=[field_of(names[0], schema.field(names[0]).type) or ""]
            )
            assert sum(len(batch[names[0]]) for batch in reader.batch(100)) == int(row["num_rows"])


@needs_data
@pytest.mark.parametrize("name", ["delta_binary_packed", "delta_byte_array"])
def test_columns_are_those_of_the_csv_beside_them(name: str) -> None:
    assert DATA is not None
    folder = Path(DATA) / "parquet"
    with open(folder / f"{name}_expect.csv", encoding="utf-8", newline="") as truth:
        header, *rows = list(csv.reader(truth))
    kind = "int64[]" if name == "delta_binary_packed" else "bytes missing=default"
    reader = millhopper.Reader.open_files(
        folder / f"{name}.parquet", fields=[f'"{column}" {kind}' for column in header]
    )
    found = [[value for column in header for value in values_of(batch, column)] for batch in reader]
    if kind == "int64[]":
        assert found == [[int(value) for value in row] for row in rows]
    else:
        assert found == [[value.encode() for value in row] for row in rows]


@needs_data
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_bad_files_are_refused_with_their_place(path: Path) -> None:
    try:
        schema = parquet.ParquetFile(path).schema_arrow
        fields = [field_of(f.name, f.type) for f in schema]
        fields = [field for field in fields if field is not None] or ["#0 int64[-1]"]
    except OSError:
        fields = ["#0 int32[]"]
    reader = millhopper.Reader.open_files(f"parquet:{path}", fields=fields)
    if path.name == NOT_SO_BAD:
        assert sum(len(batch["min_fl"]) for batch in reader.batch(1000)) == 21186
        return
    with pytest.raises(millhopper.Error, match=path.name):
        list(reader.batch(1000))


# ---- Files of our own ----

MANY = 3000


def every_type() -> Any:
    """A column of each type; every seventh value is null."""
    numbers = [None if i % 7 == 3 else i for i in range(MANY)]

    def each(kind: Any, value: Callable[[int], Any]) -> Any:
        return pa.array([None if i is None else value(i) for i in numbers], kind)

    day = datetime.date(1969, 12, 1)
    moment = datetime.datetime(1969, 12, 31, 23)
    columns = {
        "bool": each(pa.bool_(), lambda i: i % 3 == 0),
        "float16": each(pa.float16(), lambda i: np.float16(i / 8)),
        "float32": each(pa.float32(), lambda i: i / 8),
        "float64": each(pa.float64(), lambda i: i / 7),
        "string": each(pa.string(), lambda i: "ü" * (i % 20)),
        "binary": each(pa.binary(), lambda i: b"\0" * (i % 3) + b"x"),
        "large_string": each(pa.large_string(), str),
        "large_binary": each(pa.large_binary(), lambda i: str(i).encode()),
        "fixed": each(pa.binary(3), lambda i: f"{i % 1000:03}".encode()),
        "words": each(pa.string(), lambda i: f"word {i % 10}").dictionary_encode(),
        "numbers in a dictionary": each(pa.int64(), lambda i: i % 5 - 2).dictionary_encode(),
        "date": each(pa.date32(), lambda i: day + datetime.timedelta(i)),
        "date64": each(pa.date64(), lambda i: day + datetime.timedelta(i)),
        "time32": each(pa.time32("ms"), lambda i: datetime.time(1, 2, 3, i % 1000 * 1000)),
        "time64": each(pa.time64("us"), lambda i: datetime.time(1, 2, 3, i)),
        "decimal": each(pa.decimal128(9, 3), lambda i: decimal.Decimal(i - 1500) / 8),
        "large decimal": each(pa.decimal128(38, 10), lambda i: decimal.Decimal(10**20 - i)),
        "list": each(pa.list_(pa.int32()), lambda i: list(range(i % 5))),
        "large list": each(pa.large_list(pa.float32()), lambda i: [i] * (i % 4)),
        "fixed list": each(pa.list_(pa.int16(), 3), lambda i: [i, i + 1, -i]),
        "nulls in it": each(pa.list_(pa.int64()), lambda i: [None, i]),
        "texts": each(pa.list_(pa.string()), lambda i: [str(i)] * (i % 3)),
        "dates": each(pa.list_(pa.int64()), lambda i: [i]),
    }
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        largest = int(np.iinfo(kind).max)
        columns[kind] = each(getattr(pa, kind)(), lambda i, last=largest: last - i % 100)
    for unit in ("s", "ms", "us", "ns"):
        columns[f"timestamp {unit}"] = each(pa.timestamp(unit), lambda i: moment)
        columns[f"zoned {unit}"] = each(pa.timestamp(unit, "Europe/Berlin"), lambda i: moment)
        columns[f"duration {unit}"] = each(pa.duration(unit), lambda i: datetime.timedelta(0, i))
    return pa.table(columns)


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_of_every_type(tmp_path: Path, compression: str, version: str, nulls: bool) -> None:
    path = tmp_path / "every.parquet"
    parquet.write_table(
        every_type() if nulls else every_type().slice(4, 6),
        path,
        compression=compression,
        data_page_version=version,
        row_group_size=700,
        write_page_checksum=True,
    )
    table = parquet.read_table(path)
    assert check(path, table) == table.num_columns


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_of_every_type(tmp_path: Path, compression: str | None, kind: str) -> None:
    path = tmp_path / "every.arrow"
    table = every_type()
    views = [f"{name}_view" for name in ("string", "binary")]
    for name in views:
        table = table.append_column(name, table[name.split("_")[0]].cast(getattr(pa, name)()))
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=700)
    assert check(path, table) == table.num_columns
    unnamed = path.rename(tmp_path / "every")
    fields = ["int64 int64[] missing=default"]
    slots = {"int64": ("int64", [1])}
    by_content = millhopper.Reader.open_files(unnamed, fields=fields, slots=slots)
    assert sum(1 for _ in by_content) == MANY


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_of_every_type(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "every.feather"
    table = every_type()
    feather.write_feather(table, path, compression=compression, chunksize=700)
    assert check(path, table) == table.num_columns


def test_streams_whose_dictionaries_grow_or_change(tmp_path: Path) -> None:
    words = [["a", "b"], ["a", "b", "c"], ["x"]]
    batches = [
        pa.record_batch({"w": pa.DictionaryArray.from_arrays([0, len(w) - 1], w)}) for w in words
    ]
    for deltas in (False, True):
        path = tmp_path / f"words{deltas}.arrows"
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
        with pa.ipc.new_stream(path, batches[0].schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
        reader = millhopper.Reader.open_files(path, fields=["w bytes"])
        found = [value for batch in reader.batch(2) for value in batch["w"].to_bytes()]
        assert found == [b"a", b"b", b"a", b"c", b"x", b"x"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    table = pa.table(
        {
            "id": pa.array([1, 2, None, 300]),
            "user": [{"age": 5, "name": {"first": "A"}}, None, {"age": None, "name": None}, {}],
            "items": [[{"price": 1.5}, {"price": 2.5}], [], None, [{"price": 4}]],
            "tags": pa.array(
                [[("k", 1)], [], [("a", 2), ("b", 3)], []], pa.map_(pa.string(), pa.int64())
            ),
            "a.b": [10, 20, 30, 40],
            "grid": [[[1, 2], [3, 4]]] * 4,
            "wish": ["1", "2", "x", "4"],
        }
    )
    parquet.write_table(table, path, row_group_size=2)
    return path


def read(path: Path, *fields: str) -> list[list[Any]]:
    names = [f"slot{i}" for i in range(len(fields))]
    reader = millhopper.Reader.open_files(path, fields=list(fields), names=names)
    batches = list(reader.batch(10))
    return [[v for batch in batches for v in values_of(batch, name)] for name in names]


def test_columns_are_named_in_structs_lists_and_maps(people: Path) -> None:
    found = read(
        people,
        "user.age int32[] default=-1",
        "user.name.first bytes missing=default",
        "items.price float32[-1] missing=default",
        "tags.key bytes[-1]",
        "tags.value int64[-1]",
        "a.b int16[]",
        "#0 int64[] missing=default",
        "grid int64[2,2]",
    )
    assert found == [
        [5, -1, -1, -1],
        [b"A", b"", b"", b""],
        [[1.5, 2.5], [], [], [4.0]],
        [[b"k"], [], [b"a", b"b"], []],
        [[1], [], [2, 3], []],
        [10, 20, 30, 40],
        [1, 2, 0, 300],
        [[[1, 2], [3, 4]]] * 4,
    ]
    assert read(people, "grid int32[-1,2]") == [[[[1, 2], [3, 4]]] * 4]


def test_what_is_missing(people: Path) -> None:
    assert read(people, "id int64[] missing=skip", "a.b int64[]") == [[1, 2, 300], [10, 20, 40]]
    assert read(people, "id int64[] default=7") == [[1, 2, 7, 300]]
    with pytest.raises(millhopper.Error, match="row group 1: row 0: column 'id': it is null"):
        read(people, "id int64[]")


def test_text_becomes_numbers(people: Path) -> None:
    problem = "people.parquet: row group 1: row 0: column 'wish': 'x' is no int64"
    with pytest.raises(millhopper.Error, match=problem):
        read(people, "wish int64[] decode=text")
    assert len(read(people, "wish int64[] hash=100")[0]) == 4


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("id int8[] default=0", r"row group 1: row 1: column 'id': 300 is no int8"),
        ("ip int8[]", r"no column is named 'ip'; there are 'id', 'user', 'items'"),
        ("user int8[]", r"column 'user': it is a struct; name one of its columns: 'age', 'name'"),
        ("id bytes", r"column 'id': it is int64, bytes is declared"),
        ("wish int64[]", r"column 'wish': it is string, int64 \[1\] is declared \(decode=text"),
        ("grid int64[-1]", r"column 'grid': it is a list of lists of int64, nested deeper"),
        ("grid int64[3,2]", r"column 'grid': a list of it has 2 values, 3 are declared"),
        ("tags.key bytes", r"column 'tags.key': it is a list of string, nested deeper than bytes"),
        ("id int64[2]", r"column 'id': it is int64, one value; int64 \[1, 2\] is declared"),
    ],
)
def test_errors_name_the_column(people: Path, field: str, message: str) -> None:
    with pytest.raises(millhopper.Error, match=message):
        read(people, field)


def test_a_shuffle_and_shards_see_all_records(tmp_path: Path) -> None:
    table = pa.table({"n": range(1000), "s": [str(i) for i in range(1000)]})
    parquet.write_table(table, tmp_path / "n.parquet", row_group_size=90)
    with pa.ipc.new_file(tmp_path / "n.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=90)
    for name in ("n.parquet", "n.arrow"):
        fields = ["n int64[]", "s bytes"]
        reader = millhopper.Reader.open_files(tmp_path / name, fields=fields)
        found = [
            (int(n), s)
            for batch in reader.shuffle(300, seed=3).batch(7)
            for n, s in zip_strict(batch["n"], batch["s"].to_bytes())
        ]
        assert sorted(found) == [(i, str(i).encode()) for i in range(1000)]
        assert found != sorted(found)
        shards = []
        for index in range(3):
            shard = millhopper.Reader.open_files(tmp_path / name, fields=fields)
            shard = shard.shard(3, index, by="chunk")
            shards += [int(n) for batch in shard.batch(10) for n in batch["n"]]
        assert sorted(shards) == list(range(1000))


def test_large_row_groups_are_read_in_parts(tmp_path: Path) -> None:
    rows = 40_000
    columns: dict[str, Any] = {f"c{i}": np.arange(rows) * (i + 1) for i in range(8)}
    columns["s"] = [str(i) for i in range(rows)]
    columns["e"] = pa.FixedSizeListArray.from_arrays(np.arange(2 * rows, dtype=np.float32), 2)
    table = pa.table(columns)
    path = tmp_path / "n.parquet"
    parquet.write_table(table, path, row_group_size=rows // 2, use_dictionary=False)
    fields = [*(f"c{i} int64[]" for i in range(8)), "s bytes", "e float32[2]"]

    def read(reader: millhopper.Reader) -> list[Any]:
        return [
            (*numbers, text, *pair)
            for batch in reader.batch(3000).double_buffer()
            for *numbers, text, pair in zip_strict(
                *(batch[f"c{i}"].tolist() for i in range(8)),
                batch["s"].to_bytes(),
                batch["e"].tolist(),
            )
        ]

    def reader() -> millhopper.Reader:
        return millhopper.Reader.open_files(path, fields=fields)

    wanted = [
        (*(i * (c + 1) for c in range(8)), str(i).encode(), 2.0 * i, 2.0 * i + 1)
        for i in range(rows)
    ]
    assert read(reader()) == wanted
    assert read(reader().shuffle(1, seed=3)) == wanted  # as records
    shards = [read(reader().shard(2, index, by="chunk")) for index in range(2)]
    assert shards == [wanted[: rows // 2], wanted[rows // 2 :]]
    assert sorted(read(reader().shuffle(500, seed=3))) == wanted
    problem = r"row group 0: row 128: column 'c0': 128 is no int8"
    bad = millhopper.Reader.open_files(path, fields=["c0 int8[]", *fields[1:]])
    with pytest.raises(millhopper.Error, match=problem):
        read(bad)


def columns_of_numbers(rows: int) -> Any:
    """Numbers of all lengths, few and many, with and without nulls."""
    random = np.random.default_rng(5)
    types = ("int32", "uint32", "int64", "uint64", "float32", "float64")
    columns: dict[str, Any] = {}
    for dtype in types:
        whole = np.issubdtype(dtype, np.integer)
        top = int(np.iinfo(dtype).max) if whole else 1 << 20
        for name, most in {"one": 1, "few": 2, "some": 700, "many": top}.items():
            values = random.integers(0, most, rows, dtype=dtype if whole else "int64")
            columns[f"{dtype}_{name}"] = values.astype(dtype)
    columns["runs"] = np.repeat(np.arange(rows // 100 + 1), 100)[:rows]
    columns["null"] = pa.array([None if i % 7 == 3 else i for i in range(rows)], pa.int64())
    columns["last"] = pa.array([*range(rows - 1), None], pa.int32())
    columns["text"] = [str(i) for i in range(rows)]
    return pa.table(columns)


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "snappy"},
        {"compression": "none"},
        {"compression": "none", "use_dictionary": False},
        {"compression": "zstd", "use_dictionary": False},
        {"compression": "gzip", "data_page_size": 100},
        {"compression": "lz4", "data_page_version": "2.0"},
        {"compression": "snappy", "data_page_version": "2.0"},
        {"compression": "brotli", "write_page_checksum": True},
        {"compression": "snappy", "dictionary_pagesize_limit": 1000, "data_page_size": 500},
        {"compression": "snappy", "use_dictionary": False, "use_byte_stream_split": True},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
@pytest.mark.parametrize("nullable", [True, False])
def test_columns_of_numbers(tmp_path: Path, settings: dict[str, Any], nullable: bool) -> None:
    table = columns_of_numbers(5000)
    if not nullable:
        there = [field for field in table.schema if table[field.name].null_count == 0]
        table = table.select([field.name for field in there])
        schema = pa.schema([field.with_nullable(False) for field in there])
        table = table.cast(schema)
    if "use_byte_stream_split" in settings:
        settings = settings | {
            "use_byte_stream_split": [f.name for f in table.schema if number_type(f.type)]
        }
    path = tmp_path / "n.parquet"
    parquet.write_table(table, path, row_group_size=1700, **settings)
    fields = {
        field.name: "bytes"
        if field.name == "text"
        else f"{field.type}[] missing=default".replace("float[", "float32[").replace(
            "double[", "float64["
        )
        for field in table.schema
    }
    found: dict[str, list[Any]] = {name: [] for name in fields}
    for batch in millhopper.Reader.open_files(path, fields=fields).batch(999):
        for name in fields:
            found[name] += batch[name].to_bytes() if name == "text" else batch[name].tolist()
    for name in fields:
        assert found[name] == plain(table[name]), name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"n": "DELTA_BINARY_PACKED"}},
    ],
    ids=["usual", "second version", "encoded otherwise"],
)
@pytest.mark.parametrize("nulls", [True, False])
def test_columns_are_read_once(tmp_path: Path, settings: dict[str, Any], nulls: bool) -> None:
    numbers = np.random.default_rng(3).integers(0, 1 << 60, 20_000).tolist()
    if nulls:
        numbers[7] = None
    path = tmp_path / "n.parquet"
    parquet.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), path, **settings)
    reader = millhopper.Reader.open_files(path, fields=["n int64[] default=0"]).batch(1000)
    found = [number for batch in reader for number in batch["n"].tolist()]
    assert found == [number or 0 for number in numbers]
    (source,) = reader.stats().below
    assert path.stat().st_size < source.bytes_read < 2 * path.stat().st_size


class Keys(encryption.KmsClient):
    """Keys that are not secret."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> str:
        return base64.b64encode(key_bytes).decode()

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def write_encrypted(path: Path, table: Any, **settings: Any) -> None:
    factory = encryption.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(
        encryption.KmsConnectionConfig(), encryption.EncryptionConfiguration("k", **settings)
    )
    with parquet.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("fields", [None, ["a int64[]"]])
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, fields: list[str] | None) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"a": range(100), "b": [str(i) for i in range(100)]})

    def expect(problem: str) -> None:
        with pytest.raises(millhopper.Error, match=f"^{path}: {problem}"):
            list(millhopper.Reader.open_files(path, fields=fields))

    write_encrypted(path, table, column_keys={"k": ["a"]})
    expect("its footer is encrypted, which is not read; pyarrow.parquet, with its keys, reads")
    write_encrypted(path, table, column_keys={"k": ["a"]}, plaintext_footer=True)
    expect("(row group 0: )?column 'a' is encrypted, which is not read; pyarrow.parquet, with its")
    assert read(path, "b bytes") == [[str(i).encode() for i in range(100)]]
    parquet.write_table(
        table, path, write_page_checksum=True, use_dictionary=False, compression="none"
    )
    whole = path.read_bytes()
    path.write_bytes(whole.replace((50).to_bytes(8, "little"), (51).to_bytes(8, "little")))
    expect("row group 0: could not verify page integrity, CRC checksum verification failed")
    path.write_bytes(whole[:-10])
    expect("its footer cannot be read, because it is damaged, or the file was cut or is no Parq")
    path.write_bytes(b"a,b\n1,2\n" * 10)
    expect("its footer cannot be read, because it is damaged, or the file was cut or is no Parq")

    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    expect("an Arrow file without the footer that ends one; it was cut or not closed")
    path.write_bytes(whole[:300] + bytes(200) + whole[500:])
    expect("record batch 0: ")


# What a pass takes at most beside what it begins with, in MB.
MEMORY = """
import resource, sys
import millhopper
plugin, path = sys.argv[1:]
millhopper.load_plugin(plugin)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fields = millhopper._core.inferred_fields([path], {})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
print(fields)
"""


@pytest.mark.parametrize("name", ["rows.parquet", "row.parquet", "rows.arrow", "rows.arrows"])
def test_fields_of_what_expands_to_gigabytes_are_proposed_in_little_memory(
    tmp_path: Path, plugin: Path, name: str
) -> None:
    path = tmp_path / name
    many, text = 1000, "x" * (1 << 20)
    words = pa.DictionaryArray.from_arrays(pa.array([0] * many, pa.int32()), pa.array([text]))
    numbers = pa.array([None, *range(1, many)])
    if name == "row.parquet":
        numbers = numbers.slice(0, 1)
        words = pa.MapArray.from_arrays([0, many], [str(i) for i in range(many)], words)
    if path.suffix == ".parquet":
        table = pa.table({"m": words, "n": numbers})
        parquet.write_table(table, path, compression="zstd", store_schema=False)
    else:
        new = pa.ipc.new_file if name == "rows.arrow" else pa.ipc.new_stream
        table = pa.table({"m": pa.array([text] * many), "n": numbers})
        with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        del table
    assert path.stat().st_size < 100_000
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, plugin, path],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    memory, fields = ran.stdout.splitlines()
    assert int(memory) < 400
    texts = ["m.key str[-1]", "m.value str[-1]"] if name == "row.parquet" else ["m str"]
    assert ast.literal_eval(fields) == [*texts, "n int64[] missing=mask"]


def test_what_arrow_reads_is_read(tmp_path: Path) -> None:
    def column(kind: Any, values: bytes, *others: bytes, children: Any = None) -> Any:
        buffers = [None, pa.py_buffer(values), *map(pa.py_buffer, others)]
        return pa.Array.from_buffers(kind, 3, buffers, children=children)

    def integers(kind: str, *values: int) -> bytes:
        return np.array(values, kind).tobytes()

    text = b"\xff\xfe\xc3("
    places = integers("<i4", 0, 1, 2, 4)
    no_utf8 = column(pa.string(), places, text)
    no_days = column(pa.date64(), integers("<i8", 1, 86_400_001, -5))
    bits = [pa.py_buffer(b"\x05"), pa.py_buffer(integers("<i8", 1, 2, 3))]
    columns = {
        "s bytes": no_utf8,
        "l bytes": column(pa.large_string(), integers("<i8", 0, 1, 2, 4), text),
        "v bytes": pa.array([b"\xff", b"\xfe", b"\xc3("], pa.binary()).view(pa.string()),
        "d int64[]": no_days,
        "t int64[]": column(pa.time32("s"), integers("<i4", 1, 86_400, -5)),
        "u int64[]": column(pa.time64("us"), integers("<i8", 1, 10**13, -5)),
        "c float64[]": column(pa.decimal128(3), integers("<i8", 10**9, 0, 5, 0, -7, -1)),
        "z int64[] default=9": pa.Array.from_buffers(pa.int64(), 3, bits, null_count=2),
        "i bytes[-1]": column(
            pa.list_(pa.string()), integers("<i4", 0, 1, 2, 3), children=[no_utf8]
        ),
        "w bytes": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), no_utf8, safe=False),
        "m.value bytes[-1]": pa.MapArray.from_arrays([0, 1, 2, 3], ["a", "b", "c"], no_utf8),
        "o.d int64[]": pa.StructArray.from_arrays([no_days], names=["d"]),
    }
    names = [entry.split()[0].split(".")[0] for entry in columns]
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=names)
    texts = [b"\xff", b"\xfe", b"\xc3("]
    days = [1, 86_400_001, -5]
    wanted = [texts, texts, texts, days, [1, 86_400, -5], [1, 10**13, -5], [1e9, 5.0, -7.0]]
    wanted += [[1, 9, 3], [[t] for t in texts], texts, [[t] for t in texts], days]
    v4 = pa.MetadataVersion.V4
    for settings in ({}, {"metadata_version": v4, "use_legacy_format": True}):
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            path = tmp_path / "a.arrow"
            with new(path, batch.schema, options=pa.ipc.IpcWriteOptions(**settings)) as writer:
                writer.write_batch(batch)
            assert read(path, *columns) == wanted
            assert len(proposed_for(path)) == len(columns) + 1  # the keys, too
    # What points beyond the end of its bytes is refused.
    behind = column(pa.string(), integers("<i4", 0, 9, 2, 4), text)
    for bad in (
        behind,
        column(pa.list_(pa.string()), integers("<i4", 0, 1, 2, 3), children=[behind]),
    ):
        with pa.ipc.new_file(tmp_path / "b.arrow", pa.schema({"s": bad.type})) as writer:
            writer.write_batch(pa.record_batch({"s": bad}))
        with pytest.raises(millhopper.Error, match="b.arrow: record batch 0: "):
            read(tmp_path / "b.arrow", f"s bytes{'' if bad is behind else '[-1]'}")


def moments(*texts: str) -> Any:
    """INT96 timestamps: of these texts, and of one second after 1970."""
    return pa.array(
        [*(np.datetime64(text, "us") for text in texts), np.datetime64(1_000_000, "us")],
        pa.timestamp("us"),
    )


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01", "2262-04-12", "1677-09-20"])
def test_timestamps_that_nanoseconds_do_not_hold_are_errors(
    tmp_path: Path, text: str, dictionary: bool, shuffled: bool
) -> None:
    flat = moments("2262-04-11", "1677-09-22", text)
    rows = range(len(flat))
    lists = pa.ListArray.from_arrays([0, 1, 1, 3, 4], flat)
    nulls = pa.array([None, *flat.to_pylist()[1:]], flat.type)
    inner = pa.StructArray.from_arrays([flat], names=["t"])
    table = pa.table({"flat": flat, "l": lists, "null": nulls, "in": inner, "n": rows})
    path = tmp_path / "t.parquet"
    parquet.write_table(
        table, path, use_deprecated_int96_timestamps=True, use_dictionary=dictionary
    )
    for field in (
        "flat int64[]",
        "l int64[-1]",
        "null int64[] default=0",
        "null int64[] missing=skip",
        "in.t int64[]",
    ):
        reader = millhopper.Reader.open_files(path, fields={"n": "n int64[]", "t": field})
        column = field.split()[0]
        problem = rf"t.parquet: row group 0: row 2: column '{column}.*': the INT96 timestamp {text}"
        with pytest.raises(millhopper.Error, match=problem):
            list(reader.shuffle(3) if shuffled else reader)
    # Those that they hold, and columns that are not read.
    short = tmp_path / "short.parquet"
    parquet.write_table(table.slice(0, 2), short, use_deprecated_int96_timestamps=True)
    assert read(short, "flat int64[]") == [
        [int(np.datetime64(t, "ns").astype(np.int64)) for t in ("2262-04-11", "1677-09-22")]
    ]
    assert read(path, "n int64[]") == [list(rows)]


def test_timestamps_are_read_from_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    times = pa.array(range(50_000), pa.timestamp("s"))
    parquet.write_table(
        pa.table({"t": times}), path, use_deprecated_int96_timestamps=True, use_dictionary=False
    )
    reader = millhopper.Reader.open_files(path, fields=["t int64[]"]).batch(1000)
    found = [number for batch in reader for number in batch["t"].tolist()]
    assert found == [n * 10**9 for n in range(50_000)]
    (source,) = reader.stats().below
    assert path.stat().st_size < source.bytes_read < 1.5 * path.stat().st_size


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("nulls", [False, True])
def test_integers_of_other_sizes_than_the_file_says_are_errors(
    tmp_path: Path, kind: str, nulls: bool
) -> None:
    path = tmp_path / "n.parquet"
    values = pa.array([1, 77, None if nulls else 5, 9], getattr(pa, kind)())
    table = pa.table({"n": values})
    parquet.write_table(
        table, path, use_dictionary=False, compression="none", write_statistics=False
    )
    assert read(path, f"n {kind}[] default=0") == [[1, 77, 0 if nulls else 5, 9]]
    stored = path.read_bytes()
    number = 70_000
    assert stored.count((77).to_bytes(4, "little")) == 1
    path.write_bytes(stored.replace((77).to_bytes(4, "little"), number.to_bytes(4, "little")))
    problem = rf"row group 0: row 1: column 'n': {number} is no integer from (0|-\d+) to \d+, as"
    with pytest.raises(millhopper.Error, match=problem):
        read(path, f"n {kind}[] default=0")
    with pytest.raises(millhopper.Error, match=problem):
        read(path, "n int64[] missing=skip")


def proposed_for(path: Path) -> list[str]:
    """The fields that a reader of the file has without any."""
    return millhopper._core.inferred_fields([str(path)], {})


def test_columns_of_equal_empty_and_dotted_names(tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([pa.array([9, 8]), pa.array([7, 6])], names=["b", "b"])
    columns = [inner, [10, 20], [1, 2], [3, 4], [5, 6], [30, 40]]
    names = ["a", "a.b", "d", "d", "", 'q"\n']
    table = pa.Table.from_arrays([pa.array(column) for column in columns], names=names)
    parquet.write_table(table, tmp_path / "n.parquet")
    with pa.ipc.new_file(tmp_path / "n.arrow", table.schema) as writer:
        writer.write_table(table)
    for path in (tmp_path / "n.parquet", tmp_path / "n.arrow"):
        proposed = proposed_for(path)
        assert proposed == [
            "a.#0 int64[]",
            "a.#1 int64[]",
            "a.b int64[]",
            "#2 int64[]",
            "#3 int64[]",
            "#4 int64[]",
            '"q""\n" int64[]',
        ]
        values = [[9, 8], [7, 6], [10, 20], [1, 2], [3, 4], [5, 6], [30, 40]]
        assert read(path, *proposed) == values
        assert read(path, *proposed[::-2]) == values[::-2]
        shuffled = millhopper.Reader.open_files(
            path, fields={str(i): entry for i, entry in enumerate(proposed[::-1])}
        ).shuffle(5)
        (batch,) = shuffled.batch(2)
        rows = zip_strict(*(batch[str(i)].tolist() for i in range(7)))
        assert sorted(rows) == sorted(zip_strict(*values[::-1]))
        for wrong, words in {
            "d int64[]": "2 columns are named 'd'; by their numbers they are '#2', '#3'",
            "#0.b int64[]": "2 columns are named 'b'; by their numbers they are '#0', '#1'",
            "#0 int64[]": "column '#0': it is a struct; name one of its columns: 'b', 'b'",
            "#9 int64[]": "no column is named '#9'; there are 'a', 'a.b', 'd', 'd', ''",
        }.items():
            with pytest.raises(millhopper.Error, match=re.escape(words)):
                read(path, wrong)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_what_is_proposed_for_nulls_makes_no_values(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"n.{kind}"
    table = pa.table(
        {
            "label": pa.array([3, None, 0]),
            "on": pa.array([True, None, False]),
            "f": pa.array([0.5, None, 1.5]),
            "s": pa.array(["x", None, "z"]),
            "words": pa.array([["x"], None, []]),
            "list": pa.array([[1, 2], None, [3]]),
            "holes": pa.array([[1, None], None, [3]]),
            "time": pa.array([1, None, 3], pa.timestamp("ms")),
        }
    )
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    proposed = proposed_for(path)
    assert proposed == [
        "label int64[] missing=mask",
        "on bool[] missing=mask",
        "f float64[] default=nan",
        "s str missing=mask",
        "words str[-1] missing=mask",
        "list int64[-1] missing=mask",
        "holes float64[-1] default=nan missing=mask",
        "time int64[] decode=timestamp unit=us default=-9223372036854775808 missing=mask",
    ]
    (batch,) = millhopper.Reader.open_files(path, fields=proposed).batch(10)
    found = {name: values_of(batch, name) for name in batch}
    masks = [f"{name}.valid" for name in ("label", "on", "s", "words", "list", "holes", "time")]
    assert list(found)[8:] == masks
    assert all(found[name] == [True, False, True] for name in masks)
    assert found["label"] == [3, 0, 0] and found["on"] == [True, False, False]
    assert str(found["f"]) == "[0.5, nan, 1.5]" and found["s"] == [b"x", b"", b"z"]
    assert found["words"] == [[b"x"], [], []] and found["list"] == [[1, 2], [], [3]]
    assert str(found["holes"]) == "[[1.0, nan], [nan], [3.0]]"
    assert found["time"] == [1000, -(2**63), 3000]


def test_a_column_that_a_file_lacks_is_missing(tmp_path: Path) -> None:
    whole, part = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquet.write_table(pa.table({"id": [1, 2], "label": ["x", "y"], "n": [3, None]}), whole)
    parquet.write_table(pa.table({"id": [5, 6]}), part)
    for paths, expected in (
        ([whole, part], [b"x", b"y", b"", b""]),
        ([part, whole], [b"", b"", b"x", b"y"]),
    ):
        fields = {
            "l": "label bytes missing=default",
            "id": "id int64[]",
            "n": "n int64[] default=-1",
        }
        reader = millhopper.Reader.open_files(paths, fields=fields, cycle_length=1)
        (batch,) = reader.batch(4)
        assert batch["l"].to_bytes() == expected
        assert batch["n"].tolist() == [-1 if i != 1 else 3 for i in batch["id"].tolist()]
    skip = {"id": "id int64[]", "l": "label bytes missing=skip"}
    for paths in ([whole, part], [part, whole]):
        reader = millhopper.Reader.open_files(paths, fields=skip)
        assert [int(element["id"][0]) for element in reader] == [1, 2]
    # Rows are counted by what the file says of them, if none of its columns is read.
    label = ["label bytes missing=default"]
    (batch,) = millhopper.Reader.open_files([part, whole], fields=label, cycle_length=1).batch(9)
    assert batch["label"].to_bytes()[:2] == [b"", b""]
    with pytest.raises(millhopper.Error, match="no column is named 'label'; there are 'id'"):
        list(millhopper.Reader.open_files([whole, part], fields=["label bytes"]))


@pytest.mark.parametrize("option", ["missing=mask", "missing=default", "missing=skip", "default=0"])
def test_a_name_that_no_file_has_is_an_error(option: str, tmp_path: Path) -> None:
    table = pa.table({"fare": [1.5], "user": [{"id": 7}]})
    paths = [tmp_path / f"{name}.parquet" for name in "ab"] + [tmp_path / "c.arrow"]
    for path in paths[:2]:
        parquet.write_table(table, path)
    with pa.ipc.new_file(paths[2], table.schema) as file:
        file.write_table(table)
    for files in (paths[0], paths[:2], paths[2]):
        for name, words in (
            ("fares", "no column is named 'fares'; there are 'fare', 'user'; did you mean 'fare'?"),
            ("user.ix", "no column is named 'user.ix'"),
            ("f0-f3", "no column is named 'f0-f3'"),
        ):
            fields = ["fare float64[]", f"{name} int64[] {option}"]
            reader = millhopper.Reader.open_files(files, fields=fields)
            words = (
                re.escape(words) + ".*columns that some of the files have, and none has this one"
            )
            with pytest.raises(millhopper.Error, match=words):
                list(reader)
    # One file that has it is enough, whichever is opened first, and so is a folder of its name.
    more = tmp_path / "more.parquet"
    parquet.write_table(table.append_column("fares", pa.array([8])), more)
    for files in ([*paths[:2], more], [more, *paths[:2]]):
        fields = ["fare float64[]", f"fares int64[] {option}"]
        rows = [int(e["fares"][0]) for e in millhopper.Reader.open_files(files, fields=fields)]
        assert sorted(rows) == ([8] if option == "missing=skip" else [0, 0, 8])
    hive = tmp_path / "fares=3"
    hive.mkdir()
    parquet.write_table(table, hive / "a.parquet")
    reader = millhopper.Reader.open_files(hive / "a.parquet", fields=[f"fares int64[] {option}"])
    assert [int(e["fares"][0]) for e in reader] == [3]


def test_the_core_is_asked_for_its_formats_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "n.parquet"
    parquet.write_table(pa.table({"n": [1, 2]}), path)
    millhopper.Reader.open_files(path, fields=["n int64[]"])

    def ask_again() -> list[dict[str, Any]]:
        raise AssertionError

    monkeypatch.setattr("millhopper._core.format_schemas", ask_again)
    reader = millhopper.Reader.open_files(path, fields=["n int64[]"])
    assert [int(element["n"][0]) for element in reader] == [1, 2]


DAMAGE = """
import random, sys
import millhopper
plugin, path, *fields = sys.argv[1:]
millhopper.load_plugin(plugin)
whole = open(path, "rb").read()
random.seed(7)
refused = 0
cuts = sorted(random.sample(range(len(whole)), 150))
flips = [random.randrange(8 * len(whole)) for _ in range(400)]
for cut, flip in [(cut, None) for cut in cuts] + [(None, flip) for flip in flips]:
    bytes_ = bytearray(whole[:cut])
    if flip is not None:
        bytes_[flip // 8] ^= 1 << flip % 8
    damaged = path + ".damaged" + path[path.rindex("."):]
    with open(damaged, "wb") as file:
        file.write(bytes_)
    try:
        list(millhopper.Reader.open_files(damaged))
    except millhopper.Error as error:
        assert "damaged" in str(error), error
    try:
        reader = millhopper.Reader.open_files(damaged, fields=fields)
        list((reader.shuffle(3) if random.random() < 0.5 else reader).batch(100))
    except millhopper.Error as error:
        assert "damaged" in str(error), error
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("name", ["d.parquet", "raw.parquet", "d.arrow", "d.arrows", "d.feather"])
def test_damage_never_crashes(tmp_path: Path, plugin: Path, name: str) -> None:
    names = ["int64", "string", "words", "list", "texts", "bool"]
    if name == "raw.parquet":
        names += ["int8", "uint16", "timestamp us"]
    table = every_type().slice(0, 30).select(names)
    path = tmp_path / name
    if name == "d.parquet":
        parquet.write_table(table, path, row_group_size=11, write_page_checksum=True)
    elif name == "raw.parquet":
        parquet.write_table(
            table,
            path,
            row_group_size=11,
            compression="none",
            write_statistics=False,
            use_deprecated_int96_timestamps=True,
        )
    elif name == "d.feather":
        feather.write_feather(table, path, chunksize=11)
    else:
        new = pa.ipc.new_file if name == "d.arrow" else pa.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=11)
    fields = [field_of(f.name, f.type) or "" for f in table.schema]
    ended = subprocess.run(
        [sys.executable, "-c", DAMAGE, plugin, path, *fields],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) > 100
