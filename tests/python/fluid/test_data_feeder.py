# SPDX-License-Identifier: Apache-2.0
"""DataFeeder: shapes, dtypes and levels of detail of what is fed, and what is refused."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import millhopper as fluid
import numpy as np
import pytest
from millhopper.base import places

ALL_DTYPES = "bool float16 float32 float64 int8 int16 int32 int64 uint8".split()


@pytest.fixture(autouse=True)
def fresh_programs() -> Iterator[None]:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        yield


def feeder_of(
    shape: list[int], dtype: str = "float32", lod_level: int = 0, place: object = None
) -> fluid.DataFeeder:
    with fluid.program_guard(fluid.Program()):
        variable = fluid.layers.data(name="x", shape=shape, dtype=dtype, lod_level=lod_level)
    return fluid.DataFeeder([variable], fluid.CPUPlace() if place is None else place)


def fed(feeder: fluid.DataFeeder, *fields: object) -> fluid.LoDTensor:
    return feeder.feed([(field,) for field in fields])["x"]


def test_a_wrong_value_is_said_to_be_in_its_item_of_the_batch() -> None:
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        x = fluid.layers.data("x", [64])
        any_size = fluid.layers.data("any_size", [-1, -1])
        words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    good = np.zeros(64, np.float32)

    def fed(variable: fluid.Variable, wrong: object, others: object) -> None:
        fields = [others] * 1000
        fields[700] = wrong
        fluid.DataFeeder([variable], None, program).feed([(field,) for field in fields])

    for variable, wrong, others, text in (
        (x, np.zeros(63, np.float32), good, r"\[-1, 64\], but receive \[1, 63\]"),
        (x, ["a"] * 64, good, "variable x takes float32: could not convert string"),
        (any_size, np.zeros(3), np.zeros(4), "variable any_size takes float32"),
        (words, ["a"], [1, 2], "variable words takes int64"),
    ):
        with pytest.raises(ValueError, match=f"^item 700 of the batch: .*{text}"):
            fed(variable, wrong, others)
    with pytest.raises(TypeError, match="^item 700 of the batch: variable words has lod_level 1"):
        fed(words, 1, [1, 2])


def test_instances_become_a_batch_in_the_declared_shape() -> None:
    image = fluid.layers.data(name="image", shape=[1, 28, 28])
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    feeder = fluid.DataFeeder([image, "label"], fluid.CPUPlace())
    assert feeder.feed_names == ["image", "label"]
    pixels = [list(range(784)), [1] * 784]
    result = feeder.feed([(pixels[0], [9]), (pixels[1], [1])])
    assert list(result) == ["image", "label"]
    assert result["image"].shape() == [2, 1, 28, 28]
    assert result["label"].shape() == [2, 1]
    assert (result["image"].dtype, result["label"].dtype) == ("float32", "int64")
    assert result["image"].recursive_sequence_lengths() == []
    np.testing.assert_array_equal(np.asarray(result["image"]).reshape(2, 784), pixels)
    assert np.asarray(result["label"]).tolist() == [[9], [1]]
    assert label.name in result


@pytest.mark.parametrize(
    "fields",
    [
        [np.arange(6.0), np.arange(6.0) + 1],
        [np.arange(6).reshape(2, 3), np.arange(1, 7).reshape(2, 3)],
        [np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(1, 13).reshape(4, 3)[:2]],
        [np.arange(6).reshape(2, 3), [[1, 2, 3], [4, 5, 6]]],
        [list(range(6)), tuple(range(1, 7))],
        [[np.float64(i) for i in range(6)], range(1, 7)],
    ],
)
def test_a_field_is_nested_or_flat_list_or_array(fields: list[object]) -> None:
    tensor = fed(feeder_of([2, 3]), *fields)
    assert tensor.shape() == [2, 2, 3]
    assert np.asarray(tensor).ravel().tolist() == [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6]


def test_numbers_are_instances_of_one_value() -> None:
    feeder = feeder_of([1], "int64")
    for fields in (
        (3, np.int64(4), np.array(5)),
        ([3], (4,), np.array([5])),
        ([[3]], [[4]], [[5]]),
    ):
        assert np.asarray(fed(feeder, *fields)).tolist() == [[3], [4], [5]]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("lod_level", [0, 1])
def test_every_dtype(dtype: str, lod_level: int) -> None:
    fields = [[0, 1], [1, 0]]
    for values in (fields, np.array(fields), np.array(fields, dtype)):
        tensor = fed(feeder_of([1 if lod_level else 2], dtype, lod_level), *values)
        assert tensor.dtype == dtype
        array = np.asarray(tensor)
        assert array.dtype == np.dtype(dtype)
        assert array.ravel().tolist() == [0, 1, 1, 0]


def test_one_level_of_detail() -> None:
    sentences = ([1, 2, 3], [], [4, 5], [6, 7, 8, 9])
    feeder = feeder_of([1], "int64", 1)
    for fields in (
        sentences,
        [np.array(sentence) for sentence in sentences],
        [np.array(sentence).reshape(-1, 1) for sentence in sentences],
        [[[word] for word in sentence] for sentence in sentences],
        [[np.array([word]) for word in sentence] for sentence in sentences],
        [np.array([1, 2, 3]), [], (4, 5), np.array([6, 7, 8, 9])],
    ):
        tensor = fed(feeder, *fields)
        assert tensor.recursive_sequence_lengths() == [[3, 0, 2, 4]]
        assert np.asarray(tensor).tolist() == [[word] for word in range(1, 10)]


def test_two_levels_of_detail() -> None:
    paragraphs = ([[1, 2, 3], [4, 5]], [], [[6, 7, 8, 9]])
    tensor = fed(feeder_of([1], "int64", 2), *paragraphs)
    assert tensor.recursive_sequence_lengths() == [[2, 0, 1], [3, 2, 4]]
    assert tensor.lod() == [[0, 2, 2, 3], [0, 3, 5, 9]]
    assert tensor.has_valid_recursive_sequence_lengths()
    assert np.asarray(tensor).ravel().tolist() == list(range(1, 10))


def test_sequences_of_vectors() -> None:
    tensor = fed(feeder_of([2], lod_level=1), np.arange(6).reshape(3, 2), [[6, 7]])
    assert tensor.shape() == [4, 2]
    assert tensor.recursive_sequence_lengths() == [[3, 1]]
    assert np.asarray(tensor).ravel().tolist() == list(range(8))


def test_nothing_but_empty_sequences() -> None:
    tensor = fed(feeder_of([1], "int64", 1), [], np.array([]))
    assert tensor.shape() == [0, 1]
    assert tensor.recursive_sequence_lengths() == [[0, 0]]
    assert feeder_of([3]).feed([])["x"].shape() == [0, 3]


def test_a_dim_that_is_not_declared_is_found_out() -> None:
    feeder = feeder_of([-1, -1])
    assert fed(feeder, np.zeros((28, 28)), np.ones((28, 28))).shape() == [2, 784]
    assert fed(feeder, 1, 2).shape() == [2, 1]
    assert fed(feeder_of([-1, 3, -1]), np.zeros((3, 5))).shape() == [1, 3, 5]
    two = feeder_of([-1, -1, -1])
    assert fed(two, np.zeros((3, 5))).shape() == [1, 3, 5]
    with pytest.raises(ValueError, match="Reshape error"):
        fed(two, np.zeros(5))


@pytest.mark.parametrize(
    ("shape", "field", "problem"),
    [
        ([1, 28, 28], [0] * 783, "Reshape error"),
        ([1, 28, 28], np.zeros((28, 28, 1)), "Shape not match"),
        ([1], [0, 1], "Shape not match"),
        ([4], [0, 1], "Shape not match"),
        ([2, 2], [0, 1], "Reshape error"),
    ],
)
def test_a_wrong_shape_is_an_error(shape: list[int], field: object, problem: str) -> None:
    declared = str([-1, *shape]).replace("[", r"\[")
    with pytest.raises(ValueError, match=f"{problem}.*{declared}, but receive .*variable x"):
        fed(feeder_of(shape), field, field)


def test_samples_are_mixed_by_no_reshape() -> None:
    feeder = feeder_of([3, -1])
    rows = np.arange(6).reshape(3, 2)
    assert np.asarray(fed(feeder, *rows)).tolist() == rows.tolist()
    with pytest.raises(ValueError, match=r"Reshape error.*\[3, -1\], but receive \[2, 3, 2\]"):
        fed(feeder, rows, rows)


def test_rows_never_wander_between_samples() -> None:
    # In the lineage two samples of 783 + 785 values pass, and one of 1568 as two.
    feeder = feeder_of([1, 28, 28])
    with pytest.raises(ValueError):
        fed(feeder, [0] * 783, [0] * 785)
    with pytest.raises(ValueError, match="Reshape error"):
        fed(feeder, [0] * 1568)


@pytest.mark.parametrize("value", ["word", None, [[1], [2, 3]], {1: 2}])
def test_what_is_no_number_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="variable x takes int64"):
        fed(feeder_of([1], "int64"), [value])


def test_a_number_in_place_of_a_sequence_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"x has lod_level 1.*int 7 is no sequence"):
        fed(feeder_of([1], "int64", 1), [1, 2], 7)
    with pytest.raises(TypeError, match=r"x has lod_level 2.*int 2 is no sequence"):
        fed(feeder_of([1], "int64", 2), [[1], 2])


def test_fields_are_counted() -> None:
    with pytest.raises(AssertionError) as caught:
        feeder_of([1]).feed([(1,), (1, 2)])
    text = "The number of fields in data (2) does not match len(feed_list) (1)"
    assert str(caught.value) == text + ": item 1 of the batch"


@pytest.mark.parametrize("item", [7, np.zeros(1), "x", {"x": 1}, None])
def test_an_item_that_is_no_tuple_is_named(item: object) -> None:
    with pytest.raises(TypeError) as caught:
        feeder_of([1]).feed([(1,), [2], item])
    assert "item 2 of the batch is " + type(item).__name__ in str(caught.value)


def test_a_feed_list_is_of_variables_of_the_program() -> None:
    other = fluid.Program()
    with fluid.program_guard(other):
        fluid.layers.data(name="there", shape=[1])
    fluid.DataFeeder(["there"], fluid.CPUPlace(), other)
    with pytest.raises(ValueError, match="there"):
        fluid.DataFeeder(["there"], fluid.CPUPlace())
    with pytest.raises(TypeError, match="Feed list should contain a list of variable"):
        fluid.DataFeeder([7], fluid.CPUPlace())


def test_a_variable_is_fed_once() -> None:
    x = fluid.layers.data("x", [1])
    for feed_list in ([x, x], [x, "x"]):
        with pytest.raises(ValueError, match="variable x is in it more than once"):
            fluid.DataFeeder(feed_list, fluid.CPUPlace())


def test_a_batch_has_a_dim_of_its_own() -> None:
    fixed = fluid.layers.data(name="fixed", shape=[2, 3], append_batch_size=False)
    with pytest.raises(ValueError, match="Variable fixed must has a batch size dimension"):
        fluid.DataFeeder([fixed], fluid.CPUPlace())
    sixteen = fluid.layers.data(name="sixteen", shape=[1], dtype="bfloat16")
    with pytest.raises(ValueError, match="bfloat16"):
        fluid.DataFeeder([sixteen], fluid.CPUPlace())


def test_any_iterable_is_a_batch_and_is_not_kept() -> None:
    values = [np.zeros(3, np.float32), np.ones(3, np.float32)]
    tensor = feeder_of([3]).feed((value,) for value in values)["x"]
    values[0][:] = 9
    assert np.asarray(tensor).tolist() == [[0, 0, 0], [1, 1, 1]]


def test_feed_parallel_is_one_batch_a_place() -> None:
    feeder = feeder_of([1], "int64")
    batches = [[(1,)], [(2,), (3,)], [(4,)]]
    feeds = list(feeder.feed_parallel(batches, 3))
    assert [np.asarray(feed["x"]).tolist() for feed in feeds] == [[[1]], [[2], [3]], [[4]]]
    for num_places in (2, 4):
        with pytest.raises(ValueError, match="must be the same"):
            list(feeder.feed_parallel(batches, num_places))


def test_places_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    feeder = feeder_of([1], "int64")
    monkeypatch.setenv("CPU_NUM", "3")
    assert len(list(feeder.feed_parallel([[(1,)]] * 3))) == 3
    monkeypatch.setenv("CPU_NUM", "0")
    with pytest.raises(ValueError, match="CPU_NUM gives no places; pass num_places"):
        feeder.feed_parallel([])
    monkeypatch.delenv("CPU_NUM")
    assert len(list(feeder.feed_parallel([[(1,)]] * (os.cpu_count() or 1)))) == os.cpu_count()
    monkeypatch.setattr(places, "get_cuda_device_count", lambda: 5)
    on_devices = feeder_of([1], "int64", place=fluid.CUDAPlace(0))
    assert len(list(on_devices.feed_parallel([[(1,)]] * 5))) == 5
    monkeypatch.setattr(places, "get_cuda_device_count", lambda: 0)
    with pytest.raises(ValueError, match="there is no CUDA device to feed"):
        list(on_devices.feed_parallel([]))
    with pytest.raises(ValueError, match="there is no CUDA device to feed"):
        list(on_devices.decorate_reader(lambda: [[(1,)]], multi_devices=True)())
    with pytest.raises(ValueError, match="num_places is 0, it must be at least 1"):
        list(feeder.decorate_reader(lambda: [[(1,)]], multi_devices=True, num_places=0)())


def test_decorate_reader_of_one_place() -> None:
    feeder = feeder_of([1], "int64")
    reader = feeder.decorate_reader(fluid.batch(lambda: ((i,) for i in range(5)), 2))
    for _ in range(2):
        values = [np.asarray(feed["x"]).ravel().tolist() for feed in reader()]
        assert values == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("drop_last", [True, False])
def test_decorate_reader_of_several_places(drop_last: bool) -> None:
    feeder = feeder_of([1], "int64")

    def reader_of(count: int) -> list[object]:
        batches = fluid.batch(lambda: ((i,) for i in range(count)), 1)
        read = feeder.decorate_reader(batches, True, num_places=2, drop_last=drop_last)
        return [[int(np.asarray(feed["x"])[0, 0]) for feed in feeds] for feeds in read()]

    assert reader_of(4) == [[0, 1], [2, 3]]
    if drop_last:
        assert reader_of(5) == [[0, 1], [2, 3]]
    else:
        with pytest.raises(ValueError, match="1 mini-batches are left over for 2 places"):
            reader_of(5)


def test_leaving_a_decorated_reader_ends_the_pass_below() -> None:
    ended = []

    def endless() -> Iterator[tuple[int]]:
        try:
            for i in itertools.count():
                yield (i,)
        finally:
            ended.append(True)

    feeder = feeder_of([1], "int64")
    for devices in (False, True):
        feeds = feeder.decorate_reader(fluid.batch(endless, 2), devices, 2)()
        next(feeds)
        feeds.close()
    assert ended == [True, True]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", 1.5), ("uint8", 300), ("uint8", -1), ("bool", 2), ("int32", 2**40)],
)
@pytest.mark.parametrize("lod_level", [0, 1])
def test_integers_change_no_value(dtype: str, value: float, lod_level: int) -> None:
    feeder = feeder_of([1], dtype, lod_level)
    for field in ([value], np.array([value])):
        with pytest.raises(
            ValueError, match=rf"item 1 of the batch: .* takes {dtype}: .* but {dtype} is declared"
        ):
            feeder.feed([([1],), (field,)])
    assert np.asarray(feeder.feed([([1.0],)])["x"]).tolist() == [[1]]
