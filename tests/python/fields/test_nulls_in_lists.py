# SPDX-License-Identifier: Apache-2.0
"""Lists with nulls in them, opened without fields: nothing of them is lost in any format."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LEAVES = [pa.string(), pa.large_string(), pa.bool_(), pa.int32(), pa.float32(), pa.float64()]


@pytest.fixture(scope="module", autouse=True)
def plugin(parquet_plugin: Path) -> None:
    millhopper.load_plugin(parquet_plugin)


def value(draw: random.Random, kind: Any, nulls: float) -> Any:
    if draw.random() < nulls:
        return None
    if pa.types.is_list(kind):
        return [value(draw, kind.value_type, nulls) for _ in range(draw.randint(0, 3))]
    if pa.types.is_boolean(kind):
        return draw.random() < 0.5
    if pa.types.is_integer(kind):
        return draw.randint(-(2**31), 2**31 - 1)
    if pa.types.is_floating(kind):
        return float(np.float32(draw.uniform(-1000, 1000)))
    return "".join(draw.choice('ab"\\\n\u00fc\u65e5\x01') for _ in range(draw.randint(0, 4)))


def write(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def plain(found: Any, entry: str) -> Any:
    """A value as Python's: texts, None for NaN."""
    if "decode=json" in entry:
        return json.loads(found)
    if isinstance(found, str):
        return found
    if isinstance(found, (np.ndarray, millhopper.Ragged)):
        return [plain(item, entry) for item in found]
    number = found.item()
    return None if number != number else number


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("seed", range(40))
def test_lists_with_nulls_are_read(tmp_path: Path, seed: int, format: str) -> None:
    draw = random.Random(seed)
    rows, nulls = draw.randint(1, 12), draw.choice([0.1, 0.4])
    columns = {}
    for number in range(4):
        kind = pa.list_(draw.choice(LEAVES))
        kind = draw.choice([kind, pa.list_(kind), pa.list_(pa.list_(kind))])
        columns[f"c{number}"] = pa.array([value(draw, kind, nulls) for _ in range(rows)], kind)
    table = pa.table(columns)
    path = tmp_path / f"a.{format}"
    write(table, path)
    entries = dict(
        zip(columns, millhopper._core.inferred_fields([str(path)], {}))  # in their order
    )
    for steps in ("", "window"):
        reader = millhopper.Reader.open_files(path)
        found: dict[str, list[Any]] = {name: [] for name in columns}
        for batch in (reader.shuffle(1) if steps else reader).batch(5):
            for name in columns:
                valid = batch.get(f"{name}.valid", [True] * 5)
                found[name] += [
                    plain(item, entries[name]) if there else None
                    for item, there in zip(batch[name], valid)
                ]
        assert found == {name: column.to_pylist() for name, column in columns.items()}, entries


def test_a_null_that_was_not_looked_at_is_an_error_that_says_what_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    column = [["a"], ["b", None]]
    parquet.write_table(pa.table({"a": column}), path, row_group_size=1)
    hint = "row group 1: row 0: column 'a': a value of it is null, and str decode=json reads it"
    with pytest.raises(millhopper.Error, match=hint):
        list(millhopper.Reader.open_files(path))
    (batch,) = millhopper.Reader.open_files(path, fields=["a bytes decode=json"]).batch(2)
    assert [json.loads(text) for text in batch["a"].to_bytes()] == column


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_a_float_rounds_are_text(tmp_path: Path, number: int, format: str) -> None:
    path = tmp_path / f"a.{format}"
    column = [[number, None], [1]]
    write(pa.table({"a": column}), path)
    (batch,) = millhopper.Reader.open_files(path).batch(2)
    assert [json.loads(text) for text in batch["a"].to_bytes()] == column
