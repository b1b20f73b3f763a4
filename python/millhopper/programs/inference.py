# SPDX-License-Identifier: Apache-2.0
"""Fills in what is known of an operator's results before it runs: dims, types, levels of offsets.

The core's operators tell it (``OpSchema::Infer``). Later layers need it to make parameters of the
right dims, and readers and feeding compare with it. What the program itself declares is kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from millhopper import _core
from millhopper.base.zipped import zip_strict
from millhopper.errors import Error
from millhopper.programs.var_type import VarType
from millhopper.programs.variable import Variable

if TYPE_CHECKING:
    from millhopper._core import Known, KnownTensor
    from millhopper.programs.operator import Operator

# ``x in variables`` compares x with variables of other dims or types, and takes these comparisons
# back. A comparison that stays is refused when its program is checked.
_ASKED_BY_LISTS = ("equal", "not_equal")


def infer_outputs(op: Operator) -> None:
    """Fills in what is known of the variables that an operator writes.

    Raises:
        ValueError: the operator cannot work with what its inputs are declared to be.
    """
    program = op.block.program

    def find(block: int, name: str) -> Known | None:
        # The block that the operator is made for may be one that the program does not hold.
        start = op.block if block == op.block.idx else program.block(block)
        variable = start.find_var_recursive(name)
        return None if variable is None else _known(variable)

    try:
        outputs = _core.infer(json.dumps(op.to_dict()), op.block.idx, find)
    except Error as error:
        if op.type in _ASKED_BY_LISTS:
            return
        raise ValueError(f"operator {op.type!r}: {error.message}") from None
    for name, known in outputs:
        variable = op.block.find_var_recursive(name)
        if variable is not None:
            _declare(variable, known)


def _known(variable: Variable) -> Known:
    slots: list[KnownTensor] | None = None
    if variable.shapes is not None:
        count = len(variable.shapes)
        dtypes = variable.dtypes or (None,) * count
        levels = variable.lod_levels or (0,) * count
        slots = [
            (None if dtype is None else int(dtype), list(shape), level)
            for shape, dtype, level in zip_strict(variable.shapes, dtypes, levels)
        ]
    dtype = None if variable.dtype is None else int(variable.dtype)
    shape = None if variable.shape is None else list(variable.shape)
    # Levels are declared with dims only.
    return (dtype, shape, None if shape is None else variable.lod_level), slots


def _declare(variable: Variable, known: Known) -> None:
    (dtype, shape, lod_level), slots = known
    if variable.shape is None and shape is not None:
        variable.shape = tuple(shape)
        variable.lod_level = max(variable.lod_level, lod_level or 0)
    if variable.dtype is None and dtype is not None:
        variable.dtype = VarType(dtype)
    if slots is None or variable.type is not VarType.READER:
        return
    shapes = [shape for _, shape, _ in slots if shape is not None]
    dtypes = [dtype for dtype, _, _ in slots if dtype is not None]
    if variable.shapes is None and len(shapes) == len(slots):
        variable.desc.set_shapes(shapes)
        variable.desc.set_lod_levels([level or 0 for _, _, level in slots])
    if variable.dtypes is None and len(dtypes) == len(slots):
        variable.desc.set_dtypes([VarType(dtype) for dtype in dtypes])
