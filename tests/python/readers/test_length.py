# SPDX-License-Identifier: Apache-2.0
"""len(reader): right where it is known, and a TypeError where it is not."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import millhopper
import numpy as np
import pytest
from number_files import open_numbers, write_numbers


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", 1000)


def chains(source: millhopper.Reader) -> list[millhopper.Reader]:
    return [
        source,
        source.shuffle(50),
        source.batch(128),
        source.batch(128, drop_last=True),
        source.batch(1000),
        source.batch(5000, drop_last=True),
        source.shard(3, 0),
        source.shard(3, 2),
        source.shard(2000, 1500),
        source.multi_pass(3).batch(7).double_buffer(),
        source.shard(7, 6).shuffle(10).batch(9, drop_last=True).multi_pass(2),
    ]


def test_it_is_how_many_a_pass_yields(numbers: Path) -> None:
    random = millhopper.Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1, 2])}, count=1000
    )
    for source in (open_numbers(numbers), random):
        for reader in chains(source):
            assert len(reader) == sum(1 for _ in reader), reader.to_text()


def test_files_add_up(tmp_path: Path) -> None:
    write_numbers(tmp_path / "a.bin", 10)
    write_numbers(tmp_path / "b.bin", 0)
    write_numbers(tmp_path / "c.bin", 5)
    reader = open_numbers(tmp_path / "*.bin", pass_num=2)
    assert len(reader) == sum(1 for _ in reader) == 30


def test_it_is_known_before_in_and_after_a_loop(numbers: Path) -> None:
    reader = open_numbers(numbers).batch(10).double_buffer()
    assert len(reader) == 100
    for number, _ in enumerate(reader):
        if number % 10 == 0:
            assert len(reader) == 100
    assert len(reader) == 100
    for _ in reader:
        break
    assert len(reader) == len(list(reader)) == 100


def test_idx_files_tell_by_their_headers(tmp_path: Path) -> None:
    content = b"\0\0\x08\x02" + (12).to_bytes(4, "big") + (3).to_bytes(4, "big") + bytes(36)
    (tmp_path / "a-idx2-ubyte").write_bytes(content)
    (tmp_path / "b-idx2-ubyte.gz").write_bytes(gzip.compress(content))
    reader = millhopper.Reader.open_files(f"idx:{tmp_path}/*", names=["x"]).batch(5)
    assert len(reader) == len(list(reader)) == 5
    first = millhopper.Reader.open_files(tmp_path / "a-idx2-ubyte", slots={"x": ("uint8", [1, 3])})
    assert len(first) == 12


def test_where_it_is_not_known_it_says_so(tmp_path: Path, numbers: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    (tmp_path / "numbers.bin.gz").write_bytes(gzip.compress(numbers.read_bytes()))
    endless = millhopper.Reader.create(
        "create_random_data_generator", slots={"x": ("float32", [1, 2])}
    )
    text = millhopper.Reader.open_files(f"text:{tmp_path}/notes.txt", names=["line"])
    for reader in (text.batch(3), endless.batch(2), open_numbers(tmp_path / "numbers.bin.gz")):
        with pytest.raises(TypeError, match="without reading it; it is known for idx files"):
            len(reader)
        assert reader  # true all the same
    assert len(list(text)) == 2


def test_a_missing_file_is_the_error_that_a_loop_would_raise(tmp_path: Path) -> None:
    with pytest.raises(millhopper.Error, match="nothing: No such file or directory"):
        len(open_numbers(tmp_path / "nothing"))


def test_record_files_tell_by_their_manifest(tmp_path: Path) -> None:
    data = os.environ.get("MILLHOPPER_TEST_DATA")
    if data is None:
        pytest.skip("MILLHOPPER_TEST_DATA names no folder of sample files")
    path = tmp_path / "numbers.recordio"
    shutil.copy(Path(data) / "recordio_paddle" / "test_recordio_creator.dat", path)
    reader = millhopper.Reader.open_files(path, content="bytes").batch(4)
    with pytest.raises(TypeError, match="RecordIO files with a manifest"):
        len(reader)
    records = sum(len(batch["slot0"]) for batch in reader)
    listed = {"name": path.name, "bytes": path.stat().st_size, "chunks": 1, "records": records}
    manifest = {"format": "recordio-manifest", "version": 1, "files": [listed]}
    (tmp_path / "numbers.recordio.manifest.json").write_text(json.dumps(manifest))
    assert len(reader) == len(list(reader)) == -(-records // 4)


def test_a_damaged_file_has_the_length_that_it_should_have(tmp_path: Path) -> None:
    header = b"\0\0\x08\x02" + (12).to_bytes(4, "big") + (3).to_bytes(4, "big")
    (tmp_path / "a-idx2-ubyte").write_bytes(header + bytes(30))
    reader = millhopper.Reader.open_files(f"idx:{tmp_path}/a-idx2-ubyte", names=["x"])
    assert len(reader) == 12
    seen: list[np.ndarray] = []
    with pytest.raises(millhopper.Error, match="its header promises 12 records"):
        seen.extend(batch["x"] for batch in reader)
    assert len(seen) == 10
