# SPDX-License-Identifier: Apache-2.0
"""Programs that read RecordIO files which Python wrote: the cases of the lineage's file readers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import millhopper as fluid
import numpy as np
import pytest
from mnist_files import write_mnist

IMAGES = 400
BATCH = 64
BATCHES = 7  # of a file

Slots = dict[str, Any]
SLOTS: Slots = {
    "shapes": [(-1, 784), (-1, 1)],
    "lod_levels": [0, 0],
    "dtypes": ["float32", "int64"],
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of batches: a tensor of images and one of labels each."""
    write_mnist(tmp_path, "train", IMAGES, compressed=True)
    reader = fluid.batch(fluid.dataset.mnist.train(tmp_path), batch_size=BATCH)
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        image = fluid.layers.data(name="image", shape=[784])
        label = fluid.layers.data(name="label", shape=[1], dtype="int64")
        feeder = fluid.DataFeeder(feed_list=[image, label], place=fluid.CPUPlace())
    file = tmp_path / "mnist_0.recordio"
    written = fluid.recordio_writer.convert_reader_to_recordio_file(str(file), reader, feeder)
    assert written == BATCHES
    return file


def started(reader: fluid.Variable) -> Callable[[], np.ndarray]:
    """Runs the startup program; the function reads the labels of the next batch."""
    image, label = fluid.layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())

    def read() -> np.ndarray:
        images, labels = exe.run(fetch_list=[image, label])
        assert images.shape == (len(labels), 784)
        assert len(labels) <= BATCH
        return labels.ravel()

    return read


def read_pass(read: Callable[[], np.ndarray]) -> list[np.ndarray]:
    batches = []
    with pytest.raises(fluid.core.EOFException):
        while True:
            batches.append(read())
    with pytest.raises(fluid.core.EOFException):  # and it stays so
        read()
    return batches


def whole_passes(batches: list[np.ndarray], passes: int) -> bool:
    counts = np.bincount(np.concatenate(batches), minlength=256)
    expected = np.bincount(np.arange(IMAGES) % 256, minlength=256)
    return np.array_equal(counts, passes * expected)


@pytest.mark.parametrize(
    "options",
    [{}, {"thread_num": 2}, {"thread_num": 3}, {"thread_num": 10}]
    + [{"is_test": is_test} for is_test in (True, False)],
)
def test_several_files(path: Path, options: dict[str, Any]) -> None:
    names = [str(path)]
    for number in (1, 2):
        names.append(str(path.with_name(f"mnist_{number}.recordio")))
        shutil.copyfile(path, names[-1])
    files = fluid.layers.open_files(filenames=names, **SLOTS, **options)
    read = started(files)
    for _ in range(2):
        batches = read_pass(read)
        assert len(batches) == 3 * BATCHES
        assert whole_passes(batches, 3)
        files.reset()


def test_several_passes(path: Path) -> None:
    file = fluid.layers.open_recordio_file(filename=str(path), **SLOTS)
    file = fluid.layers.io.multi_pass(reader=file, pass_num=3)
    read = started(file)
    batches = read_pass(read)
    assert len(batches) == 3 * BATCHES
    assert whole_passes(batches, 3)
    file.reset()
    assert len(read_pass(read)) == 3 * BATCHES


@pytest.mark.parametrize(
    "decorate",
    [
        lambda reader: reader,
        lambda reader: fluid.layers.io.shuffle(reader, buffer_size=200),
        lambda reader: fluid.layers.io.double_buffer(reader, place="cpu"),
    ],
    ids=["plain", "shuffle", "double_buffer"],
)
def test_decorators_on_a_file(path: Path, decorate: Callable[[Any], Any]) -> None:
    file = fluid.layers.open_recordio_file(str(path), **SLOTS)
    reader = decorate(file)
    read = started(reader)
    for _ in range(5):
        batches = read_pass(read)
        assert sorted(map(len, batches)) == [IMAGES % BATCH] + [BATCH] * (BATCHES - 1)
        assert whole_passes(batches, 1)
        reader.reset()


def test_training_from_a_file(path: Path) -> None:
    file = fluid.layers.open_recordio_file(str(path), **SLOTS, pass_num=12)
    image, label = fluid.layers.read_file(file)
    hidden = fluid.layers.fc(input=image, size=16, act="tanh")
    prediction = fluid.layers.fc(input=hidden, size=256, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    fluid.optimizer.Adam(learning_rate=1e-2).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = []
    with pytest.raises(fluid.core.EOFException):
        while True:
            losses.append(exe.run(fetch_list=[loss])[0].item())
    assert len(losses) == 12 * BATCHES
    assert np.mean(losses[-BATCHES:]) < np.mean(losses[:BATCHES]) - 1


def test_a_preprocessor_on_images(path: Path) -> None:
    """Ten batches; the block's results equal numpy's (lineage.md, section 6)."""
    files = fluid.layers.io.open_recordio_file(str(path), **SLOTS)
    files = fluid.layers.io.double_buffer(fluid.layers.multi_pass(files, 2))
    preprocessor = fluid.layers.io.Preprocessor(reader=files)
    with preprocessor.block():
        image, label = preprocessor.inputs()
        two = fluid.layers.fill_constant(shape=[1], dtype="float32", value=2)
        one = fluid.layers.fill_constant(shape=[1], dtype="int64", value=1)
        preprocessor.outputs(
            fluid.layers.elementwise_div(image, two), fluid.layers.elementwise_add(label, one)
        )
    plain = fluid.layers.open_recordio_file(str(path), **SLOTS)
    outs = [
        *fluid.layers.read_file(fluid.layers.io.double_buffer(preprocessor())),
        *fluid.layers.read_file(fluid.layers.multi_pass(plain, 2)),
    ]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for _ in range(10):
        halves, more, images, labels = exe.run(fetch_list=outs)
        np.testing.assert_array_equal(halves, images / 2)
        np.testing.assert_array_equal(more, labels + 1)
