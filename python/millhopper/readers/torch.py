# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors: ``Reader.torch()``. Importing this module imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millhopper.readers.view import View, optional_module

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

torch = optional_module("torch", "millhopper.torch", "torch")

# A torch.Tensor. It is Any so that types can be checked where torch is not installed.
Tensor: TypeAlias = Any


class TorchReader(View[Tensor]):
    """The passes of a reader as dicts of ``torch.Tensor`` by slot name, without a copy.

    ::

        for batch in reader.torch():
            loss = model(batch["image"])

    Tensors show the core's own memory. The core does not change it as long as they, or views of
    them, exist, so a loop may write to tensors in place. A tensor that an operator or a plugin
    shares among batches is copied, because torch has no read-only tensors.

    dtypes are those of the slots, bfloat16 is ``torch.bfloat16``; uint16, uint32 and uint64 need
    torch 2.3 or later and raise a ``TypeError`` with an older one. A ragged slot is a
    ``RaggedArrays`` of its values and a tuple of int64 offsets;
    ``torch.nested.nested_tensor_from_jagged(ragged.values, ragged.offsets[0])`` makes a nested
    tensor of it, without a copy. A slot of texts is a list of ``str``, as torch's collation makes.
    """

    def _array(self, array: npt.NDArray[Any], bfloat16: bool) -> Tensor:
        if not array.flags.writeable:
            array = array.copy()
        if bfloat16:  # viewed as int16 first, because older versions of torch have no uint16
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        if array.dtype.kind == "u" and not hasattr(torch, array.dtype.name):
            raise TypeError(
                f"torch {torch.__version__} has no {array.dtype.name}, which torch 2.3 brought;"
                " cast the slot in a map, or read it as int64"
            )
        return torch.from_numpy(array)
