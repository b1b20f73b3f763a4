# SPDX-License-Identifier: Apache-2.0
"""``layer.data``: fed variables as PaddlePaddle's reader design doc declares them, in brief."""

from __future__ import annotations

from typing import Any

from millhopper.fluid.layers import fed_data
from millhopper.programs.program import default_main_program
from millhopper.programs.variable import Variable

__all__ = ["data"]


def data(
    name: str,
    shape: Any = ...,
    append_batch_size: Any = ...,
    dtype: Any = ...,
    lod_level: Any = ...,
    type: Any = ...,
    stop_gradient: Any = ...,
) -> Variable:
    """``layers.data``, where a literal ``...`` stands for what is not given.

    Args:
        name: of the variable.
        shape: as in ``layers.data``; when it is not given, the variable is the one of this name
            that there is, or else a matrix with a row for each item of a batch, whose width is
            found out when it is fed.
        append_batch_size, dtype, lod_level, type, stop_gradient: as in ``layers.data``.

    Raises what ``layers.data`` does.

    Source: PaddlePaddle's reader design doc, 2017, whose examples say ``data("image", ...)``.
    """
    given = {
        "append_batch_size": append_batch_size,
        "dtype": dtype,
        "lod_level": lod_level,
        "type": type,
        "stop_gradient": stop_gradient,
    }
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not ...}
    if shape is not ...:
        return fed_data.data(name, shape, **options)
    block = default_main_program().global_block()
    if not options and block.has_var(name):
        return block.var(name)
    return fed_data.data(name, [-1, -1], **options)
