# SPDX-License-Identifier: Apache-2.0
"""The feed of Executor.run, checked against the declarations of variables."""

from __future__ import annotations

import re
import sys

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers

pytestmark = pytest.mark.usefixtures("fresh_programs")


def fetched(feed: dict[object, object], name: str) -> np.ndarray:
    return fluid.Executor().run(feed=feed, fetch_list=[name])[0]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (np.ones((2, 64)), ValueError, "is float64 [2, 64]; float32 [-1, 64] is declared"),
        (np.ones((2, 63), np.float32), ValueError, "is float32 [2, 63]; float32 [-1, 64] is"),
        (fluid.LoDTensor.from_array(np.ones((1, 64))), ValueError, "is float64 [1, 64]; float32"),
        (None, TypeError, "is None, which is no array of numbers"),
        ("text", TypeError, "is str of <U4, which is no array of numbers"),
        ([[1.0] * 64, [1.0] * 63], ValueError, "its lists are of different lengths"),
    ],
)
def test_what_is_fed_is_as_declared(value: object, error: type[Exception], text: str) -> None:
    layers.data("img", [64])
    with pytest.raises(error, match=re.escape(text)) as why:
        fetched({"img": value}, "img")
    assert str(why.value).startswith("feed 'img' is ")


def test_other_ranks_are_for_the_operators_to_judge() -> None:
    layers.data("img", [64])
    assert fetched({"img": np.ones((2, 1, 8, 8), np.float32)}, "img").shape == (2, 1, 8, 8)


def test_lists_become_the_declared_dtype_if_it_holds_them() -> None:
    label = layers.data("label", [1], dtype="int8")
    found = fetched({label: [[1], [2.0]]}, "label")
    assert (found.dtype, found.tolist()) == (np.int8, [[1], [2]])
    for number in (1.5, 300, float("nan")):
        with pytest.raises(ValueError, match=f"'label' holds {number}, but int8 is declared"):
            fetched({"label": [[number]]}, "label")


def test_keys_are_variables_or_names() -> None:
    x = layers.data("x", [1])
    assert fetched({x: [[1]]}, "x") == 1
    with pytest.raises(TypeError, match="3 is neither"):
        fetched({3: [[1]]}, "x")


def test_variables_that_are_no_data_take_anything() -> None:
    fluid.default_main_program().global_block().create_var("x", shape=[-1, 3], dtype="float32")
    assert fetched({"x": np.ones(2)}, "x").dtype == np.float64


class Transposed:
    """Exports DLPack as torch does: views in any order; contiguous() makes a copy."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def contiguous(self) -> Transposed:
        return Transposed(np.ascontiguousarray(self.array))

    def __dlpack__(self) -> object:
        return self.array.__dlpack__()


def test_views_in_any_order_are_taken() -> None:
    layers.data("x", [4])
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(fetched({"x": Transposed(values.T)}, "x"), values.T)


class Bfloat16:
    """Exports DLPack and nothing else."""

    def __init__(self) -> None:
        with fluid.program_guard(fluid.Program()):
            half = layers.fill_constant([1, 4], "float32", 1.5).astype("bfloat16")
            (self.tensor,) = fluid.Executor().run(fetch_list=[half], return_numpy=False)

    def __dlpack__(self) -> object:
        return self.tensor.__dlpack__()


def test_bfloat16_is_taken() -> None:
    x = layers.data("x", [4], dtype="bfloat16")
    assert fetched({"x": Bfloat16()}, x.astype("float32").name).tolist() == [[1.5] * 4]


def test_torch_tensors_are_taken() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    layers.data("x", [4])
    half = layers.data("half", [4], dtype="bfloat16").astype("float32")
    values = torch.arange(8.0).reshape(4, 2).t()
    feed = {"x": values, "half": values.to(torch.bfloat16)}
    for found in fluid.Executor().run(feed=feed, fetch_list=["x", half]):
        np.testing.assert_array_equal(found, values.numpy())


def test_errors_of_who_is_asked_for_values_name_the_variable() -> None:
    class Broken:
        def __dlpack__(self) -> object:
            raise BufferError("not now")

    layers.data("x", [4])
    with pytest.raises(BufferError, match="not now") as failed:
        fetched({"x": Broken()}, "x")
    if sys.version_info >= (3, 11):  # before, errors have no notes
        assert failed.value.__notes__ == ["while variable 'x' was fed"]
