# SPDX-License-Identifier: Apache-2.0
"""Integers that a caller gives, checked before they go anywhere."""

from __future__ import annotations

import operator
from typing import Any

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1


def integer(name: str, number: Any) -> int:
    """The number, as it is: floats are not cut off, and texts are not read.

    Raises:
        TypeError: it is no integer.
    """
    try:
        return operator.index(number)
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
