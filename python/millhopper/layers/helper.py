# SPDX-License-Identifier: Apache-2.0
"""What layers share: the block that they write into, new variables, parameters, activations."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from millhopper import unique_name
from millhopper.block import Block
from millhopper.initializer import ConstantInitializer, Initializer, XavierInitializer
from millhopper.integers import INT64_MAX, integer_within
from millhopper.param_attr import ParamAttr, ParamAttrLike
from millhopper.program import default_main_program, default_startup_program
from millhopper.var_type import VarType, convert_dtype, is_float
from millhopper.variable import Parameter, Variable


def current_block() -> Block:
    """The block that layers write into."""
    return default_main_program().current_block()


def layer_name(kind: str, name: str | None) -> str:
    """The name of a layer, from which those of its variables are made."""
    return unique_name.generate(kind) if name is None else name


def new_variable(layer: str, dtype: Any = None, stop_gradient: bool = False) -> Variable:
    """A variable for a result of a layer, in the current block."""
    name = unique_name.generate(f"{layer}.tmp")
    return current_block().create_var(name, dtype=dtype, stop_gradient=stop_gradient)


def checked_dims(layer: str, shape: Any) -> list[int]:
    """Dims that the caller gives as a list of integers; -1 where one is None.

    Raises:
        TypeError: it is none.
        ValueError: the core has no integers as large as one of them.
    """
    try:
        if isinstance(shape, str | bytes):
            raise TypeError
        return [
            -1 if dim is None else integer_within(f"{layer}: a dim", dim, -INT64_MAX, INT64_MAX)
            for dim in shape
        ]
    except TypeError:
        raise TypeError(
            f"{layer}: the shape is {shape!r}; it must be a list of integers, such as [1, 28, 28]"
        ) from None


def known_shape(layer: str, variable: Variable) -> tuple[int, ...]:
    """The dims of a variable, which a layer cannot do without.

    Raises:
        ValueError: they are not known.
    """
    if variable.shape is None:
        raise ValueError(
            f"{layer}: the dims of variable {variable.name!r} are not known; declare its shape"
        )
    return variable.shape


def make_parameter(
    layer: str,
    attr: ParamAttrLike,
    shape: Iterable[int],
    dtype: Any,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter | None:
    """A parameter in the main program, which the startup program fills.

    One of the same name is shared, if dims and type agree. Without an initializer weights are
    ``Xavier`` and biases 0.

    Returns:
        None if ``attr`` is False.

    Raises:
        ValueError: the name is that of another kind of variable, or of a parameter with other dims.
    """
    param_attr = ParamAttr.to_attr(attr)
    if param_attr is None:
        return None
    name = param_attr.name or unique_name.generate(f"{layer}.{'b' if is_bias else 'w'}")
    shape = tuple(operator.index(dim) for dim in shape)
    dtype = convert_dtype(dtype)
    initializer = param_attr.initializer or default_initializer
    if initializer is None and not is_float(dtype):
        raise ValueError(f"parameter {name!r} is {dtype.name}; give it an initializer")
    if initializer is None:
        initializer = ConstantInitializer() if is_bias else XavierInitializer()
    main, startup = default_main_program(), default_startup_program()
    known = main.global_block().vars.get(name)
    if known is not None:
        if not isinstance(known, Parameter) or (known.shape, known.dtype) != (shape, dtype):
            raise ValueError(
                f"parameter {name!r} cannot be {dtype.name} {list(shape)}; there is {known!r}"
            )
        return known
    for program in (main, startup):
        # Two main programs, say of training and of testing, may have one startup program.
        if program is main or not startup.global_block().has_var(name):
            program.global_block().create_parameter(
                name=name,
                shape=shape,
                dtype=dtype,
                trainable=param_attr.trainable,
                optimize_attr={"learning_rate": param_attr.learning_rate},
                initializer=initializer if program is startup else None,
            )
    made = main.global_block().var(name)
    assert isinstance(made, Parameter)
    return made


def make_persistable(
    name: str, shape: Iterable[int], dtype: Any, value: float, stop_gradient: bool = True
) -> Variable:
    """A variable of one value, which the startup program fills once and every run finds.

    Raises:
        ValueError: a variable of this name is declared otherwise.
    """
    shape = tuple(shape)
    variables = []
    is_new = not default_startup_program().global_block().has_var(name)
    for program in (default_main_program(), default_startup_program()):
        variable = program.global_block().create_var(
            name, shape=shape, dtype=dtype, persistable=True, stop_gradient=stop_gradient
        )
        variables.append(variable)
    if is_new:
        ConstantInitializer(value)(variables[1], default_startup_program().global_block())
    return variables[0]


def append_activation(layer: str, variable: Variable, act: str | None) -> Variable:
    """What an activation makes of a variable: that of an operator from X to Out, such as "relu"."""
    if act is None:
        return variable
    out = new_variable(layer)
    current_block().append_op(type=act, inputs={"X": variable}, outputs={"Out": out})
    return out


def result(layer: str, out: Variable | None, dtype: VarType | None = None) -> Variable:
    """The variable that a result goes to: the caller's, or a new one."""
    return new_variable(layer, dtype) if out is None else out
