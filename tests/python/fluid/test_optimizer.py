# SPDX-License-Identifier: Apache-2.0
"""Optimizers: the parameters after each step, compared with the formulas in numpy."""

from __future__ import annotations

from collections.abc import Callable

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import Program

Formula = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]
RATE, STEPS = 0.1, 4


pytestmark = pytest.mark.usefixtures("fresh_programs")


def sgd(p: np.ndarray, g: np.ndarray, state: dict[str, np.ndarray]) -> np.ndarray:
    return p - RATE * g


def momentum(p: np.ndarray, g: np.ndarray, state: dict[str, np.ndarray]) -> np.ndarray:
    state["v"] = 0.9 * state.get("v", 0 * g) + g
    return p - RATE * state["v"]


def nesterov(p: np.ndarray, g: np.ndarray, state: dict[str, np.ndarray]) -> np.ndarray:
    state["v"] = 0.9 * state.get("v", 0 * g) + g
    return p - RATE * (g + 0.9 * state["v"])


def adam(p: np.ndarray, g: np.ndarray, state: dict[str, np.ndarray]) -> np.ndarray:
    state["t"] = state.get("t", 0) + 1
    state["m"] = 0.8 * state.get("m", 0 * g) + 0.2 * g
    state["s"] = 0.95 * state.get("s", 0 * g) + 0.05 * g * g
    rate = RATE * np.sqrt(1 - 0.95 ** state["t"]) / (1 - 0.8 ** state["t"])
    return p - rate * state["m"] / (np.sqrt(state["s"]) + 1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (lambda: fluid.optimizer.SGD(RATE), sgd),
        (lambda: fluid.optimizer.Momentum(RATE, 0.9), momentum),
        (lambda: fluid.optimizer.Momentum(RATE, 0.9, use_nesterov=True), nesterov),
        (lambda: fluid.optimizer.Adam(RATE, 0.8, 0.95), adam),
    ],
)
def test_steps_are_those_of_the_formula(
    make: Callable[[], fluid.optimizer.Optimizer], formula: Formula, dtype: str
) -> None:
    w = layers.create_parameter([3], dtype, name="w")
    x = layers.data("x", [3], append_batch_size=False, dtype=dtype)
    ops, gradients = make().minimize(layers.mean(w * w * x))
    assert [(p.name, g.name) for p, g in gradients] == [("w", "w@GRAD")]
    assert all(op.attr("op_role") == 2 for op in ops)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    value = np.asarray(fluid.global_scope().find_var("w").get_tensor()).astype(np.float64)
    state: dict[str, np.ndarray] = {}
    for step in range(1, STEPS):
        fed = np.array([1, 2, 3], dtype) * step
        (found,) = executor.run(feed={"x": fed}, fetch_list=[w])
        value = formula(value, 2 * value * fed / 3, state)
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)


def test_a_parameter_may_have_a_rate_of_its_own() -> None:
    one, ten = fluid.initializer.Constant(1.0), fluid.ParamAttr("b", learning_rate=10.0)
    a = layers.create_parameter([1], "float32", name="a", default_initializer=one)
    b = layers.create_parameter([1], "float32", attr=ten, default_initializer=one)
    fluid.optimizer.SGD(0.01).minimize(layers.mean(a + b))
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    found = executor.run(fetch_list=[a, b])
    np.testing.assert_allclose(found, [[0.99], [0.9]], rtol=1e-6)


def test_the_program_may_change_the_rate() -> None:
    rate = layers.create_global_var([1], 1.0, "float32", persistable=True, name="rate")
    a = layers.create_parameter([1], "float32", default_initializer=fluid.initializer.Constant(0.0))
    fluid.optimizer.SGD(rate).minimize(layers.mean(a))
    layers.scale(rate, scale=0.5, out=rate)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    found = [executor.run(fetch_list=[a])[0].item() for _ in range(3)]
    assert found == [-1.0, -1.5, -1.75]


def test_first_values_go_into_the_startup_program_that_is_given() -> None:
    w = layers.create_parameter([2], "float32", name="w")
    loss = layers.mean(w)
    startup = Program()
    with fluid.program_guard(Program(), Program()):
        fluid.optimizer.Momentum(0.1, 0.9).minimize(loss, startup_program=startup)
        assert fluid.default_main_program().global_block().ops == ()
    names = [op.output("Out")[0] for op in startup.global_block().ops]
    assert names == ["learning_rate_0", "w_velocity_0"]
    main = loss.block.program.global_block()
    assert all(main.var(name).persistable for name in names)


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="no regularization"):
        fluid.optimizer.SGD(0.1, regularization="L2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a learning rate is a number or a variable"):
        fluid.optimizer.SGD("0.1")  # type: ignore[arg-type]
    for option in ("regularizer", "gradient_clip", "do_model_average"):
        with pytest.raises(NotImplementedError, match=option):
            fluid.ParamAttr(**{option: True})


def test_training_fits_a_line() -> None:
    """The first program of the lineage's book, on made-up data."""
    x, y = layers.data("x", [3]), layers.data("y", [1])
    cost = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
    fluid.optimizer.SGD(learning_rate=0.1).minimize(cost)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    values = np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32)
    feed = {"x": values, "y": values @ np.float32([[1], [-2], [3]]) + 4}
    costs = [executor.run(feed=feed, fetch_list=[cost])[0].item() for _ in range(100)]
    assert costs[-1] < 1e-6 < costs[0]
