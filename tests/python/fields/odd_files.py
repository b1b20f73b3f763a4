#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd files that are opened without any option, beside what other parsers make of them.

    tests/python/fields/odd_files.py --files=500 --plugin=build/libmillhopper_parquet.so

Files are drawn at random and written by polars, pandas, DuckDB and pyarrow, numpy, tarfile, and by
hand: names, nulls, nesting, encodings, types and delimiters as nobody should use them. Each is read
as the other parser reads it, column by column and value by value, or is an error that names the
file. The first seed with a difference ends it. test_odd_files.py runs a few dozen of each family.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import datetime
import gzip
import io
import json
import lzma
import math
import random
import re
import struct
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import millhopper
import numpy as np
from field_tables import message, varint
from record_files import masked_crc


class NotWritten(Exception):
    """The other library writes no such file, or does not read it."""


class Written(NamedTuple):
    path: Path
    truth: Any  # what the family's comparison needs


# ---- What people put into cells and call columns ----

TEXTS = ["a", "Zürich", "x y", "it's", 'say "hi"', 'a "b" c', "a,b", "c;d", "e|f", "g\th", "日本"]
TEXTS += ["line\nend", "cr\rlf\r\nx", "😀", " padded ", "#5", "\\", "'", '"', "a\u2028b", "\u00a0"]
NUMBERS = ["0", "-7", "007", "+5", " 5 ", ".5", "5.", "-0.0", "1e5", "1E-5", "1e400", "9" * 19]
NUMBERS += ["9" * 20, "9" * 30, "0.1234567890123456789", "1,000", "1_000", "0x1f", "50%", "inf"]
TIMES = ["2024-01-31", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.123456789", "2024-02-30"]
TIMES += ["0000-00-00", "9999-12-31", "31/01/2024", "01/31/2024", "Jan 5, 2024", "10:00", "2024"]
WORDS = ["True", "T", "Y", "on", "nan", "None", "NULL", "NA", "N/A", "#N/A", "\\N", "?", "-", ""]
NULLS = ["", "NULL", "null", "NA", "N/A", "<NA>", "\\N", "None", "NaN", "nan", "?"]
NAMES = ["id", "the name", "größe", "x.1", "a,b", "Unnamed: 0", "x-y", "I1", "I1-I3", "*", "a = b"]
NAMES += ["#0", "a.valid", "b", "b.valid", "t bytes", "n int64[]", '"q"', "'s'", "x\ty", " lead"]
NAMES += ["trail ", "名前", "a/b", "/a/b", "a~b", "x[]", "missing=mask", "very" * 60]


def cells(draw: random.Random) -> Callable[[], str]:
    """What makes the cells of a column, most of which are alike."""
    kinds: list[Callable[[], str]] = [
        lambda: str(draw.randrange(100)),
        lambda: str(draw.randrange(-(10**19), 10**20)),
        lambda: repr(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-30, 30)),
        lambda: f"{draw.uniform(-1, 1):.{draw.randrange(21)}f}",
        lambda: draw.choice(TEXTS),
        lambda: draw.choice(TEXTS + NUMBERS + TIMES + WORDS),
        lambda: draw.choice(["true", "false"]),
        lambda: draw.choice(["Y", "N"]),
        lambda: str(day()),
        lambda: f"{day()} 10:{draw.randrange(10, 60)}:07",
        lambda: day().strftime("%d.%m.%Y"),
        lambda: day().strftime("%m/%d/%Y"),
        lambda: f"{draw.randrange(1000):03}",
    ]

    def day() -> datetime.date:
        return datetime.date(1800, 1, 1) + datetime.timedelta(draw.randrange(150_000))

    usual, null = draw.choice(kinds), draw.choice(NULLS)
    nulls, odd = draw.choice([0, 0, 0.1, 0.5]), draw.choice([0, 0, 0, 0.05])

    def make() -> str:
        if draw.random() < nulls:
            return null
        return draw.choice(NUMBERS + TIMES + WORDS) if draw.random() < odd else usual()

    return make


# ---- Tables of text ----

ENCODINGS = ["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be", "latin-1"]
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def write_table(draw: random.Random, folder: Path) -> Written:
    names = draw.sample(NAMES, draw.choice([1, 2, 3, 8]))
    makers = [cells(draw) for _ in names]
    rows = [[make() for make in makers] for _ in range(draw.choice([1, 3, 60, 300]))]
    delimiter = draw.choice([",", ",", ";", "\t", "|"])
    end = draw.choice(["\n", "\n", "\r\n", "\r"])
    text = io.StringIO(newline="")
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    table = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    table.writerows([names, *rows])
    written = damaged(draw, text.getvalue(), delimiter, end)
    encoding = draw.choice(ENCODINGS)
    try:
        content = written.encode(encoding)
    except UnicodeEncodeError:
        content = written.encode()
    compression = draw.choice(list(COMPRESSIONS))
    tag = draw.choice(["csv", "CSV", "tsv" if delimiter == "\t" else "csv"])
    path = folder / f"a.{tag}{compression}"
    path.write_bytes(COMPRESSIONS[compression](content))
    return Written(path, (written, delimiter))


def damaged(draw: random.Random, text: str, delimiter: str, end: str) -> str:
    """What other programs add to tables, or leave out of them."""
    lines = text.split(end)
    changes: list[Callable[[], str]] = [
        lambda: "# made by x" + end + text,
        lambda: "My title" + end + end + text,
        lambda: text[: -len(end)],
        lambda: text + 3 * end,
        lambda: end.join([*lines[: len(lines) // 2], "", *lines[len(lines) // 2 :]]),
        lambda: text.replace(delimiter, delimiter + " "),
        lambda: end.join(line + delimiter if line else line for line in lines),
        lambda: end.join([lines[0]] + [line + delimiter if line else line for line in lines[1:]]),
        lambda: text.replace('""', '\\"'),
        lambda: text.replace('"', "'"),
        lambda: end.join([*lines[:-2], lines[-2].rpartition(delimiter)[0], ""]),
        lambda: text.replace(end, "\n", 2),
        lambda: text + "\x1a",
        lambda: f"sep={delimiter}{end}{text}",
    ]
    return draw.choice(changes)() if draw.random() < 0.4 else text


def columns_of(path: Path) -> tuple[list[str], dict[str, list[Any]]]:
    """The entries of the fields, and the values of all slots: texts as bytes."""
    from test_inferred_text import plain

    entries = millhopper._core.inferred_fields([str(path)], {})
    found: dict[str, list[Any]] = {}
    for batch in millhopper.Reader.open_files(path).batch(10**6):
        found = {name: plain(values) for name, values in batch.items()}
    return entries, found


def slots_of(entries: list[str], found: dict[str, list[Any]]) -> list[str]:
    """The slots of the entries, without their masks, which stand last."""
    slots = list(found)[: len(entries)]
    masked = [slot for slot, entry in zip(slots, entries) if " missing=mask" in entry]
    assert list(found)[len(entries) :] == [f"{slot}.valid" for slot in masked]
    return slots


def cut(text: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


def check_table(path: Path, truth: Any) -> None:
    text, delimiter = truth
    entries, found = columns_of(path)
    if not found:
        return
    slots = slots_of(entries, found)
    if len(slots) == 1 and ".tsv" not in path.name:  # it is text, if it does not cut all rows
        delimiter = ","
    header, *rows = cut(text, delimiter)
    by_commas = cut(text, ",")
    widths = set(map(len, by_commas))
    if slots[0] not in (header[0], "#0") and len(widths) == 1 and max(widths) > 1:
        header, *rows = by_commas  # cut all rows, too
    if all(slot == f"#{i}" for i, slot in enumerate(slots)):
        rows = [header, *rows][-len(found[slots[0]]) :]  # the header is data, which loses nothing
    assert len(slots) == len(header), (entries, header)
    for column, (slot, entry) in enumerate(zip(slots, entries)):
        assert slot in (header[column], f"#{column}")
        assert len(found[slot]) == len(rows), entry
        valid = found[f"{slot}.valid"] if " missing=mask" in entry else [True] * len(rows)
        for row, value, there in zip(rows, found[slot], valid):
            cell = row[column] if column < len(row) else None
            if there:
                assert cell is not None and same_cell(cell, value, entry), (cell, value, entry)
            else:
                assert cell in NULLS, (cell, entry)


def same_cell(cell: str, value: Any, entry: str) -> bool:
    """Whether a value of a field is what stands in a cell; times by numpy and strptime."""
    from test_inferred_text import same_cell as same_plain_cell

    unit = re.findall(r"decode=timestamp unit=(\w+)", entry)
    if not unit or cell in NULLS:
        return same_plain_cell(cell, value, entry)
    form = re.findall(r'format="(.*?)"', entry)
    if form:
        when = np.datetime64(datetime.datetime.strptime(cell, form[0]), "us")
    else:
        when = np.datetime64(re.sub(r"(Z|\+00)$", "", cell))
    numpys = {"d": "D"}.get(unit[0], unit[0])
    return bool(np.datetime64(int(value), numpys) == when)


# ---- Tables of other libraries ----


def random_columns(draw: random.Random) -> dict[str, list[Any]]:
    count = draw.choice([1, 3, 20, 200])
    start = datetime.datetime(2000, 1, 1)
    kinds: list[Callable[[], Any]] = [
        lambda: draw.randrange(-(2**31), 2**31),
        lambda: draw.randrange(-(2**63), 2**63),
        lambda: draw.random(),
        lambda: draw.choice([math.inf, 0.0, -0.0, 1e-300, 5e-324, 1.7e308]),
        lambda: draw.choice(TEXTS + NUMBERS + TIMES + WORDS),
        lambda: draw.random() < 0.5,
        lambda: (start + datetime.timedelta(draw.randrange(-40000, 40000))).date(),
        lambda: start + datetime.timedelta(microseconds=draw.randrange(-(10**15), 10**15)),
        lambda: [draw.randrange(9) for _ in range(draw.randrange(4))],
        lambda: [draw.choice(TEXTS) for _ in range(draw.randrange(3))],
        lambda: {"x": draw.randrange(9), "y": draw.choice(TEXTS)},
        lambda: [{"role": "u", "content": draw.choice(TEXTS)} for _ in range(draw.randrange(3))],
        lambda: [[draw.random() for _ in range(2)] for _ in range(draw.randrange(3))],
    ]

    def column() -> list[Any]:
        kind, nulls = draw.choice(kinds), draw.choice([0, 0, 0.2, 0.5, 1])
        return [None if draw.random() < nulls else kind() for _ in range(count)]

    return {name: column() for name in draw.sample(NAMES, draw.choice([1, 2, 4, 7]))}


def write_polars(draw: random.Random, folder: Path) -> Written:
    import polars as pl

    frame = pl.DataFrame(
        {
            name: pl.Series(name, values, strict=False)
            for name, values in random_columns(draw).items()
        }
    )
    casts: dict[Any, list[Any]] = {
        pl.Int64: [pl.Int8, pl.UInt16, pl.UInt64, pl.Float32, pl.Decimal(20, 2), pl.Boolean],
        pl.String: [pl.Categorical, pl.Binary],
        pl.Datetime: [pl.Datetime("ns"), pl.Datetime("ms", "Europe/Berlin"), pl.Time],
    }
    for name, kind in frame.schema.items():
        for from_kind, to_kinds in casts.items():
            if kind == from_kind and draw.random() < 0.5:
                cast = frame[name].cast(draw.choice(to_kinds), strict=False)
                frame = frame.with_columns(cast.alias(name))
    tag = draw.choice(["parquet", "parquet", "arrow", "arrows", "csv", "jsonl", "json"])
    path = folder / f"a.{tag}"
    if tag == "parquet":
        codec = draw.choice(["zstd", "snappy", "lz4", "uncompressed", "gzip", "brotli"])
        frame.write_parquet(path, compression=codec, row_group_size=draw.choice([None, 7]))
    elif tag == "arrow":
        frame.write_ipc(path, compression=draw.choice(["uncompressed", "lz4", "zstd"]))
    elif tag == "arrows":
        frame.write_ipc_stream(path, compression=draw.choice(["uncompressed", "lz4", "zstd"]))
    else:
        flat = tag == "csv"
        wanted = [
            name
            for name, kind in frame.schema.items()
            if kind != pl.Binary and not (flat and kind.is_nested())
        ]
        if not wanted:
            raise NotWritten("it has no column of text")
        frame = frame.select(frame[name] for name in wanted)
        delimiter = draw.choice([",", ";", "\t", "|"])
        if flat:
            quotes = draw.choice(["necessary", "always", "non_numeric"])
            frame.write_csv(path, separator=delimiter, quote_style=quotes)
            return Written(path, (path.read_bytes().decode(), delimiter))
        frame.write_ndjson(path) if tag == "jsonl" else frame.write_json(path)
    return Written(path, None)


def write_pandas(draw: random.Random, folder: Path) -> Written:
    import pandas as pd

    frame = pd.DataFrame(random_columns(draw))
    if draw.random() < 0.4:
        frame = frame.convert_dtypes()
    if draw.random() < 0.3:
        frame.index = pd.date_range("2020-01-01", periods=len(frame), freq="h")
    tag = draw.choice(["parquet", "feather", "csv", "jsonl", "json"])
    path = folder / f"a.{tag}"
    try:
        if tag == "parquet":
            frame.to_parquet(path, index=draw.choice([None, True, False]))
        elif tag == "feather":
            frame.reset_index().to_feather(path)
        elif tag == "csv":
            delimiter = draw.choice([",", ";", "\t", "|"])
            nulls, end = draw.choice(["", "NA", "nan"]), draw.choice(["\n", "\r\n", "\r"])
            frame.to_csv(
                path, sep=delimiter, index=draw.random() < 0.5, na_rep=nulls, lineterminator=end
            )
            return Written(path, (path.read_bytes().decode(), delimiter))
        else:
            lines, orient = tag == "jsonl", draw.choice(["records", "columns", "split", "values"])
            frame.to_json(path, orient="records" if lines else orient, lines=lines)
    except (ValueError, TypeError, OverflowError) as error:
        raise NotWritten(str(error)) from error
    return Written(path, None)


DUCKDB = """(i % 100)::TINYINT; i::USMALLINT; (i * 9999999999)::UBIGINT; i::UHUGEINT; (i / 7)::FLOAT
(i / 8)::DECIMAL(9, 3); (i / 8)::DECIMAL(38, 10); i % 2 = 0; 't' || i; ('b' || i)::BLOB; '101'::BIT
uuid(); DATE '2000-01-01' + i::INT; TIMESTAMP '2000-01-01 00:00:00.123456' + INTERVAL (i) HOUR
(TIMESTAMP '2000-01-01')::TIMESTAMP_S; (TIMESTAMP '2000-01-01')::TIMESTAMP_NS; INTERVAL (i) DAY
(TIMESTAMP '2000-01-01')::TIMESTAMPTZ; TIMETZ '10:00:00+02'; TIME '10:00:00.5'; [i, i + 1]
['a', 'b' || i]; [[i], [i, 2]]; [[i], NULL]; {'a': i, 'b': 'x' || i}; [{'a': i, 'b': 'x'}]; NULL
map {'k' || i % 9: i}; map {i: [i]}; array_value(i, i + 1, 2); 'a'::ENUM('a', 'b'); i::VARCHAR
CASE WHEN i % 3 > 0 THEN i END; CASE WHEN i % 3 > 0 THEN 't' || i END; {'a': {'b': {'c': i}}}
CASE WHEN i % 3 > 0 THEN i % 2 = 0 END; CASE WHEN i % 3 > 0 THEN [i] END; union_value(k := i)
CASE WHEN i % 3 > 0 THEN {'a': i} END; CASE WHEN i % 3 > 0 THEN 'inf'::DOUBLE ELSE 'nan' END
('{"j": ' || i || '}')::JSON; ''; '  '; '0' || i; DATE '0044-03-15 (BC)'; map {'k' || i: i}"""


def write_duckdb(draw: random.Random, folder: Path) -> Written:
    import duckdb

    known = re.split("; |\n", DUCKDB)
    columns = draw.sample(known, draw.choice([1, 2, 4, 8]))
    selected = ", ".join(f"({column}) AS c{i}" for i, column in enumerate(columns))
    query = f"SELECT {selected} FROM range({draw.choice([1, 5, 50, 3000])}) r(i)"
    tag = draw.choice(["parquet", "parquet", "csv", "jsonl", "json"])
    path, delimiter = folder / f"a.{tag}", draw.choice([",", ";", "\t", "|"])
    codec = draw.choice(["snappy", "zstd", "gzip", "lz4", "uncompressed", "brotli"])
    options = {
        "parquet": f"parquet, compression {codec}, parquet_version {draw.choice(['v1', 'v2'])}",
        "csv": f"csv, header, delimiter '{delimiter}'",
        "jsonl": "json",
        "json": "json, array true",
    }
    try:
        duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT {options[tag]})")
    except duckdb.Error as error:
        raise NotWritten(str(error)) from error
    return Written(path, (path.read_bytes().decode(), delimiter) if tag == "csv" else None)


def write_arrow(draw: random.Random, folder: Path) -> Written:
    import pyarrow as pa
    from pyarrow import feather, parquet
    from test_columns import random_table

    table = random_table(draw, False, draw.choice([0, 0.2, 0.9]))
    rows = table.num_rows
    numbers = pa.array(range(rows))
    kinds, places = pa.array([0] * rows, pa.int8()), pa.array(range(rows), pa.int32())
    more = {
        "union": pa.UnionArray.from_dense(kinds, places, [numbers]),
        "interval": pa.array([(1, 2, 3)] * rows, pa.month_day_nano_interval()),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([7])),
        "uuid": pa.array([bytes(range(16))] * rows, pa.uuid()),
        "json": pa.array(['{"a": 1}'] * rows, pa.json_()),
        "words": pa.array([["x", "y"]] * rows, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    }
    for name, column in more.items():
        if draw.random() < 0.1:
            table = table.append_column(name, column)
    tag = draw.choice(["arrow", "arrows", "feather", "parquet"])
    path = folder / f"a.{tag}"
    try:
        if tag == "parquet":
            parquet.write_table(table, path, data_page_size=draw.choice([10, 10**6]))
        elif tag == "feather":
            feather.write_feather(table, path)
        else:
            new = pa.ipc.new_file if tag == "arrow" else pa.ipc.new_stream
            with new(str(path), table.schema) as writer:
                writer.write_table(table, max_chunksize=draw.choice([2, 1000]))
    except (pa.ArrowException, NotImplementedError) as error:
        raise NotWritten(str(error)) from error
    return Written(path, None)


def check_columns(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet
    from test_columns import check

    try:
        if path.suffix == ".parquet":
            table = parquet.ParquetFile(path).read()
        elif path.suffix == ".arrows":
            table = pa.ipc.open_stream(str(path)).read_all()
        else:
            table = feather.read_table(path)
    except (pa.ArrowException, NotImplementedError) as error:
        raise NotWritten(str(error)) from error
    check(table, path)


def check_records(path: Path) -> None:
    """Records of JSON, as Python's json reads them."""
    from test_inferred_text import ABSENT, at_pointer, leaves_of, same_value

    text = path.read_text(encoding="utf-8-sig")
    whole = None if path.suffix == ".jsonl" else json.loads(text)
    records = [json.loads(line) for line in text.split("\n") if line] if whole is None else whole
    records = records if isinstance(records, list) else [records]
    entries, found = columns_of(path)
    slots = slots_of(entries, found)
    if records and not isinstance(records[0], dict):
        assert len(found[slots[0]]) == len(records)
        return
    escaped = [slot.replace("~", "~0").replace("/", "~1") for slot in slots]
    at = [slot if slot[:1] == "/" else f"/{name}" for slot, name in zip(slots, escaped)]
    for number, record in enumerate(records):
        for leaf in leaves_of(record):
            inside = [pointer for pointer in at if pointer.startswith(leaf + "/")]
            assert any(leaf == pointer or leaf.startswith(pointer + "/") for pointer in at) or (
                inside and not at_pointer(record, leaf)
            ), (leaf, entries)
        for slot, entry in zip(slots, entries):
            expected, value = at_pointer(record, slot), found[slot][number]
            if " missing=mask" in entry and not found[f"{slot}.valid"][number]:
                assert expected is ABSENT or expected is None, (slot, entry)
            elif isinstance(expected, float) and math.isnan(expected):
                assert "decode=json" in entry or math.isnan(value)
            elif "decode=timestamp" in entry and isinstance(expected, str):
                assert same_cell(expected, value, entry), (expected, value, entry)
            else:
                assert same_value(expected, value, entry), (expected, value, entry)


def check_any(path: Path, truth: Any) -> None:
    if path.suffix == ".csv":
        check_table(path, truth)
    elif path.suffix in (".json", ".jsonl"):
        check_records(path)
    else:
        check_columns(path)


# ---- Arrays ----

DTYPES = ["<i1", ">i2", "<i4", ">u8", "<f2", ">f4", "c8", "c16", "?", "S5", "<U4", ">U3", "M8[s]"]
DTYPES += ["V3", "O", "g"]


def write_arrays(draw: random.Random, folder: Path) -> Written:
    rows = draw.choice([1, 3, 50])

    def array() -> Any:
        shape = (rows, *draw.choice([(), (), (3,), (2, 2), (1,)]))
        values = np.array([draw.randrange(100) for _ in range(math.prod(shape))]).reshape(shape)
        dtype = draw.choice(DTYPES)
        made = values.astype("U").astype(dtype) if dtype[1:2] == "U" else values.astype(dtype)
        return np.asfortranarray(made) if draw.random() < 0.2 else made

    if draw.random() < 0.4:
        np.save(folder / "a.npy", only := array(), allow_pickle=True)
        return Written(folder / "a.npy", {"slot0": only})
    names = draw.sample(["x", "label", "a/b", "größe", "x.y", "a b", "#0"], draw.choice([1, 2, 3]))
    arrays = {name: array() for name in names}
    (np.savez if draw.random() < 0.5 else np.savez_compressed)(folder / "a.npz", **arrays)
    return Written(folder / "a.npz", arrays)


def check_arrays(path: Path, truth: Any) -> None:
    from test_other_parsers import assert_reads

    assert_reads(path, truth)


# ---- Examples ----


def feature(kind: str, values: list[Any], packed: bool) -> bytes:
    if kind == "bytes":
        return message(1, b"".join(message(1, value) for value in values))
    if kind == "floats":
        numbers = [struct.pack("<f", value) for value in values]
        whole = message(1, b"".join(numbers)) if packed else b"".join(b"\x0d" + n for n in numbers)
        return message(2, whole)
    numbers = [varint(value) for value in values]
    whole = message(1, b"".join(numbers)) if packed else b"".join(b"\x08" + n for n in numbers)
    return message(3, whole)


def write_examples(draw: random.Random, folder: Path) -> Written:
    names = draw.sample(["x", "image/encoded", "größe", "a b", "x.valid", "#0", "*"], 3)
    kinds = {name: draw.choice(["bytes", "floats", "integers"]) for name in names}
    counts = {name: draw.choice([0, 1, 1, 3, None]) for name in names}
    present, mixed, packed = (
        draw.choice([1, 1, 0.7]),
        draw.choice([0, 0, 0.05]),
        draw.random() < 0.7,
    )
    values: dict[str, Callable[[], Any]] = {
        "bytes": lambda: draw.choice([b"abc", b"\xff\xfe", "ü".encode(), b"", b"x\0y"]),
        "floats": lambda: draw.choice([0.5, -1.25, math.inf, 3e38 // 1e31 * 2.0**100]),
        "integers": lambda: draw.choice([0, -1, 2**63 - 1, -(2**63), 7]),
    }
    rows, content = [], b""
    for _ in range(draw.choice([1, 3, 40])):
        row = {}
        for name in names:
            if draw.random() < present:
                kind = draw.choice(list(values)) if draw.random() < mixed else kinds[name]
                count = counts[name]
                wanted = draw.randrange(4) if count is None else count
                row[name] = (kind, [values[kind]() for _ in range(wanted)])
        rows.append(row)
        features = [
            message(1, message(1, name.encode()) + message(2, feature(*value, packed)))
            for name, value in row.items()
        ]
        example = message(1, b"".join(features))
        length = struct.pack("<Q", len(example))
        content += length + masked_crc(length) + example + masked_crc(example)
    compression = draw.choice(["", ".gz"])
    path = folder / f"a.tfrecord{compression}"
    path.write_bytes(COMPRESSIONS[compression](content))
    return Written(path, rows)


def check_examples(path: Path, truth: Any) -> None:
    entries, found = columns_of(path)
    if not entries:  # no record has a value, so they are bytes
        assert not any(values for row in truth for _, values in row.values())
        assert len(found["slot0"]) == len(truth)
        return
    slots = slots_of(entries, found)
    assert all(len(found[slot]) == len(truth) for slot in slots)
    for number, row in enumerate(truth):
        assert all(name in slots for name, (_, values) in row.items() if values), (row, entries)
        for slot, entry in zip(slots, entries):
            value = found[slot][number]
            value = value if isinstance(value, list) else [value]
            there = found[f"{slot}.valid"][number] if " missing=mask" in entry else True
            wanted = row.get(slot, ("", []))[1]
            if wanted:
                assert there and value == wanted, (slot, value, wanted, entry)
            else:
                nothing = all(isinstance(one, float) and math.isnan(one) for one in value)
                assert not there or nothing, (slot, value, entry)


# ---- Archives ----


def write_archive(draw: random.Random, folder: Path) -> Written:
    count = draw.choice([1, 3, 20])
    stems = [draw.choice(["", "./", "d/", "d.e/", "/abs/"]) + f"{i:05}" for i in range(count)]
    known = ["jpg", "cls", "json", "txt", "JPG", "seg.png", "a.b.c", "npy", "é"]
    extensions, lacks = draw.sample(known, draw.choice([1, 2, 3])), draw.choice([0, 0, 0.2])
    compression = draw.choice(["", "gz", "bz2", "xz"])
    path = folder / f"a.tar{'.' if compression else ''}{compression}"
    forms = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
    with tarfile.open(path, f"w:{compression}", format=draw.choice(forms)) as archive:  # type: ignore[call-overload]
        for number, stem in enumerate(stems):
            for extension in extensions:
                content = f"{number}\n" if extension == "cls" else f'{{"a": {number}}} ü'
                if draw.random() >= lacks:
                    member = tarfile.TarInfo(f"{stem}.{extension}")
                    member.size = len(content.encode())
                    archive.addfile(member, io.BytesIO(content.encode()))
    return Written(path, None)


def check_archive(path: Path, truth: Any) -> None:
    records: dict[str, dict[str, bytes]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            folder, _, base = member.name.rpartition("/")
            stem, _, extension = base.partition(".")
            content = archive.extractfile(member)
            assert content is not None
            key = f"{folder}/{stem}" if folder else stem
            records.setdefault(key, {})[extension.lower()] = content.read()
    elements = list(millhopper.Reader.open_files(path))
    assert [element["__key__"][0].tobytes().decode() for element in elements] == list(records)
    for element, files in zip(elements, records.values()):
        assert set(files) <= set(element)
        for name in element:
            if name == "__key__" or name.endswith(".valid"):
                continue
            there = f"{name}.valid" not in element or bool(element[f"{name}.valid"][0])
            assert there == (name in files), name
            if there and isinstance(element[name], np.ndarray):
                assert element[name].tolist() == [int(files[name])]
            elif there:
                assert element[name][0].tobytes() == files[name]


class Family(NamedTuple):
    write: Callable[[random.Random, Path], Written]
    check: Callable[[Path, Any], None]
    libraries: tuple[str, ...] = ()


FAMILIES = {
    "tables": Family(write_table, check_table),
    "arrays": Family(write_arrays, check_arrays),
    "examples": Family(write_examples, check_examples),
    "archives": Family(write_archive, check_archive),
    "polars": Family(write_polars, check_any, ("polars", "pyarrow")),
    "pandas": Family(write_pandas, check_any, ("pandas", "pyarrow")),
    "duckdb": Family(write_duckdb, check_any, ("duckdb", "pyarrow")),
    "arrow": Family(write_arrow, check_any, ("pyarrow",)),
}


def outcome(family: str, seed: str, folder: Path) -> str:
    """Writes a file and reads it. Returns "equal", the text of the error that names the file, or
    "not written"; raises what a comparison raises."""
    try:
        file = FAMILIES[family].write(random.Random(f"{seed} {family}"), folder)
    except NotWritten:
        return "not written"
    try:
        FAMILIES[family].check(file.path, file.truth)
    except NotWritten:
        return "not written"
    except millhopper.Error as error:
        assert str(file.path) in str(error), error
        return error.message
    return "equal"


def main() -> int:
    """Reads the command line."""
    summary, *_ = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="odd_files", description=summary)
    parser.add_argument("--files", type=int, default=500, help="of each family")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--plugin", help="the plugin of Parquet, if pip has installed none")
    parser.add_argument("--errors", action="store_true", help="print those of files that are none")
    options = parser.parse_args()
    if options.plugin is not None:
        millhopper.load_plugin(options.plugin)
    for family in options.families:
        found: Counter[str] = Counter()
        for number in range(options.files):
            with tempfile.TemporaryDirectory() as folder:
                seed = f"{options.seed} {number}"
                try:
                    told = outcome(family, seed, Path(folder))
                except Exception as error:
                    print(f"{family}, seed '{seed}': {type(error).__name__}: {error}")
                    found["DIFFERENT"] += 1
                    continue
                kind = told if told in ("equal", "not written") else "error"
                found[kind] += 1
                if options.errors and kind == "error":
                    print(f"  {family} {number}: {told}")
        print(f"{family}: " + ", ".join(f"{count} {kind}" for kind, count in found.items()))
        if found["DIFFERENT"]:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
