# SPDX-License-Identifier: Apache-2.0
"""Readers of the data sets of Hugging Face's ``datasets``."""

from __future__ import annotations

import datetime
import gc
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets are not installed")

from datasets import Array2D, ClassLabel, Features, Image, List, Value  # noqa: E402

ROWS = 20


@pytest.fixture(autouse=True)
def nothing_left_of_datasets(
    leaves_nothing_behind: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # a thread that watches progress bars
    datasets.disable_progress_bars()
    yield
    gc.collect()  # data sets hold files open, and are in circles


def png(height: int) -> bytes:
    """An image of 3 pixels in a row, which all are ``height``."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = (b"\0" + bytes([height]) * 9) * height
    header = struct.pack(">IIBBBBB", 3, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


FEATURES = Features(
    {
        "id": Value("int32"),
        "on": Value("bool"),
        "tokens": List(Value("int32")),
        "pair": List(Value("float32"), length=2),
        "text": Value("string"),
        "words": List(Value("string")),
        "nested": List(List(Value("int64"))),
        "boxes": List(List(Value("float32"), length=4)),
        "grid": Array2D((2, 3), "float32"),
        "image": Image(),
        "label": ClassLabel(names=["cat", "dog"]),
    }
)


def row(i: int, folder: Path) -> dict[str, Any]:
    image: dict[str, Any] = {"bytes": png(i + 1), "path": None}
    if i % 2:  # as a data set has it that was made of a folder
        (folder / f"{i}.png").write_bytes(png(i + 1))
        image = {"bytes": None, "path": str(folder / f"{i}.png")}
    return {
        "id": i,
        "on": i % 3 == 0,
        "tokens": list(range(i)),
        "pair": [i, i + 0.5],
        "text": "é" * i,
        "words": ["ab"] * (i % 3),
        "nested": [[j] * j for j in range(i % 4)],
        "boxes": [[i, 1, 2, 3]] * (i % 3),
        "grid": [[i, 1, 2], [3, 4, 5]],
        "image": image,
        "label": i % 2,
    }


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    rows = [row(i, tmp_path) for i in range(ROWS)]
    return datasets.Dataset.from_list(rows, features=FEATURES)


READERS: dict[str, Callable[[Any], millhopper.Reader]] = {
    "dataset": millhopper.Reader.from_dataset,
    "arrow": millhopper.Reader.from_arrow,
    "iterable": lambda data: millhopper.Reader.from_iterable(data.to_iterable_dataset()),
    "function": lambda data: millhopper.Reader.from_iterable(lambda: data.to_iterable_dataset()),
}
all_readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, millhopper.Ragged):
        assert_same(found.values, expected.values)
        for offsets, wanted in zip_strict(found.offsets, expected.offsets):
            np.testing.assert_array_equal(offsets, wanted)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def text_of(text: Any) -> str:
    """from_arrow knows what is a text from the schema and yields str, the others the bytes."""
    return text if isinstance(text, str) else bytes(text).decode()


def ids(reader: millhopper.Reader) -> list[int]:
    return [int(element["id"].ravel()[0]) for element in reader]


@all_readers
def test_slots_are_what_features_tell(dataset: Any, read: Any, tmp_path: Path) -> None:
    (batch,) = read(dataset).batch(ROWS)
    rows = [row(i, tmp_path) for i in range(ROWS)]
    assert list(batch) == list(FEATURES)
    assert batch["id"].dtype == np.int32 and batch["id"].tolist() == list(range(ROWS))
    assert batch["on"].dtype == np.bool_ and batch["on"].tolist() == [r["on"] for r in rows]
    assert batch["label"].dtype == np.int64 and batch["label"].tolist() == [0, 1] * (ROWS // 2)
    assert batch["tokens"].values.dtype == np.int32
    assert [tokens.tolist() for tokens in batch["tokens"]] == [r["tokens"] for r in rows]
    assert batch["pair"].dtype == np.float32 and batch["pair"].shape == (ROWS, 2)
    assert batch["grid"].dtype == np.float32 and batch["grid"].shape == (ROWS, 2, 3)
    assert [text_of(text) for text in batch["text"]] == [r["text"] for r in rows]
    words = [[text_of(word) for word in words] for words in batch["words"]]
    assert words == [r["words"] for r in rows]
    nested = [[part.tolist() for part in parts] for parts in batch["nested"]]
    assert nested == [r["nested"] for r in rows]
    assert [boxes.reshape(-1, 4).tolist() for boxes in batch["boxes"]] == [r["boxes"] for r in rows]
    assert [bytes(image) for image in batch["image"]] == [png(i + 1) for i in range(ROWS)]


@all_readers
def test_images_are_decoded_by_our_operators(dataset: Any, read: Any) -> None:
    reader = read(dataset).select("image").apply("decode_image", "image")
    assert [element["image"].shape for element in reader] == [
        (1, i + 1, 3, 3) for i in range(ROWS)
    ]  # fmt: skip


@all_readers
def test_rows_that_were_selected_and_shuffled(dataset: Any, read: Any) -> None:
    chosen = dataset.shuffle(seed=3).select([5, 1, 2, 7])
    expected = list(chosen["id"])
    assert len(set(expected)) == 4 and ids(read(chosen)) == expected
    assert ids(read(dataset.filter(lambda r: r["id"] > 15))) == [16, 17, 18, 19]


def test_columns_are_chosen_by_name(dataset: Any) -> None:
    slots = {"tokens": ("int32", [-1], 1), "id": ("int32", [1])}
    for reader in (
        millhopper.Reader.from_dataset(dataset, slots=slots),
        millhopper.Reader.from_iterable(dataset.to_iterable_dataset(), slots),
        millhopper.Reader.from_arrow(dataset, fields=["tokens", "id"]),
    ):
        element = list(reader)[3]
        assert element["id"].tolist() == [3] and element["tokens"][0].tolist() == [0, 1, 2]
        assert sorted(element) == ["id", "tokens"]
    with pytest.raises(millhopper.Error, match="there is no column 'ids' among"):
        millhopper.Reader.from_dataset(dataset, slots={"ids": ("int32", [1])})


def test_formats_choose_columns_and_change_no_value(dataset: Any) -> None:
    formatted = dataset.with_format("numpy", columns=["id", "tokens"])
    for read in millhopper.Reader.from_dataset, millhopper.Reader.from_arrow:
        found = list(read(formatted))
        assert list(found[2]) == ["id", "tokens"]
        assert_same(found[2]["tokens"].values, np.arange(2, dtype=np.int32))


def test_a_transform_makes_the_samples(dataset: Any) -> None:
    lengths = dataset.with_transform(lambda rows: {"n": [len(t) for t in rows["tokens"]]})
    found = [int(element["n"][0]) for element in millhopper.Reader.from_dataset(lengths)]
    assert found == list(range(ROWS))
    with pytest.raises(TypeError, match="without its set_transform"):
        millhopper.Reader.from_arrow(lengths)


def test_all_samples_shuffled_in_no_memory(dataset: Any) -> None:
    reader = millhopper.Reader.from_dataset(dataset, shuffle=True, seed=4)
    first, second = ids(reader), ids(reader)
    assert sorted(first) == sorted(second) == list(range(ROWS)) and first != second
    assert len(reader) == ROWS


def test_nulls_are_errors_that_say_who_reads_them() -> None:
    nulls = datasets.Dataset.from_dict({"x": [1, None, 3]})
    for read in READERS.values():
        with pytest.raises(millhopper.Error, match="(?s)'x'.* null.*missing=skip"):
            list(read(nulls))
    kept = millhopper.Reader.from_arrow(nulls, fields=["x int64[] missing=skip"])
    assert [int(element["x"].ravel()[0]) for element in kept] == [1, 3]


def test_features_without_a_slot() -> None:
    for value in datetime.datetime(2024, 1, 2), {"a": 1}:
        dataset = datasets.Dataset.from_dict({"d": [value]})
        with pytest.raises(millhopper.Error, match=r"column 'd' is .*remove_columns\('d'\)"):
            millhopper.Reader.from_dataset(dataset)
    flat = datasets.Dataset.from_dict({"d": [{"a": 1}]}).flatten()
    assert [int(e["d.a"][0]) for e in millhopper.Reader.from_dataset(flat)] == [1]


def test_what_another_method_reads() -> None:
    one = datasets.Dataset.from_dict({"x": [1]})
    splits = datasets.DatasetDict({"train": one})
    for name in "from_dataset", "from_arrow", "from_iterable":
        with pytest.raises(TypeError, match=r"DatasetDict, .*\['train'\]; give one of them"):
            getattr(millhopper.Reader, name)(splits)
    with pytest.raises(TypeError, match="from_iterable takes what can only be iterated over"):
        millhopper.Reader.from_dataset(one.to_iterable_dataset())
    with pytest.raises(TypeError, match="leave it out"):
        millhopper.Reader.from_iterable(one.to_iterable_dataset(), batched=True)


def test_a_stream_of_batches() -> None:
    streamed = datasets.Dataset.from_dict({"id": list(range(10))}).to_iterable_dataset()
    reader = millhopper.Reader.from_iterable(lambda: streamed.iter(batch_size=4), batched=True)
    assert ids(reader) == list(range(10))


def test_a_stream_has_another_order_in_each_pass() -> None:
    numbers = datasets.Dataset.from_dict({"id": list(range(100))})
    streamed = numbers.to_iterable_dataset(num_shards=10).shuffle(seed=1, buffer_size=10)
    reader = millhopper.Reader.from_iterable(streamed)
    passes = [ids(reader) for _ in range(2)]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(100)) and passes[0] != passes[1]
    for epoch in 0, 1:
        streamed.set_epoch(epoch)
        assert [sample["id"] for sample in streamed] == passes[epoch]


@pytest.mark.parametrize("as_function", [False, True])
@pytest.mark.parametrize("window", [1, 30])
def test_a_stream_resumes_by_its_own_state(as_function: bool, window: int) -> None:
    asked: list[int] = []

    def numbers() -> Iterator[dict[str, int]]:
        for i in range(400):
            asked.append(i)
            yield {"id": i}

    streamed = datasets.IterableDataset.from_generator(numbers)
    held = datasets.Dataset.from_dict({"id": list(range(400))}).to_iterable_dataset(num_shards=40)
    for source in streamed, held:
        given = (lambda source=source: source) if as_function else source
        reader = millhopper.Reader.from_iterable(given).shuffle(window, seed=2)
        loop = iter(reader)
        for _ in range(250):
            next(loop)
        state = reader.state_dict()
        rest, following = ids(loop), ids(reader)
        assert len(rest) == 150 and len(following) == 400
        again = millhopper.Reader.from_iterable(given).shuffle(window, seed=2)
        again.load_state_dict(state)
        assert ids(again) == rest
        assert ids(again) == following


def test_the_loader_reads_a_data_set_as_torch_does(dataset: Any, torch_or_stand_in: None) -> None:
    loader = millhopper.DataLoader(dataset.select_columns(["id"]), batch_size=None)
    assert [sample["id"] for sample in loader] == list(range(ROWS))
