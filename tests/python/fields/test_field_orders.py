# SPDX-License-Identifier: Apache-2.0
"""Random pairs of fields, in any order, and a chain of readers, against lists of Python.

``MILLHOPPER_FIELD_TRIALS=500`` sets the number of pairs for each format, ``MILLHOPPER_FIELD_SEED``
the first seed. Parquet and Arrow files are among the formats if pyarrow is installed.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from field_tables import FORMATS, OF_ARROW, Format, columns_of, row_of
from millhopper.base.zipped import zip_strict

TRIALS = int(os.environ.get("MILLHOPPER_FIELD_TRIALS", "12"))
SEED = int(os.environ.get("MILLHOPPER_FIELD_SEED", "1"))
needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")

AT_ONCE = 12  # pairs in a test

Rows = list[tuple[Any, ...]]

KINDS = ["shuffle", "shuffle", "shuffle", "batch", "window", "double_buffer", "multi_pass"]
KINDS += ["shard", "take", "skip", "cache", "disk_cache", "mix", "concat", "zip"]

seeds = pytest.mark.parametrize("first", range(SEED, SEED + TRIALS, AT_ONCE))


def plain(values: Any) -> list[Any]:
    """The values of a slot, one for each row of a batch, as ``Field.value`` makes them."""
    if isinstance(values, np.ndarray):
        return values.tolist()
    if values.values.dtype != np.uint8 or len(values.offsets) > 1:
        return [
            row.to_bytes() if isinstance(row, millhopper.Ragged) else np.asarray(row).tolist()
            for row in values
        ]
    return values.to_bytes()


def rows_of(batch: Any) -> Rows:
    return list(zip_strict(*(plain(batch[name]) for name in batch)))


class Expected:
    """What a chain yields: all of some rows, or ``count`` of them; in their order or not."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.count, self.ordered = rows, len(rows), True

    def part(self, chosen: slice) -> None:
        if self.ordered:
            self.rows = self.rows[chosen]
        self.count = len(range(self.count)[chosen])

    def check(self, found: Rows) -> None:
        assert len(found) == self.count
        if self.ordered:
            assert found == self.rows
        elif self.count == len(self.rows):
            assert sorted(map(repr, found)) == sorted(map(repr, self.rows))
        else:
            assert not Counter(map(repr, found)) - Counter(map(repr, self.rows))


def interleaved(files: list[Rows], cycle: int) -> Rows:
    """One row of each of the first ``cycle`` unfinished files in turn."""
    waiting, rows = [list(file) for file in files], []
    places: list[list[Any] | None] = [None] * min(cycle, len(files))
    turn = 0
    while places:
        place = places[turn]
        if place:
            rows.append(place.pop(0))
            turn += 1
        elif waiting:
            places[turn] = waiting.pop(0)
        else:
            del places[turn]
        turn = 0 if turn >= len(places) else turn
    return rows


class Trial:
    """A chain that is drawn, and what it should yield."""

    def __init__(self, dice: random.Random, format: Format, folder: Path, lacks: bool) -> None:
        self.dice, self.format, self.folder = dice, format, folder
        self.fields = dice.choices(format.lacked if lacks else format.fields, k=dice.randint(1, 6))
        if lacks or format.tag == "tfrecord":  # takes each feature once
            self.fields = list({f.entry.split()[0]: f for f in self.fields}.values())
        self.lacked = [field.entry.split()[0] for field in self.fields] if lacks else []
        if lacks:  # and what every file has
            self.fields.insert(dice.randint(0, len(self.fields)), format.fields[0])
        self.steps: list[str] = []
        self.caches = 0
        self.reader, self.expected = self.source()
        for _ in range(dice.randint(0, 5)):
            self.decorate()

    def values(self, rows: list[Any]) -> Rows:
        masks = [field.mask for field in self.fields if field.mask is not None]
        every = [
            (*(field.value(row) for field in self.fields), *(mask(row) for mask in masks))
            for row in rows
        ]
        return [row for row in every if None not in row]

    def source(self) -> tuple[millhopper.Reader, Expected]:
        dice = self.dice
        entries = {f"s{i}": field.entry for i, field in enumerate(self.fields)}
        sizes = [dice.randint(1, 150) for _ in range(dice.randint(1, 3))]
        gone = [{name for name in self.lacked if dice.random() < 0.4} for _ in sizes]
        for name in sorted(set.intersection(*gone)):  # what no file has is an error
            dice.choice(gone).discard(name)
        files, first = [], 0
        for size, names in zip_strict(sizes, gone):
            rows = [row_of(n) for n in range(first, first + size)]
            files.append([{k: row[k] for k in row if k not in names} for row in rows])
            first += size
        if self.format.tag == "from_arrow":
            import pyarrow as pa

            table = pa.table(columns_of([row for file in files for row in file]))
            self.steps.append(f"from_arrow({entries})")
            reader = millhopper.Reader.from_arrow(table, fields=entries, seed=3)
            return reader, Expected(self.values([row for file in files for row in file]))
        paths = [self.folder / f"{i}.{self.format.tag}" for i in range(len(files))]
        for path, rows in zip_strict(paths, files):
            self.format.write(path, rows)
        attributes: dict[str, Any] = {"cycle_length": dice.randint(1, 4)}
        if self.format.mapped and dice.random() < 0.3:
            attributes["buffer_type"] = "mmap"
        expected = Expected(
            interleaved([self.values(f) for f in files], attributes["cycle_length"])
        )
        if self.format.chunks and dice.random() < 0.3:
            attributes["shuffle_chunks"] = True
            expected.ordered = False
        self.steps.append(f"open_files({[len(f) for f in files]}, {entries}, {attributes})")
        names = [f"{self.format.tag}:{path}" for path in paths]
        return millhopper.Reader.open_files(names, fields=entries, seed=3, **attributes), expected

    def decorate(self) -> None:
        dice, reader, expected = self.dice, self.reader, self.expected
        n = dice.randint(1, 40)
        kind = dice.choice(KINDS)
        self.steps.append(f"{kind} {n}")
        if kind == "shuffle":
            self.reader = reader.shuffle(n, seed=n)
            expected.ordered = expected.ordered and (n == 1 or expected.count < 2)
        elif kind == "batch":
            self.reader = reader.batch(n).unbatch()
        elif kind == "window":
            self.reader = reader.window(n).unbatch()
        elif kind == "double_buffer":
            self.reader = reader.double_buffer(n % 5 + 1)
        elif kind == "multi_pass" and expected.count < 500 and expected.count == len(expected.rows):
            self.reader = reader.multi_pass(2)
            expected.rows, expected.count = expected.rows * 2, expected.count * 2
        elif kind == "shard":
            self.reader = reader.shard(n, n // 2)
            expected.part(slice(n // 2, None, n))
        elif kind == "take":
            self.reader = reader.take(3 * n)
            expected.part(slice(0, 3 * n))
        elif kind == "skip":
            self.reader = reader.skip(n)
            expected.part(slice(n, None))
        elif kind == "cache":
            self.reader = reader.cache(dice.choice([0, 3000, 1 << 20]))
        elif kind == "disk_cache":
            self.caches += 1
            self.reader = reader.cache(
                directory=self.folder / f"cache{self.caches}", disk_bytes=1 << 30, data_version="1"
            )
        elif kind in ("mix", "concat") and expected.count < 500:
            self.reader = (
                reader.mix(reader, weights=[n, 1], when_exhausted="continue")
                if kind == "mix"
                else reader.concat(reader)
            )
            expected.rows, expected.count = expected.rows * 2, expected.count * 2
            expected.ordered = expected.ordered and kind == "concat"
        elif kind == "zip" and expected.ordered and len(self.fields) < 10:
            count = len(self.fields) + sum(field.mask is not None for field in self.fields)
            slots = [f"z{count}_{i}" for i in range(2 * count)]
            self.reader = reader.zip(reader, names=slots)
            self.fields = self.fields * 2
            expected.rows = [row * 2 for row in expected.rows]

    def passes(self) -> Iterator[Rows]:
        """Two passes, with stops at which a new reader resumes from a saved state."""
        size = self.dice.randint(1, 50)
        stops = self.dice.random() < 0.5
        reader = self.reader.batch(size)
        for _ in range(2):
            rows: Rows = []
            while True:
                for batch in reader:
                    rows += rows_of(batch)
                    if stops and self.dice.random() < 0.2:
                        break
                else:
                    break
                state = reader.state_dict()
                millhopper.set_threads(self.dice.choice([0, 1, 2, 7]))
                reader = self.reader.batch(size)
                reader.load_state_dict(state)
            yield rows


@seeds
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.tag)
def test_fields_in_any_order_under_any_chain(
    format: Format, first: int, tmp_path: Path, pool: None
) -> None:
    run(format, first, tmp_path)


@needs_pyarrow
@seeds
@pytest.mark.parametrize("format", OF_ARROW, ids=lambda format: format.tag)
def test_columns_in_any_order_under_any_chain(
    format: Format, first: int, tmp_path: Path, pool: None, parquet_plugin: Path
) -> None:
    millhopper.load_plugin(parquet_plugin)
    run(format, first, tmp_path)


@seeds
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.tag)
def test_fields_that_some_files_lack_under_any_chain(
    format: Format, first: int, tmp_path: Path, pool: None
) -> None:
    run(format, first, tmp_path, lacks=True)


@needs_pyarrow
@seeds
@pytest.mark.parametrize("format", OF_ARROW, ids=lambda format: format.tag)
def test_columns_that_some_files_lack_under_any_chain(
    format: Format, first: int, tmp_path: Path, pool: None, parquet_plugin: Path
) -> None:
    millhopper.load_plugin(parquet_plugin)
    run(format, first, tmp_path, lacks=True)


@needs_pyarrow
@seeds
def test_tables_in_any_order_under_any_chain(first: int, tmp_path: Path, pool: None) -> None:
    run(Format("from_arrow", lambda path, rows: None, OF_ARROW[0].fields, []), first, tmp_path)


def run(format: Format, first: int, folder: Path, lacks: bool = False) -> None:
    for seed in range(first, min(first + AT_ONCE, SEED + TRIALS)):
        dice = random.Random(f"{format.tag} {seed}{' lacks' if lacks else ''}")
        millhopper.set_threads(dice.choice([0, 1, 2, 7]))
        place = folder / str(seed)
        place.mkdir()
        trial = Trial(dice, format, place, lacks)
        try:
            for rows in trial.passes():
                trial.expected.check(rows)
        except BaseException:
            print(f"seed {seed}:", *trial.steps, sep="\n  ")
            raise
