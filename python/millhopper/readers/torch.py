# SPDX-License-Identifier: Apache-2.0
"""Batches as torch tensors: ``Reader.torch()``. Importing this module imports torch."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millhopper.base.warn import warn_caller
from millhopper.errors import Error
from millhopper.readers.iterable_source import share_among_workers
from millhopper.readers.view import RaggedArrays, Tuples, View, optional_module

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.readers.loop_methods import LoopMethods

torch = optional_module("torch", "millhopper.torch", "torch")
data = optional_module("torch.utils.data", "millhopper.torch", "torch")

# Any, so that types can be checked where torch is not installed; a class on it is one of torch's
# for whoever checks types.
IterableDataset: Any = data.IterableDataset

# The pass that workers of torch's loader have begun last, plus 1, and the seed of its loop.
_LAST_LOOP = Struct("=QQ")

# A torch.Tensor. It is Any so that types can be checked where torch is not installed.
Tensor: TypeAlias = Any


class TorchTuples(Tuples, IterableDataset):  # type: ignore[misc]
    """The passes of a ``TorchReader``, of which each batch is a tuple of tensors."""


class TorchReader(View[Tensor], IterableDataset):  # type: ignore[misc]
    """The passes of a reader as dicts of ``torch.Tensor`` by slot name, without a copy.

    ::

        for batch in reader.torch():
            loss = model(batch["image"])

    Tensors show the core's own memory. The core does not change it as long as they, or views of
    them, exist, so a loop may write to tensors in place. A tensor that an operator or a plugin
    shares among batches is copied, because torch has no read-only tensors.

    dtypes are those of the slots, bfloat16 is ``torch.bfloat16``; uint16, uint32 and uint64 need
    torch 2.3 or later and raise a ``TypeError`` with an older one. A ragged slot is a
    ``RaggedArrays``: a loop over it yields a tensor for each sequence, such as the boxes of each
    image, ``values`` are all of them end to end, and ``offsets`` a tuple of int64 tensors;
    ``torch.nested.nested_tensor_from_jagged(ragged.values, ragged.offsets[0])`` makes a nested
    tensor of it, without a copy. A slot of texts is a list of ``str``, as torch's collation makes.

    It is a ``torch.utils.data.IterableDataset``: what takes one, takes this one, too (torch's own
    ``DataLoader`` with ``batch_size=None`` for a reader that makes batches, the Trainer of Hugging
    Face, Lightning; torchdata's ``StatefulDataLoader`` saves its state)::

        loader = torch.utils.data.DataLoader(reader.torch(), batch_size=None, num_workers=2)

    Lightning begins a loop before it trains, to see that it can, so that its first epoch is pass 1;
    its checkpoints have the state, but one that was loaded by hand goes to that loop. Given
    ``torch.utils.data.DataLoader(reader.torch(), batch_size=None)`` it does not.

    Threads of this process load ahead of the loop, so no workers are needed. With ``num_workers``,
    each worker process yields every so manieth element, or, if the reader has lanes up to here, its
    share of the lanes. Worker 0 yields the first element, and the loader takes from them in turn:
    its batches are those of a loop without workers, in their order. Each worker plans what comes
    before (it reads the files, and packs and filters all of it), and loads its own elements only. A
    state is for as many workers as it was saved with.

    Workers begin anew in each loop and know of no earlier one, as with every data set of torch: so
    call ``set_epoch`` before each loop, or give the loader ``persistent_workers=True``, which count
    the passes. Workers that are spawned, and not forked, can have no functions, arrays or data sets
    of Python in their reader. What yields each worker a part of itself (an ``IterableDataset`` of
    torch or of Hugging Face) is an error there; a function that asks for ``get_worker_info`` must
    not be shared so.
    """

    def __init__(self, reader: LoopMethods) -> None:
        super().__init__(reader)
        self._part: LoopMethods | None = None  # what this worker reads, if this process is one
        self._last_loop = mmap.mmap(-1, _LAST_LOOP.size)  # shared with forked workers

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reader,)

    def to_tuple(self, *slots: str) -> TorchTuples:
        """The same with a tuple for each batch, ``for image, label in ...``.

        It is an ``IterableDataset``, too. See ``Reader.to_tuple``.
        """
        return TorchTuples(self, slots)

    def __iter__(self) -> Iterator[dict[str, Tensor | RaggedArrays]]:
        """Begins the next pass. Raises what iterating over the reader raises.

        Raises:
            Error: in a worker: what the reader reads can be read once only, so that workers cannot
                share it.
        """
        reader = self._here()
        worker = data.get_worker_info()
        if worker is not None:
            self._warn_of_repetition(reader, worker)
        batches = iter(reader)
        if worker is not None:
            _require_readable_again(reader)
        return self._converted(reader, batches)

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0; see ``Reader.set_epoch``.

        Workers of torch's loader that are at work already do not see it.
        """
        self._here().set_epoch(epoch)
        if data.get_worker_info() is None:
            self._last_loop[:] = bytes(_LAST_LOOP.size)  # whoever asks for a pass again gets it

    def state_dict(self) -> dict[str, Any]:
        """Where the last loop stands; see ``Reader.state_dict``. In a worker: the worker's part."""
        return self._here().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next loop resumes from a state; see ``Reader.load_state_dict``."""
        self._here().load_state_dict(state_dict)

    def _here(self) -> LoopMethods:
        """The reader, or in a worker of torch's loader, the worker's part of it."""
        worker = data.get_worker_info()
        if worker is None:
            return self.reader
        if self._part is None:
            if self.reader._position is not None:
                raise Error(
                    "a state was loaded into the reader, and is to be continued by worker "
                    "processes, each of which has a part of it: use num_workers=0, or torchdata's "
                    "StatefulDataLoader, which saves the states of workers"
                )
            share_among_workers()
            self._part = self.reader.decorate(
                "create_shard_reader", num_shards=worker.num_workers, index=worker.id
            )
            self._part.set_epoch(self.reader._epoch)
        return self._part

    def _warn_of_repetition(self, reader: LoopMethods, worker: Any) -> None:
        """Warns in worker 0 if workers of an earlier loop have read the same pass."""
        if worker.id != 0 or reader._loaded:
            return
        last_pass, last_seed = _LAST_LOOP.unpack(self._last_loop[:])
        self._last_loop[:] = _LAST_LOOP.pack(reader._epoch + 1, worker.seed % 2**64)
        if last_pass == reader._epoch + 1 and last_seed != worker.seed % 2**64:
            warn_caller(
                f"workers of an earlier loop have read pass {reader._epoch}, too: call set_epoch "
                "before each loop, or give the loader persistent_workers=True, so that each loop "
                "is the next pass"
            )

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


def _require_readable_again(reader: LoopMethods) -> None:
    """Raises Error if what a worker reads cannot be read by the others, too."""
    try:
        reader.state_dict()
    except Error as error:
        raise Error(
            "worker processes cannot share this reader, because each of them would have to read "
            f"all of it: {error.message}; use num_workers=0, its own threads load ahead",
            error.code,
        ) from error
