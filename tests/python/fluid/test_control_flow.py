# SPDX-License-Identifier: Apache-2.0
"""Loops and branches, written within a `with` and run by the core."""

from __future__ import annotations

import millhopper as fluid
import numpy as np
import pytest
from millhopper import layers
from millhopper.framework import VarType

pytestmark = pytest.mark.usefixtures("fresh_programs")


def run(*fetch: fluid.Variable, **feed: object) -> list[np.ndarray]:
    executor, scope = fluid.Executor(), fluid.Scope()
    executor.run(fluid.default_startup_program(), scope=scope)
    return executor.run(feed=feed, fetch_list=list(fetch), scope=scope)


def flag(name: str = "flag") -> fluid.Variable:
    return layers.data(name, [1], dtype="bool", append_batch_size=False)


def number(value: float, dtype: str = "int64") -> fluid.Variable:
    return layers.fill_constant([1], dtype, value)


def types(block: fluid.Block) -> list[str]:
    return [op.type for op in block.ops]


def test_a_loop_within_a_loop() -> None:
    i, count, three = number(0), number(0), number(3)
    outer = layers.less_than(i, three)
    with layers.While(cond=outer).block():
        j = number(0)
        inner = layers.less_than(j, three)
        with layers.While(cond=inner).block():
            layers.increment(count)
            layers.increment(j)
            layers.less_than(j, three, cond=inner)
        layers.increment(i)
        layers.less_than(i, three, cond=outer)
    program = fluid.default_main_program()
    assert [block.parent_idx for block in program.blocks] == [-1, 0, 1]
    assert j.block is program.block(1)
    assert program.current_block_idx == 0
    assert run(count)[0] == [9]


@pytest.mark.parametrize("value", [True, False])
def test_either_block_of_a_branch_gives_its_outputs(value: bool) -> None:
    x = layers.data("x", [2])
    branch = layers.IfElse(flag())
    with branch.true_block():
        branch.output(branch.input(x) * 2.0, x)
    with branch.false_block():
        branch.output(x - 1.0, layers.zeros([3]))
    doubled, other = branch()
    assert doubled.shape == (-1, 2)
    assert other.shape is None
    assert types(fluid.default_main_program().global_block()) == ["if_else"]
    found = run(doubled, other, flag=np.array([value]), x=np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(found[0], [[2, 2]] if value else [[0, 0]])
    assert found[1].shape == ((1, 2) if value else (3,))


def test_a_branch_may_have_one_block() -> None:
    total = number(5)
    with layers.IfElse(flag()).false_block():
        layers.increment(total, 2)
    assert run(total, flag=np.array([True]))[0] == [5]
    assert run(total, flag=np.array([False]))[0] == [7]


def test_a_branch_is_written_in_one_piece() -> None:
    branch = layers.IfElse(flag())
    with pytest.raises(RuntimeError, match="only be called within"):
        branch.output()
    with branch.true_block():
        with pytest.raises(RuntimeError, match="within true_block"):
            branch()
        with (
            pytest.raises(RuntimeError, match="cannot be written within true_block"),
            branch.false_block(),
        ):
            pass
        branch.output(number(1))
        with pytest.raises(RuntimeError, match="given already"):
            branch.output(number(1))
    with pytest.raises(RuntimeError, match="written already"), branch.true_block():
        pass
    with pytest.raises(RuntimeError, match="both blocks must give outputs"):
        branch()
    number(3)
    with pytest.raises(RuntimeError, match="operators between"), branch.false_block():
        pass


def test_both_blocks_give_as_many_outputs() -> None:
    branch = layers.IfElse(flag())
    with branch.true_block():
        branch.output(number(1))
    with (
        pytest.raises(ValueError, match="gives 2 variables, the other block 1"),
        branch.false_block(),
    ):
        branch.output(number(1), number(2))


@pytest.mark.parametrize(("value", "rate"), [(0.0, 10), (1.5, 20), (9.0, 30)])
def test_a_switch_takes_the_first_case_that_holds(value: float, rate: int) -> None:
    x = layers.data("x", [1], append_batch_size=False)
    result = number(0)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(x, number(1, "float32"))):
            layers.assign(number(10), result)
        with switch.case(layers.less_than(x, number(2, "float32"))):
            layers.assign(number(20), result)
        with switch.default():
            layers.assign(number(30), result)
    assert run(result, x=np.array([value], np.float32))[0] == [rate]


def test_a_switch_has_cases_and_then_one_default() -> None:
    switch = layers.Switch()
    with pytest.raises(ValueError, match="within the switch"), switch.case(flag()):
        pass
    with switch:
        with pytest.raises(ValueError, match="after its cases"), switch.default():
            pass
        with switch.case(flag()):
            pass
        with switch.default():
            pass
        with pytest.raises(ValueError, match="before default"), switch.case(flag()):
            pass


def test_a_block_that_runs_where_there_are_values() -> None:
    x = layers.data("x", [2])
    count = number(0)
    with layers.ConditionalBlock([x]).block():
        layers.increment(count)
    assert run(count, x=np.ones((0, 2), np.float32))[0] == [0]
    assert run(count, x=np.ones((1, 2), np.float32))[0] == [1]
    with pytest.raises(ValueError, match="a scalar condition is one, not 2"):
        layers.ConditionalBlock([x, x], is_scalar_condition=True)
    with pytest.raises(TypeError, match="the inputs are variables"):
        layers.ConditionalBlock(["x"])  # type: ignore[list-item]


@pytest.mark.parametrize("layer", [layers.While, layers.IfElse])
def test_a_condition_is_one_bool(layer: type) -> None:
    for condition, words in (
        ("flag", "the condition is a variable"),
        (number(1), "holds INT64, not bool"),
        (layers.less_than(layers.zeros([2]), layers.zeros([2])), r"one bool, \[1\], not \[2\]"),
    ):
        with pytest.raises(TypeError, match=words):
            layer(condition)


def test_after_an_error_layers_write_where_they_wrote_before() -> None:
    for block in (
        layers.While(flag()).block,
        layers.IfElse(flag()).true_block,
        layers.ConditionalBlock([flag()]).block,
    ):
        with pytest.raises(KeyError), block():
            raise KeyError
        assert fluid.default_main_program().current_block_idx == 0
    assert fluid.default_main_program().global_block().ops == ()


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (layers.less_than, [True, False, False]),
        (layers.less_equal, [True, True, False]),
        (layers.greater_than, [False, False, True]),
        (layers.greater_equal, [False, True, True]),
        (layers.equal, [False, True, False]),
        (layers.not_equal, [True, False, True]),
    ],
)
def test_comparisons(layer: object, expected: list[bool]) -> None:
    x, y = (layers.data(name, [3], append_batch_size=False, dtype="int64") for name in "xy")
    into = layers.create_tensor("bool")
    result = layer(x, y, cond=into)  # type: ignore[operator]
    assert result is into
    assert (result.shape, result.dtype) == ((3,), VarType.BOOL)
    assert run(result, x=np.array([1, 2, 3]), y=np.array([2, 2, 2]))[0].tolist() == expected


def test_increment_is_in_place_unless_told_otherwise() -> None:
    x = number(1)
    y = layers.increment(x, 2, in_place=False)
    assert layers.increment(x) is x
    assert [value.item() for value in run(x, y)] == [2, 3]
    with pytest.raises(TypeError):
        layers.increment([1, 2, 3])  # type: ignore[arg-type]


def test_is_empty_and_print(capfd: pytest.CaptureFixture[str]) -> None:
    x = layers.data("x", [2])
    assert layers.Print(x, message="here", summarize=1) is x
    (empty,) = run(layers.is_empty(x), x=np.zeros((0, 2), np.float32))
    assert empty.tolist() == [True]
    assert capfd.readouterr().out.startswith("here")
