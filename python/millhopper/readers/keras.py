# SPDX-License-Identifier: Apache-2.0
"""Batches for Keras's fit: ``Reader.keras()``. Importing this module imports Keras."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millhopper.base.integers import INT64_MAX, integer_within
from millhopper.ragged import Ragged, Texts
from millhopper.readers.view import optional_module

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.readers.loop_methods import LoopMethods
    from millhopper.readers.slots import Batch

keras: Any = optional_module("keras", "millhopper.Reader.keras", "keras")

# The slot or slots of an argument of fit.
Names: TypeAlias = "str | Sequence[str] | None"


class KerasReader(keras.utils.PyDataset):  # type: ignore[misc]
    """The passes of a reader for ``fit``, ``evaluate`` and ``predict``: an epoch is a pass.

    Batches come in the reader's order, whatever the number that Keras asks for. Each epoch begins a
    pass, also where ``steps_per_epoch`` has ended the one before within it.
    """

    def __init__(
        self,
        reader: LoopMethods,
        inputs: Names,
        targets: Names,
        weights: Names,
        steps_per_epoch: int | None,
    ) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        self._reader = reader
        self._parts = [inputs, targets, weights]
        self._steps = (
            None
            if steps_per_epoch is None
            else integer_within("steps_per_epoch", steps_per_epoch, 1, INT64_MAX)
        )
        self._loop: Iterator[Batch] | None = None

    def __len__(self) -> int:
        """How many batches an epoch has: ``steps_per_epoch``, or those of a pass.

        Raises:
            TypeError: neither is known.
        """
        if self._steps is not None:
            return self._steps
        try:
            return len(self._reader)
        except TypeError as error:
            raise TypeError(
                f"keras: how long is an epoch? keras(..., steps_per_epoch=...); {error}"
            ) from None

    def __getitem__(self, index: int) -> Any:
        """The next batch; after the last one, the first of the next pass.

        Raises:
            IndexError: a pass has no batches.
            ValueError: batches have no slot of a name that ``Reader.keras`` was given.
        """
        if self._loop is None:
            self._loop = iter(self._reader)
        batch = next(self._loop, None)
        if batch is None:
            self._loop = iter(self._reader)
            batch = next(self._loop, None)
        if batch is None:
            raise IndexError(f"there is no batch {index}: a pass of {self._reader!r} is empty")
        parts = [_part(batch, names) for names in self._parts if names is not None]
        return tuple(parts) if len(parts) > 1 else parts[0]

    def on_epoch_begin(self) -> None:
        """The next batch is the first of a pass, whatever Keras has looked at before."""
        self._loop = None

    def on_epoch_end(self) -> None:
        """Ends the pass."""
        self._loop = None


def _part(batch: Batch, names: str | Sequence[str]) -> Any:
    missing = [name for name in ([names] if isinstance(names, str) else names) if name not in batch]
    if missing:
        raise ValueError(f"keras: there is no slot {missing[0]!r}; there are {sorted(batch)}")
    if isinstance(names, str):
        return _array(batch, names)
    return {name: _array(batch, name) for name in names}


def _array(batch: Batch, name: str) -> Any:
    if isinstance(batch[name], Texts):
        return np.asarray(batch[name])
    if isinstance(batch[name], Ragged):
        raise ValueError(
            f"keras: slot {name!r} has sequences of different lengths, which Keras does not take;"
            f" after batch, pad_sequence(length, slot={name!r}) makes them as long as each other,"
            " and padded_batch in place of batch does"
        )
    return batch[name]
