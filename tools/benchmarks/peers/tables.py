# SPDX-License-Identifier: Apache-2.0
"""Readers of a table of a label, 13 numbers and 26 categories: CSV, JSONL, TFRecords, Parquet.

Each makes numpy arrays of batches of 4096 rows, in order. TensorFlow writes the TFRecords, pyarrow
the Parquet file, whose reader of ours build_parquet_plugin makes, unless MILLHOPPER_PARQUET_PLUGIN
names one that is there. Of the Parquet file each reads all 40 columns, on all cores, and gives 40
arrays a batch.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import millhopper
import numpy as np

from peers.kinds import Readers, Titles, Writers

BATCH = 4096
NUMBERS = [f"I{i}" for i in range(1, 14)]
CATEGORIES = [f"C{i}" for i in range(1, 27)]
PLUGIN = "libmillhopper_parquet.so"

Row = tuple[int, list[int], list[int]]


def table_rows(rows: int) -> list[Row]:
    """Rows like those of Criteo's advertisements: label, numbers, categories."""
    random = np.random.default_rng(7)
    labels = random.integers(0, 2, rows).tolist()
    numbers = random.integers(0, 5000, (rows, len(NUMBERS))).tolist()
    categories = random.integers(0, 1 << 32, (rows, len(CATEGORIES))).tolist()
    return list(zip(labels, numbers, categories, strict=True))


def write_csv(path: Path, rows: int) -> int:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["label", *NUMBERS, *CATEGORIES])
        for label, numbers, categories in table_rows(rows):
            writer.writerow([label, *numbers, *categories])
    return rows


def write_jsonl(path: Path, rows: int) -> int:
    with path.open("w") as file:
        for label, numbers, categories in table_rows(rows):
            record = {"label": label, "numbers": numbers, "categories": categories}
            file.write(json.dumps(record) + "\n")
    return rows


def write_tfrecord(path: Path, rows: int) -> int:
    """Examples in which each cell of the table is a feature."""
    import tensorflow

    train = tensorflow.train
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        for label, numbers, categories in table_rows(rows):
            cells = dict(zip(CATEGORIES, categories, strict=True), label=label)
            features = {
                name: train.Feature(int64_list=train.Int64List(value=[value]))
                for name, value in cells.items()
            }
            features |= {
                name: train.Feature(float_list=train.FloatList(value=[value]))
                for name, value in zip(NUMBERS, numbers, strict=True)
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))
    return rows


def parquet_table(rows: int) -> Any:
    """The table as pyarrow has it."""
    import pyarrow

    labels, numbers, categories = zip(*table_rows(rows), strict=True)
    columns = {"label": pyarrow.array(labels, pyarrow.int64())}
    for name, values in zip(NUMBERS, zip(*numbers, strict=True), strict=True):
        columns[name] = pyarrow.array(values, pyarrow.float32())
    for name, values in zip(CATEGORIES, zip(*categories, strict=True), strict=True):
        columns[name] = pyarrow.array(values, pyarrow.int64())
    return pyarrow.table(columns)


def write_columns(path: Path, table: Any, **options: object) -> None:
    """A table in row groups of 64 Ki rows; beside it our plugin.

    Args:
        path: of the file.
        table: of ``parquet_table``.
        options: of pyarrow's ``write_table``.
    """
    import pyarrow.parquet

    plugin = path.parent / PLUGIN
    if built := os.environ.get("MILLHOPPER_PARQUET_PLUGIN"):
        plugin.symlink_to(built)
    else:
        build = Path(__file__).parents[2] / "build_parquet_plugin"
        subprocess.run([sys.executable, build, "--output", plugin], check=True)
    pyarrow.parquet.write_table(table, path, row_group_size=1 << 16, **options)


def write_parquet(path: Path, rows: int) -> int:
    """The table, compressed by snappy."""
    write_columns(path, parquet_table(rows))
    return rows


# ---- Readers ----


def millhopper_csv(path: Path) -> int:
    fields = {
        "label": "int64[]",
        "numbers": "#1-#13 float32[13]",
        "categories": "#14-#39 int64[26]",
    }
    reader = millhopper.Reader.open_files(path, fields=fields).batch(BATCH).double_buffer()
    return sum(len(batch["label"]) for batch in reader)


def polars_csv(path: Path) -> int:
    import polars

    types = {"label": polars.Int64}
    types |= dict.fromkeys(NUMBERS, polars.Float32) | dict.fromkeys(CATEGORIES, polars.Int64)
    frame = polars.read_csv(path, schema=types)
    total = 0
    for part in frame.iter_slices(BATCH):
        arrays = part["label"].to_numpy(), part[NUMBERS].to_numpy(), part[CATEGORIES].to_numpy()
        total += len(arrays[0])
    return total


def pyarrow_csv(path: Path) -> int:
    import pyarrow
    import pyarrow.csv

    types = {"label": pyarrow.int64()}
    types |= dict.fromkeys(NUMBERS, pyarrow.float32()) | dict.fromkeys(CATEGORIES, pyarrow.int64())
    options = pyarrow.csv.ConvertOptions(column_types=types)
    table = pyarrow.csv.read_csv(path, convert_options=options)
    total = 0
    for part in table.to_batches(max_chunksize=BATCH):
        label = part.column("label").to_numpy()
        np.stack([part.column(name).to_numpy() for name in NUMBERS], axis=1)
        np.stack([part.column(name).to_numpy() for name in CATEGORIES], axis=1)
        total += len(label)
    return total


def duckdb_csv(path: Path) -> int:
    import duckdb

    columns = {"label": "BIGINT"}
    columns |= dict.fromkeys(NUMBERS, "FLOAT") | dict.fromkeys(CATEGORIES, "BIGINT")
    arrays = duckdb.sql(f"SELECT * FROM read_csv('{path}', columns={columns})").fetchnumpy()
    total = 0
    for begin in range(0, len(arrays["label"]), BATCH):
        part = slice(begin, begin + BATCH)
        np.stack([arrays[name][part] for name in NUMBERS], axis=1)
        np.stack([arrays[name][part] for name in CATEGORIES], axis=1)
        total += len(arrays["label"][part])
    return total


def millhopper_jsonl(path: Path) -> int:
    fields = {"label": "int64[]", "numbers": "float32[13]", "categories": "int64[26]"}
    reader = millhopper.Reader.open_files(path, fields=fields).batch(BATCH).double_buffer()
    return sum(len(batch["label"]) for batch in reader)


def polars_jsonl(path: Path) -> int:
    import polars

    types = {
        "label": polars.Int64,
        "numbers": polars.List(polars.Float32),
        "categories": polars.List(polars.Int64),
    }
    frame = polars.read_ndjson(path, schema=types)
    total = 0
    for part in frame.iter_slices(BATCH):
        part["numbers"].explode().to_numpy().reshape(-1, len(NUMBERS))
        part["categories"].explode().to_numpy().reshape(-1, len(CATEGORIES))
        total += len(part["label"].to_numpy())
    return total


def pyarrow_jsonl(path: Path) -> int:
    import pyarrow
    import pyarrow.json

    types = pyarrow.schema(
        {
            "label": pyarrow.int64(),
            "numbers": pyarrow.list_(pyarrow.float32()),
            "categories": pyarrow.list_(pyarrow.int64()),
        }
    )
    options = pyarrow.json.ParseOptions(explicit_schema=types)
    total = 0
    for part in pyarrow.json.read_json(path, parse_options=options).to_batches(BATCH):
        part.column("numbers").flatten().to_numpy().reshape(-1, len(NUMBERS))
        part.column("categories").flatten().to_numpy().reshape(-1, len(CATEGORIES))
        total += len(part.column("label").to_numpy())
    return total


def millhopper_tfrecord(path: Path) -> int:
    fields = dict.fromkeys(["label", *CATEGORIES], "int64[]") | dict.fromkeys(NUMBERS, "float32[]")
    reader = millhopper.Reader.open_files(path, fields=fields).batch(BATCH).double_buffer()
    return sum(len(batch["label"]) for batch in reader)


def tensorflow_tfrecord(path: Path) -> int:
    import tensorflow

    types = {name: tensorflow.int64 for name in ["label", *CATEGORIES]}
    types |= dict.fromkeys(NUMBERS, tensorflow.float32)
    features = {name: tensorflow.io.FixedLenFeature([], dtype) for name, dtype in types.items()}
    data = tensorflow.data.TFRecordDataset(str(path)).batch(BATCH)
    data = data.map(
        lambda records: tensorflow.io.parse_example(records, features),
        num_parallel_calls=tensorflow.data.AUTOTUNE,
    )
    batches = data.prefetch(tensorflow.data.AUTOTUNE).as_numpy_iterator()
    return sum(len(batch["label"]) for batch in batches)


load_plugin = functools.cache(millhopper.load_plugin)


def millhopper_parquet(path: Path) -> int:
    """Row groups are decoded ahead; the arrays of a batch are copied from them and belong to it."""
    load_plugin(path.parent / PLUGIN)
    fields = dict.fromkeys(["label", *CATEGORIES], "int64[]") | dict.fromkeys(NUMBERS, "float32[]")
    reader = millhopper.Reader.open_files(path, fields=fields).batch(BATCH).double_buffer()
    return sum(len(batch["label"]) for batch in reader)


def pyarrow_parquet(path: Path) -> int:
    """Batches are decoded when it is their turn; arrays are views of them, to be read only."""
    import pyarrow.parquet

    total = 0
    file = pyarrow.parquet.ParquetFile(path, memory_map=True, pre_buffer=True)
    for part in file.iter_batches(BATCH):
        total += len([column.to_numpy(zero_copy_only=False) for column in part.columns][0])
    return total


def polars_parquet(path: Path) -> int:
    """The whole file is decoded first; arrays are views of its columns, to be read only."""
    import polars

    total = 0
    for part in polars.read_parquet(path).iter_slices(BATCH):
        total += len([column.to_numpy() for column in part.get_columns()][0])
    return total


def duckdb_parquet(path: Path) -> int:
    """The whole file becomes one array a column; those of a batch are views of them."""
    import duckdb

    arrays = duckdb.sql(f"SELECT * FROM '{path}'").fetchnumpy()
    total = 0
    for begin in range(0, len(arrays["label"]), BATCH):
        total += len([array[begin : begin + BATCH] for array in arrays.values()][0])
    return total


TITLES: Titles = {
    "csv": "CSV, 40 columns",
    "jsonl": "JSON lines, 40 numbers",
    "tfrecord": "TFRecord, 40 features",
    "parquet": "Parquet, 40 columns",
}

WRITERS: Writers = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "tfrecord": write_tfrecord,
    "parquet": write_parquet,
}

READERS: Readers = {
    "csv": {
        "millhopper": millhopper_csv,
        "polars": polars_csv,
        "pyarrow": pyarrow_csv,
        "duckdb": duckdb_csv,
    },
    "jsonl": {
        "millhopper": millhopper_jsonl,
        "polars": polars_jsonl,
        "pyarrow": pyarrow_jsonl,
    },
    "tfrecord": {
        "millhopper": millhopper_tfrecord,
        "tensorflow": tensorflow_tfrecord,
    },
    "parquet": {
        "millhopper": millhopper_parquet,
        "pyarrow": pyarrow_parquet,
        "polars": polars_parquet,
        "duckdb": duckdb_parquet,
    },
}
