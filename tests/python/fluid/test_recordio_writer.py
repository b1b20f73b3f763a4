# SPDX-License-Identifier: Apache-2.0
"""The core reads RecordIO files that Python writes: values, levels of detail, leftover files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import millhopper as fluid
import numpy as np
import pytest
from millhopper.recordio_writer import (
    convert_reader_to_recordio_file,
    convert_reader_to_recordio_files,
    create_recordio_writer,
)

ROOT = Path(__file__).resolve().parents[3]
Compressor = fluid.core.RecordIOWriter.Compressor
SLOTS = {"words": ("int64", [-1, 1], 1), "label": ("int64", [1, 1])}


def tensor(values: object, lengths: list[list[int]] | None = None) -> fluid.LoDTensor:
    made = fluid.LoDTensor.from_array(np.array(values, np.int64))
    made.set_recursive_sequence_lengths(lengths or [])
    return made


def write_words(path: Path, count: int, **options: object) -> None:
    """Record i has i words, 100 * i, 100 * i + 1 and so on, and the label i."""
    with create_recordio_writer(path, **options) as writer:
        for i in range(count):
            words = np.arange(100 * i, 101 * i).reshape(-1, 1)
            writer.append_tensor(tensor(words, [[i]]))
            writer.append_tensor(tensor([[i]]))
            writer.complete_append_tensor()


def data_files(folder: Path) -> list[str]:
    """The names of all files but manifests, sorted."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".manifest.json"))


@pytest.fixture
def feeder() -> fluid.DataFeeder:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
        label = fluid.layers.data("label", [1], dtype="int64")
        return fluid.DataFeeder([words, label], fluid.CPUPlace())


def samples(count: int) -> Iterator[tuple[list[int], int]]:
    return ((list(range(100 * i, 101 * i)), i) for i in range(count))


@pytest.mark.parametrize("compressor", [Compressor.Snappy, Compressor.NoCompress])
def test_what_is_written_is_read_back(tmp_path: Path, compressor: Compressor) -> None:
    path = tmp_path / "words.recordio"
    write_words(path, 50, compressor=compressor, max_num_records=7)
    for i, record in enumerate(fluid.Reader.open_files(path, slots=SLOTS)):
        assert record["words"].values.ravel().tolist() == list(range(100 * i, 101 * i))
        assert record["words"].offsets[0].tolist() == [0, i]
        assert record["label"].tolist() == [[i]]
    assert i == 49
    (batch,) = fluid.Reader.open_files(path, slots=SLOTS).batch(50)
    assert batch["words"].lengths().tolist() == list(range(50))


def test_the_command_peek_reads_it(tmp_path: Path) -> None:
    peek = ROOT / "bazel-bin" / "tools" / "peek"
    if not os.access(peek, os.X_OK):
        pytest.skip(f"{peek} has not been built")
    path = tmp_path / "words.recordio"
    write_words(path, 4)
    program = tmp_path / "startup.pbtxt"
    program.write_text(fluid.Reader.open_files(path, slots=SLOTS, name="words").to_text())
    ran = subprocess.run(
        [peek, f"--startup={program}", "--reader=words", "--json", "--count=10"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    records = [json.loads(line)["slots"] for line in ran.stdout.splitlines()]
    assert [[slot["data"] for slot in record] for record in records] == [
        [[], [0]],
        [[100], [1]],
        [[200, 201], [2]],
        [[300, 301, 302], [3]],
    ]
    assert records[3][0]["lod"] == [[0, 3]]
    assert (records[3][0]["dtype"], records[3][0]["dims"]) == ("int64", [3, 1])


def test_max_num_records_makes_chunks(tmp_path: Path) -> None:
    def size(max_num_records: int) -> int:
        path = tmp_path / "file.recordio"
        write_words(path, 12, compressor=Compressor.NoCompress, max_num_records=max_num_records)
        return path.stat().st_size

    assert size(5) - size(1000) == 2 * 20  # two headers more
    assert size(1) - size(1000) == 11 * 20


@pytest.mark.parametrize(
    "dtype", "bool int8 uint8 int16 int32 int64 float16 float32 float64".split()
)
def test_every_dtype_and_two_levels(tmp_path: Path, dtype: str) -> None:
    values = np.arange(18).reshape(9, 2).astype(dtype)
    written = fluid.LoDTensor()
    written.set(values, fluid.CPUPlace())
    written.set_recursive_sequence_lengths([[2, 1], [3, 2, 4]])
    path = tmp_path / "file.recordio"
    with create_recordio_writer(path) as writer:
        writer.append_tensor(written)
        writer.complete_append_tensor()
    (record,) = fluid.Reader.open_files(path, slots={"x": (dtype, [-1, 2], 2)})
    np.testing.assert_array_equal(record["x"].values, values)
    assert record["x"].values.dtype == values.dtype
    assert [level.tolist() for level in record["x"].offsets] == [[0, 2, 3], [0, 3, 5, 9]]


def test_a_block_that_raises_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.recordio"
    with pytest.raises(ZeroDivisionError), create_recordio_writer(path) as writer:
        writer.append_tensor(tensor([[1]]))
        writer.complete_append_tensor()
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
    write_words(path, 2)
    content = path.read_bytes()
    unfinished = pytest.raises(fluid.Error, match="1 tensors belong to no record")
    with unfinished, create_recordio_writer(path) as writer:
        writer.append_tensor(tensor([[1]]))
    assert data_files(tmp_path) == ["file.recordio"]
    assert path.read_bytes() == content


def test_misuse_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file.recordio"
    with create_recordio_writer(path) as writer:
        with pytest.raises(fluid.Error, match="append_tensor comes first"):
            writer.complete_append_tensor()
        with pytest.raises(fluid.Error, match="has no values"):
            writer.append_tensor(fluid.LoDTensor())
        with pytest.raises(fluid.Error, match="3"):
            writer.append_tensor(tensor([[1], [2]], [[3]]))
        writer.append_tensor(tensor([[1]]))
        writer.complete_append_tensor()
        writer.close()
        writer.close()
        with pytest.raises(fluid.Error, match="file.recordio: this file has been closed"):
            writer.append_tensor(tensor([[1]]))
    assert len(list(fluid.Reader.open_files(path, slots={"x": ("int64", [1, 1])}))) == 1
    with pytest.raises(fluid.Error, match="max_num_records is 0"):
        fluid.core.RecordIOWriter(str(path), Compressor.Snappy, 0)
    with pytest.raises(fluid.Error, match="No such file") as caught:
        fluid.core.RecordIOWriter(str(tmp_path / "no" / "x"), Compressor.Snappy, 1)
    assert caught.value.code == "input/output error"
    with (
        pytest.raises(TypeError, match="compressor is 'snappy'; it must be core.RecordIOWriter"),
        create_recordio_writer(path, "snappy"),  # type: ignore[arg-type]
    ):
        pass


def test_a_file_that_exists_is_replaced_unless_told_not_to(
    tmp_path: Path, feeder: fluid.DataFeeder
) -> None:
    path = tmp_path / "words.recordio"
    reader = fluid.batch(lambda: samples(6), 1)
    write_words(path, 2)
    (tmp_path / "words-00001.recordio").write_text("mine")
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    for convert in (
        lambda: write_words(path, 3, overwrite=False),
        lambda: convert_reader_to_recordio_file(path, reader, feeder, overwrite=False),
        lambda: convert_reader_to_recordio_files(path, 3, reader, feeder, overwrite=False),
    ):
        with pytest.raises(fluid.Error, match="the file exists and 'overwrite' is false") as error:
            convert()
        assert error.value.code == "input/output error"
        assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
    write_words(tmp_path / "new.recordio", 3, overwrite=False)
    assert convert_reader_to_recordio_file(path, reader, feeder) == 6


def test_only_regular_files_are_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(fluid.Error, match="not a regular file but a named pipe"):
        write_words(tmp_path / "pipe", 1)
    (tmp_path / "link").symlink_to("file")
    write_words(tmp_path / "link", 1)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").stat().st_size > 0


def test_what_is_read_is_not_written(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    path = tmp_path / "words.recordio"
    write_words(path, 4)
    content = path.read_bytes()
    os.link(path, tmp_path / "hard")

    def read() -> Iterator[tuple[list[int], int]]:
        for record in fluid.Reader.open_files(path, slots=SLOTS):
            yield record["words"].values.ravel().tolist(), record["label"].item()

    for name in ("words.recordio", "hard"):
        # The writer is there first,
        with pytest.raises(fluid.Error, match="this process is writing a new file of this name"):
            convert_reader_to_recordio_file(tmp_path / name, fluid.batch(read, 1), feeder)
        # or the reader is.
        records = read()
        next(records)
        with pytest.raises(fluid.Error, match="this process reads the same file as data"):
            write_words(tmp_path / name, 1)
        records.close()
    assert path.read_bytes() == content
    assert data_files(tmp_path) == ["hard", "words.recordio"]


@pytest.mark.parametrize("resets", [False, True])
def test_a_file_is_written_anew_beside_readers_at_their_end(
    tmp_path: Path, resets: bool, threads: int
) -> None:
    """As the lineage's tests do it: one name for all, and all readers in the global scope."""
    path = tmp_path / "words.recordio"
    layers = fluid.layers
    decorations = [
        lambda reader: reader,
        lambda reader: layers.double_buffer(layers.batch(layers.shuffle(reader, 9), 4)),
        lambda reader: layers.multi_pass(reader, 2),
        lambda reader: layers.ops.create_take_reader(layers.double_buffer(reader), count=3),
    ]
    with fluid.scope_guard(fluid.Scope()):
        for round_number, decorate in enumerate(decorations):
            write_words(path, 10 + round_number)
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                files = layers.open_recordio_file(
                    str(path), [(-1, 1), (-1, 1)], [1, 0], ["int64", "int64"]
                )
                reader = decorate(files)
                _, label = layers.read_file(reader)
                executor = fluid.Executor(fluid.CPUPlace())
                executor.run(fluid.default_startup_program())
                labels: list[int] = []
                executor.run(fetch_list=[label])
                if round_number == 0:  # the others may have read the whole file by now
                    with pytest.raises(fluid.Error, match="this process reads the same file as"):
                        write_words(path, 1)
                with pytest.raises(fluid.core.EOFException):
                    while True:
                        (read,) = executor.run(fetch_list=[label])
                        labels += read.ravel().tolist()
                if resets:
                    reader.reset()
                assert labels


def test_a_writer_that_is_dropped_leaves_nothing(tmp_path: Path) -> None:
    writer = fluid.core.RecordIOWriter(str(tmp_path / "x"), Compressor.Snappy, 1)
    assert os.listdir(tmp_path) == ["x.partial"]
    del writer
    assert os.listdir(tmp_path) == []


def test_a_reader_becomes_a_file(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    path = tmp_path / "words.recordio"
    reader = fluid.batch(lambda: samples(10), 4)
    assert convert_reader_to_recordio_file(path, reader, feeder) == 3
    records = list(fluid.Reader.open_files(path, slots={**SLOTS, "label": ("int64", [-1, 1])}))
    assert [record["label"].ravel().tolist() for record in records] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    assert records[1]["words"].lengths().tolist() == [4, 5, 6, 7]
    assert records[1]["words"].values[:5].ravel().tolist() == [400, 401, 402, 403, 500]


def test_feed_order_picks_slots(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    path = tmp_path / "labels.recordio"
    reader = fluid.batch(lambda: samples(3), 1)
    convert_reader_to_recordio_file(path, reader, feeder, feed_order=["label"])
    records = fluid.Reader.open_files(path, slots={"label": ("int64", [1, 1])})
    assert [record["label"].item() for record in records] == [0, 1, 2]
    with pytest.raises(ValueError, match="'lable'"):
        convert_reader_to_recordio_file(path, reader, feeder, feed_order=["lable"])


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 7])
def test_files_of_a_reader_lose_nothing(
    tmp_path: Path, feeder: fluid.DataFeeder, count: int
) -> None:
    reader = fluid.batch(lambda: samples(count), 1)
    path = tmp_path / "words.recordio"
    assert convert_reader_to_recordio_files(path, 3, reader, feeder) == count
    names = data_files(tmp_path)
    assert names == [f"words-{number:05d}.recordio" for number in range(-(-count // 3))]
    labels = [
        [record["label"].item() for record in fluid.Reader.open_files(tmp_path / name, slots=SLOTS)]
        for name in names
    ]
    assert sum(labels, []) == list(range(count))
    assert all(len(of_file) == 3 for of_file in labels[:-1])


def test_files_of_an_earlier_conversion_are_not_read_with_those_of_another(
    tmp_path: Path, feeder: fluid.DataFeeder
) -> None:
    path = tmp_path / "words.recordio"
    reader = fluid.batch(lambda: samples(6), 1)
    assert convert_reader_to_recordio_files(path, 2, reader, feeder) == 6
    assert convert_reader_to_recordio_files(path, 2, reader, feeder) == 6
    with pytest.raises(FileExistsError, match="words-00002.recordio' and the files after it"):
        convert_reader_to_recordio_files(path, 3, reader, feeder)


def test_files_of_an_earlier_conversion_are_replaced_by_all_of_another_or_none(
    tmp_path: Path, feeder: fluid.DataFeeder
) -> None:
    path = tmp_path / "words.recordio"
    convert_reader_to_recordio_files(path, 2, fluid.batch(lambda: samples(6), 1), feeder)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}

    def failing() -> Iterator[object]:
        yield from samples(5)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        convert_reader_to_recordio_files(path, 2, fluid.batch(failing, 1), feeder)
    with pytest.raises(FileExistsError, match="nothing is changed"):
        convert_reader_to_recordio_files(path, 4, fluid.batch(lambda: samples(6), 1), feeder)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
    # An exception between two files leaves both.
    other = tmp_path / "other.recordio"
    with pytest.raises(ZeroDivisionError):
        convert_reader_to_recordio_files(other, 5, fluid.batch(failing, 1), feeder)
    assert len(fluid.Reader.open_files(tmp_path / "other-*.recordio", slots=SLOTS)) == 5


def test_a_shard_that_is_missing_is_told(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    path = tmp_path / "words.recordio"
    convert_reader_to_recordio_files(path, 2, fluid.batch(lambda: samples(6), 1), feeder)
    (tmp_path / "words-00001.recordio").unlink()
    for use in (len, list):
        with pytest.raises(fluid.Error, match="words-00001.recordio: is not there, but") as error:
            use(fluid.Reader.open_files(tmp_path / "words-*.recordio", slots=SLOTS))
        assert error.value.code == "data loss"
    # A reader that names files one by one gets exactly those.
    files = [tmp_path / f"words-0000{number}.recordio" for number in (0, 2)]
    assert len(fluid.Reader.open_files(files, slots=SLOTS)) == 4
    assert len(list(fluid.Reader.open_files(files[0], slots=SLOTS))) == 2


def test_whole_files_stay_when_a_reader_fails(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    def failing() -> Iterator[object]:
        yield from samples(5)
        raise ZeroDivisionError

    path = tmp_path / "words.recordio"
    for convert in (
        lambda: convert_reader_to_recordio_files(path, 2, fluid.batch(failing, 1), feeder),
        lambda: convert_reader_to_recordio_file(path, fluid.batch(failing, 1), feeder),
    ):
        with pytest.raises(ZeroDivisionError):
            convert()
        assert data_files(tmp_path) == ["words-00000.recordio", "words-00001.recordio"]


def test_wrong_arguments_of_files_are_said(tmp_path: Path, feeder: fluid.DataFeeder) -> None:
    reader = fluid.batch(lambda: samples(3), 1)
    with pytest.raises(ValueError, match="does not end in .recordio"):
        convert_reader_to_recordio_files(tmp_path / "words.rec", 2, reader, feeder)
    with pytest.raises(ValueError, match="batch_per_file is 0"):
        convert_reader_to_recordio_files(tmp_path / "words.recordio", 0, reader, feeder)


def test_arrays_are_written_as_tensors(tmp_path: Path) -> None:
    path = tmp_path / "arrays.recordio"
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    with create_recordio_writer(path) as writer:
        for slot in (array.T, fluid.LoDTensor.from_array(array)):
            writer.append_tensor(slot)
        with pytest.raises(TypeError, match="a LoDTensor or an array, not 'text'"):
            writer.append_tensor("text")  # type: ignore[arg-type]
        writer.complete_append_tensor()
    slots = {"t": ("float32", [-1, 2]), "a": ("float32", [-1, 3])}
    (element,) = fluid.Reader.open_files(path, slots=slots)
    np.testing.assert_array_equal(element["t"], array.T)
    np.testing.assert_array_equal(element["a"], array)


def test_a_file_that_lost_chunks_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "words.recordio"
    write_words(path, 5, max_num_records=1)
    first = path.stat().st_size
    write_words(path, 10, max_num_records=1)
    assert len(fluid.Reader.open_files(path, slots=SLOTS)) == 10
    os.truncate(path, first)  # between two chunks: by itself it looks whole
    with pytest.raises(fluid.Error, match="manifest") as error:
        list(fluid.Reader.open_files(path, slots=SLOTS))
    assert error.value.code == "data loss"


def test_a_bad_manifest_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "words.recordio.manifest.json").write_text("none")
    with (
        pytest.raises(fluid.Error, match="manifest"),
        create_recordio_writer(tmp_path / "words.recordio"),
    ):
        pass
    assert data_files(tmp_path) == []
