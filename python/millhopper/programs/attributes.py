# SPDX-License-Identifier: Apache-2.0
"""Values of attributes: what Python gives, as the type that an operator declares."""

from __future__ import annotations

import enum
import math
import numbers
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


class AttrType(enum.IntEnum):
    """Types of attributes, with the names and numbers of framework.proto.

    Source: framework.proto, 2018, of PaddlePaddle.
    """

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11
    FLOAT64S = 12
    VAR = 13
    VARS = 14
    FLOAT64 = 15


_INT = (-(2**31), 2**31 - 1)
_LONG = (-(2**63), 2**63 - 1)
_LARGEST_FLOAT = float(np.finfo(np.float32).max)


def _whole(value: Any, bounds: tuple[int, int]) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    number = int(operator.index(value))  # before Python 3.10 it may be a subclass of int
    if not bounds[0] <= number <= bounds[1]:
        raise ValueError(f"its values are {bounds[0]} to {bounds[1]}")
    return number


def _int(value: Any) -> int:
    return _whole(value, _INT)


def _long(value: Any) -> int:
    return _whole(value, _LONG)


def _double(value: Any) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        raise ValueError("it does not fit") from None


def _float(value: Any) -> float:
    number = _double(value)
    if math.isfinite(number) and abs(number) > _LARGEST_FLOAT:
        raise ValueError("it does not fit")
    return shortest_float(number)


def shortest_float(value: float) -> float:
    """The float32 next to ``value``, as its shortest decimal: 0.9, not 0.8999999761581421."""
    return float(str(np.float32(value)))


def _bool(value: Any) -> bool:
    if isinstance(value, np.bool_):
        return bool(value)
    number = int(operator.index(value))  # a bool is one
    if number not in (0, 1):
        raise TypeError
    return number == 1


def _string(value: Any) -> str:
    text = os.fspath(value)
    if not isinstance(text, str):
        raise TypeError
    text.encode()  # programs are UTF-8; a path that is not raises a ValueError
    return text


def _block(value: Any) -> object:
    if not hasattr(value, "append_op"):
        raise TypeError
    return value


# By attribute type: the field of OpDesc.Attr that holds the value, what converts it (or each item
# of it), and whether it is a list.
_TYPES: dict[str, tuple[str, Callable[[Any], Any], bool]] = {
    "INT": ("i", _int, False),
    "FLOAT": ("f", _float, False),
    "STRING": ("s", _string, False),
    "INTS": ("ints", _int, True),
    "FLOATS": ("floats", _float, True),
    "STRINGS": ("strings", _string, True),
    "BOOLEAN": ("b", _bool, False),
    "BOOLEANS": ("bools", _bool, True),
    "BLOCK": ("block_idx", _block, False),
    "LONG": ("l", _long, False),
    "BLOCKS": ("blocks_idx", _block, True),
    "LONGS": ("longs", _long, True),
    "FLOAT64S": ("float64s", _double, True),
    "VAR": ("var_name", _string, False),
    "VARS": ("vars_name", _string, True),
    "FLOAT64": ("float64", _double, False),
}


def convert(type: str, value: Any) -> Any:
    """``value`` as an attribute of this type holds it: a plain number, text, bool, block or list.

    Raises:
        TypeError: it is something else.
        ValueError: it is a number that does not fit, or a text that no program can hold.
    """
    _, convert_item, is_list = _TYPES[type]
    try:
        if not is_list:
            return convert_item(value)
        if isinstance(value, (str, bytes, Mapping)):
            raise TypeError
        return [convert_item(item) for item in value]
    except TypeError:
        raise TypeError(f"is of type {type}, not {value!r}") from None
    except ValueError as error:
        raise ValueError(f"is of type {type}, not {value!r}; {error}") from None


def guess_type(value: Any) -> str:
    """The attribute type of a value where no schema tells it.

    Raises:
        TypeError: no attribute can hold it.
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return guess_type(value[0]) + "S" if len(value) else "INTS"
    if isinstance(value, (bool, np.bool_)):
        return "BOOLEAN"
    if isinstance(value, numbers.Integral):
        return "INT" if _INT[0] <= int(value) <= _INT[1] else "LONG"
    if isinstance(value, numbers.Real):
        return "FLOAT"
    if isinstance(value, (str, os.PathLike)):
        return "STRING"
    if hasattr(value, "append_op"):
        return "BLOCK"
    raise TypeError(f"no attribute can be {value!r}")


def attribute_to_dict(name: str, type: str, value: Any) -> dict[str, Any]:
    """The message OpDesc.Attr, in protobuf's JSON mapping."""
    field = _TYPES[type][0]
    if type == "BLOCK":
        value = value.idx
    elif type == "BLOCKS":
        value = [block.idx for block in value]
    elif type in ("FLOAT", "FLOAT64"):
        value = _json_number(value)
    elif type in ("FLOATS", "FLOAT64S"):
        value = [_json_number(item) for item in value]
    return {"name": name, "type": type, field: value}


def attribute_from_dict(message: Mapping[str, Any], blocks: Sequence[object]) -> tuple[str, Any]:
    """The type and value of a message OpDesc.Attr; ``blocks`` are those of its program."""
    type = message["type"]
    field, _, is_list = _TYPES[type]
    value = message.get(field, [] if is_list else None)
    if type in ("LONG", "INT"):
        return type, int(value)
    if type in ("LONGS", "INTS"):
        return type, [int(item) for item in value]
    if type == "FLOAT":
        return type, shortest_float(float(value))
    if type == "FLOATS":
        return type, [shortest_float(float(item)) for item in value]
    if type == "FLOAT64":
        return type, float(value)
    if type == "FLOAT64S":
        return type, [float(item) for item in value]
    if type == "BLOCK":
        return type, blocks[value]
    if type == "BLOCKS":
        return type, [blocks[index] for index in value]
    return type, value


def _json_number(value: float) -> float | str:
    """A number as protobuf's JSON mapping has it, which spells what JSON has no number for."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
