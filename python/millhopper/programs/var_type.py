# SPDX-License-Identifier: Apache-2.0
"""VarType: types of values and kinds of variables, by their numbers in framework.proto."""

from __future__ import annotations

import difflib
import enum
from typing import Any

import numpy as np


class VarType(enum.IntEnum):
    """What a variable holds, or the type of a tensor's values; both share one numbering.

    Source: framework.proto, 2018, of PaddlePaddle.
    """

    BOOL = 0
    INT16 = 1
    INT32 = 2
    INT64 = 3
    FP16 = 4
    FP32 = 5
    FP64 = 6
    LOD_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    LOD_RANK_TABLE = 12
    LOD_TENSOR_ARRAY = 13
    PLACE_LIST = 14
    READER = 15
    CHANNEL = 16
    RAW = 17
    TUPLE = 18
    UINT64 = 19
    SIZE_T = 19
    UINT8 = 20
    INT8 = 21
    BF16 = 22
    COMPLEX64 = 23
    COMPLEX128 = 24
    STRING = 25
    STRINGS = 26
    VOCAB = 27
    FEED_LIST = 28
    PSTRING = 29
    SPARSE_COO = 30
    UINT16 = 120
    UINT32 = 121

    @property
    def dtype(self) -> np.dtype[Any]:
        """What numpy calls a type of values; numpy asks for it, so it takes a VarType as a dtype.

        Raises:
            TypeError: it has none: for bfloat16, and kinds of variables.
        """
        if self not in _NAMES or self is VarType.BF16:
            raise TypeError(f"numpy has no {self.name}")
        return np.dtype(_NAMES[self])


_NAMES = {
    VarType.BOOL: "bool",
    VarType.INT16: "int16",
    VarType.INT32: "int32",
    VarType.INT64: "int64",
    VarType.FP16: "float16",
    VarType.FP32: "float32",
    VarType.FP64: "float64",
    VarType.UINT8: "uint8",
    VarType.INT8: "int8",
    VarType.BF16: "bfloat16",
    VarType.UINT16: "uint16",
    VarType.UINT32: "uint32",
    VarType.UINT64: "uint64",
}
_BY_NAME = {name: number for number, name in _NAMES.items()}


def convert_dtype(dtype: Any) -> VarType:
    """The type of values that ``dtype`` means.

    It is a ``VarType``, what numpy takes, ``"bfloat16"``, or a dtype of torch or JAX or its name:
    ``torch.int64``, ``"torch.int64"``, ``jax.numpy.bfloat16``, ``"jnp.bfloat16"``.

    Raises:
        ValueError: it means none, or one that tensors of the core cannot have.

    Source: PaddlePaddle's fluid.framework.convert_np_dtype_to_dtype_, 2018.
    """
    if isinstance(dtype, VarType):
        if dtype in _NAMES:
            return dtype
        raise ValueError(f"{dtype.name} is a kind of variable, not a type of values")
    name = _name_of(dtype)
    if name not in _BY_NAME:
        near = difflib.get_close_matches(str(name).lower(), _BY_NAME, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"values cannot be of type {dtype!r}; {hint}the types are {', '.join(_BY_NAME)}"
        )
    return _BY_NAME[name]


# Names that other libraries have for types: torch, and framework.proto.
_OTHER_NAMES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}


def _name_of(dtype: Any) -> Any:
    """The name that numpy has for it, or that Millhopper has; what it is if there is none."""
    if dtype is None:  # numpy would take it for float64
        return dtype
    text = dtype if isinstance(dtype, str) else str(dtype) if _is_of_torch(dtype) else ""
    library, _, short = text.rpartition(".")
    if library == "torch":
        return _OTHER_NAMES.get(short, short)
    if library in ("jnp", "jax.numpy", "np", "numpy"):
        dtype = short
    try:
        return dtype if dtype == "bfloat16" else np.dtype(dtype).name
    except TypeError:
        return dtype


def _is_of_torch(dtype: Any) -> bool:
    return type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype"


def dtype_name(dtype: VarType) -> str:
    """What numpy calls a type of values: ``VarType.FP32`` is "float32".

    Raises:
        KeyError: it is no type of values.

    Source: Millhopper's own; the names are numpy's.
    """
    return _NAMES[dtype]


def is_float(dtype: VarType | None) -> bool:
    """Whether values of this type have gradients."""
    return dtype in (VarType.FP16, VarType.BF16, VarType.FP32, VarType.FP64)


def common_type(left: VarType, right: VarType) -> VarType:
    """The type that values of two types are computed in: floating if one of them is, and otherwise
    the smallest that holds the values of both.

    Raises:
        TypeError: one is uint64 and the other a type of integers with a sign.
    """
    if left is right:
        return left
    if is_float(left) != is_float(right):
        return left if is_float(left) else right
    if VarType.BF16 in (left, right):
        other = right if left is VarType.BF16 else left
        return VarType.FP32 if other is VarType.FP16 else other
    common = convert_dtype(np.promote_types(left.dtype, right.dtype))
    if is_float(common) and not is_float(left):  # numpy's choice, which would round the integers
        raise TypeError(
            f"no type of integers holds both {dtype_name(left)} and {dtype_name(right)}; cast one"
            " of them first"
        )
    return common


def constant_of(dtype: VarType, value: float) -> float:
    """``value``, which programs hold as float32, for values of a type.

    Raises:
        ValueError: the type is one of integers or bools, and would not get this very value.
    """
    if is_float(dtype):
        return value
    name = dtype_name(dtype)
    if not value.is_integer():
        raise ValueError(f"a constant of type {name} cannot be {value:.17g}, which is not whole")
    low, high = (0, 1) if dtype is VarType.BOOL else _limits(dtype)
    if not low <= value <= high:
        raise ValueError(f"a constant of type {name} cannot be {value:.17g}: {low} to {high}")
    if float(np.float32(value)) != value:
        raise ValueError(
            f"a constant of type {name} cannot be {value:.17g}: programs hold it as float32, which"
            " has all whole numbers up to 2^24 only; feed it as a variable (layers.data) instead"
        )
    return value


def _limits(dtype: VarType) -> tuple[int, int]:
    info = np.iinfo(dtype.dtype)
    return int(info.min), int(info.max)


class VarDesc:
    """Declarations of variables; here only their types.

    Source: PaddlePaddle's fluid.core, 2018.
    """

    VarType = VarType
