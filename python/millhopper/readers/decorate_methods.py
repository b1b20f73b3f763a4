# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that do more than append the operator that they are named after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millhopper.base.ranks import shard_problem
from millhopper.errors import Error
from millhopper.readers.operator_readers import OperatorReaders

if TYPE_CHECKING:
    from typing_extensions import Self


class DecorateMethods(OperatorReaders):
    """``repeat`` and ``shard``. Each of them returns a new reader."""

    def repeat(self, count: int | None = None, *, name: str = "") -> Self:
        """``multi_pass`` by the name that other libraries give it.

        Source: tf.data.Dataset.repeat.

        Raises:
            TypeError: ``count`` is not given: there are no endless readers of files.
        """
        if count is None:
            raise TypeError(
                "repeat needs a count; without an end there is a loop around the loop, because each"
                " loop over a reader is its next pass"
            )
        return self.multi_pass(count, name=name)

    def shard(
        self,
        num_shards: int | None = None,
        index: int | None = None,
        *,
        by: str = "record",
        even: str = "none",
        name: str = "",
    ) -> Self:
        """Yields one of ``num_shards`` parts.

        In every pass the parts are disjoint and together contain all elements, if the readers below
        are the same in all processes, with the same seeds.

        Processes that train together must make the same number of steps, or they wait for each
        other for ever: ``.shard(n, i, even="pad").batch(64)`` yields as many batches, of the same
        sizes, in each of them. Put ``batch`` after ``shard``, as here. Before it, whole
        batches are dealt: each process gets as many, but one may get the short last one.
        Decorators that leave elements out or make others of them, such as ``filter``, ``pack``
        and ``bucket``, belong before ``shard``.

        Args:
            num_shards: the number of parts. If neither it nor ``index`` is given, it is that of the
                processes, as torchrun (``WORLD_SIZE``), Slurm, Open MPI or JAX say it in the
                environment.
            index: which part, from 0; without both the rank of this process, as they say it.
            by: ``"record"``: the part is elements ``index``, ``index + num_shards`` ...; the sizes
                of the parts differ by one at most, and every part reads all files. ``"chunk"``:
                chunk ``c`` of file ``f`` belongs to part ``(f + c) % num_shards``, and a part reads
                only its own chunks. This works for recordio, idx and fixed files, directly on
                ``open_files``.
            even: what becomes of the last ``num_shards`` elements of a pass that ends within them.
                ``"none"``: the first parts get one element more than the others. ``"pad"``: every
                part gets one, for which the pass continues with its own first elements: of
                ``total`` elements, part ``index`` gets number ``(k * num_shards + index) % total``
                in round ``k``, as with torch's ``DistributedSampler``. ``"drop"``: no part gets
                one. The number of elements need not be known beforehand. Not for chunks. Of a
                reader with lanes it is each lane that gets one more or not, for one part, too, so
                that each batch of all parts together is the same for any number of them; the files,
                or indexes of them, must tell how many records they have.
            name: of the new reader.

        Raises:
            Error: ``num_shards`` or ``index`` is out of range, or one of both is missing; ``even``
                or ``by`` is none of these, or chunks are to be even; at the first read: the reader
                below cannot share its chunks, or neither an argument nor the environment says
                which part.

        Source: Millhopper's own; ``even`` is ``drop_last`` of torch's DistributedSampler.
        """
        reader = self.decorate(
            "create_shard_reader",
            name=name,
            num_shards=num_shards,
            index=0 if index is None and num_shards is not None else index,
            by=by,
            even=even,
        )
        if problem := shard_problem(num_shards, index):
            raise Error(f"shard: {problem}")
        return reader
