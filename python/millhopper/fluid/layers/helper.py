# SPDX-License-Identifier: Apache-2.0
"""What layers share: the block that they write into, new variables, parameters, activations."""

from __future__ import annotations

from typing import Any

from millhopper.programs import unique_name
from millhopper.programs.block import Block
from millhopper.programs.program import default_main_program
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable


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
