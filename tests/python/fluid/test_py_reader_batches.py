# SPDX-License-Identifier: Apache-2.0
"""Batches of py_reader and PyReader do not change, however long they are kept.

The cases of lineage.md, section 6: decoupled data check (10 epochs), pinned memory, levels.
"""

from __future__ import annotations

from collections.abc import Iterator

import millhopper as fluid
import numpy as np
import pytest
from millhopper import core, layers
from millhopper.base.zipped import zip_strict

EPOCHS = 10
BATCHES = 6


def batch(number: int) -> list[np.ndarray]:
    return [np.full((4, 8, 8), number, np.float32), np.full((4, 1), number, np.int64)]


pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("double_buffer", [False, True])
def test_no_batch_is_written_again(iterable: bool, double_buffer: bool) -> None:
    image, label = layers.data("image", [8, 8]), layers.data("label", [1], dtype="int64")
    reader = fluid.io.PyReader([image, label], 2, double_buffer, iterable)
    numbers = iter(range(EPOCHS * BATCHES))
    reader.decorate_batch_generator(
        lambda: (batch(next(numbers)) for _ in range(BATCHES)), places=fluid.cpu_places(1)
    )
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    kept: list[list[np.ndarray]] = []
    for _ in range(EPOCHS):
        if iterable:
            kept += [[np.asarray(d["image"]), np.asarray(d["label"])] for (d,) in reader()]
            continue
        reader.start()
        with pytest.raises(core.EOFException):
            while True:
                kept.append(executor.run(fetch_list=[image, label]))
        reader.reset()
    assert len(kept) == EPOCHS * BATCHES
    for number, values in enumerate(kept):
        for value, expected in zip_strict(values, batch(number)):
            np.testing.assert_array_equal(value, expected)


def test_a_feed_may_be_a_list_of_one() -> None:
    label = layers.data("label", [1], dtype="int64")
    executor = fluid.Executor(fluid.CPUPlace())
    for feed in ([{"label": batch(3)[1]}], ({"label": batch(3)[1]},)):
        assert (executor.run(feed=feed, fetch_list=[label])[0] == 3).all()
    with pytest.raises(TypeError, match="not list"):
        executor.run(feed=[{"label": batch(3)[1]}] * 2, fetch_list=[label])


def test_tensors_of_pinned_memory_are_taken() -> None:
    reader = layers.py_reader(2, [(-1, 8, 8), (-1, 1)], ["float32", "int64"])
    outs = layers.read_file(reader)

    def tensors() -> Iterator[core.LoDTensorArray]:
        for number in range(BATCHES):
            array = core.LoDTensorArray()
            for value in batch(number):
                tensor = core.LoDTensor()
                tensor.set(value, core.CUDAPinnedPlace())
                array.append(tensor)
            yield array

    reader.decorate_tensor_provider(tensors)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    reader.start()
    for number in range(BATCHES):
        for value, expected in zip_strict(executor.run(fetch_list=outs), batch(number)):
            np.testing.assert_array_equal(value, expected)
    with pytest.raises(core.EOFException):
        executor.run(fetch_list=outs)
    reader.reset()


@pytest.mark.parametrize("double_buffer", [False, True])
def test_variables_know_their_levels_through_readers(double_buffer: bool) -> None:
    reader = layers.io.py_reader(
        capacity=2,
        shapes=([-1, 1], [-1, 1]),
        dtypes=["float32", "int64"],
        lod_levels=[1, 2],
        use_double_buffer=double_buffer,
    )
    for top in (reader, layers.shuffle(layers.batch(reader, 3), 4)):
        first, second = layers.read_file(top)
        assert (first.lod_level, second.lod_level) == (1, 2)
        assert (first.shape, second.shape) == ((-1, 1), (-1, 1))
