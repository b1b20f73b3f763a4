# SPDX-License-Identifier: Apache-2.0
"""Loops and branches, whose bodies are written within a ``with``; and what decides them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType

from millhopper.base.zipped import zip_strict
from millhopper.fluid.layers import helper
from millhopper.fluid.layers.tensor import assign
from millhopper.programs.block import Block
from millhopper.programs.operator import Operator
from millhopper.programs.program import Program, default_main_program
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable

__all__ = [
    "ConditionalBlock",
    "IfElse",
    "Print",
    "Switch",
    "While",
    "equal",
    "greater_equal",
    "greater_than",
    "increment",
    "is_empty",
    "less_equal",
    "less_than",
    "not_equal",
]


def _check_condition(layer: str, cond: Variable) -> None:
    if not isinstance(cond, Variable):
        raise TypeError(f"{layer}: the condition is a variable, not {cond!r}")
    if cond.dtype not in (None, VarType.BOOL):
        assert cond.dtype is not None
        raise TypeError(f"{layer}: condition {cond.name!r} holds {cond.dtype.name}, not bool")
    if cond.shape not in (None, (1,), (-1,)):
        assert cond.shape is not None
        raise TypeError(
            f"{layer}: condition {cond.name!r} is one bool, [1], not {list(cond.shape)}"
        )


@contextlib.contextmanager
def _new_block(program: Program) -> Iterator[Block]:
    """Layers write into a new block within the current one."""
    block = program.create_block()
    try:
        yield block
    finally:
        program.rollback()


class While:
    """A loop: its block runs again and again as long as a condition is true. ::

        more = layers.less_than(i, n)
        loop = layers.While(cond=more)
        with loop.block():
            ...
            layers.less_than(i, n, cond=more)  # writes the same variable

    Each step has its own variables for what the block declares; those declared outside are read and
    written by name. A read at the end of the data ends the run with an error unless ``has_next``
    decides the loop.

    Source: PaddlePaddle's fluid.layers, 2018.
    """

    def __init__(self, cond: Variable, is_test: bool = False, name: str | None = None) -> None:
        """A loop in the current block.

        Args:
            cond: bool [1]; the block must write it anew.
            is_test: the lineage's; steps are never kept.
            name: the lineage's, without effect.

        Raises:
            TypeError: the condition is no variable, holds no bool or more than one.
        """
        _check_condition("While", cond)
        self._cond, self._is_test = cond, is_test

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """What is written within is what the loop repeats."""
        program = default_main_program()
        outer = program.current_block()
        with _new_block(program) as body:
            yield
        outer.append_op(
            "while",
            inputs={"Condition": self._cond},
            attrs={"sub_block": body, "is_test": self._is_test},
        )


class ConditionalBlock:
    """A block that runs once if its inputs have values, or if the one bool is true.

    Source: PaddlePaddle's fluid.layers, 2018.
    """

    def __init__(
        self, inputs: Sequence[Variable], is_scalar_condition: bool = False, name: str | None = None
    ) -> None:
        """A conditional block in the current block.

        Args:
            inputs: the condition.
            is_scalar_condition: the input is one bool, whose value decides; otherwise the block
                runs unless an input is empty.
            name: the lineage's, without effect.

        Raises:
            TypeError: an input is no variable.
            ValueError: a scalar condition is not one variable.
        """
        for variable in inputs:
            if not isinstance(variable, Variable):
                raise TypeError(f"ConditionalBlock: the inputs are variables, not {variable!r}")
        if is_scalar_condition and len(inputs) != 1:
            raise ValueError(f"ConditionalBlock: a scalar condition is one, not {len(inputs)}")
        self._inputs, self._is_scalar = list(inputs), is_scalar_condition

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """What is written within is what runs."""
        program = default_main_program()
        outer = program.current_block()
        with _new_block(program) as body:
            yield
        outer.append_op(
            "conditional_block",
            inputs={"X": self._inputs},
            attrs={"sub_block": body, "is_scalar_condition": self._is_scalar},
        )


class IfElse:
    """A branch: one block runs if a condition is true, another one if it is not. ::

        branch = layers.IfElse(has_next)
        with branch.true_block():
            ...
        with branch.false_block():
            ...

    Either block may be left out. Outer variables are read and written by name. What both blocks
    hand to ``output`` is what ``branch()`` returns. The condition is one bool: rows of a batch are
    not told apart, as the lineage's ``IfElse`` did.

    Source: PaddlePaddle's fluid.layers, 2018; the condition differs.
    """

    def __init__(self, cond: Variable, name: str | None = None) -> None:
        """A branch in the current block.

        Args:
            cond: bool [1].
            name: of the layer.

        Raises:
            TypeError: the condition is no variable, holds no bool or more than one.
        """
        _check_condition("IfElse", cond)
        self._cond = cond
        self._layer = helper.layer_name("if_else", name)
        self._op: Operator | None = None
        self._open = ""  # the block that is being written
        self._outer = helper.current_block()
        self._results: list[Variable] = []
        self._given: dict[str, int] = {}  # outputs by block

    def true_block(self) -> contextlib.AbstractContextManager[None]:
        """What is written within runs if the condition is true."""
        return self._write("true_block")

    def false_block(self) -> contextlib.AbstractContextManager[None]:
        """What is written within runs if the condition is false."""
        return self._write("false_block")

    @contextlib.contextmanager
    def _write(self, which: str) -> Iterator[None]:
        program = default_main_program()
        if self._open:
            raise RuntimeError(f"IfElse: {which} cannot be written within {self._open}")
        if program.current_block() is not self._outer:
            raise RuntimeError(f"IfElse: {which} must be written in the block of the IfElse")
        if self._op is not None:
            if self._op.has_attr(which):
                raise RuntimeError(f"IfElse: {which} has been written already")
            if self._outer.ops[-1] is not self._op:
                raise RuntimeError(
                    "IfElse: there are operators between its two blocks; put them before or after"
                    " both"
                )
        self._open = which
        try:
            with _new_block(program) as block:
                yield
        finally:
            self._open = ""
        if self._op is None:
            self._op = self._outer.append_op(
                "if_else", inputs={"Cond": self._cond}, attrs={which: block}
            )
        else:
            self._op.set_attr(which, block)

    def input(self, x: Variable) -> Variable:
        """x, for either block; it is visible there anyway.

        Raises:
            RuntimeError: no block is being written.
        """
        if not self._open:
            raise RuntimeError("IfElse.input() can only be called within true_block or false_block")
        return x

    def output(self, *outs: Variable) -> None:
        """What this block gives: ``branch()`` returns it if this block runs.

        Raises:
            RuntimeError: no block is being written, or it has given its outputs already.
            ValueError: the other block gives another number of variables.
        """
        if not self._open:
            raise RuntimeError(
                "IfElse.output() can only be called within true_block or false_block"
            )
        if self._open in self._given:
            raise RuntimeError(f"IfElse: the outputs of {self._open} have been given already")
        if not self._given:
            for out in outs:
                result = self._outer.create_var(f"{self._layer}.out_{len(self._results)}")
                result.dtype, result.lod_level = out.dtype, out.lod_level
                result.shape = out.shape
                self._results.append(result)
        elif len(outs) != len(self._results):
            raise ValueError(
                f"IfElse: {self._open} gives {len(outs)} variables, the other block"
                f" {len(self._results)}"
            )
        self._given[self._open] = len(outs)
        for out, result in zip_strict(outs, self._results):
            shape = _common_shape(out.shape, result.shape)
            assign(out, result)
            result.shape = shape

    def __call__(self) -> list[Variable]:
        """What the block that ran gave.

        Raises:
            RuntimeError: a block is being written, or only one block gives outputs.
        """
        if self._open:
            raise RuntimeError(f"IfElse: its outputs are not known within {self._open}")
        if len(self._given) != 2:
            raise RuntimeError("IfElse: both blocks must give outputs, by output()")
        return list(self._results)


def _common_shape(a: Sequence[int] | None, b: Sequence[int] | None) -> tuple[int, ...] | None:
    """The dims that two variables have in common, -1 where they differ; None if in number."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(i if i == j else -1 for i, j in zip_strict(a, b))


class Switch:
    """The first of several cases whose condition is true, or the default. ::

    with layers.Switch() as switch:
        with switch.case(layers.less_than(step, warm)):
            layers.assign(small, rate)
        with switch.default():
            layers.assign(large, rate)

    Source: PaddlePaddle's fluid.layers, 2018.
    """

    def __init__(self, name: str | None = None) -> None:
        """A switch in the current block. ``name`` is the lineage's, without effect."""
        self._inside = False
        self._none_before: Variable | None = None  # whether no case has held so far
        self._has_default = False

    def __enter__(self) -> Switch:
        self._inside = True
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inside = False

    @contextlib.contextmanager
    def case(self, condition: Variable) -> Iterator[None]:
        """What is written within runs if the condition holds and none before it does.

        Raises:
            ValueError: outside of the ``with``, or after the default.
            TypeError: the condition is no variable or holds no bool.
        """
        if not self._inside or self._has_default:
            raise ValueError("Switch: case must be within the switch, and before default")
        _check_condition("Switch", condition)
        holds = condition
        if self._none_before is not None:
            holds = _logical("logical_and", self._none_before, condition)
        with _if_true(holds):
            yield
        does_not = _logical("logical_not", condition)
        if self._none_before is not None:
            does_not = _logical("logical_and", self._none_before, does_not)
        self._none_before = does_not

    @contextlib.contextmanager
    def default(self) -> Iterator[None]:
        """What is written within runs if no case does.

        Raises:
            ValueError: outside of the ``with``, before any case, or a second time.
        """
        if not self._inside or self._none_before is None or self._has_default:
            raise ValueError("Switch: there is one default within the switch, after its cases")
        self._has_default = True
        with _if_true(self._none_before):
            yield


@contextlib.contextmanager
def _if_true(condition: Variable) -> Iterator[None]:
    with IfElse(condition).true_block():
        yield


def _logical(type: str, x: Variable, y: Variable | None = None) -> Variable:
    out = helper.new_variable(type, stop_gradient=True)
    inputs = {"X": x} if y is None else {"X": x, "Y": y}
    helper.current_block().append_op(type, inputs=inputs, outputs={"Out": out})
    return out


# ---- What decides ----


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """Adds ``value`` to a variable that holds one value.

    Args:
        x: float32, float64, int32 or int64, one value.
        value: what is added, in the type of x.
        in_place: whether x takes the sum; otherwise a new variable does.

    Returns:
        The sum: dims and type of x.

    Raises:
        TypeError: x is no variable.
        ValueError: ``value`` is no number.
        Error: dims or types do not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    out = x if in_place else helper.new_variable(helper.layer_name("increment", None), x.dtype)
    helper.current_block().append_op(
        "increment", inputs={"X": x}, outputs={"Out": out}, attrs={"step": float(value)}
    )
    return out


def _compare(type: str, x: Variable, y: Variable, cond: Variable | None) -> Variable:
    if cond is None:
        cond = helper.new_variable(helper.layer_name(type, None), VarType.BOOL, stop_gradient=True)
    helper.current_block().append_op(type, inputs={"X": x, "Y": y}, outputs={"Out": cond})
    return cond


def less_than(
    x: Variable, y: Variable, force_cpu: bool | None = None, cond: Variable | None = None
) -> Variable:
    """Whether x < y, value by value: bool, dims of x.

    Args:
        x: any dims; float32, float64, int32 or int64.
        y: type of x; dims of x or a part of them.
        force_cpu: the lineage's; results are on the CPU always.
        cond: takes the result; for a loop the variable that decides it.

    Raises:
        TypeError: an argument is neither a variable nor a name.
        Error: dims or types do not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _compare("less_than", x, y, cond)


def less_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """Whether x <= y: bool, dims of x. Arguments and errors are those of ``less_than``.

    Source: PaddlePaddle's fluid.layers, later than 2018.
    """
    return _compare("less_equal", x, y, cond)


def greater_than(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """Whether x > y: bool, dims of x. Arguments and errors are those of ``less_than``.

    Source: PaddlePaddle's fluid.layers, later than 2018.
    """
    return _compare("greater_than", x, y, cond)


def greater_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """Whether x >= y: bool, dims of x. Arguments and errors are those of ``less_than``.

    Source: PaddlePaddle's fluid.layers, later than 2018.
    """
    return _compare("greater_equal", x, y, cond)


def equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """Whether x = y: bool, dims of x. Arguments and errors are those of ``less_than``.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _compare("equal", x, y, cond)


def not_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """Whether x differs from y: bool, dims of x. Arguments and errors are those of ``less_than``.

    Source: PaddlePaddle's fluid.layers, later than 2018.
    """
    return _compare("not_equal", x, y, cond)


def is_empty(x: Variable, cond: Variable | None = None) -> Variable:
    """Whether x has no values.

    Args:
        x: a tensor of any dims and type.
        cond: takes the result.

    Returns:
        bool [1].

    Raises:
        TypeError: an argument is neither a variable nor a name.
        Error: x has not been written, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    if cond is None:
        cond = helper.new_variable(helper.layer_name("is_empty", None), stop_gradient=True)
    helper.current_block().append_op("is_empty", inputs={"X": x}, outputs={"Out": cond})
    return cond


def Print(
    input: Variable,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = -1,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Variable:
    """Prints a tensor on one line of standard output, each time it runs.

    Args:
        input: the tensor.
        first_n: print so many times in a run; -1 is always.
        message: printed first.
        summarize: how many values to print; -1 is all.
        print_tensor_name, print_tensor_type, print_tensor_shape, print_tensor_lod: what else.
        print_phase: the lineage's "forward", "backward" or "both"; it is printed here in any case.

    Returns:
        The input.

    Raises:
        TypeError: the input is neither a variable nor a name, or a number is none.
        ValueError: ``print_phase`` is none of the three, or a number is below -1.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    helper.current_block().append_op(
        "print",
        inputs={"In": input},
        attrs={
            "first_n": first_n,
            "message": message or "",
            "summarize": summarize,
            "print_tensor_name": print_tensor_name,
            "print_tensor_type": print_tensor_type,
            "print_tensor_shape": print_tensor_shape,
            "print_tensor_lod": print_tensor_lod,
            "print_phase": print_phase.upper(),
        },
    )
    return input
