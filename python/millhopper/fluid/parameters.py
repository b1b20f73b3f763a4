# SPDX-License-Identifier: Apache-2.0
"""Variables that outlive a run, such as parameters: the startup program fills them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from millhopper.fluid.initializer import ConstantInitializer, Initializer, XavierInitializer
from millhopper.fluid.param_attr import ParamAttr, ParamAttrLike
from millhopper.programs import unique_name
from millhopper.programs.program import default_main_program, default_startup_program
from millhopper.programs.var_type import convert_dtype, is_float
from millhopper.programs.variable import Parameter, Variable


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
