# SPDX-License-Identifier: Apache-2.0
"""Layers: arguments of the wrong type are named, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers

pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: layers.data(5, [64]), TypeError, "a variable's name is a text, not 5"),
        (lambda: layers.data("", [64]), ValueError, "the name is empty"),
        (lambda: layers.data("x", "64"), TypeError, "data 'x': the shape is '64'"),
        (lambda: layers.data("x", 64), TypeError, "data 'x': the shape is 64"),
        (lambda: layers.data("x", [1.5]), TypeError, "data 'x': the shape is .1.5."),
        (lambda: layers.py_reader(4, 1, ["float32"]), TypeError, "py_reader: shapes is 1"),
        (lambda: layers.py_reader(4, [4], ["float32"]), TypeError, "slot 0: the shape is 4"),
        (lambda: layers.py_reader(4, [[4]], "float32"), TypeError, "dtypes is 'float32'"),
        (lambda: layers.py_reader("4", [[4]], ["float32"]), TypeError, "capacity is '4'"),
        (lambda: layers.fc(None, "10"), TypeError, "fc: size is '10'; it must be an integer"),
        (lambda: layers.fc(None, 2.5), TypeError, "fc: size is 2.5; it must be an integer"),
        (lambda: layers.fc(None, 0), ValueError, "fc: size is 0; it must be at least 1"),
        (lambda: layers.conv2d(None, 0, 3), ValueError, "conv2d: num_filters is 0; .* at least 1"),
        (lambda: layers.conv2d(None, 1, 3.5), TypeError, "filter_size is 3.5; .* an integer"),
        (lambda: layers.conv2d(None, 1, [3]), ValueError, "filter_size is .3.; .* one integer, or"),
        (lambda: layers.conv2d(None, 1, 3, stride=0), ValueError, "conv2d: stride is 0"),
        (lambda: layers.conv2d(None, 1, 3, padding=(0, -1)), ValueError, "conv2d: padding is -1"),
        (lambda: layers.conv2d(None, 1, 3, groups=True), TypeError, "conv2d: groups is True"),
        (lambda: layers.pool2d(None), ValueError, "pool2d: pool_size is -1; .* at least 1"),
        (lambda: layers.pool2d(None, 2, "sum"), ValueError, "pool_type is 'sum'; it must be 'max'"),
    ],
)
def test_wrong_arguments_are_named(
    call: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
    for program in (fluid.default_main_program(), fluid.default_startup_program()):
        assert not program.global_block().vars
        assert not program.global_block().ops


def test_integers_of_numpy_are_integers() -> None:
    x = layers.data("x", [np.int64(4), None])
    assert x.shape == (4, -1)
    assert layers.fc(layers.data("y", np.array([4])), np.int64(2)).shape == (-1, 2)
