# SPDX-License-Identifier: Apache-2.0
"""train: the feed and its order, the events that handlers see, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millhopper as fluid
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def fresh_programs() -> Iterator[None]:
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def numbers(count: int) -> Any:
    return lambda: ((i, 10 * i) for i in range(count))


def declare_sum() -> Any:
    x = fluid.layer.data("x", [1])
    y = fluid.layer.data("y", [1])
    return fluid.layers.mean(x + y)


class Handler:
    def __init__(self) -> None:
        self.seen: list[tuple[int, int, list[float]]] = []

    def __call__(self, number: int, batch: int, values: list[Any]) -> None:
        self.seen.append((number, batch, [value.item() for value in values]))


def test_batches_go_through_the_program_pass_after_pass() -> None:
    mean = declare_sum()
    handler = Handler()
    reader = fluid.batch(numbers(5), 2)
    fluid.train(reader, {"x": 0, "y": 1}, 2, 3, handler, fetch_list=[mean])
    of_pass = [5.5, 27.5, 44.0]
    assert handler.seen == [
        (number, batch, [of_pass[batch]]) for number in range(3) for batch in range(3)
    ]


def test_an_ellipsis_is_the_default() -> None:
    mean = declare_sum()
    handler = Handler()
    reader = fluid.batch(numbers(4), 2)
    fluid.train(reader, {"x": 0, "y": 1}, ..., ..., handler, fetch_list=[mean])
    assert len(handler.seen) == 2
    fluid.train(reader, {"x": 0, "y": 1}, 2, 2, ...)
    fluid.train(reader, {"x": 0, "y": 1}, ...)


def test_a_network_learns() -> None:
    image = fluid.layer.data("image", [64])
    label = fluid.layer.data("label", [1], dtype="int64")
    hidden = fluid.layers.fc(image, size=32, act="relu")
    prediction = fluid.layers.fc(hidden, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))
    accuracy = fluid.layers.accuracy(prediction, label)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.3).minimize(loss)
    digits = fluid.dataset.digits
    folder = ROOT / "tools" / "digits"
    losses = Handler()
    fluid.train(
        fluid.batch(fluid.reader.shuffle(digits.train(folder), 2000, seed=1), 32),
        {"image": 0, "label": 1},
        32,
        8,
        losses,
        fetch_list=[loss],
    )
    assert losses.seen[-1][:2] == (7, 44)
    assert np.mean([value[0] for *_, value in losses.seen[:45]]) > 1
    assert np.mean([value[0] for *_, value in losses.seen[-45:]]) < 0.3
    results = Handler()
    fluid.train(
        fluid.batch(digits.test(folder), 359),
        {"image": 0, "label": 1},
        event_handler=results,
        fetch_list=[accuracy],
        program=test_program,
        startup_program=None,
    )
    ((_, _, (correct,)),) = results.seen
    assert correct > 0.85


def test_the_startup_program_runs_first_unless_there_is_none() -> None:
    x = fluid.layer.data("x", [1])
    weighted = fluid.layers.mean(fluid.layers.fc(x, size=1, param_attr="w", bias_attr=False))
    reader = fluid.batch(lambda: [(1.0,)], 1)
    with pytest.raises(fluid.Error):
        fluid.train(reader, {"x": 0}, startup_program=None)
    handler = Handler()
    fluid.train(reader, {"x": 0}, event_handler=handler, fetch_list=[weighted])
    fluid.train(
        reader, {"x": 0}, event_handler=handler, fetch_list=[weighted], startup_program=None
    )
    assert handler.seen[0] == handler.seen[1]


def test_batches_are_not_larger_than_batch_size() -> None:
    declare_sum()
    fluid.train(fluid.batch(numbers(5), 2), {"x": 0, "y": 1}, 3)
    with pytest.raises(ValueError, match="batch 0 has 4 items, but batch_size is 3"):
        fluid.train(fluid.batch(numbers(5), 4), {"x": 0, "y": 1}, 3)
    for wrong in ({"batch_size": 0}, {"pass_num": 0}):
        with pytest.raises(ValueError, match="is 0, it must be at least 1"):
            fluid.train(fluid.batch(numbers(5), 4), {"x": 0, "y": 1}, **wrong)


@pytest.mark.parametrize("wrong", [2.5, "2", None, True])
@pytest.mark.parametrize("name", ["batch_size", "pass_num"])
def test_numbers_are_integers_before_anything_runs(name: str, wrong: object) -> None:
    declare_sum()
    with pytest.raises(TypeError, match=f"{name} is {wrong!r}; it must be an integer"):
        fluid.train(lambda: pytest.fail("it ran"), {"x": 0, "y": 1}, **{name: wrong})


def test_integers_of_numpy_are_integers() -> None:
    mean = declare_sum()
    handler = Handler()
    mapping = {"x": np.int64(0), "y": np.int32(1)}
    reader = fluid.batch(numbers(2), 2)
    fluid.train(reader, mapping, np.int64(2), np.int64(2), handler, fetch_list=[mean])
    assert handler.seen == [(0, 0, [5.5]), (1, 0, [5.5])]


def test_one_variable_is_fetched_as_a_list_of_one() -> None:
    mean = declare_sum()
    reader = fluid.batch(numbers(2), 2)
    for fetch_list in (mean, mean.name):
        handler = Handler()
        fluid.train(reader, {"x": 0, "y": 1}, event_handler=handler, fetch_list=fetch_list)
        assert handler.seen == [(0, 0, [5.5])]
    with pytest.raises(TypeError, match="fetch_list holds variables or their names; 5 is neither"):
        fluid.train(lambda: pytest.fail("it ran"), {"x": 0, "y": 1}, fetch_list=[5])


@pytest.mark.parametrize("item", [[1, 2], np.zeros(2), 7, "ab"])
def test_an_item_that_is_no_tuple_is_named(item: object) -> None:
    handler = Handler()
    declare_sum()
    batches = [[(1, 2)], [(1, 2), (3, 4), item]]
    with pytest.raises(TypeError) as caught:
        fluid.train(lambda: batches, {"x": 0, "y": 1}, 3, 1, handler)
    assert f"item 2 of batch 1 is {type(item).__name__}" in str(caught.value)
    assert ",) if it is one column" in str(caught.value)
    assert len(handler.seen) == 1  # the batch before it


def test_what_is_no_batch_says_so() -> None:
    declare_sum()
    with pytest.raises(
        TypeError, match=r"batch 0 is int 5.*millhopper.batch\(reader, batch_size\)"
    ):
        fluid.train(lambda: [5], {"x": 0, "y": 1})
    with pytest.raises(TypeError, match="item 0 of batch 0"):  # single entries
        fluid.train(numbers(3), {"x": 0, "y": 1})


def test_a_mapping_names_variables_and_items() -> None:
    declare_sum()
    reader = fluid.batch(numbers(5), 2)
    with pytest.raises(ValueError, match=r"no variable 'imgae'.*layer.data\('imgae', ...\)"):
        fluid.train(reader, {"imgae": 0})
    with pytest.raises(ValueError, match="item 0 of batch 0 has 2 columns.*'y': 2"):
        fluid.train(reader, {"x": 0, "y": 2})
    for wrong in (-1, "0", None, 0.0, True):
        with pytest.raises(ValueError, match="mapping: 'x' is"):
            fluid.train(reader, {"x": wrong})
    with pytest.raises(TypeError, match="it must be a dict"):
        fluid.train(reader, ["x", "y"])


def test_a_program_without_operators_takes_any_slot() -> None:
    handler = Handler()
    fluid.train(fluid.batch(numbers(4), 2), {"a": 0, "b": 0}, event_handler=handler)
    assert handler.seen == [(0, 0, []), (0, 1, [])]
    assert fluid.default_main_program().global_block().var("a").shape == (-1, -1)


def test_an_exception_ends_the_pass_below() -> None:
    declare_sum()
    ended = []

    def endless() -> Iterator[tuple[int, int]]:
        try:
            for i in itertools.count():
                yield (i, i)
        finally:
            ended.append(True)

    def stop(number: int, batch: int, values: list[Any]) -> None:
        if batch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fluid.train(fluid.batch(endless, 2), {"x": 0, "y": 1}, 2, 1, stop)
    assert ended == [True]


def test_layer_data_takes_what_is_given() -> None:
    label = fluid.layer.data("label", [1], dtype="int64", lod_level=1)
    assert (label.shape, label.lod_level) == ((-1, 1), 1)
    sketched = fluid.layer.data("image", ..., dtype=...)
    assert sketched.shape == (-1, -1)
    assert sketched.dtype == fluid.core.VarDesc.VarType.FP32
    assert fluid.layer.data("label", ...) is label
