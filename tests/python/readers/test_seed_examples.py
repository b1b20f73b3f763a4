# SPDX-License-Identifier: Apache-2.0
"""The examples of the reader design doc and of the Data Reader page, as they stand.

What those pages lost on their way is put back: line ends, left-hand sides, names that are defined
elsewhere. Readers that would never end are cut by ``firstn`` where the example goes through them.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy
import pytest
from millhopper.base.zipped import zip_strict
from mnist_files import write_mnist

IMAGES = 300


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A small MNIST, and for each example new programs and values."""
    write_mnist(tmp_path, "train", IMAGES, compressed=True)
    monkeypatch.setenv("MILLHOPPER_DATA", str(tmp_path))
    with (
        millhopper.program_guard(millhopper.Program(), millhopper.Program()),
        millhopper.scope_guard(millhopper.Scope()),
    ):
        yield


def run(example: str, **names: Any) -> dict[str, Any]:
    """Runs an example below the lines `import millhopper as fluid, millhopper as paddle`."""
    namespace = {
        "fluid": millhopper,
        "paddle": millhopper,
        "numpy": numpy,
        "xrange": range,
        **names,
    }
    exec(textwrap.dedent(example), namespace)
    return namespace


# ---- The reader design doc ----

RANDOM_IMAGE = """
def reader_creator_random_image(width, height):
    def reader():
        while True:
            yield numpy.random.uniform(-1, 1, size=width*height)
    return reader
"""

RANDOM_IMAGE_AND_LABEL = """
def reader_creator_random_image_and_label(width, height, label):
    def reader():
        while True:
            yield numpy.random.uniform(-1, 1, size=width*height), label
    return reader
"""


def test_a_single_item_reader() -> None:
    reader = run(RANDOM_IMAGE)["reader_creator_random_image"](4, 5)
    items = list(millhopper.reader.firstn(reader, 3)())
    assert [item.shape for item in items] == [(20,)] * 3
    assert not numpy.array_equal(items[0], items[1])


def test_a_multiple_item_reader() -> None:
    creator = run(RANDOM_IMAGE_AND_LABEL)["reader_creator_random_image_and_label"]
    ((image, label),) = millhopper.reader.firstn(creator(2, 2, 7), 1)()
    assert (image.shape, label) == ((4,), 7)


def collected(reader: Any, mapping: dict[str, int]) -> list[dict[str, Any]]:
    """The feed of a program without operators, batch by batch."""
    names = list(mapping)
    batches = []

    def collect(number: int, batch: int, values: list[Any]) -> None:
        batches.append(dict(zip_strict(names, values)))

    millhopper.train(reader, mapping, event_handler=collect, fetch_list=names)
    return batches


def test_valid_batches() -> None:
    examples = run(
        """
        # a mini batch of three data items. Each data item consist three columns of data, each of
        # which is 1.
        columns = [(1, 1, 1),
        (2, 2, 2),
        (3, 3, 3)]

        # a mini batch of three data items, each data item is a list (single column).
        lists = [([1,1,1],),
        ([2,2,2],),
        ([3,3,3],)]
        """
    )
    (batch,) = collected(lambda: [examples["columns"]], {"a": 0, "b": 2})
    assert [batch[name].ravel().tolist() for name in ("a", "b")] == [[1, 2, 3]] * 2
    (batch,) = collected(lambda: [examples["lists"]], {"row": 0})
    assert batch["row"].tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 3]]


def test_an_invalid_batch() -> None:
    batch = run(
        """
        # wrong, [1,1,1] needs to be inside a tuple: ([1,1,1],).
        # Otherwise it is ambiguous whether [1,1,1] means a single column of data [1, 1, 1],
        # or three columns of data, each of which is 1.
        batch = [[1,1,1],
        [2,2,2],
        [3,3,3]]
        """
    )["batch"]
    with pytest.raises(TypeError) as caught:
        collected(lambda: [[(1, 1, 1), *batch]], {"a": 0})
    assert "item 1 of batch 0 is list [1, 1, 1]" in str(caught.value)
    assert "write ([1, 1, 1],) if it is one column" in str(caught.value)
    assert "tuple([1, 1, 1]) if it is one column for each" in str(caught.value)


def test_a_reader_becomes_a_batch_reader() -> None:
    reader = run(
        """
        mnist_train = paddle.dataset.mnist.train()
        mnist_train_batch_reader = paddle.batch(mnist_train, 128)
        """
    )["mnist_train_batch_reader"]
    batches = list(reader())
    assert [len(batch) for batch in batches] == [128, 128, 44]
    image, label = batches[0][1]
    assert (image.shape, image.dtype, label) == ((784,), numpy.float32, 1)


def test_a_custom_batch_reader() -> None:
    reader = run(
        """
        def custom_batch_reader():
            while True:
                batch = []
                for i in xrange(128):
                    batch.append((numpy.random.uniform(-1, 1, 28*28),)) # note that it's a tuple
                yield batch

        mnist_random_image_batch_reader = custom_batch_reader
        """
    )["mnist_random_image_batch_reader"]
    batches = collected(millhopper.reader.firstn(reader, 2), {"image": 0})
    assert [batch["image"].shape for batch in batches] == [(128, 784)] * 2


def test_usage() -> None:
    run(
        """
        # two data layer is created:
        image_layer = paddle.layer.data("image", ...)
        label_layer = paddle.layer.data("label", ...)

        # ...
        batch_reader = paddle.batch(paddle.dataset.mnist.train(), 128)
        paddle.train(batch_reader, {"image":0, "label":1}, 128, 10, ...)
        """
    )


def test_prefetch_data() -> None:
    reader = run("buffered_reader = paddle.reader.buffered(paddle.dataset.mnist.train(), 100)")
    assert [label for _, label in reader["buffered_reader"]()] == [i % 256 for i in range(IMAGES)]


# `def reader:` and `data_reader_creator_random_image` there.
COMPOSED = """
def reader_creator_bool(t):
    def reader():
        while True:
            yield t
    return reader

true_reader = reader_creator_bool(True)
false_reader = reader_creator_bool(False)

reader = paddle.reader.compose(paddle.dataset.mnist.train(), reader_creator_random_image(20, 20),
                               true_reader, false_reader)
# Skipped 1 because paddle.dataset.mnist.train() produces two items per data entry.
# And we don't care about the second item at this time.
paddle.train(paddle.batch(reader, 128),
             {"true_image":0, "fake_image": 2, "true_label": 3, "false_label": 4}, ...)
"""


def test_compose_multiple_data_readers() -> None:
    # In the page's form the images end before the other readers, which never do: an error says so.
    with pytest.raises(millhopper.reader.ComposeNotAligned, match=f"after {IMAGES} items"):
        run(RANDOM_IMAGE + COMPOSED)
    cut = COMPOSED.replace("reader = paddle.reader.compose(", "reader = compose_as_many(")
    namespace = run(
        RANDOM_IMAGE + cut,
        compose_as_many=lambda *readers: millhopper.reader.compose(
            *(millhopper.reader.firstn(reader, IMAGES) for reader in readers)
        ),
    )
    mapping = {"true_image": 0, "fake_image": 2, "true_label": 3, "false_label": 4}
    batches = collected(millhopper.batch(namespace["reader"], 128), mapping)
    assert [len(batch["true_image"]) for batch in batches] == [128, 128, 44]
    assert batches[0]["true_image"].shape == (128, 784)
    assert batches[0]["fake_image"].shape == (128, 400)
    assert batches[0]["true_label"].tolist() == [[1]] * 128
    assert batches[0]["false_label"].tolist() == [[0]] * 128


def test_shuffle() -> None:
    reader = run("reader = paddle.reader.shuffle(paddle.dataset.mnist.train(), 512)")["reader"]
    assert sorted(label for _, label in reader()) == sorted(i % 256 for i in range(IMAGES))


def test_items_are_reused_and_skipped() -> None:
    def reader() -> Iterator[list[tuple[int, int, int]]]:
        yield [(1, 2, 3), (4, 5, 6)]

    (batch,) = collected(reader, {"image_a": 0, "image_b": 0, "label": 1})
    values = [batch[name].ravel().tolist() for name in ("image_a", "image_b", "label")]
    assert values == [[1, 4], [1, 4], [2, 5]]
    (batch,) = collected(reader, {"image_a": 0, "label": 2})
    assert batch["label"].ravel().tolist() == [3, 6]


def test_a_custom_data_reader_creator(tmp_path: Path) -> None:
    pixels = numpy.random.default_rng(1).integers(0, 256, (1024, 784), numpy.uint8)
    pixels.tofile(tmp_path / "image_file")
    (numpy.arange(1024) % 10).astype("ubyte").tofile(tmp_path / "label_file")
    example = """
        def image_reader_creator(image_path, label_path, n):
            def reader():
                f = open(image_path)
                l = open(label_path)
                images = numpy.fromfile(
                    f, 'ubyte', count=n * 28 * 28).reshape((n, 28 * 28)).astype('float32')
                images = images / 255.0 * 2.0 - 1.0
                labels = numpy.fromfile(l, 'ubyte', count=n).astype("int")
                for i in xrange(n):
                    yield images[i, :], labels[i] # a single entry of data is created each time
                f.close()
                l.close()
            return reader

        # images_reader_creator creates a reader
        reader = image_reader_creator("/path/to/image_file", "/path/to/label_file", 1024)
        paddle.train(paddle.batch(reader, 128), {"image":0, "label":1}, ...)
        """
    reader = run(example.replace("/path/to", str(tmp_path)))["reader"]
    batches = collected(millhopper.batch(reader, 128), {"image": 0, "label": 1})
    assert len(batches) == 8
    labels = numpy.concatenate([batch["label"] for batch in batches]).ravel()
    assert labels.tolist() == (numpy.arange(1024) % 10).tolist()
    assert (batches[0]["image"].min(), batches[0]["image"].max()) == (-1, 1)


def test_how_train_is_implemented() -> None:
    seen = []
    namespace = run(
        """
        def train(batch_reader, mapping, batch_size, total_pass):
            for pass_idx in range(total_pass):
                for mini_batch in batch_reader(): # this loop will never end in online learning.
                    do_forward_backward(mini_batch, mapping)
        """,
        do_forward_backward=lambda batch, mapping: seen.append((len(batch), mapping)),
    )
    reader = millhopper.batch(millhopper.dataset.mnist.train(), 128)
    namespace["train"](reader, {"image": 0}, 128, 2)
    assert [size for size, _ in seen] == [128, 128, 44] * 2


# ---- The Data Reader page ----


def test_data_feeder() -> None:
    result = run(
        """
        place = fluid.CPUPlace()
        img = fluid.layers.data(name='image', shape=[1, 28, 28])
        label = fluid.layers.data(name='label', shape=[1], dtype='int64')
        feeder = fluid.DataFeeder([img, label], fluid.CPUPlace())
        result = feeder.feed([([0] * 784, [9]), ([1] * 784, [1])])
        """
    )["result"]
    assert result["image"].shape() == [2, 1, 28, 28]
    assert numpy.asarray(result["label"]).tolist() == [[9], [1]]


class Flowers:
    """Stands for the data set of that name, which this package does not have."""

    @staticmethod
    def train() -> Any:
        return lambda: ((numpy.full(3 * 224 * 224, i, "float32"), i) for i in range(40))


def test_data_feeder_decorates_a_reader() -> None:
    reader = run(
        """
        place=fluid.CUDAPlace(0)
        data = fluid.layers.data(name='data', shape=[3, 224, 224], dtype='float32')
        label = fluid.layers.data(name='label', shape=[1], dtype='int64')
        feeder = fluid.DataFeeder(place=place, feed_list=[data, label])
        reader = feeder.decorate_reader(
            paddle.batch(flowers.train(), batch_size=16))
        """,
        flowers=Flowers,
    )["reader"]
    feeds = list(reader())
    assert [feed["data"].shape() for feed in feeds] == [
        [16, 3, 224, 224],
        [16, 3, 224, 224],
        [8, 3, 224, 224],
    ]
    assert numpy.asarray(feeds[2]["label"]).ravel().tolist() == list(range(32, 40))


def test_data_feeder_feeds_an_executor() -> None:
    losses: list[float] = []
    run(
        """
        main_program = fluid.default_main_program()
        x = fluid.layers.data(name='x', shape=[1])
        y = fluid.layers.data(name='y', shape=[1])
        loss = fluid.layers.mean(x + y)
        exe = fluid.Executor(fluid.CPUPlace())
        feed_vars_name = ['x', 'y']

        # ...
        place = fluid.CPUPlace()
        feed_list = [
            main_program.global_block().var(var_name) for var_name in feed_vars_name
        ] # feed_vars_name is a list of variables' name.
        feeder = fluid.DataFeeder(feed_list, place)
        for data in reader():
            outs = exe.run(program=main_program,
                           feed=feeder.feed(data), fetch_list=[loss])
            losses.extend(outs[0].ravel().tolist())
        """,
        reader=millhopper.batch(lambda: ((float(i), 2.0 * i) for i in range(4)), 2),
        losses=losses,
    )
    assert losses == [1.5, 7.5]


def test_pipe_reader(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    files[0].write_text("1 2\n3 4\n")
    files[1].write_text("5 6")
    reader = run(
        """
        PipeReader = paddle.reader.PipeReader

        def example_reader():
            for f in myfiles:
                pr = PipeReader("cat %s"%f)
                for l in pr.get_line():
                    sample = l.split(" ")
                    yield sample
        """,
        myfiles=files,
    )["example_reader"]
    assert list(reader()) == [["1", "2"], ["3", "4"], ["5", "6"]]


@pytest.mark.parametrize("use_pipe", [False, True])
def test_multiprocess_reader(use_pipe: bool) -> None:
    example = """
        multiprocess_reader = paddle.reader.multiprocess_reader

        reader0 = reader(["file01", "file02"])
        reader1 = reader(["file11", "file12"])
        reader2 = reader(["file21", "file22"])
        reader = multiprocess_reader([reader0, reader1, reader2],
            queue_size=100, use_pipe=False)
        """
    reader = run(
        example.replace("use_pipe=False", f"use_pipe={use_pipe}"),
        reader=lambda files: lambda: iter(files),
    )["reader"]
    assert sorted(reader()) == [f"file{i}{k}" for i, k in itertools.product("012", "12")]


def test_fake() -> None:
    reader = run(
        """
        Fake = paddle.reader.Fake

        def reader():
            for i in range(10):
                yield i

        fake_reader = Fake()(reader, 100)
        """
    )["fake_reader"]
    assert [list(reader()), list(reader())] == [[0] * 100] * 2
