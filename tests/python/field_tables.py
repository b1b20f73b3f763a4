# SPDX-License-Identifier: Apache-2.0
"""A table as files of every format that has fields, and what each field is of each of its rows."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from millhopper.base.zipped import zip_strict
from record_files import masked_crc

Row = dict[str, Any]


def row_of(n: int) -> Row:
    """The row about a number; no two columns have equal values."""
    return {
        "num": n,
        "half": n + 0.5,
        "neg": -n - 1,
        "small": n % 300,
        "text": f"t{n}" * (n % 3),
        "list": [n * 7] * (n % 4 + 1),
        "pair": [n + 0.25, -n - 0.25],
        "maybe": None if n % 5 == 2 else n * 3,
    }


class Field(NamedTuple):
    """An entry, and what it is of a row, as ``rows_of`` has it; a row for which it is None is left
    out. Last, what its mask is of a row, if it has one."""

    entry: str
    value: Callable[[Row], Any]
    mask: Callable[[Row], bool] | None = None


def column(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


def floats(name: str) -> Callable[[Row], Any]:
    return lambda row: float(row[name])


def text(row: Row) -> bytes:
    return bytes(row["text"], "ascii")


def maybe(row: Row) -> int:
    return -4 if row["maybe"] is None else int(row["maybe"])


def usual(number: str = "", default: bool = True) -> list[Field]:
    """Fields of formats in which columns have names; ``number`` stands after those of numbers."""
    fields = [
        Field(f"num int64[]{number}", column("num")),
        Field(f"num int64[]{number} numbers=exact", column("num")),
        Field(f"num float32[]{number}", floats("num")),
        Field(f"half float32[]{number}", column("half")),
        Field(f"half float64[] numbers=exact{number}", column("half")),
        Field(f"half float64[]{number}", column("half")),
        Field(f"neg int32[]{number}", column("neg")),
        Field(f"neg float32[]{number}", floats("neg")),
        Field(f"small int16[]{number}", column("small")),
        Field("text bytes", text),
        Field(f"list int64[-1]{number}", column("list")),
        Field(f"pair float32[2]{number}", column("pair")),
    ]
    if default:
        fields += [
            Field(f"maybe int64[]{number} default=-4", maybe),
            Field(f"maybe int32[]{number} missing=skip", column("maybe")),
            Field(f"maybe int64[]{number} missing=mask", or_else("maybe", 0), has("maybe")),
        ]
    return fields


def or_else(name: str, missing: Any) -> Callable[[Row], Any]:
    return lambda row: missing if row.get(name) is None else row[name]


def has(name: str) -> Callable[[Row], bool]:
    return lambda row: row.get(name) is not None


def lacked(number: str = "", several: str = "") -> list[Field]:
    """Fields of columns that a file may lack, whose rows have no such key then."""
    return [
        Field(f"half float64[]{number} default=-0.5", or_else("half", -0.5)),
        Field(f"half float32[] missing=skip{number}", or_else("half", None)),
        Field(f"small int32[]{number} missing=default", or_else("small", 0)),
        Field(f"small int16[]{number} missing=skip", or_else("small", None)),
        Field(f"small uint16[]{number} missing=mask", or_else("small", 0), has("small")),
        Field(f"list int64[-1]{number} missing=default{several}", or_else("list", [])),
        Field(f"list int64[-1]{number} default=8{several}", or_else("list", [8])),
        Field(f"list int64[-1]{number} missing=skip{several}", or_else("list", None)),
        Field(f"list int64[-1]{number} missing=mask{several}", or_else("list", []), has("list")),
        Field(f"pair float32[2]{number} default=7{several}", or_else("pair", [7.0, 7.0])),
        Field(f"pair float64[2]{number} missing=skip{several}", or_else("pair", None)),
    ]


# ---- Formats without a library. ----


def csv_bytes(rows: list[Row], separator: str = ",") -> bytes:
    def cell(value: Any) -> str:
        if isinstance(value, list):
            return "|".join(str(v) for v in value)
        return "" if value is None else str(value)

    lines = [separator.join(rows[0]), *(separator.join(map(cell, r.values())) for r in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


SEPARATOR = " separator=|"


def cells() -> list[Field]:
    several = {"list int64[-1]", "pair float32[2]"}
    return [Field(f.entry + SEPARATOR, f.value) if f.entry in several else f for f in usual()]


def jsonl_bytes(rows: list[Row]) -> bytes:
    lines = []
    for row in rows:
        keys = sorted(row, reverse=row["num"] % 2 == 1)
        lines.append(json.dumps({**{k: row[k] for k in keys}, "in": {"neg": row["neg"]}}))
    return "".join(f"{line}\n" for line in lines).encode()


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(value: Any) -> bytes:
    values = value if isinstance(value, list) else [value]
    if isinstance(values[0], str):
        return message(1, b"".join(message(1, v.encode()) for v in values))
    if isinstance(values[0], float):
        return message(2, message(1, b"".join(struct.pack("<f", v) for v in values)))
    return message(3, message(1, b"".join(map(varint, values))))


def tfrecord_bytes(rows: list[Row]) -> bytes:
    out = b""
    for row in rows:
        keys = sorted(row, reverse=row["num"] % 2 == 1)
        entries = [
            message(1, k.encode()) + message(2, feature(row[k])) for k in keys if row[k] is not None
        ]
        record = message(1, b"".join(message(1, entry) for entry in entries))
        length = struct.pack("<Q", len(record))
        out += length + masked_crc(length) + record + masked_crc(record)
    return out


def tar_bytes(rows: list[Row]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for row in rows:
            for key in sorted(row, reverse=row["num"] % 2 == 1):
                if row[key] is None:
                    continue
                value = row[key] if isinstance(row[key], list) else [row[key]]
                content = " ".join(map(str, value)).encode()
                member = tarfile.TarInfo(f"{row['num']:06}.{key}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def npz_bytes(rows: list[Row]) -> bytes:
    out = io.BytesIO()
    types = {"num": "<i8", "half": "<f8", "neg": "<i4", "small": "<i2", "pair": "<f4"}
    arrays = {
        key: np.array([row[key] for row in rows], of) for key, of in types.items() if key in rows[0]
    }
    (np.savez_compressed if len(rows) % 2 else np.savez)(out, **arrays)
    return out.getvalue()


ARRAYS = [
    Field("num", column("num")),
    Field("num.npy int64[]", column("num")),
    Field("half float64[]", column("half")),
    Field("neg", column("neg")),
    Field("small int16[]", column("small")),
    Field("pair float32[2]", column("pair")),
]
LACKED_ARRAYS = [
    Field("half float64[] default=-0.5", or_else("half", -0.5)),
    Field("neg int32[] missing=skip", or_else("neg", None)),
    Field("small int16[] missing=default", or_else("small", 0)),
    Field("pair float32[2] default=7", or_else("pair", [7.0, 7.0])),
]


def write_mds(path: Path, rows: list[Row]) -> None:
    """Writes the index, whose path this is, and a shard beside it."""
    columns = {"half": ("float64", 8), "text": ("str", None), "num": ("int", 8)}
    columns |= {"list": ("ndarray:int64", None), "small": ("int16", 2), "neg": ("int32", 4)}
    columns |= {"pair": ("ndarray:float32:2", 8)}
    columns = {name: column for name, column in columns.items() if name in rows[0]}

    def stored(row: Row, name: str) -> bytes:
        encoding, value = columns[name][0], row[name]
        if encoding == "str":
            return bytes(value, "ascii")
        if encoding == "ndarray:int64":
            return bytes([4, len(value)]) + np.array(value, "<i8").tobytes()
        of = {"int": "<i8", "ndarray:float32:2": "<f4"}.get(encoding, encoding)
        return np.array(value, of).tobytes()

    samples = []
    for row in rows:
        values = [stored(row, name) for name in columns]
        sizes = [v for v, (_, size) in zip_strict(values, columns.values()) if size is None]
        samples.append(b"".join(struct.pack("<I", len(v)) for v in sizes) + b"".join(values))
    begin = 4 * (len(samples) + 2) + 2
    ends = np.cumsum([begin, *map(len, samples)])
    shard = struct.pack(f"<I{len(ends)}I", len(samples), *ends.tolist()) + b"{}" + b"".join(samples)
    path.with_suffix(".shard").write_bytes(shard)
    entry = {
        "format": "mds",
        "version": 2,
        "samples": len(samples),
        "column_names": list(columns),
        "column_encodings": [encoding for encoding, _ in columns.values()],
        "column_sizes": [size for _, size in columns.values()],
        "compression": None,
        "raw_data": {"basename": path.with_suffix(".shard").name, "bytes": len(shard)},
        "zip_data": None,
    }
    path.write_text(json.dumps({"version": 2, "shards": [entry]}))


class Format(NamedTuple):
    """A format, how a file of it is written, its fields, and those of columns that it may lack."""

    tag: str
    write: Callable[[Path, list[Row]], object]
    fields: list[Field]
    lacked: list[Field]
    chunks: bool = False  # are found without reading, so that they can be shuffled and shared
    mapped: bool = False


FORMATS = [
    Format("csv", lambda p, rows: p.write_bytes(csv_bytes(rows)), cells(), lacked("", SEPARATOR)),
    Format(
        "tsv",
        lambda p, rows: p.write_bytes(csv_bytes(rows, "\t")),
        cells(),
        lacked("", SEPARATOR),
        chunks=True,
        mapped=True,
    ),
    Format(
        "jsonl",
        lambda p, rows: p.write_bytes(jsonl_bytes(rows)),
        [*usual(), Field("/in/neg int64[]", column("neg"))],
        lacked(),
        chunks=True,
        mapped=True,
    ),
    Format("tfrecord", lambda p, rows: p.write_bytes(tfrecord_bytes(rows)), usual(), lacked()),
    Format(
        "tar",
        lambda p, rows: p.write_bytes(tar_bytes(rows)),
        usual(" decode=text"),
        lacked(" decode=text"),
        chunks=True,
        mapped=True,
    ),
    Format("npz", lambda p, rows: p.write_bytes(npz_bytes(rows)), ARRAYS, LACKED_ARRAYS),
    Format("mds", write_mds, usual(default=False), lacked(), chunks=True, mapped=True),
]


# ---- Formats of Arrow's library, if it is there. ----


def columns_of(rows: list[Row]) -> dict[str, Any]:
    """The columns of a table of pyarrow, with more of them than rows of other formats have."""
    import pyarrow as pa

    texts = [row["text"] for row in rows]
    columns: dict[str, Any] = {
        "half": pa.array([row.get("half") for row in rows], pa.float64()),
        "text": texts,
        "user": pa.array(
            [
                None if row["num"] % 7 == 3 else {"neg": row["neg"], "name": row["text"]}
                for row in rows
            ],
            pa.struct({"neg": pa.int64(), "name": pa.string()}),
        ),
        "list": pa.array([row.get("list") for row in rows], pa.list_(pa.int64())),
        "words": pa.array(
            [[row["text"]] * (row["num"] % 3) for row in rows], pa.list_(pa.string())
        ),
        "num": pa.array([row["num"] for row in rows], pa.int64()),
        "small": pa.array([row.get("small") for row in rows], pa.int16()),
        "maybe": pa.array([row.get("maybe") for row in rows], pa.int64()),
        "kind": pa.array([f"k{row['num'] % 9}" for row in rows]).dictionary_encode(),
        "user.neg": pa.array([row["num"] * 11 for row in rows], pa.int64()),
        "pair": pa.array([row.get("pair") for row in rows], pa.list_(pa.float32(), 2)),
        "neg": pa.array([row["neg"] for row in rows], pa.int32()),
        "time": pa.array([row["num"] * 10**9 for row in rows], pa.timestamp("ns")),
    }
    return {name: c for name, c in columns.items() if name in rows[0] or name not in row_of(0)}


ARROW = [
    *usual(),
    Field("user.name bytes missing=default", lambda r: b"" if r["num"] % 7 == 3 else text(r)),
    Field("user.name bytes missing=skip", lambda r: None if r["num"] % 7 == 3 else text(r)),
    Field("#2.neg int64[] default=-9", lambda r: -9 if r["num"] % 7 == 3 else r["neg"]),
    Field("user.neg int64[]", lambda r: r["num"] * 11),
    Field("words bytes[-1]", lambda r: [text(r)] * (r["num"] % 3)),
    Field("kind bytes", lambda r: b"k%d" % (r["num"] % 9)),
    Field("time int64[]", lambda r: r["num"] * 10**9),
    Field("#5 int64[]", column("num")),
]


def write_parquet(path: Path, rows: list[Row]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(columns_of(rows))
    parquet.write_table(table, path, row_group_size=37, use_dictionary=len(rows) % 2 == 0)
    assert parquet.read_table(path).to_pylist() == table.to_pylist()


def write_arrow(path: Path, rows: list[Row]) -> None:
    import pyarrow as pa

    table = pa.table(columns_of(rows))
    new = pa.ipc.new_file if len(rows) % 2 else pa.ipc.new_stream
    with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=29)


OF_ARROW = [
    Format("parquet", write_parquet, ARROW, lacked(), chunks=True),
    Format("arrow", write_arrow, ARROW, lacked(), chunks=True),
]
