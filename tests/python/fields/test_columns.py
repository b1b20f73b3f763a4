# SPDX-License-Identifier: Apache-2.0
"""Files of columns that are opened without fields, compared with what pyarrow reads."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

pa = pytest.importorskip("pyarrow")
compute = pytest.importorskip("pyarrow.compute")
parquet = pytest.importorskip("pyarrow.parquet")

NOT_A_TIME = -(2**63)


@pytest.fixture(scope="session", autouse=True)
def plugin(parquet_plugin: Path) -> Path:
    millhopper.load_plugin(parquet_plugin)
    return parquet_plugin


# ---- What pyarrow reads, as plain values ----


def is_list(kind: Any) -> bool:
    names = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view", "map")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def is_text(kind: Any) -> bool:
    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in (*names, "fixed_size_binary"))


def plain(array: Any) -> list[Any]:
    """The values of an array: texts as bytes, times as stored, structs as dicts, nulls as None."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in plain(chunk)]
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        words = plain(array.dictionary)
        return [None if at is None else words[at] for at in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(kind):
        values, places = plain(array.values), []
        for row in range(len(array)):
            ends = array.run_ends.to_pylist()
            places.append(next(i for i, end in enumerate(ends) if end > row + array.offset))
        return [values[place] for place in places]
    if is_list(kind):
        return [None if item.values is None else plain(item.values) for item in array]
    if pa.types.is_struct(kind):
        children = [plain(child) for child in array.flatten()]
        names = [field.name for field in kind]
        rows = [dict(zip_strict(names, values)) for values in zip_strict(*children)]
        return [
            row if there else None for row, there in zip_strict(rows, array.is_valid().to_pylist())
        ]
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_decimal(kind):
        return [
            None if v is None else f"{v:f}".encode() if kind.precision > 15 else float(v)
            for v in array.to_pylist()
        ]
    if is_text(kind):
        return [v.encode() if isinstance(v, str) else v for v in array.to_pylist()]
    return array.to_pylist()


def each(value: Any, depth: int, child: str) -> Any:
    """A member of the structs that lie so deep in lists."""
    if value is None:
        return None
    return value[child] if depth == 0 else [each(item, depth - 1, child) for item in value]


def meaning(kind: Any) -> Any:
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def leaves(kind: Any, rows: list[Any], depth: int = 0) -> Iterator[tuple[Any, list[Any], int]]:
    """What slots are to hold of a column: the type, its values in each row, how deep in lists."""
    kind = meaning(kind)
    if pa.types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        yield from leaves(pairs, rows, depth + 1)
    elif is_list(kind):
        yield from leaves(kind.value_type, rows, depth + 1)
    elif pa.types.is_struct(kind):
        for field in kind:
            members = [each(row, depth, field.name) for row in rows]
            yield from leaves(field.type, members, depth)
    else:
        yield kind, rows, depth


# ---- What a reader yields ----


def as_lists(value: Any, text: bool) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tobytes() if text else value.tolist()
    if isinstance(value, str):
        return value.encode()
    return [as_lists(item, text) for item in value]


def rows_of(reader: Any) -> list[dict[str, Any]]:
    """The elements as the arrays and sequences that they are, one by one."""
    return [
        {name: batch[name][row] for name in batch}
        for batch in reader.batch(7)
        for row in range(len(batch[next(iter(batch))]))
    ]


def no_value(kind: Any) -> Any:
    if pa.types.is_floating(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return math.nan
    return NOT_A_TIME if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else None


def same(found: Any, wanted: Any, kind: Any) -> bool:
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(
            same(a, b, kind) for a, b in zip_strict(found, wanted)
        )
    if isinstance(found, list) and wanted is None:
        return all(same(item, None, kind) for item in found)
    if wanted is None or wanted != wanted:
        is_no_time = found == NOT_A_TIME and no_value(kind) == NOT_A_TIME
        return found is None or found != found or is_no_time
    return bool(found == wanted)


def check(table: Any, path: Path, **options: Any) -> None:
    """Compares all slots of a reader without fields with the columns of a table, in their order."""
    entries = millhopper._core.inferred_fields([str(path)], {})
    for steps in ("", "window"):
        reader = millhopper.Reader.open_files(path, **options)
        rows = rows_of(reader.shuffle(1) if steps else reader)
        assert len(rows) == table.num_rows
        columns = [
            leaf
            for number, field in enumerate(table.schema)
            for leaf in leaves(field.type, plain(table.column(number)))
        ]
        if not rows:
            continue
        slots = list(rows[0])[: len(entries)]  # masks stand after them
        assert len(slots) == len(columns) == len(entries), (slots, table.schema)
        for slot, entry, (kind, wanted, _) in zip_strict(slots, entries, columns):
            if "decode=json" in entry:
                compare_json(rows, slot, kind, wanted)
                continue
            if unit := re.findall(r" decode=timestamp unit=(\w+)", entry):
                wanted = in_unit(wanted, stored_unit(kind), unit[0])
            compare(rows, slot, kind, wanted, " missing=mask" in entry)


TICKS = {"d": 1, **{unit: 86400 * 1000**i for i, unit in enumerate(("s", "ms", "us", "ns"))}}


def stored_unit(kind: Any) -> str:
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return "d" if pa.types.is_date32(kind) else "ms"


def in_unit(value: Any, stored: str, wanted: str) -> Any:
    """Times of one unit in another one, in which they are whole."""
    if isinstance(value, list):
        return [in_unit(item, stored, wanted) for item in value]
    if value is None:
        return None
    ticks, rest = divmod(value * TICKS[wanted], TICKS[stored])
    assert rest == 0, (value, stored, wanted)
    return ticks


def compare(
    rows: list[dict[str, Any]], slot: str, kind: Any, wanted: list[Any], masked: bool
) -> None:
    text = is_text(kind) or (pa.types.is_decimal(kind) and kind.precision > 15)
    for number, (row, value) in enumerate(zip_strict(rows, wanted)):
        where = (slot, kind, number, row[slot], value)
        if masked:
            assert row[f"{slot}.valid"] == (value is not None), where
        if value is not None or not masked:
            assert same(as_lists(row[slot], text), value, kind), where


def compare_json(rows: list[dict[str, Any]], slot: str, kind: Any, wanted: list[Any]) -> None:
    """Lists with nulls that have no value of their own, which are text."""
    if pa.types.is_temporal(kind):  # see test_one_meaning.py
        return
    for row, value in zip_strict(rows, wanted):
        assert row.get(f"{slot}.valid", True) == (value is not None)
        if value is not None:
            text = is_text(kind) or (pa.types.is_decimal(kind) and kind.precision > 15)
            found = parsed(json.loads(row[slot]), kind, text)
            assert same(found, value, kind), (slot, kind, found, value)


def parsed(value: Any, kind: Any, text: bool) -> Any:
    if isinstance(value, list):
        return [parsed(item, kind, text) for item in value]
    if value is None:
        return None
    if pa.types.is_float32(kind):
        return float(np.float32(value))
    return value.encode() if text else value


# ---- Random tables ----

LEAVES = [
    pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.large_string(), pa.large_binary(), pa.string_view(), pa.binary_view(), pa.binary(3),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("ns"),
    pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns"), pa.null(),
    pa.decimal32(9, 2), pa.decimal64(15, 3), pa.decimal64(18, 3), pa.decimal128(15, 15),
    pa.decimal128(38, 10), pa.decimal256(76, 5), pa.decimal256(12, 0),
]  # fmt: skip


def random_type(chance: random.Random, depth: int, of_parquet: bool) -> Any:
    """A type of values, of lists, structs or maps of them, or of a dictionary or runs of them."""
    choice = chance.random()
    if depth == 0 or choice < 0.5:
        return chance.choice(LEAVES)
    inner = random_type(chance, depth - 1, of_parquet)
    if choice < 0.6:
        return pa.list_(inner)
    if choice < 0.65:
        return pa.large_list(inner)
    if choice < 0.7:
        return pa.list_(inner, chance.randint(1, 3))
    if choice < 0.8:
        other = random_type(chance, depth - 1, of_parquet)
        return pa.struct([("x", inner), ("y.z", other)])
    if choice < 0.85:
        return pa.map_(chance.choice([pa.string(), pa.int32()]), inner)
    words = chance.choice([kind for kind in LEAVES if not pa.types.is_null(kind)])
    if choice < 0.93 or of_parquet:
        return pa.dictionary(chance.choice([pa.int8(), pa.uint16(), pa.int64()]), pa.string())
    if choice < 0.96:
        return pa.dictionary(pa.int16(), words)
    return pa.list_view(inner) if choice < 0.98 else pa.large_list_view(inner)


def random_value(chance: random.Random, kind: Any, nulls: float, nested: bool = False) -> Any:
    """A value for pyarrow's arrays. Only floats are null within lists: of others see
    test_nulls_in_lists.py."""
    within = nulls if not nested or pa.types.is_floating(kind) else 0
    if pa.types.is_null(kind) or chance.random() < within:
        return None
    if pa.types.is_map(kind):
        return [
            (
                random_value(chance, kind.key_type, 0, True),
                random_value(chance, kind.item_type, nulls, True),
            )
            for _ in range(chance.randint(0, 3))
        ]
    if is_list(kind):
        count = kind.list_size if pa.types.is_fixed_size_list(kind) else chance.randint(0, 3)
        return [random_value(chance, kind.value_type, nulls, True) for _ in range(count)]
    if pa.types.is_struct(kind):
        return {field.name: random_value(chance, field.type, nulls, nested) for field in kind}
    if pa.types.is_dictionary(kind):
        return random_value(chance, kind.value_type, 0)
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_integer(kind):
        unsigned = pa.types.is_unsigned_integer(kind)
        low = 0 if unsigned else -(2 ** (kind.bit_width - 1))
        high = 2 ** (kind.bit_width - (0 if unsigned else 1)) - 1
        return chance.choice([low, high, 0, chance.randint(low, high)])
    if pa.types.is_floating(kind):
        number = chance.choice([0.0, -0.5, math.inf, chance.uniform(-1000, 1000)])
        return np.float16(number) if kind.bit_width == 16 else number
    if pa.types.is_decimal(kind):
        number = chance.randint(-(10**kind.precision) + 1, 10**kind.precision - 1)
        with decimal.localcontext() as context:
            context.prec = 100
            return decimal.Decimal(number).scaleb(-kind.scale)
    if pa.types.is_date64(kind):
        return chance.randint(-10000, 10000) * 86400000
    if pa.types.is_temporal(kind):
        return (
            chance.randint(0, 86399) if pa.types.is_time(kind) else chance.randint(-(10**9), 10**9)
        )
    if pa.types.is_fixed_size_binary(kind):
        return bytes(chance.randrange(256) for _ in range(kind.byte_width))
    text = "".join(chance.choice('ab\u00fc\n"') for _ in range(chance.choice([0, 1, 3, 20])))
    return text if "string" in str(kind) else text.encode()


def array_of(values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        words = list(dict.fromkeys(value for value in values if value is not None))
        places = [None if value is None else words.index(value) for value in values]
        return pa.DictionaryArray.from_arrays(
            pa.array(places, kind.index_type), array_of(words, kind.value_type)
        )
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, whole).view(kind)
    return pa.array(values, kind)


def random_table(chance: random.Random, of_parquet: bool, nulls: float) -> Any:
    rows = chance.choice([1, 5, 20])
    columns = {}
    for number in range(chance.randint(1, 6)):
        kind = random_type(chance, chance.randint(0, 3), of_parquet)
        values = [random_value(chance, kind, nulls) for _ in range(rows)]
        try:
            columns[f"c{number}"] = array_of(values, kind)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
            continue  # pyarrow makes no such array
    return pa.table(columns) if columns else pa.table({"c": list(range(rows))})


@pytest.mark.parametrize("seed", range(30))
def test_parquet_is_read_as_pyarrow_reads_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    table = random_table(chance, True, chance.choice([0, 0.2, 0.9]))
    path = tmp_path / "a.parquet"
    for name in list(table.schema.names):
        try:
            parquet.write_table(table.select([name]), path)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            table = table.drop_columns([name])  # pyarrow writes no such column
    if table.num_columns == 0:
        return
    try:
        parquet.write_table(
            table,
            path,
            version=chance.choice(["1.0", "2.4", "2.6"]),
            compression=chance.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
            data_page_version=chance.choice(["1.0", "2.0"]),
            row_group_size=chance.choice([3, 1000]),
            use_dictionary=chance.random() < 0.5,
            write_statistics=chance.random() < 0.7,
            store_schema=chance.random() < 0.7,
        )
        read = parquet.ParquetFile(path).read()
    except (pa.ArrowNotImplementedError, pa.ArrowIndexError, pa.ArrowInvalid):
        return  # pyarrow does not write it so, or does not read what it has written
    check(read, path)


@pytest.mark.parametrize("seed", range(30))
def test_arrow_is_read_as_pyarrow_reads_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed + 1000)
    table = random_table(chance, False, chance.choice([0, 0.2, 0.9]))
    path = tmp_path / "a.arrow"
    options = pa.ipc.IpcWriteOptions(compression=chance.choice([None, "lz4", "zstd"]))
    make = chance.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=chance.choice([3, 1000]))
    check(table, path)


# ---- What one table does not show ----


def write(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def write_arrow(path: Path, *tables: Any) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)


def whole(files: Any, **options: Any) -> Any:
    (batch,) = millhopper.Reader.open_files(files, **options).batch(1000)
    return batch


def test_columns_of_some_files_are_there_for_all(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", a=pa.array([1], pa.int32()), b=["x"])
    write(tmp_path / "b.parquet", c=[0.5], a=pa.array([2**40]), b=pa.array([None], pa.string()))
    batch = whole([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert list(batch) == ["a", "b", "c", "b.valid"]
    assert batch["a"].tolist() == [1, 2**40]
    assert batch["b"].to_bytes() == [b"x", b""]
    assert batch["b.valid"].tolist() == [True, False]
    np.testing.assert_array_equal(batch["c"], [np.nan, 0.5])
    write(tmp_path / "c.parquet", a=["text"])
    found = (
        "'a': in .*c.parquet it is text, in files before it int64; the rest is read with fields: "
    )
    with pytest.raises(millhopper.Error, match=found):
        whole([tmp_path / f"{name}.parquet" for name in "abc"])


def test_a_folder_of_partitions(tmp_path: Path) -> None:
    write(tmp_path / "t" / "year=2023" / "at=a%2Fb" / "x.parquet", n=[1, 2])
    write(tmp_path / "t" / "year=2024" / "at=__HIVE_DEFAULT_PARTITION__" / "y.parquet", n=[3])
    for name in ("_SUCCESS", "_metadata", ".x.parquet.crc", ".part.parquet"):
        (tmp_path / "t" / name).write_bytes(b"")
    (tmp_path / "t" / "_temporary").mkdir()
    for files in (tmp_path / "t", f"{tmp_path}/t/**/*.parquet", f"{tmp_path}/t/year=*/*/*.parquet"):
        batch = whole(files)
        assert list(batch) == ["n", "year", "at", "at.valid"]
        order = np.argsort(batch["n"])
        assert batch["n"][order].tolist() == [1, 2, 3]
        assert batch["year"][order].tolist() == [2023, 2023, 2024]
        assert batch["at.valid"][order].tolist() == [True, True, False]
        assert [batch["at"].to_bytes()[i] for i in order] == [b"a/b", b"a/b", b""]
    batch = whole(tmp_path / "t", fields=["year bytes", "n int8[]"])
    assert sorted(batch["year"].to_bytes()) == [b"2023", b"2023", b"2024"]
    (batch,) = (
        millhopper.Reader.open_files(tmp_path / "t", fields=["year int64[]"]).shuffle(9).batch(9)
    )
    assert sorted(batch["year"].tolist()) == [2023, 2023, 2024]
    with pytest.raises(millhopper.Error, match="its folder says 'a/b', which is no integer; bytes"):
        whole(tmp_path / "t", fields=["at int64[] missing=mask"])


def test_partitions_lose_no_zeros(tmp_path: Path) -> None:
    for month in ("01", "12"):
        write(tmp_path / f"month={month}" / "a.parquet", n=[int(month)])
    assert sorted(whole(tmp_path)["month"].to_bytes()) == [b"01", b"12"]
    assert sorted(whole(tmp_path, fields=["month int8[]"])["month"].tolist()) == [1, 12]


def test_partitions_of_arrow_files(tmp_path: Path) -> None:
    (tmp_path / "k=7").mkdir()
    write_arrow(tmp_path / "k=7" / "x.arrow", pa.table({"n": [1, 2]}))
    assert {name: array.tolist() for name, array in whole(tmp_path).items()} == {
        "n": [1, 2],
        "k": [7, 7],
    }
    assert whole(tmp_path, fields=["k int8[]"])["k"].tolist() == [7, 7]


ODD_NAMES = [
    'a"b',
    "a\nb",
    "'",
    "'\"",
    "",
    "a.b",
    "x y",
    "caf\u00e9",
    "#0",
    "[0]",
    "\\",
    "same",
    "same",
    "\t",
]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_odd_names_are_slots(tmp_path: Path, kind: str) -> None:
    table = pa.Table.from_arrays([pa.array([i]) for i in range(len(ODD_NAMES))], names=ODD_NAMES)
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        write_arrow(path, table)
    batch = whole(path)
    assert [values.tolist() for values in batch.values()] == [[i] for i in range(len(ODD_NAMES))]
    numbers = [f"#{i}" for i, name in enumerate(ODD_NAMES) if name in ("", "same")]
    assert list(batch) == [
        name if name not in ("", "same") else numbers.pop(0) for name in ODD_NAMES
    ]
    assert whole(path, fields=['"" int64[]'])[""].tolist() == [4]
    assert whole(path, fields=['"a""b" int8[]'])['a"b'].tolist() == [0]


def test_units_of_times(tmp_path: Path) -> None:
    moments = [datetime.datetime(2024, 1, 31, 12, 0, 5), datetime.datetime(1969, 12, 31)]
    days = [moment.date() for moment in moments]
    write(tmp_path / "a.parquet", t=pa.array(moments, pa.timestamp("us")), d=pa.array(days))
    rows = "".join(f"{moment},{day}\n" for moment, day in zip_strict(moments, days))
    (tmp_path / "a.csv").write_text("t,d\n" + rows)
    for unit in ("", " unit=ms", " unit=ns"):
        fields = [f"t int64[] decode=timestamp{unit}", f"d int64[] decode=timestamp{unit}"]
        typed = whole(tmp_path / "a.parquet", fields=fields)
        text = whole(tmp_path / "a.csv", fields=fields)
        assert typed["t"].tolist() == text["t"].tolist()
        assert typed["d"].tolist() == text["d"].tolist()
    reader = millhopper.Reader.open_files(tmp_path / "a.parquet")
    shown = "t int64[] decode=timestamp unit=us, d int64[] decode=timestamp unit=d"
    assert shown in str(reader)
    assert shown in str(millhopper.Reader.open_files(tmp_path / "a.csv"))
    assert whole(tmp_path / "a.parquet")["t"].tolist() == [1706702405000000, -86400000000]


def test_names_tell_formats_in_capital_letters(tmp_path: Path) -> None:
    for name in ("a.PARQUET", "a.parq", "a.Pq", "a.data", "a"):
        write(tmp_path / name, n=[1])
        assert whole(tmp_path / name)["n"].tolist() == [1]
    write(tmp_path / "a.csv", n=[1])
    with pytest.raises(
        millhopper.Error, match="those of the format parquet; 'parquet:.*a.csv' rea"
    ):
        whole(tmp_path / "a.csv")
    assert whole(f"parquet:{tmp_path}/a.csv")["n"].tolist() == [1]
    (tmp_path / "A.CSV").write_text("n\n1\n")
    assert whole(tmp_path / "A.CSV")["n"].tolist() == [1]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("damage", ["empty", "cut", "tail", "zeros"])
def test_damaged_files_say_so(tmp_path: Path, kind: str, damage: str) -> None:
    path = tmp_path / f"a.{kind}"
    table = pa.table({"n": list(range(1000))})
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        write_arrow(path, table)
    content = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": content[: len(content) // 2],
            "tail": content[len(content) // 2 :],
            "zeros": bytes(len(content)),
        }[damage]
    )
    with pytest.raises(millhopper.Error, match=rf"a\.{kind}") as caught:
        whole(path)
    words = "is empty" if damage == "empty" else "cut|damaged|no Arrow file|footer|message"
    assert re.search(words, caught.value.message), caught.value.message


def test_nulls_of_later_batches_are_seen(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("l", pa.list_(pa.int32()))])
    tables = [
        pa.table({"n": [None if n == 4 else n], "l": [[n] if n else None]}, schema)
        for n in range(5)
    ]
    write_arrow(tmp_path / "a.arrow", *tables)
    batch = whole(tmp_path / "a.arrow")
    assert batch["n.valid"].tolist() == [True] * 4 + [False]
    assert batch["l.valid"].tolist() == [False] + [True] * 4
