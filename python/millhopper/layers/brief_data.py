# SPDX-License-Identifier: Apache-2.0
"""``layer.data``: the slots of a program as the reader design doc writes them."""

from __future__ import annotations

from typing import Any

from millhopper import layers
from millhopper.framework import Variable, default_main_program

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
        return layers.data(name, shape, **options)
    block = default_main_program().global_block()
    if not options and block.has_var(name):
        return block.var(name)
    return layers.data(name, [-1, -1], **options)
