# SPDX-License-Identifier: Apache-2.0
"""``layers.data``: variables that the caller feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millhopper.base.integers import checked_dims
from millhopper.programs.program import default_main_program
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable

__all__ = ["data"]


def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: VarType = VarType.LOD_TENSOR,
    stop_gradient: bool = True,
) -> Variable:
    """A variable that the caller feeds.

    Args:
        name: what it is fed by.
        shape: dims of one instance; -1 or None where they differ.
        append_batch_size: put -1, the batch, before the shape. With a dim of -1 or None in it the
            shape is taken to have all axes.
        dtype: type of its values.
        lod_level: levels of offsets.
        type: the kind of variable.
        stop_gradient: whether gradients end here.

    Returns:
        The variable, in the global block; the same one if it has been declared the same before.

    Raises:
        TypeError: the name is no text, or the shape no list of integers.
        ValueError: there is a variable of this name that is declared otherwise, or it is empty.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    if not isinstance(name, str):
        raise TypeError(f"data: a variable's name is a text, not {name!r}")
    if not name:
        raise ValueError("data: the name is empty; it is what the variable is fed by")
    dims = checked_dims(f"data {name!r}", shape)
    if append_batch_size and not any(dim < 0 for dim in dims):
        dims = [-1, *dims]
    return (
        default_main_program()
        .global_block()
        .create_var(
            name,
            shape=dims,
            dtype=dtype,
            lod_level=lod_level,
            type=type,
            stop_gradient=stop_gradient,
            is_data=True,
        )
    )
