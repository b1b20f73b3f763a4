# SPDX-License-Identifier: Apache-2.0
"""Integers that a caller gives, checked before they go anywhere."""

from __future__ import annotations

import operator
from typing import Any

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1


def integer(name: str, number: Any) -> int:
    """The number, as it is: floats are not cut off, texts are not read, and bools are none.

    Raises:
        TypeError: it is no integer.
    """
    try:
        if isinstance(number, bool):
            raise TypeError
        return int(operator.index(number))  # before Python 3.10 it may be a subclass of int
    except TypeError:
        raise TypeError(f"{name} is {number!r}; it must be an integer") from None


def integer_within(name: str, number: Any, least: int, most: int) -> int:
    """``integer`` with bounds.

    Raises:
        TypeError: it is no integer.
        ValueError: it is out of bounds.
    """
    value = integer(name, number)
    if not least <= value <= most:
        raise ValueError(f"{name} {value} is not {least} to {most}")
    return value


def checked_dims(layer: str, shape: Any) -> list[int]:
    """Dims that the caller gives as a list of integers; -1 where one is None.

    Raises:
        TypeError: it is none.
        ValueError: the core has no integers as large as one of them.
    """
    try:
        if isinstance(shape, (str, bytes)):
            raise TypeError
        return [
            -1 if dim is None else integer_within(f"{layer}: a dim", dim, -INT64_MAX, INT64_MAX)
            for dim in shape
        ]
    except TypeError:
        raise TypeError(
            f"{layer}: the shape is {shape!r}; it must be a list of integers, such as [1, 28, 28]"
        ) from None
