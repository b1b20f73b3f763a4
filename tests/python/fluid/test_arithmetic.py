# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on variables: mixed types, and what else Python does with operands."""

from __future__ import annotations

from collections.abc import Callable

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import Variable

pytestmark = pytest.mark.usefixtures("fresh_programs")


def text() -> str:
    return fluid.default_main_program().to_text()


def run(variable: Variable, **feed: object) -> np.ndarray:
    return fluid.Executor().run(feed=feed, fetch_list=[variable])[0]


def test_variables_are_found_in_lists_and_the_program_stays_as_it_was() -> None:
    x, y = layers.data("x", [3]), layers.data("y", [1], dtype="int64")
    reader = layers.random_data_generator(0.0, 1.0, [[1, 2]], count=5)
    with fluid.program_guard(fluid.Program()):
        foreign = layers.data("x", [3])
    before = text()
    several = [reader, None, "x", foreign, y, x]
    assert x in several
    assert y in several
    assert several.index(x) == 5
    assert x not in several[:5]
    assert reader in several
    assert bool(x == x)
    assert bool(x == y) is False
    assert bool(x != y)
    assert bool(x != x) is False
    assert {x: 1, y: 2}[y] == 2
    assert text() == before


def test_other_truths_are_errors_that_leave_nothing_behind() -> None:
    x, y = layers.data("x", [3]), layers.data("y", [1], dtype="int64")
    before = text()
    questions: tuple[Callable[[], object], ...] = (
        lambda: x,
        lambda: x < y,
        lambda: x == 3,
        lambda: y >= 0.5,
    )
    for question in questions:
        with pytest.raises(TypeError, match="has no value while the program is built"):
            bool(question())
        assert text() == before
    with pytest.raises(TypeError, match="an array"):
        x == np.ones(3)  # noqa: B015
    with pytest.raises(ValueError, match="float32"):
        y < 2**24 + 1  # noqa: B015
    assert text() == before


def test_a_comparison_that_is_used_stays() -> None:
    x, y = layers.data("x", [3]), layers.data("y", [3])
    same = x == y
    as_number = same.astype("float32")
    before = text()
    with pytest.raises(TypeError, match="has no value"):
        bool(same)
    assert text() == before
    ones = np.ones((1, 3), np.float32)
    assert run(as_number, x=ones, y=ones).tolist() == [[1, 1, 1]]


def test_numpy_leaves_operators_to_the_variable() -> None:
    x = layers.data("x", [3])
    before = text()
    with pytest.raises(TypeError, match="cannot compute with variable 'x' and an array"):
        np.ones(1000) + x
    with pytest.raises(TypeError, match="it has values only where a program runs"):
        np.array(x)
    assert text() == before
    doubled = np.float32(2) * x
    assert isinstance(doubled, Variable)
    assert run(doubled, x=np.ones((1, 3), np.float32)).tolist() == [[2, 2, 2]]


INTEGERS = np.array([[1, 2, -3]])
FLOATS = np.array([[0.5, 0.25, 0.75]], np.float32)


@pytest.mark.parametrize(
    "compute",
    [
        lambda i, f: i - f,
        lambda i, f: f - i,
        lambda i, f: i < f,
        lambda i, f: i / 2,
        lambda i, f: 2 / i,
        lambda i, f: i / i,
        lambda i, f: i * 0.5,
        lambda i, f: 0.5 - i,
        lambda i, f: i > 1.5,
        lambda i, f: i + 2,
    ],
)
def test_nothing_is_cut_off_where_types_differ(
    compute: Callable[[object, object], Variable],
) -> None:
    i, f = layers.data("i", [3], dtype="int64"), layers.data("f", [3])
    expected = np.asarray(compute(INTEGERS, FLOATS))
    found = run(compute(i, f), i=INTEGERS, f=FLOATS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype.kind == expected.dtype.kind


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("int32", "int64", "int64"),
        ("float32", "float64", "float64"),
        ("uint8", "int8", "int16"),
        ("bool", "uint8", "uint8"),
        ("uint16", "uint8", "uint16"),
        ("uint16", "int16", "int32"),
        ("uint32", "int32", "int64"),
        ("uint64", "float32", "float32"),
        ("float16", "int64", "float16"),
        ("float16", "bfloat16", "float32"),
        ("bfloat16", "float64", "float64"),
    ],
)
def test_the_type_of_both_holds_the_values_of_both(left: str, right: str, common: str) -> None:
    x, y = layers.data("x", [3], dtype=left), layers.data("y", [3], dtype=right)
    for result in (x * y, y * x):
        assert result.dtype is fluid.framework.convert_dtype(common)


def test_uint64_is_not_mixed_with_integers_of_a_sign() -> None:
    """numpy would compute in float64, which rounds both."""
    x, y = layers.data("x", [3], dtype="uint64"), layers.data("y", [3], dtype="int64")
    for left, right in ((x, y), (y, x)):
        with pytest.raises(TypeError, match=r"^no type of integers holds both u?int64 and u?int64"):
            left + right
