# SPDX-License-Identifier: Apache-2.0
"""Reader.write: what is written in every format reads back equal, or is refused by the slot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Error, Ragged, Reader, Texts
from millhopper.recordio_writer import create_recordio_writer

FORMATS = ["recordio", "jsonl", "csv", "tsv", "npy", "tar", "tfrecord", "mds"]
COLUMNS = ["parquet", "arrow", "feather"]

DATA = Path(os.environ.get("MILLHOPPER_TEST_DATA", ""))
needs_data = pytest.mark.skipif(
    "MILLHOPPER_TEST_DATA" not in os.environ, reason="no folder of sample files"
)
# A few files of every format, with what opening them needs.
SAMPLES: dict[str, dict[str, Any]] = {
    "idx_mnist/t10k-images-idx3-ubyte.gz": {},
    "csv/duckdb/titanic.csv": {},
    "digits/digits.csv.gz": {"header": "no"},
    "ctr/criteo_sample.txt": {"format": "csv"},
    "ctr/pytorch_data/day_11_first_3k_rows_original.tsv": {"header": "no"},
    "tfrecord/pytorch_data/example.tfrecord": {},
    "tfrecord/tfx/mnist.tfrecord": {},
    "libsvm/heart_scale": {"format": "libsvm", "fields": ["label float32[]", "index int64[-1]"]},
    "text/input.txt": {},
    "webdataset/tendata.tar": {},
    "webdataset/testgz.tar": {},
    "recordio_mxnet/dmlc_core/sample.rec": {},
    "npy/npyz/f-order.npy": {},
    "png/pngsuite/basn0g08.png": {},
    "jpeg_photos/dali/100/swan-3584559_640.jpg": {},
}


def name_of(folder: Path, format: str) -> str:
    return str(folder / ("part.mds" if format == "mds" else f"out.{format}"))


def parts(value: Any) -> tuple[Any, ...]:
    """What must be equal: whether it is text, dtype, shape, bytes, offsets."""
    if isinstance(value, Ragged):
        levels = (tuple(level.tolist()) for level in value.offsets)
        return (type(value).__name__, *parts(value.values), *levels)
    array = np.asarray(value)
    return str(array.dtype), array.shape, array.tobytes()


def elements(reader: Reader) -> list[dict[str, tuple[Any, ...]]]:
    return [{slot: parts(value) for slot, value in element.items()} for element in reader]


def check(reader: Reader, format: str, folder: Path) -> bool:
    """Whether it is written and read back equal; otherwise it is refused and nothing is left."""
    expected = elements(reader)
    names = list(expected[0])
    try:
        written = reader.write(name_of(folder, format))
    except Error as error:
        assert any(f"slot '{name}'" in error.message for name in names), error
        assert list(folder.iterdir()) == []
        return False
    assert written.records == len(expected)
    assert elements(Reader.open_files(written.files, **written.attributes)) == expected
    return True


def rows() -> Iterator[dict[str, Any]]:
    for i in range(7):
        yield {
            "id": np.int64(i),
            "x": np.float32(i / 3),
            "image": np.full((2, 3), i, np.uint8),
            "title": f'title, "{i}"\n',
        }


def table() -> Reader:
    return Reader.from_iterable(rows)


@pytest.mark.parametrize("format", FORMATS)
def test_rows_read_back_equal(format: str, tmp_path: Path) -> None:
    assert check(table(), format, tmp_path) is (format not in ("tsv", "npy"))


@pytest.mark.parametrize("source", FORMATS)
def test_every_format_to_every_format(source: str, tmp_path: Path) -> None:
    reader = table().select("image") if source == "npy" else table()
    if source == "tsv":
        reader = reader.select("id", "x", "image")
    written = reader.write(name_of(tmp_path, source))
    for target in FORMATS:
        (folder := tmp_path / f"to_{target}").mkdir()
        again = Reader.open_files(written.files, **written.attributes)
        is_one = source == "npy"
        holds = target not in ("tsv", "npy") or is_one or (source, target) == ("tsv", "tsv")
        assert check(again, target, folder) is holds


@pytest.mark.parametrize("format", COLUMNS)
def test_rows_of_columns_read_back_equal(format: str, tmp_path: Path, parquet_plugin: Path) -> None:
    millhopper.load_plugin(parquet_plugin)
    assert check(table(), format, tmp_path)
    written = table().write(tmp_path / f"again.{format}")
    for target in FORMATS + COLUMNS:
        (folder := tmp_path / f"to_{target}").mkdir()
        again = Reader.open_files(written.files, **written.attributes)
        assert check(again, target, folder) is (target not in ("tsv", "npy"))


@needs_data
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("format", FORMATS)
def test_samples_read_back_equal(sample: str, format: str, tmp_path: Path) -> None:
    options = dict(SAMPLES[sample])
    prefix = options.pop("format", "")
    name = f"{prefix}:{DATA / sample}" if prefix else DATA / sample
    reader = Reader.open_files(name, **options).take(50)
    written = check(reader, format, tmp_path)
    assert written or format != "recordio"


def test_shards(tmp_path: Path) -> None:
    written = table().write(tmp_path / "x-{shard:02}.jsonl.gz", shard_size=3)
    assert [Path(file).name for file in written.files] == [f"x-{i:02}.jsonl.gz" for i in range(3)]
    assert written.records == 7
    again = Reader.open_files(written.files, cycle_length=1, **written.attributes)
    assert elements(again) == elements(table())
    by_bytes = table().write(str(tmp_path / "{shard}.csv"), shard_size="64B")
    assert len(by_bytes.files) > 1
    for wrong in ("", "3", "3XB", "MB", "-3MB"):
        with pytest.raises(ValueError, match="shard_size is"):
            table().write(tmp_path / "{shard}.csv", shard_size=wrong)
    with pytest.raises(ValueError, match="shard_size 0"):
        table().write(tmp_path / "{shard}.csv", shard_size=0)


def test_files_stay_unless_overwrite(tmp_path: Path) -> None:
    reader = table()
    reader.write(tmp_path / "x.jsonl")
    before = (tmp_path / "x.jsonl").read_bytes()
    with pytest.raises(Error, match="exists"):
        reader.take(1).write(tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_bytes() == before
    reader.take(1).write(tmp_path / "x.jsonl", overwrite=True)
    assert (tmp_path / "x.jsonl").read_bytes().count(b"\n") == 1


def test_each_write_is_the_next_pass(tmp_path: Path) -> None:
    reader = table().shuffle(100, seed=3)
    orders = []
    for i in range(2):
        written = reader.write(tmp_path / f"{i}.jsonl")
        again = Reader.open_files(written.files, **written.attributes)
        orders.append([int(element["id"][0]) for element in again])
    same = table().shuffle(100, seed=3)
    assert orders == [[int(element["id"][0]) for element in same] for _ in range(2)]


def test_functions_tell_names(tmp_path: Path) -> None:
    reader = table().map(lambda element: {"double": element["x"] * 2})
    written = reader.write(tmp_path / "x.jsonl")
    assert written.attributes["fields"] == ["double float32[]"]


def test_nothing_that_a_function_would_tell_has_slots_to_declare(tmp_path: Path) -> None:
    def double(element: dict[str, Any]) -> dict[str, Any]:
        return {"x": element["x"] * 2}

    none = table().filter("id > 100")
    with pytest.raises(Error, match=r"say it with slots=\{\"x\": \(\"float32\", \[1\]\)\}"):
        none.map(double).write(tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []
    written = none.map(double, slots={"x": ("float32", [1])}).write(tmp_path / "x.jsonl")
    assert written.records == 0


def test_batches_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Error, match="unbatch makes records of it"):
        table().batch(2).write(tmp_path / "x.csv")
    written = table().batch(2).unbatch().write(tmp_path / "x.csv")
    assert elements(Reader.open_files(written.files, **written.attributes)) == elements(table())


def test_append_takes_what_readers_yield(tmp_path: Path) -> None:
    path = tmp_path / "x.recordio"
    with create_recordio_writer(path) as writer:
        for element in table():
            writer.append(element)
    assert elements(Reader.open_files(path)) == elements(table())
    table().write(tmp_path / "x.jsonl")
    with create_recordio_writer(path) as writer:
        for element in Reader.open_files(tmp_path / "x.jsonl", fields=["title"]):
            assert isinstance(element["title"], Texts)
            writer.append(element)
    titles = [{"title": element["title"]} for element in elements(table())]
    assert elements(Reader.open_files(path)) == titles
    batches = tmp_path / "batches.recordio"
    with create_recordio_writer(batches, names=["id", "title"]) as writer:
        for batch in table().select("id", "title").batch(3):
            writer.append((batch["id"], batch["title"]))
        writer.append({"title": "one", "id": 7})
        with pytest.raises(millhopper.Error, match="no value for slot 'title'"):
            writer.append({"id": np.array([1], np.int64), "titel": "x"})
    assert len(list(Reader.open_files(batches))) == 4


@pytest.mark.parametrize("format", ["jsonl", "csv", "tfrecord"])
def test_what_only_looks_like_a_mask_is_not_lost(format: str, tmp_path: Path) -> None:
    for value in (["ann", "bob"], [8, 9]):
        rows = [{"x": v, "x.valid": i == 0} for i, v in enumerate([*value, value[0]])]
        reader = Reader.from_iterable(rows)
        with pytest.raises(Error, match=r"slot 'x' has a value where slot 'x\.valid' says"):
            reader.write(name_of(tmp_path, format))
        assert not Path(name_of(tmp_path, format)).exists()


def test_keys_of_tar_are_texts(tmp_path: Path) -> None:
    reader = Reader.from_arrays({"__key__": np.arange(3) + 100, "v": np.arange(3)})
    with pytest.raises(Error, match="tar cannot hold slot '__key__', .* the key of a record is a"):
        reader.write(str(tmp_path / "k.tar"))


def test_slots_that_no_field_can_name(tmp_path: Path) -> None:
    with pytest.raises(Error, match="a slot without a name cannot be written"):
        Reader.from_arrays({"": np.arange(3)}).write(str(tmp_path / "e.csv"))
    with pytest.raises(Error, match="an axis of length 0 leaves no values"):
        Reader.from_arrays({"x": np.zeros((3, 0))}).write(str(tmp_path / "e.jsonl"))


def test_columns_of_one_name(tmp_path: Path) -> None:
    reader = Reader.from_arrays({"x": np.zeros((3, 2)), "x.0": np.arange(3)})
    with pytest.raises(Error, match=r"slot 'x.0', .* two columns would be called 'x.0'"):
        reader.write(str(tmp_path / "e.csv"))


def test_shards_of_mds_have_a_folder_made_for_them(tmp_path: Path) -> None:
    reader = Reader.from_arrays({"x": np.arange(5)})
    name = str(tmp_path / "a" / "b" / "shard.{shard:05}.mds")
    written = reader.write(name, shard_size=2)
    assert elements(Reader.open_files(written.files)) == elements(reader)
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="cannot write: Not a directory"):
        reader.write(tmp_path / "file" / "shard.mds")


def test_classes_of_images_are_numbers_in_a_tar(tmp_path: Path) -> None:
    samples = [{"image": b"\xff\xd8", "label": label} for label in (3, 0, 12)]
    slots = {"image": ("uint8", [-1], 1), "label": ("int64", [1])}
    (file,) = Reader.from_dataset(samples, slots=slots).write(tmp_path / "a.tar").files
    (batch,) = Reader.open_files(file).batch(3)
    assert batch["label"].dtype == np.int64
    assert batch["label"].tolist() == [3, 0, 12]
