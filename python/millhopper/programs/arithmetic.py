# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and comparison on variables: ``x / 2`` appends operators to the current block."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from millhopper.programs.var_type import VarType, common_type, constant_of, convert_dtype, is_float

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.programs.block import Block
    from millhopper.programs.operator import Operator
    from millhopper.programs.variable import Variable

Operand: TypeAlias = "Variable | float"


class Arithmetic:
    """What makes ``+ - * /``, comparisons and ``astype`` append operators.

    The operators go into the block of the variable's program that is being built. A number on
    either side becomes a constant of the variable's type. Of two variables the second may have a
    part of the dims of the first (operator ``elementwise_add``). Where the types differ, both sides
    are cast to one that holds both: floating if one of them is. Integers with a number that is a
    float, and quotients of integers, are float32.

    ``==`` and ``!=`` append operators, too, but ``variable in variables``, ``index`` and whatever
    else asks for the truth of their result take these back and are told whether it is the same
    variable.
    """

    # Set on the result of a comparison: what was appended for it.
    _comparison: _Comparison | None = None

    # numpy leaves array + variable to the variable, instead of computing value by value.
    __array_ufunc__ = None

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        raise TypeError(f"{self!r} is no array: it has values only where a program runs; fetch it")

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
        x = _for_number(cast("Variable", self), other)
        return _scale(x, -1.0, _number(x, other))

    def __mul__(self, other: Operand) -> Variable:
        return _binary("elementwise_mul", self, other)

    def __rmul__(self, other: Operand) -> Variable:
        return _binary("elementwise_mul", self, other)

    def __truediv__(self, other: Operand) -> Variable:
        return _binary("elementwise_div", self, other, divide=True)

    def __rtruediv__(self, other: Operand) -> Variable:
        x = _for_number(cast("Variable", self), other, divide=True)
        return _binary("elementwise_div", _like(x, _number(x, other)), x)

    def __neg__(self) -> Variable:
        return _scale(cast("Variable", self), -1.0, 0.0)

    def __lt__(self, other: Operand) -> Variable:
        return _compare("less_than", self, other)

    def __le__(self, other: Operand) -> Variable:
        return _compare("less_equal", self, other)

    def __gt__(self, other: Operand) -> Variable:
        return _compare("greater_than", self, other)

    def __ge__(self, other: Operand) -> Variable:
        return _compare("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        if not _comparable(self, other):
            return NotImplemented  # so that Python compares identities
        return _compare("equal", self, other, if_same=True)

    def __ne__(self, other: object) -> Any:
        if not _comparable(self, other):
            return NotImplemented
        return _compare("not_equal", self, other, if_same=False)

    # Variables can be keys of dictionaries nevertheless: each equals only itself there.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        made = self._comparison
        if made is not None and made.is_last(_block(cast("Variable", self))):
            made.take_back()
            if made.answer is not None:
                return made.answer
        raise TypeError(
            f"{self!r} has no value while the program is built; While and IfElse decide when it"
            " runs"
        )


class _Comparison(NamedTuple):
    """What a comparison appended to a block, and what Python is told if it asks for its truth."""

    block: Block
    operators: tuple[Operator, ...]
    variables: tuple[str, ...]
    answer: bool | None

    def is_last(self, current: Block) -> bool:
        """Whether nothing was appended since, so that no operator can use the result."""
        return current is self.block and current.ops[-len(self.operators) :] == self.operators

    def take_back(self) -> None:
        """Leaves the block as it was before the comparison."""
        for _ in self.operators:
            self.block.remove_op(len(self.block.ops) - 1)
        for name in self.variables:
            self.block.remove_var(name)


def _comparable(x: Arithmetic, other: object) -> bool:
    """Whether an operator can tell if they are equal: tensors of one program, and numbers."""
    left = cast("Variable", x)
    if not isinstance(other, Arithmetic):
        return isinstance(other, numbers.Real) or hasattr(other, "__array__")
    right = cast("Variable", other)
    tensors = left.type is right.type is VarType.LOD_TENSOR
    return tensors and left.block.program is right.block.program


def _compare(type: str, x: Arithmetic, other: object, if_same: bool | None = None) -> Variable:
    """The result of a comparison; its truth is ``if_same`` if both are one variable."""
    block = _block(cast("Variable", x))
    operators, variables = len(block.ops), len(block.vars)
    out: Variable | None = None
    try:
        out = _binary(type, x, other)
    finally:
        answer = None
        if if_same is not None and isinstance(other, Arithmetic):
            answer = (x is other) == if_same
        names = tuple(block.vars)[variables:]
        made = _Comparison(block, block.ops[operators:], names, answer)
        if out is None:
            made.take_back()
    out._comparison = made
    return out


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
        given = "an array" if hasattr(value, "__array__") else repr(value)
        raise TypeError(
            f"cannot compute with variable {x.name!r} and {given}: it takes variables and numbers"
        )
    return constant_of(_dtype(x), float(value))


def _for_number(x: Variable, value: object, divide: bool = False) -> Variable:
    """x in the type in which it is computed with a number."""
    if is_float(_dtype(x)) or not (divide or _is_fraction(value)):
        return x
    return _cast(x, VarType.FP32)


def _is_fraction(value: object) -> bool:
    """Whether it is a number whose type is not one of whole numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)


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


def _binary(type: str, left: Arithmetic, right: object, divide: bool = False) -> Variable:
    x = cast("Variable", left)
    if isinstance(right, Arithmetic):
        y = cast("Variable", right)
        if x.dtype is not None and y.dtype is not None:
            dtype = common_type(x.dtype, y.dtype)
            if divide and not is_float(dtype):
                dtype = VarType.FP32
            x, y = (side if side.dtype is dtype else _cast(side, dtype) for side in (x, y))
    else:
        x = _for_number(x, right, divide)
        y = _constant(x, _number(x, right))
    out = _block(x).create_var()
    _block(x).append_op(type=type, inputs={"X": x, "Y": y}, outputs={"Out": out})
    return out
