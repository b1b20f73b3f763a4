# SPDX-License-Identifier: Apache-2.0
import itertools
import os
import pickle
import struct
import zlib
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.reader import creator


class TestNpArray:
    def test_yields_rows_of_a_matrix(self) -> None:
        rows = [[1, 2, 3], [4, 5, 6]]
        reader = creator.np_array(np.array(rows, np.int32))
        for _ in range(2):
            assert [row.tolist() for row in reader()] == rows

    def test_yields_elements_of_a_vector(self) -> None:
        assert list(creator.np_array(np.array([1.5, 2.5]))()) == [1.5, 2.5]

    def test_yields_views(self) -> None:
        array = np.zeros((3, 2, 2))
        assert all(np.shares_memory(item, array) for item in creator.np_array(array)())

    def test_yields_an_array_without_axes_once(self) -> None:
        array = np.array(7)
        (item,) = creator.np_array(array)()
        assert item is array

    def test_makes_an_array_of_what_is_none(self) -> None:
        assert [row.tolist() for row in creator.np_array([[1], [2]])()] == [[1], [2]]

    def test_yields_nothing_of_an_empty_array(self) -> None:
        assert list(creator.np_array(np.zeros((0, 3)))()) == []


class TestTextFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "lines.txt"

    def test_yields_lines(self, path: Path) -> None:
        lines = [f"{2 * i} {2 * i + 1}" for i in range(5)]
        path.write_text("".join(line + "\n" for line in lines))
        for reader in (creator.text_file(path), creator.text_file(str(path))):
            assert list(reader()) == lines
            assert list(reader()) == lines

    def test_keeps_a_last_line_without_an_end(self, path: Path) -> None:
        path.write_text("a\nb")
        assert list(creator.text_file(path)()) == ["a", "b"]

    def test_removes_nothing_but_the_line_end(self, path: Path) -> None:
        path.write_bytes(b" a \t\n\n\nb\r\nc\x0c\n")
        assert list(creator.text_file(path)()) == [" a \t", "", "", "b", "c\x0c"]

    def test_reads_utf_8(self, path: Path) -> None:
        path.write_bytes("größer\n日本\n".encode())
        assert list(creator.text_file(path)()) == ["größer", "日本"]

    def test_raises_in_the_pass(self, path: Path) -> None:
        reader = creator.text_file(path)
        with pytest.raises(FileNotFoundError):
            list(reader())
        path.write_bytes(b"\xff\n")
        with pytest.raises(UnicodeDecodeError):
            list(reader())

    def test_closes_the_file_when_the_consumer_leaves(self, path: Path) -> None:
        path.write_text("a\nb\n")
        before = os.listdir("/proc/self/fd")
        for _ in itertools.islice(creator.text_file(path)(), 1):
            pass
        assert os.listdir("/proc/self/fd") == before


def recordio_file(folder: Path, name: str, records: list[bytes]) -> Path:
    """A file of the Go package's dialect, uncompressed, one chunk."""
    body = b"".join(struct.pack("<I", len(record)) + record for record in records)
    # magic, checksum, compressor, size, records
    header = struct.pack("<5I", 0x01020304, zlib.crc32(body), 0, len(body), len(records))
    path = folder / name
    path.write_bytes(header + body)
    return path


def test_recordio_yields_the_records_of_files_in_order(tmp_path: Path) -> None:
    first = recordio_file(tmp_path, "a.recordio", [b"one", b"", b"three"])
    second = recordio_file(tmp_path, "b.recordio", [b"four", bytes(range(256))])
    records = [b"one", b"", b"three", b"four", bytes(range(256))]
    for paths in (
        [first, second],
        [os.fsencode(first), second],
        os.fsencode(tmp_path / "*.recordio"),
        f"{first},{second}",
        str(tmp_path / "*.recordio"),
    ):
        for buf_size in (0, 1, 2, 100):
            assert list(creator.recordio(paths, buf_size)()) == records
    lengths = creator.recordio(first, decoder=len)
    assert [list(lengths()), list(lengths())] == [[3, 0, 5], [3, 0, 5]]
    for record in creator.recordio(first)():
        assert record == b"one"
        break


@pytest.mark.parametrize("buf_size", [1, 7, 100])
def test_recordio_yields_what_is_right_before_an_error(tmp_path: Path, buf_size: int) -> None:
    records = [b"%d" % i for i in range(100)]
    path = tmp_path / "chunks.recordio"
    with open(path, "wb") as file:
        for begin in range(0, 100, 10):
            chunk = recordio_file(tmp_path, "chunk", records[begin : begin + 10])
            file.write(chunk.read_bytes())
            if begin == 40:
                end = file.tell()
    content = bytearray(path.read_bytes())
    content[end + 25] ^= 1  # after the header of the sixth chunk
    path.write_bytes(content)
    seen = []
    with pytest.raises(millhopper.Error, match="checksum"):
        seen.extend(creator.recordio(path, buf_size)())
    assert seen == records[:50]


def test_recordio_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="buf_size is -1"):
        creator.recordio("x", -1)
    with pytest.raises(millhopper.Error, match="No such file"):
        list(creator.recordio(tmp_path / "missing")())
    with pytest.raises(millhopper.Error, match="no files are given"):
        list(creator.recordio([])())
    damaged = recordio_file(tmp_path, "damaged", [b"record"])
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(millhopper.Error, match="checksum") as caught:
        list(creator.recordio(damaged)())
    assert caught.value.file == str(damaged)


def test_recordio_reads_the_lineages_file_for_those_who_trust_it() -> None:
    data = os.environ.get("MILLHOPPER_TEST_DATA")
    if not data:
        pytest.skip("MILLHOPPER_TEST_DATA names no folder of sample files")
    path = Path(data) / "recordio_paddle" / "test_reader_recordio.dat"
    for paths in (str(path), [str(path)]):
        rows = list(creator.recordio(paths, decoder=pickle.loads)())
        assert rows == [(1, 2, 3), (4, 5, 6)]
