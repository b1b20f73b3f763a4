# SPDX-License-Identifier: Apache-2.0
"""Layers that make, copy and convert tensors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from millhopper.fluid.initializer import Initializer
from millhopper.fluid.layers import helper
from millhopper.fluid.param_attr import ParamAttr, ParamAttrLike
from millhopper.fluid.parameters import make_parameter, make_persistable
from millhopper.programs import unique_name
from millhopper.programs.var_type import VarType, constant_of, convert_dtype
from millhopper.programs.variable import Parameter, Variable

__all__ = [
    "assign",
    "cast",
    "create_global_var",
    "create_parameter",
    "create_tensor",
    "fill_constant",
    "load",
    "ones",
    "sums",
    "zeros",
]


def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Variable:
    """Declares a variable in the current block; an operator must write it before it is read.

    Args:
        dtype: type of its values.
        name: of the variable.
        persistable: whether it keeps its values from run to run.

    Raises:
        ValueError: ``dtype`` is none, or a variable of this name is declared otherwise.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    name = unique_name.generate("create_tensor") if name is None else name
    return helper.current_block().create_var(name, dtype=dtype, persistable=persistable)


def create_parameter(
    shape: Iterable[int],
    dtype: Any,
    name: str | None = None,
    attr: ParamAttrLike = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter:
    """A parameter, which the startup program fills: with ``Xavier``, or 0 if it is a bias.

    Args:
        shape: its dims, all known.
        dtype: type of its values.
        name: the same as ``attr.name``.
        attr: a ``ParamAttr``, a name or an initializer.
        is_bias: whether it begins as 0.
        default_initializer: fills it where ``attr`` does not say how.

    Raises:
        ValueError: ``attr`` is False, or the name is taken by something else.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    param_attr = ParamAttr.to_attr(attr)
    if param_attr is None:
        raise ValueError("create_parameter: attr is False, which means no parameter")
    if name is not None and param_attr.name is None:
        param_attr = ParamAttr(
            name, param_attr.initializer, param_attr.learning_rate, trainable=param_attr.trainable
        )
    layer = helper.layer_name("create_parameter", name)
    made = make_parameter(layer, param_attr, shape, dtype, is_bias, default_initializer)
    assert made is not None
    return made


def create_global_var(
    shape: Iterable[int],
    value: float,
    dtype: Any,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
    """A variable of the global block that the startup program fills with one value.

    Args:
        shape: its dims.
        value: of all its elements.
        dtype: their type.
        persistable: whether it keeps what the main program writes from run to run. What the startup
            program fills is kept in any case.
        force_cpu: the lineage's; values are made on the CPU always.
        name: of the variable.

    Raises:
        TypeError: the shape is no list.
        ValueError: ``dtype`` is none, a dim is negative, ``value`` is no number, or a
            variable of this name is declared otherwise.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    name = unique_name.generate("global_var") if name is None else name
    return make_persistable(name, shape, dtype, value)


def cast(x: Variable, dtype: Any) -> Variable:
    """The values of x in another type. Fractions are cut off: operator ``cast``.

    Raises:
        ValueError: the type of x is not known, or ``dtype`` is none.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return x.astype(dtype)


def sums(input: Variable | Sequence[Variable], out: Variable | None = None) -> Variable:
    """All inputs added up, value by value: operator ``sum``.

    Args:
        input: variables of one type, float32, float64, int32 or int64, and one list of dims.
        out: takes the sum; may be one of the inputs.

    Returns:
        Dims and type of the inputs.

    Raises:
        TypeError: an argument is neither a variable nor a name.
        Error: there is no input, or dims or types differ, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    inputs = [input] if isinstance(input, Variable) else list(input)
    out = helper.result(helper.layer_name("sum", None), out)
    helper.current_block().append_op("sum", inputs={"X": inputs}, outputs={"Out": out})
    return out


def assign(input: Variable | Any, output: Variable | None = None) -> Variable:
    """Copies a variable, or makes one of an array all of whose values are the same.

    Args:
        input: a variable; or a number or array of one value.
        output: takes the copy.

    Raises:
        ValueError: the array has different values; feed it instead.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    out = helper.result(helper.layer_name("assign", None), output)
    if isinstance(input, Variable):
        helper.current_block().append_op("assign", inputs={"X": input}, outputs={"Out": out})
        return out
    array = np.atleast_1d(np.asarray(input))
    if array.size == 0 or (array != array.flat[0]).any():
        raise ValueError("assign: the array has different values; feed it as layers.data instead")
    return fill_constant(array.shape, array.dtype, float(array.flat[0]), out=out)


def fill_constant(
    shape: Iterable[int],
    dtype: Any,
    value: float,
    force_cpu: bool = False,
    out: Variable | None = None,
) -> Variable:
    """A tensor of one value: operator ``fill_constant``.

    Args:
        shape: its dims.
        dtype: type of its values.
        value: of all elements; held as float32.
        force_cpu: the lineage's; values are made on the CPU always.
        out: takes the tensor.

    Raises:
        ValueError: integers are to be made of a value that float32 does not hold.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    dtype = convert_dtype(dtype)
    if out is None:
        layer = helper.layer_name("fill_constant", None)
        out = helper.new_variable(layer, stop_gradient=True)
    helper.current_block().append_op(
        "fill_constant",
        outputs={"Out": out},
        attrs={"shape": list(shape), "dtype": dtype, "value": constant_of(dtype, float(value))},
    )
    return out


def ones(shape: Iterable[int], dtype: Any = VarType.FP32, force_cpu: bool = False) -> Variable:
    """A tensor of ones, of these dims and this type; arguments as in ``fill_constant``.

    Raises:
        TypeError: the shape is no list of integers.
        ValueError: ``dtype`` is none, or a dim is negative.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return fill_constant(shape, dtype, 1.0)


def zeros(shape: Iterable[int], dtype: Any = VarType.FP32, force_cpu: bool = False) -> Variable:
    """A tensor of zeros, of these dims and this type; arguments as in ``fill_constant``.

    Raises:
        TypeError: the shape is no list of integers.
        ValueError: ``dtype`` is none, or a dim is negative.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return fill_constant(shape, dtype, 0.0)


def load(
    out: Variable, file_path: str | os.PathLike[str], load_as_fp16: bool | None = None
) -> None:
    """Reads a tensor from a file each time it runs: operator ``load``.

    Args:
        out: takes the tensor.
        file_path: the file, as operator ``save`` writes it.
        load_as_fp16: turn floating-point values into 16 bits.

    Raises:
        TypeError: ``out`` is neither a variable nor a name, or ``file_path`` no path.
        Error: the file cannot be read, when the program is run.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    helper.current_block().append_op(
        "load", outputs={"Out": out}, attrs={"file_path": file_path, "load_as_fp16": load_as_fp16}
    )
