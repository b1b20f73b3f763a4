# SPDX-License-Identifier: Apache-2.0
"""LoDTensors made of arrays, nested lists and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millhopper._core import LoDTensor
from millhopper.base.places import CPUPlace, CUDAPlace

__all__ = [
    "create_lod_tensor",
    "create_random_int_lodtensor",
]

Lengths = Sequence[Sequence[int]]


class LoDTensorArray(list[LoDTensor]):
    """A list of tensors.

    Source: PaddlePaddle's fluid.core, 2018.
    """


def create_lod_tensor(
    data: Any, recursive_seq_lens: Lengths, place: CPUPlace | CUDAPlace | None = None
) -> LoDTensor:
    """A tensor with levels of detail.

    Args:
        data: an array, whose rows are the units of the last level; or a LoDTensor, whose values are
            used; or a list of sequences of numbers, which become one column [rows, 1], of int64 if
            they are integers.
        recursive_seq_lens: the lengths of the sequences, level by level, outermost first.
        place: the host.

    Returns:
        A tensor with a copy of the values.

    Raises:
        AssertionError: the lengths do not fit ``data`` (as in Paddle Fluid).
        TypeError: ``data`` is none of these.
        Error: the levels do not fit one another.

    Source: PaddlePaddle's fluid.lod_tensor, 2018.
    """
    if isinstance(data, LoDTensor):
        data = np.asarray(data)
    elif isinstance(data, list):
        lengths = [len(sequence) for sequence in data]
        if [lengths] != [list(level) for level in recursive_seq_lens]:
            raise AssertionError(
                f"data and recursive_seq_lens do not match: the sequences have lengths {lengths}, "
                f"recursive_seq_lens is {recursive_seq_lens}"
            )
        data = np.concatenate([np.asarray(sequence) for sequence in data]).reshape(-1, 1)
    elif not isinstance(data, np.ndarray):
        raise TypeError(
            f"data is an array, a LoDTensor or a list of sequences, not {type(data).__name__}"
        )
    tensor = LoDTensor()
    tensor.set(data, place)
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    if not tensor.has_valid_recursive_sequence_lengths():
        raise AssertionError(
            f"the lengths {recursive_seq_lens} do not add up to the {len(data)} rows of the data"
        )
    return tensor


def create_random_int_lodtensor(
    recursive_seq_lens: Lengths,
    base_shape: Sequence[int],
    place: CPUPlace | CUDAPlace | None,
    low: int,
    high: int,
    seed: int | None = None,
) -> LoDTensor:
    """A tensor of random int64 numbers, ``low`` and ``high`` included.

    Args:
        recursive_seq_lens: the lengths of the sequences; those of the last level count rows.
        base_shape: dims of one row.
        place: the host.
        low: the smallest number.
        high: the greatest number.
        seed: seed of the random numbers; by default each call has another one.

    Returns:
        int64 [rows, ...].

    Raises:
        ValueError: ``low`` is above ``high``, or a number is out of range.
        IndexError: there are no lengths.
        Error: the levels do not fit one another.

    Source: PaddlePaddle's fluid.lod_tensor, 2018, which has no seed.
    """
    rows = sum(recursive_seq_lens[-1])
    numbers = np.random.default_rng(seed).integers(
        low, high, [rows, *base_shape], np.int64, endpoint=True
    )
    return create_lod_tensor(numbers, recursive_seq_lens, place)
