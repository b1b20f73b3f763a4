# SPDX-License-Identifier: Apache-2.0
"""Batches as JAX arrays: ``Reader.jax()``. Importing this module imports JAX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from millhopper.readers.view import RaggedArrays, View, optional_module

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.readers.loop_methods import LoopMethods

jax = optional_module("jax", "millhopper.jax", "jax")

# So that batches can be passed to compiled functions, and moved to devices, as a whole.
jax.tree_util.register_pytree_node(
    RaggedArrays,
    lambda ragged: ((ragged.values, ragged.offsets), None),
    lambda _, arrays: RaggedArrays(*arrays),
)

# A jax.Array. It is Any so that types can be checked where JAX is not installed.
Array: TypeAlias = Any


class JaxReader(View[Array]):
    """The passes of a reader as dicts of ``jax.Array`` by slot name.

    ::

        for batch in reader.jax():
            state, loss = train_step(state, batch)  # batches and their parts are pytrees

    On the CPU, arrays show the core's own memory without a copy; the memory does not change as long
    as they exist. If ``device`` is another device or a sharding, they are copied there.

    dtypes are those of the slots, also bfloat16. But unless ``jax_enable_x64`` is set, JAX converts
    int64 and float64 to int32 and float32, which makes a copy. A ragged slot is a ``RaggedArrays``,
    which is copied: a loop over it yields sequences; ``values`` and ``offsets`` are arrays. A slot
    of texts is a list of ``str``, which stays on the host and which compiled functions do not take.
    """

    def __init__(self, reader: LoopMethods, device: Any = None) -> None:
        """``device`` is what ``jax.device_put`` accepts: a device, a sharding, or None.

        Raises:
            TypeError: it is a text.
        """
        if isinstance(device, str):
            raise TypeError(f"jax: device is {device!r}; jax.devices({device!r})[0] is one")
        super().__init__(reader)
        self._device = device

    def __iter__(self) -> Iterator[dict[str, Array | RaggedArrays | list[Any]]]:
        """Begins the next pass. Raises what iterating over the reader raises."""
        return map(self._placed, super().__iter__())

    def _placed(self, batch: dict[str, Any]) -> dict[str, Any]:
        arrays = {name: value for name, value in batch.items() if type(value) is not list}
        return {**batch, **jax.device_put(arrays, self._device)}

    def _array(self, array: npt.NDArray[Any], bfloat16: bool) -> Array:
        return array.view(jax.numpy.bfloat16) if bfloat16 else array
