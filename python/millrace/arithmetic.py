# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and comparison on variables: ``x / 2`` appends operators to the current block."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from millrace.var_type import VarType, constant_of, convert_dtype

if TYPE_CHECKING:
    from millrace.block import Block
    from millrace.variable import Variable

Operand: TypeAlias = "Variable | float"


class Arithmetic:
    """What makes ``+ - * /``, comparisons and ``astype`` append operators.

    The operators go into the block of the variable's program that is being built. A number on
    either side becomes a constant of the variable's type; of two variables the second is cast to
    the type of the first, and may have a part of its dims (operator ``elementwise_add``).
    """

    def astype(self, dtype: object) -> Variable:
        """The values in another type: operator ``cast``. ``dtype`` as ``convert_dtype`` takes it.

        Raises:
            ValueError: the type of this variable is not known, or ``dtype`` is none.
        """
        return _cast(cast("Variable", self), convert_dtype(dtype))

    def __add__(self, other: Operand) -> Variable:
        return _binary("elementwise_add", self, other)

    def __radd__(self, other: Operand) -> Variable:
        return _binary("elementwise_add", self, other)

    def __sub__(self, other: Operand) -> Variable:
        return _binary("elementwise_sub", self, other)

    def __rsub__(self, other: Operand) -> Variable:
        x = cast("Variable", self)
        return _scale(x, -1.0, _number(x, other))

    def __mul__(self, other: Operand) -> Variable:
        return _binary("elementwise_mul", self, other)

    def __rmul__(self, other: Operand) -> Variable:
        return _binary("elementwise_mul", self, other)

    def __truediv__(self, other: Operand) -> Variable:
        return _binary("elementwise_div", self, other)

    def __rtruediv__(self, other: Operand) -> Variable:
        x = cast("Variable", self)
        return _binary("elementwise_div", _like(x, _number(x, other)), x)

    def __neg__(self) -> Variable:
        return _scale(cast("Variable", self), -1.0, 0.0)

    def __lt__(self, other: Operand) -> Variable:
        return _binary("less_than", self, other)

    def __le__(self, other: Operand) -> Variable:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Operand) -> Variable:
        return _binary("greater_than", self, other)

    def __ge__(self, other: Operand) -> Variable:
        return _binary("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return _binary("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("not_equal", self, other)

    # Variables are keys of dictionaries all the same: each is only itself.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no value while the program is built; While and IfElse decide when it"
            " runs"
        )


def _block(x: Variable) -> Block:
    return x.block.program.current_block()


def _dtype(x: Variable) -> VarType:
    if x.dtype is None:
        raise ValueError(f"the type of variable {x.name!r} is not known; declare its dtype")
    return x.dtype


def _cast(x: Variable, dtype: VarType) -> Variable:
    out = _block(x).create_var()
    _block(x).append_op(
        type="cast",
        inputs={"X": x},
        outputs={"Out": out},
        attrs={"in_dtype": _dtype(x), "out_dtype": dtype},
    )
    return out


def _scale(x: Variable, scale: float, bias: float) -> Variable:
    out = _block(x).create_var()
    _block(x).append_op(
        type="scale",
        inputs={"X": x},
        outputs={"Out": out},
        attrs={"scale": scale, "bias": bias},
    )
    return out


def _number(x: Variable, value: object) -> float:
    """A number to compute with x."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"cannot compute with variable {x.name!r} and {value!r}; it takes a number")
    return constant_of(_dtype(x), float(value))


def _constant(x: Variable, value: float) -> Variable:
    """``value`` as one number of the type of x."""
    out = _block(x).create_var(stop_gradient=True)
    _block(x).append_op(
        type="fill_constant",
        outputs={"Out": out},
        attrs={"shape": [1], "dtype": _dtype(x), "value": value},
    )
    return out


def _like(x: Variable, value: float) -> Variable:
    """``value`` with the dims of x, which only the run may know, whatever x holds: 0 times infinity
    would be no number, but bools are finite."""
    finite = _cast(_cast(x, VarType.BOOL), _dtype(x))
    return _scale(finite, 0.0, value)


def _binary(type: str, left: object, right: object) -> Variable:
    x = cast("Variable", left)
    if isinstance(right, Arithmetic):
        y = cast("Variable", right)
        if x.dtype is not None and y.dtype is not None and x.dtype is not y.dtype:
            y = _cast(y, x.dtype)
    else:
        y = _constant(x, _number(x, right))
    out = _block(x).create_var()
    _block(x).append_op(type=type, inputs={"X": x, "Y": y}, outputs={"Out": out})
    return out
