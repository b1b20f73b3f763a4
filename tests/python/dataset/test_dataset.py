# SPDX-License-Identifier: Apache-2.0
"""The data sets as readers: where files are found, their values, and errors for missing ones."""

from __future__ import annotations

import gzip
import itertools
import os
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import dataset
from millhopper.base.zipped import zip_strict
from mnist_files import write_mnist

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLHOPPER_DATA", raising=False)


@pytest.mark.parametrize("compressed", [False, True])
def test_mnist_reads_idx_files(tmp_path: Path, compressed: bool) -> None:
    written = write_mnist(tmp_path, "train", 200, compressed=compressed)
    write_mnist(tmp_path, "t10k", 30, compressed=compressed)
    reader = dataset.mnist.train(tmp_path)
    for _ in range(2):
        images, labels = zip_strict(*reader())
        assert labels == tuple(range(200))
        assert all(type(label) is int for label in labels)
        assert all(image.shape == (784,) and image.dtype == np.float32 for image in images)
        expected = written.reshape(200, 784).astype("float32") / 255.0 * 2.0 - 1.0
        np.testing.assert_array_equal(np.stack(images), expected)
    assert images[0][:3].tolist() == [-1, 1, np.float32(-0.6)]
    assert len(list(dataset.mnist.test(str(tmp_path))())) == 30


def test_mnist_reads_what_the_quickstart_writes(tmp_path: Path) -> None:
    for number in range(2):
        with millhopper.recordio_writer.create_recordio_writer(
            tmp_path / f"train-{number:05d}.recordio"
        ) as writer:
            for record in range(3):
                pixels = np.full((1, 784), 51 * (2 * record + number), np.uint8)
                writer.append_tensor(millhopper.LoDTensor.from_array(pixels))
                label = np.array([[2 * record + number]], np.int64)
                writer.append_tensor(millhopper.LoDTensor.from_array(label))
                writer.complete_append_tensor()
    samples = list(dataset.mnist.train(tmp_path)())
    assert [label for _, label in samples] == list(range(6))
    assert [image[783] for image, _ in samples] == pytest.approx([-1, -0.6, -0.2, 0.2, 0.6, 1])


def test_a_folder_of_data_is_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = dataset.mnist.test()
    monkeypatch.setenv("MILLHOPPER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        next(iter(reader()))
    for name in ("mnist", "."):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        write_mnist(folder, "t10k", len(name), compressed=True)
        assert len(list(reader())) == len(name)
    monkeypatch.setenv("MILLHOPPER_DATA", str(ROOT / "tools"))
    assert len(list(dataset.digits.test()())) == 359
    # If the caller names a folder, no other one is searched.
    with pytest.raises(FileNotFoundError):
        next(iter(dataset.digits.test(tmp_path)()))


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        next(iter(dataset.mnist.train()()))
    for word in ("mnist.train(folder)", "MILLHOPPER_DATA", "nothing is downloaded"):
        assert word in str(caught.value)
    write_mnist(tmp_path, "train", 2, compressed=False)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    monkeypatch.setenv("MILLHOPPER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        next(iter(dataset.mnist.train()()))
    wanted = "train-images-idx3-ubyte with train-labels-idx1-ubyte, or train-*.recordio"
    for word in (wanted, str(tmp_path), str(tmp_path / "mnist")):
        assert word in str(caught.value)


def test_digits_are_those_in_the_sources() -> None:
    train = list(dataset.digits.train(ROOT / "tools" / "digits")())
    test = list(dataset.digits.test(ROOT / "tools" / "digits")())
    assert (len(train), len(test)) == (1438, 359)
    packed = (ROOT / "tools" / "digits" / "digits.csv.gz").read_bytes()
    lines = gzip.decompress(packed).decode().split()
    rows = np.array([line.split(",") for line in lines], dtype=np.int64)
    for samples, of_part in ((train, np.arange(1797) % 5 != 4), (test, np.arange(1797) % 5 == 4)):
        images, labels = zip_strict(*samples)
        assert list(labels) == rows[of_part, 64].tolist()
        np.testing.assert_array_equal(np.stack(images), rows[of_part, :64].astype("f4") / 16)
        assert images[0].dtype == np.float32


@pytest.mark.parametrize(
    ("line", "problem"),
    [("1,2,3", "line 3: 3 numbers instead of 65"), ("1,x", "line 3: invalid literal"), ("", "3")],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    whole = ",".join(["7"] * 65)
    path = tmp_path / "digits.csv"
    path.write_text(f"{whole}\n{whole}\n{line}\n")
    with pytest.raises(millhopper.Error, match=problem) as caught:
        list(dataset.digits.train(tmp_path)())
    assert (caught.value.code, caught.value.file) == ("data loss", str(path))


def test_leaving_a_pass_closes_its_files(tmp_path: Path) -> None:
    write_mnist(tmp_path, "train", 2000, compressed=False)
    before = os.listdir("/proc/self/fd")
    for _ in itertools.islice(dataset.mnist.train(tmp_path)(), 1):
        pass
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_mnist_itself() -> None:
    data = os.environ.get("MILLHOPPER_TEST_DATA")
    if not data:
        pytest.skip("MILLHOPPER_TEST_DATA names no folder of sample files")
    folder = Path(data) / "idx_mnist"
    labels = [0] * 10
    for image, label in dataset.mnist.test(folder)():
        labels[label] += 1
        assert image.shape == (784,)
    assert labels == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    image, label = next(iter(dataset.mnist.train(folder)()))
    assert (label, image.min(), image.max()) == (5, -1, 1)
