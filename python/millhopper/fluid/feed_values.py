# SPDX-License-Identifier: Apache-2.0
"""Turns the values that a program is fed with into tensors, as the fed variables declare them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millhopper import _core
from millhopper.programs.program import Program
from millhopper.programs.var_type import dtype_name
from millhopper.programs.variable import Variable
from millhopper.ragged import Ragged


def fed_tensors(feed: Mapping[Any, object], program: Program) -> dict[str, _core.LoDTensor]:
    """Tensors by variable name. Values are copied, except LoDTensors: the program may keep them.

    Args:
        feed: values by variable or by its name.
        program: its global block declares the variables. Lists and numbers are converted to the
            declared dtype. A value for a variable of ``layers.data`` must have the declared dtype
            and dims, but a value with another number of axes is accepted, as in Fluid: the run
            reports it if it does not fit.

    Raises:
        TypeError: a key is neither a variable nor a name, or a value holds no numbers.
        ValueError: a value does not have the declared dtype or dims, or lists differ in length.
        Error: a value is on a device, or Millhopper does not support its dtype.
    """
    tensors = {}
    for key, value in feed.items():
        if not isinstance(key, (str, Variable)):
            raise TypeError(f"the keys of feed are variables or names; {key!r} is neither")
        name = key if isinstance(key, str) else key.name
        variable = program.global_block().vars.get(name)
        try:
            tensor = _tensor(name, value, variable)
        except (BufferError, RuntimeError) as error:  # from the core, or from __dlpack__
            if sys.version_info >= (3, 11):  # before, errors have no notes
                error.add_note(f"while variable {name!r} was fed")
            raise
        is_empty = isinstance(value, _core.LoDTensor) and not tensor.shape()  # the core reports it
        if variable is not None and not is_empty:
            _check(name, tensor, variable)
        tensors[name] = tensor
    return tensors


def _tensor(name: str, value: Any, variable: Variable | None) -> _core.LoDTensor:
    if isinstance(value, _core.LoDTensor):
        return value
    tensor = _core.LoDTensor()
    if isinstance(value, Ragged):
        tensor.set(value.values)
        tensor.set_lod([offsets.tolist() for offsets in value.offsets])
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        if hasattr(value, "contiguous"):  # a torch tensor, which may be a view in any order
            value = value.contiguous()
        # The core copies the values here, because numpy has no bfloat16.
        tensor = _core.from_dlpack(_core.from_dlpack(value).__dlpack__(copy=True))
    elif hasattr(value, "__array__"):
        tensor.set(_numbers(name, value))
    else:
        tensor.set(_converted(name, value, variable))
    return tensor


def _numbers(name: str, value: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"feed {name!r} is no array: its lists are of different lengths. Feed sequences of "
            "different lengths as millhopper.create_lod_tensor(...) or millhopper.Ragged"
        ) from error
    if array.dtype.kind not in "biuf":
        given = "None" if value is None else f"{type(value).__name__} of {array.dtype}"
        raise TypeError(f"feed {name!r} is {given}, which is no array of numbers")
    return array


def _converted(name: str, value: object, variable: Variable | None) -> npt.NDArray[Any]:
    """Lists and numbers in the declared dtype."""
    array = _numbers(name, value)
    if variable is None or variable.dtype is None:
        return array
    try:
        return exactly(numbers_of(value, variable.dtype.dtype), variable.dtype.dtype)
    except ValueError as error:
        raise ValueError(f"feed {name!r} holds {error}") from None


def numbers_of(values: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of what is an array, a number, or lists of numbers, to be converted to ``dtype``.

    numpy makes floats of lists with integers on both sides of 2^63, which rounds them. For uint64
    they are objects instead, and stay what they are.
    """
    array = np.asarray(values, order="C")
    if array.dtype.kind == "f" and np.dtype(dtype) == np.uint64 and array is not values:
        whole = np.asarray(values, object, order="C")
        if all(isinstance(number, int) for number in whole.flat):
            return whole
    return array


def exactly(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Numbers in another dtype. Raises ValueError if one changes and the dtype is no float."""
    with np.errstate(invalid="ignore", over="ignore"):
        try:
            converted = array.astype(dtype, copy=False)
        except OverflowError as error:  # an integer of Python's of more than 64 bits
            raise ValueError(f"{error}, but {np.dtype(dtype)} is declared") from None
    if converted.dtype.kind != "f" and (converted != array).any():
        wrong = array[converted != array].flat[0]
        raise ValueError(f"{wrong}, but {converted.dtype} is declared")
    return converted


def _check(name: str, tensor: _core.LoDTensor, variable: Variable) -> None:
    if not variable.is_data or variable.shape is None or variable.dtype is None:
        return
    dtype, dims, declared = dtype_name(variable.dtype), tensor.shape(), list(variable.shape)
    fits = len(dims) != len(declared) or all(
        want in (-1, have) for want, have in zip(declared, dims)
    )
    if tensor.dtype != dtype or not fits:
        raise ValueError(f"feed {name!r} is {tensor.dtype} {dims}; {dtype} {declared} is declared")
