# SPDX-License-Identifier: Apache-2.0
"""Sample files that are opened without any option, beside what other parsers make of them."""

from __future__ import annotations

import gzip
import os
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

import millhopper
import numpy as np
import pytest

FOLDER = Path(os.environ.get("MILLHOPPER_TEST_DATA", "/nonexistent"))


def samples(*patterns: str) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(FOLDER.rglob(pattern)):
            yield path.relative_to(FOLDER).as_posix()


def numbers_of(array: np.ndarray) -> np.ndarray:
    """An array as Millhopper has it: a complex number is two, text is its code points."""
    if array.dtype.kind in "cU":
        number = array.real.dtype if array.dtype.kind == "c" else np.dtype("int32")
        return np.ascontiguousarray(array).view(number).reshape(*array.shape, -1)
    return array


def assert_reads(path: Path, arrays: dict[str, np.ndarray]) -> None:
    elements = list(millhopper.Reader.open_files(path))
    for name, array in arrays.items():
        expected = numbers_of(array)
        read = np.concatenate([element[name] for element in elements])
        assert read.dtype == expected.dtype.newbyteorder("=")
        np.testing.assert_array_equal(read, expected)
    assert all(list(element) == list(arrays) for element in elements)


@pytest.mark.parametrize("name", samples("*.npy"))
def test_arrays_are_those_of_numpy(name: str) -> None:
    try:
        array = np.load(FOLDER / name)
    except ValueError:  # a pickle
        return
    if array.dtype.names is None:
        assert_reads(FOLDER / name, {"slot0": array})


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_are_those_of_numpy(tmp_path: Path, save: object) -> None:
    random = np.random.default_rng(1)
    arrays = {
        "x": random.normal(size=(50, 3, 2)),
        "label": random.integers(-9, 9, 50).astype(">i2"),
        "ok": random.integers(0, 2, 50).astype(bool),
        "half": random.normal(size=50).astype(np.float16),
        "big": random.integers(0, 2**64, 50, np.uint64),
        "f": np.asfortranarray(random.normal(size=(50, 4)).astype(np.float32)),
        "text": np.array([f"é{i}" for i in range(50)]),
    }
    save(tmp_path / "a.npz", **arrays)
    assert_reads(tmp_path / "a.npz", arrays)


@pytest.mark.parametrize("name", samples("*.tar", "*.tar.gz"))
def test_archives_are_those_of_tarfile(name: str) -> None:
    records: dict[str, dict[str, bytes]] = {}
    with tarfile.open(FOLDER / name) as archive:
        for member in archive:
            folder, _, base = member.name.rpartition("/")
            stem, dot, extension = base.partition(".")
            if not member.isfile() or not dot or base.startswith("."):
                continue
            key = f"{folder}/{stem}" if folder else stem
            records.setdefault(key, {})[extension.lower()] = archive.extractfile(member).read()
    expected = [{"__key__": key.encode(), **files} for key, files in records.items()]
    read = [
        {name: part[0].tobytes() for name, part in element.items()}
        for element in millhopper.Reader.open_files(FOLDER / name)
    ]
    assert read == expected


def test_labels_of_archives_are_integers(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    files = {"jpg": b"\xff", "cls": b"7\n", "txt": b"007", "json": b'{"a": 1}'}
    for kind, content in files.items():
        (tmp_path / f"1.{kind}").write_bytes(content)
        with tarfile.open(path, "a") as archive:
            archive.add(tmp_path / f"1.{kind}", f"1.{kind}")
    (element,) = millhopper.Reader.open_files(path)
    assert element["cls"].tolist() == [7]
    texts = {name: element[name][0].tobytes() for name in ("__key__", "jpg", "txt", "json")}
    assert texts == {"__key__": b"1", "jpg": b"\xff", "txt": b"007", "json": b'{"a": 1}'}


@pytest.mark.parametrize("name", samples("*-ubyte.gz"))
def test_idx_files_are_as_their_bytes_say(name: str) -> None:
    content = gzip.decompress((FOLDER / name).read_bytes())
    (axes,) = struct.unpack(">3xB", content[:4])
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    expected = np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    batches = [batch["slot0"] for batch in millhopper.Reader.open_files(FOLDER / name).batch(1000)]
    np.testing.assert_array_equal(np.concatenate(batches).reshape(shape), expected)
