# SPDX-License-Identifier: Apache-2.0
"""append_backward: gradients equal numeric ones, and operators without gradients are refused."""

from __future__ import annotations

from collections.abc import Callable

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.base.zipped import zip_strict

Variables = Callable[..., fluid.Variable]


pytestmark = pytest.mark.usefixtures("fresh_programs")


def parameter(name: str, shape: list[int], dtype: str = "float64") -> fluid.Parameter:
    init = fluid.initializer.Uniform(0.2, 0.9)
    return layers.create_parameter(shape, dtype, name=name, default_initializer=init)


def run(*fetch: fluid.Variable, feed: dict[str, np.ndarray] | None = None) -> list[np.ndarray]:
    scope = fluid.Scope()
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program(), scope=scope)
    return executor.run(feed=feed, fetch_list=list(fetch), scope=scope)


def check_gradients(loss: fluid.Variable, feed: dict[str, np.ndarray] | None = None) -> None:
    """Compares each parameter's gradient with the differences that small steps make."""
    forward = fluid.default_main_program().clone()
    pairs = fluid.append_backward(loss)
    executor, scope = fluid.Executor(), fluid.Scope()
    executor.run(fluid.default_startup_program(), scope=scope)
    gradients = executor.run(feed=feed, fetch_list=[g for _, g in pairs], scope=scope)
    step = 1e-5
    for (variable, _), gradient in zip_strict(pairs, gradients):
        held = scope.find_var(variable.name)
        assert held is not None
        value = np.asarray(held.get_tensor()).copy()
        expected = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            losses = []
            for change in (step, -step):
                moved = value.copy()
                moved[index] += change
                held.get_tensor().set(moved)
                losses.append(executor.run(forward, feed, [loss.name], scope)[0].item())
            expected[index] = (losses[0] - losses[1]) / (2 * step)
        held.get_tensor().set(value)
        assert np.abs(expected).max() > 1e-4, variable.name
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-7, err_msg=variable.name)


def dense(x: fluid.Variable) -> fluid.Variable:
    return layers.mul(x, parameter("w", [3, 4])) + parameter("b", [4])


@pytest.mark.parametrize(
    "make",
    [
        dense,
        lambda x: layers.relu(dense(x) - 1.2),
        lambda x: layers.sigmoid(dense(x)),
        lambda x: layers.tanh(dense(x)),
        lambda x: layers.softmax(dense(x)) * x.block.var_recursive("w").block.var("b"),
        lambda x: layers.elementwise_mul(dense(x), parameter("v", [4])),
        lambda x: layers.elementwise_div(parameter("v", [2, 4]), dense(x)),
        lambda x: layers.elementwise_sub(dense(x), parameter("v", [2]), axis=0),
        lambda x: layers.reshape(dense(x), [4, -1]) * parameter("v", [2]),
        lambda x: layers.scale(dense(x), scale=-3.0, bias=2.0),
        lambda x: 1.0 / (2.0 - dense(x) / 4.0),
        lambda x: -dense(x),
        lambda x: layers.assign(dense(x)),
        lambda x: layers.square_error_cost(dense(x), parameter("v", [2, 4])),
    ],
)
def test_gradients_are_those_of_small_steps(make: Variables) -> None:
    x = layers.data("x", [3], dtype="float64")
    out = make(x)
    check_gradients(layers.mean(out * out), {"x": np.array([[0.5, 1, 2], [3, 0.25, 1]])})


@pytest.mark.parametrize("pooling", ["max", "avg"])
def test_gradients_of_a_convolutional_net(pooling: str) -> None:
    x = layers.data("x", [2, 6, 5], dtype="float64")
    init = fluid.initializer.Uniform(0.2, 0.9)
    hidden = layers.conv2d(x, 4, 3, padding=1, groups=2, param_attr=init, act="relu")
    hidden = layers.pool2d(hidden, 2, pooling, 2)
    out = layers.conv2d(hidden, 3, (2, 1), stride=2, param_attr=init)
    values = np.random.default_rng(3).uniform(-1, 2, (2, 2, 6, 5))
    check_gradients(layers.mean(out * out), {"x": values})


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_of_classification(fused: bool) -> None:
    x, label = layers.data("x", [3], dtype="float64"), layers.data("label", [1], dtype="int64")
    logits = dense(x)
    if fused:
        losses = layers.softmax_with_cross_entropy(logits, label)
    else:
        losses = layers.cross_entropy(layers.softmax(logits), label)
    feed = {"x": np.array([[0.5, 1, 2], [3, 0.25, 1]]), "label": np.array([[3], [0]])}
    check_gradients(layers.mean(losses), feed)


def test_softmax_alone_of_the_fused_operator_has_a_gradient() -> None:
    x, label = layers.data("x", [3], dtype="float64"), layers.data("label", [1], dtype="int64")
    _, softmax = layers.softmax_with_cross_entropy(dense(x), label, return_softmax=True)
    feed = {"x": np.array([[0.5, 1, 2], [3, 0.25, 1]]), "label": np.array([[3], [0]])}
    check_gradients(layers.mean(softmax * softmax), feed)


def test_what_is_read_more_than_once_gets_the_sum() -> None:
    w = parameter("w", [2, 2])
    square = w * w  # twice by one operator
    loss = layers.mean(layers.sums([square, w, w]) * square)
    check_gradients(loss)
    ops = fluid.default_main_program().global_block().ops
    total = [op for op in ops if op.type == "sum" and op.output("Out") == ["w@GRAD"]]
    assert [len(op.input("X")) for op in total] == [4]


def test_float_casts_let_gradients_through() -> None:
    w = parameter("w", [2], "float32")
    wide = layers.cast(w, "float64")
    untold = layers.ops.cast(w, out_dtype=6)  # without in_dtype
    loss = layers.mean(wide * untold)
    ((_, gradient),) = fluid.append_backward(loss)
    value, found = run(w, gradient)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, value, rtol=1e-6)


def test_fed_variables_get_gradients_if_they_want_them() -> None:
    x = layers.data("x", [3], dtype="float64", stop_gradient=False)
    assert fluid.append_backward(layers.mean(x * x)) == []
    block = fluid.default_main_program().global_block()
    (gradient,) = run(block.var("x@GRAD"), feed={"x": np.array([[3.0, 6.0, 9.0]])})
    np.testing.assert_allclose(gradient, [[2.0, 4.0, 6.0]])


def test_gradients_end_where_they_are_stopped() -> None:
    a, b, c = (parameter(name, [2]) for name in "abc")
    hidden = a * 2.0
    hidden.stop_gradient = True
    loss = layers.mean(hidden * b + c)
    assert [p.name for p, _ in fluid.append_backward(loss, no_grad_set={"c"})] == ["b"]


def test_only_the_parameters_asked_for_get_gradients() -> None:
    a, b = parameter("a", [2]), parameter("b", [2])
    frozen = layers.create_parameter([2], "float64", attr=fluid.ParamAttr("f", trainable=False))
    loss = layers.mean(a * b * frozen)
    main = fluid.default_main_program()
    for wanted, names in ((None, ["a", "b"]), (["b"], ["b"]), ([frozen], ["f"])):
        copy = main.clone()
        found = fluid.append_backward(copy.global_block().var(loss.name), wanted)
        assert [variable.name for variable, _ in found] == names


def test_two_losses_have_gradients_of_their_own() -> None:
    w = parameter("w", [2])
    first, second = layers.mean(w * w), layers.mean(w * 5.0)
    gradients = [fluid.append_backward(loss)[0][1] for loss in (first, second)]
    value, *found = run(w, *gradients)
    np.testing.assert_allclose(found, [value, [2.5, 2.5]])


def test_within_a_loop_gradients_stay_in_its_body() -> None:
    w = parameter("w", [2])
    total = layers.create_global_var([2], 0.0, "float64", persistable=True)
    i, n = (layers.fill_constant([1], "int64", value) for value in (0, 3))
    more = layers.less_than(i, n)
    with layers.While(more).block():
        body = fluid.default_main_program().current_block()
        loss = layers.mean(w * w)
        ((_, gradient),) = fluid.append_backward(loss)
        layers.sums([total, gradient], out=total)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    assert gradient.block is body
    assert not fluid.default_main_program().global_block().has_var("w@GRAD")
    value, found = run(w, total)
    np.testing.assert_allclose(found, 3 * value)


# ---- What is refused ----


def test_a_loss_is_one_number_that_depends_on_parameters() -> None:
    x = layers.data("x", [3])
    with pytest.raises(TypeError, match="the loss is a variable"):
        fluid.append_backward("loss")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one floating-point number"):
        fluid.append_backward(layers.relu(x))
    with pytest.raises(ValueError, match="no operator of block 0 writes the loss"):
        fluid.append_backward(layers.data("y", [1], append_batch_size=False))
    with pytest.raises(ValueError, match="depends on no trainable parameter"):
        fluid.append_backward(layers.mean(x))
    with pytest.raises(ValueError, match="is no parameter"):
        fluid.append_backward(layers.mean(x), ["x"])


def test_operators_without_gradients_are_named() -> None:
    best, _ = layers.topk(parameter("w", [2, 3]), k=1)
    with pytest.raises(ValueError, match="operator 'top_k', which writes .*, has no gradient"):
        fluid.append_backward(layers.mean(best))


def test_inputs_without_gradients_are_named() -> None:
    x = layers.data("x", [3], dtype="float64")
    label = layers.softmax(dense(x))
    loss = layers.mean(layers.cross_entropy(label, label, soft_label=True))
    with pytest.raises(ValueError, match="'cross_entropy' has no gradient of its input 'Label'"):
        fluid.append_backward(loss)
    assert fluid.default_main_program().global_block().ops[-1].type == "mean"


def test_variables_that_are_written_again_are_refused() -> None:
    w = parameter("w", [2])
    square = w * w
    loss = layers.mean(square * square)
    layers.assign(w, square)
    with pytest.raises(ValueError, match="is written again by operator 'assign'"):
        fluid.append_backward(loss)


def test_a_loss_behind_a_branch_is_refused() -> None:
    w = parameter("w", [2])
    value = layers.fill_constant([2], "float64", 0.0)
    value.stop_gradient = False
    branch = layers.IfElse(layers.fill_constant([1], "bool", 1))
    with branch.true_block():
        layers.assign(w * w, value)
    with pytest.raises(ValueError, match="which operator 'if_else' writes in its own block"):
        fluid.append_backward(layers.mean(value))


def test_what_was_computed_outside_of_the_block_is_refused() -> None:
    hidden = parameter("w", [2]) * 2.0
    branch = layers.IfElse(layers.fill_constant([1], "bool", 1))
    with branch.true_block():
        loss = layers.mean(hidden * hidden)
        with pytest.raises(ValueError, match="computed from parameters in block 0"):
            fluid.append_backward(loss)
        hidden.stop_gradient = True
        with pytest.raises(ValueError, match="depends on no trainable parameter"):
            fluid.append_backward(loss)
