# SPDX-License-Identifier: Apache-2.0
"""Layers that compute, their parameters and first values, and arithmetic on variables."""

from __future__ import annotations

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.base.zipped import zip_strict
from millhopper.framework import Program, VarType

pytestmark = pytest.mark.usefixtures("fresh_programs")


def run(*fetch: object, **feed: object) -> list[np.ndarray]:
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    return executor.run(feed=feed, fetch_list=list(fetch))


VALUES = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


# ---- fc and parameters ----


def test_fc_is_a_product_a_bias_and_an_activation() -> None:
    x = layers.data("x", [3])
    init = fluid.initializer.Normal(0.0, 0.5, seed=3)
    bias = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.25))
    out = layers.fc(x, 4, param_attr=init, bias_attr=bias, act="tanh")
    assert out.shape == (-1, 4)
    parameters = fluid.default_main_program().all_parameters()
    assert [parameter.name for parameter in parameters] == ["fc_0.w_0", "fc_0.b_0"]
    found, w, b = run(out, *parameters, x=VALUES)
    assert b.tolist() == [0.25] * 4
    np.testing.assert_allclose(found, np.tanh(VALUES @ w + b), rtol=1e-5)


def test_fc_of_several_inputs_without_a_bias() -> None:
    x, y = layers.data("x", [3]), layers.data("y", [2, 2])
    out = layers.fc([x, y], 4, param_attr=["a", "b"], bias_attr=False, name="both")
    assert [p.name for p in fluid.default_main_program().all_parameters()] == ["a", "b"]
    values = np.ones((2, 2, 2), np.float32)
    found, a, b = run(out, "a", "b", x=VALUES, y=values)
    np.testing.assert_allclose(found, VALUES @ a + values.reshape(2, 4) @ b, rtol=1e-5)


def test_fc_keeps_the_axes_that_it_is_told_to() -> None:
    out = layers.fc(layers.data("x", [5, 3]), 4, num_flatten_dims=2, bias_attr="b")
    assert out.shape == (-1, 5, 4)
    (found,) = run(out, x=np.ones((2, 5, 3), np.float32))
    assert found.shape == (2, 5, 4)


def test_layers_that_give_one_name_share_the_parameter() -> None:
    x = layers.data("x", [3])
    first, second = (layers.fc(x, 2, param_attr="w", bias_attr=False) for _ in range(2))
    assert len(fluid.default_startup_program().global_block().ops) == 1
    a, b = run(first, second, x=VALUES)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"parameter 'w' cannot be FP32 \[3, 5\]"):
        layers.fc(x, 5, param_attr="w")


def test_a_program_for_testing_shares_the_startup_program() -> None:
    def predict() -> fluid.Variable:
        return layers.fc(layers.data("x", [3]), 2, param_attr="w", bias_attr="b")

    trained = predict()
    with fluid.program_guard(Program()):
        tested = predict()
        (b,) = run(tested, x=VALUES)
    (a,) = run(trained, x=VALUES)
    np.testing.assert_array_equal(a, b)


def test_fc_must_know_its_rows() -> None:
    with pytest.raises(ValueError, match="those from axis 1 on must be known"):
        layers.fc(layers.data("x", [-1, -1]), 2)
    with pytest.raises(ValueError, match="the dims of variable 'y' are not known"):
        layers.fc(layers.create_tensor("float32", "y"), 2)
    with pytest.raises(ValueError, match="cast it to float32 first"):
        layers.fc(layers.data("image", [3], dtype="uint8"), 2)


# ---- conv2d and pool2d ----


def convolved(x: np.ndarray, w: np.ndarray, stride: int, padding: int, groups: int) -> np.ndarray:
    """The convolution, window by window."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    filters, depth, height, width = w.shape
    out = np.zeros(
        (len(x), filters, (x.shape[2] - height) // stride + 1, (x.shape[3] - width) // stride + 1)
    )
    for o, i, j in np.ndindex(out.shape[1:]):
        first = o // (filters // groups) * depth
        window = x[:, first : first + depth, i * stride :, j * stride :][:, :, :height, :width]
        out[:, o, i, j] = (window * w[o]).sum(axis=(1, 2, 3))
    return out


@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, None), (2, 1, 1), (1, 1, 2)])
def test_conv2d_is_filters_a_bias_and_an_activation(
    stride: int, padding: int, groups: int | None
) -> None:
    x = layers.data("x", [4, 6, 5])
    bias = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.25))
    out = layers.conv2d(x, 6, (3, 2), stride, padding, 1, groups, bias_attr=bias, act="relu")
    parameters = fluid.default_main_program().all_parameters()
    assert [parameter.name for parameter in parameters] == ["conv2d_0.w_0", "conv2d_0.b_0"]
    values = np.random.default_rng(3).normal(size=(2, 4, 6, 5)).astype(np.float32)
    found, w, b = run(out, *parameters, x=values)
    assert w.shape == (6, 4 // (groups or 1), 3, 2)
    assert b.tolist() == [0.25] * 6
    expected = np.maximum(convolved(values, w, stride, padding, groups or 1) + 0.25, 0)
    assert out.shape == (-1, *expected.shape[1:])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_filters_are_spread_as_they_should() -> None:
    layers.conv2d(layers.data("x", [64, 9, 9]), 128, 3, bias_attr=False, name="c")
    (weights,) = fluid.default_main_program().all_parameters()
    (found,) = run(weights, x=np.zeros((0, 64, 9, 9), np.float32))
    assert abs(found.std() - np.sqrt(2 / (9 * 64))) <= 0.02 * np.sqrt(2 / (9 * 64))


def test_conv2d_must_know_its_channels() -> None:
    for shape in ([-1, 9, 9], [9, 9]):
        with pytest.raises(ValueError, match="with a known number of channels"):
            layers.conv2d(layers.data("x", shape), 2, 3)
    image = layers.data("image", [3, 9, 9], dtype="uint8")
    with pytest.raises(ValueError, match="cast it to float32 first"):
        layers.conv2d(image, 2, 3)
    with pytest.raises(ValueError, match="3 channels and 4 filters cannot be divided into 2"):
        layers.conv2d(layers.cast(image, "float32"), 4, 3, groups=2)
    with pytest.raises(ValueError, match="param_attr is False"):
        layers.conv2d(layers.cast(image, "float32"), 4, 3, param_attr=False)
    with pytest.raises(ValueError, match="less than the 10 that a filter covers"):
        layers.conv2d(layers.cast(image, "float32"), 4, 10)


def test_pool2d_takes_the_highest_value_or_the_mean() -> None:
    x = layers.data("x", [2, 4, 6])
    values = np.random.default_rng(3).normal(size=(3, 2, 4, 6)).astype(np.float32)
    windows = values.reshape(3, 2, 2, 2, 3, 2)
    padded = np.pad(values, [(0, 0), (0, 0), (1, 1), (0, 0)]).reshape(3, 2, 3, 2, 3, 2)
    cases = [
        (layers.pool2d(x, 2, pool_stride=2), windows.max(axis=(3, 5))),
        (layers.pool2d(x, 2, "avg", 2), windows.mean(axis=(3, 5))),
        (layers.pool2d(x, 2, "avg", 2, (1, 0), exclusive=False), padded.mean(axis=(3, 5))),
        (
            layers.pool2d(x, pool_type="avg", global_pooling=True),
            values.mean((2, 3), keepdims=True),
        ),
        (layers.pool2d(x, (4, 5), pool_stride=5, ceil_mode=True), None),
    ]
    found = run(*(variable for variable, _ in cases), x=values)
    for (variable, expected), value in zip_strict(cases, found):
        assert variable.shape == (-1, *value.shape[1:])
        if expected is not None:
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    assert found[-1].shape == (3, 2, 1, 2)


def test_parameters_have_known_dims_and_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="must be >= 1"):
        layers.create_parameter([-1, 2], "float32")
    layers.data("taken", [1])
    with pytest.raises(ValueError, match="parameter 'taken' cannot be"):
        layers.create_parameter([1], "float32", name="taken")
    with pytest.raises(ValueError, match="attr is False"):
        layers.create_parameter([1], "float32", attr=False)
    with pytest.raises(TypeError, match="cannot be described by 3"):
        layers.create_parameter([1], "float32", attr=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give it an initializer"):
        layers.create_parameter([1], "int64")


# ---- First values ----


@pytest.mark.parametrize(
    ("make", "low", "high", "deviation"),
    [
        (lambda: fluid.initializer.Constant(2.0), 2.0, 2.0, 0.0),
        (lambda: fluid.initializer.Uniform(-1.0, 2.0), -1.0, 2.0, 3 / np.sqrt(12)),
        (lambda: fluid.initializer.Normal(0.0, 0.5), -3.0, 3.0, 0.5),
        (lambda: fluid.initializer.Xavier(), -0.11, 0.11, np.sqrt(2 / 500)),
        (lambda: fluid.initializer.Xavier(uniform=False), -0.4, 0.4, np.sqrt(2 / 500)),
        (lambda: fluid.initializer.MSRA(fan_in=8), -0.87, 0.87, 0.5),
    ],
)
def test_first_values_are_spread_as_they_should(
    make: object, low: float, high: float, deviation: float
) -> None:
    w = layers.create_parameter([200, 300], "float32", default_initializer=make())  # type: ignore
    (found,) = run(w)
    assert low <= found.min() <= found.max() <= high
    assert abs(found.std() - deviation) <= 0.02 * deviation


def test_first_values_depend_on_name_and_seeds_alone() -> None:
    def values(name: str = "w", seed: int = 0, random_seed: int = 0) -> bytes:
        with fluid.program_guard(Program(), Program()), fluid.scope_guard(fluid.Scope()):
            fluid.default_startup_program().random_seed = random_seed
            init = fluid.initializer.Normal(seed=seed)
            w = layers.create_parameter([2, 2], "float32", name=name, default_initializer=init)
            return run(w)[0].tobytes()

    assert values() == values()
    assert len({values(), values("v"), values(seed=1), values(random_seed=1)}) == 4


# ---- Arithmetic ----


def test_arithmetic_is_that_of_numpy() -> None:
    x, y = layers.data("x", [3]), layers.data("y", [3])
    a, b = VALUES, VALUES[::-1].copy()
    cases = [
        (x + y, a + b),
        (x - y, a - b),
        (x * y, a * b),
        (x / y, a / b),
        (x + 1, a + 1),
        (1 + x, a + 1),
        (x - 1, a - 1),
        (5 - x, 5 - a),
        (x * 2, a * 2),
        (2 * x, a * 2),
        (x / 2, a / 2),
        (3 / x, 3 / a),
        (-x, -a),
        (x < y, a < b),
        (x <= 3, a <= 3),
        (x > y, a > b),
        (x >= 3, a >= 3),
        (x == 3, a == 3),
        (x != y, a != b),
        (x.astype("int64") + 1, a.astype(np.int64) + 1),
        (x.astype("int64") + y, a + b),
    ]
    found = run(*(variable for variable, _ in cases), x=a, y=b)
    for (variable, expected), value in zip_strict(cases, found):
        np.testing.assert_array_equal(value, expected)
        assert np.dtype(variable.dtype) == value.dtype
        assert variable.shape == (-1, 3)


def test_numbers_before_infinities() -> None:
    x = layers.data("x", [4])
    values = np.float32([[np.inf, -np.inf, np.nan, 0]])
    with np.errstate(divide="ignore"):
        expected = [3 / values, 3 - values]
    np.testing.assert_array_equal(run(3 / x, 3 - x, x=values), expected)


def test_a_number_that_the_type_cannot_hold_is_refused() -> None:
    x = layers.data("x", [1], dtype="int64")
    with pytest.raises(ValueError, match="a constant of type int64 cannot be 16777217: .* float32"):
        x + (2**24 + 1)
    for dtype, number, why in (
        ("int32", 2**24 + 1, "float32"),
        ("int32", 1.5, "not whole"),
        ("int32", np.inf, "not whole"),
        ("uint8", 256, "0 to 255"),
        ("bool", 2, "0 to 1"),
    ):
        with pytest.raises(ValueError, match=f"a constant of type {dtype} cannot be .*{why}"):
            layers.fill_constant([1], dtype, number)
    large = x + 2**40
    assert run(large, x=np.array([[1]]))[0] == 2**40 + 1
    for other in ("1", None, [1]):
        with pytest.raises(TypeError, match="it takes variables and numbers"):
            x + other  # type: ignore[operator]


# ---- Others ----


def test_accuracy_counts_rows_whose_label_is_among_the_best() -> None:
    x, label = layers.data("x", [3]), layers.data("label", [1], dtype="int64")
    correct, total = layers.create_tensor("int32"), layers.create_tensor("int32")
    shares = [layers.accuracy(x, label, k=k, correct=correct, total=total) for k in (1, 2)]
    found = run(*shares, correct, total, x=VALUES, label=np.array([[2], [1]]))
    assert [value.item() for value in found] == [0.5, 1.0, 2, 2]


def test_losses_of_logits_and_of_probabilities_agree() -> None:
    x, label = layers.data("x", [3]), layers.data("label", [1], dtype="int64")
    apart = layers.cross_entropy(layers.softmax(x), label)
    at_once, softmax = layers.softmax_with_cross_entropy(x, label, return_softmax=True)
    assert apart.shape == at_once.shape == (-1, 1)
    a, b, c = run(apart, at_once, softmax, x=VALUES, label=np.array([[2], [0]]))
    expected = np.exp(VALUES) / np.exp(VALUES).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    np.testing.assert_allclose(a, -np.log(expected[[0, 1], [2, 0]])[:, None], rtol=1e-5)
    np.testing.assert_allclose(a, b, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="ignore_index is 0"):
        layers.cross_entropy(x, label, ignore_index=0)


def test_tensors_are_made_copied_and_added() -> None:
    made = [
        layers.fill_constant([2], "int64", 7),
        layers.ones([1, 2]),
        layers.zeros([2], "bool"),
        layers.assign(np.full((2, 2), 3, np.int32)),
        layers.assign(layers.ones([2])),
        layers.sums([layers.ones([2]), layers.ones([2])]),
        layers.reshape(layers.ones([2, 3]), [3, -1], act="relu"),
        layers.create_global_var([2], 4, "float64"),
    ]
    expected = [
        np.full(2, 7, np.int64),
        np.ones((1, 2), np.float32),
        np.zeros(2, bool),
        np.full((2, 2), 3, np.int32),
        np.ones(2, np.float32),
        np.full(2, 2, np.float32),
        np.ones((3, 2), np.float32),
        np.full(2, 4, np.float64),
    ]
    for variable, value, found in zip_strict(made, expected, run(*made)):
        np.testing.assert_array_equal(found, value)
        assert found.dtype == value.dtype
        assert (variable.shape, np.dtype(variable.dtype)) == (value.shape, value.dtype)
    with pytest.raises(ValueError, match="different values"):
        layers.assign(np.arange(3))
    with pytest.raises(NotImplementedError, match="give shape"):
        layers.reshape(made[1], [2], actual_shape=made[0])  # type: ignore[arg-type]


def test_a_constant_goes_where_it_is_told() -> None:
    counter = layers.create_global_var([1], 0, "int32", persistable=True)
    layers.increment(counter)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    found = [executor.run(fetch_list=[counter])[0].item() for _ in range(3)]
    assert found == [1, 2, 3]
    assert layers.fill_constant([1], "int32", 0, out=counter) is counter
    assert executor.run(fetch_list=[counter])[0].item() == 0
    assert counter.dtype is VarType.INT32


def test_tensors_are_saved_and_loaded(tmp_path: object) -> None:
    x = layers.data("x", [3])
    layers.save(x, f"{tmp_path}/x")
    run(x=VALUES)
    with fluid.program_guard(Program()):
        out = layers.create_tensor("float32")
        layers.load(out, f"{tmp_path}/x")
        np.testing.assert_array_equal(run(out)[0], VALUES)
