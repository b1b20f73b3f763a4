# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that choose, order and keep elements, and leave each as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millhopper.base.paths import Path
from millhopper.base.ranks import shard_problem
from millhopper.errors import Error
from millhopper.readers.chain import Chain

if TYPE_CHECKING:
    from typing_extensions import Self


class DecorateMethods(Chain):
    """Which elements Reader yields, and when. Each method returns a new reader."""

    def shuffle(
        self, buffer_size: int, *, seed: int = 0, reshuffle: bool = True, name: str = ""
    ) -> Self:
        """Draws elements at random from a window of ``buffer_size``, which is refilled meanwhile.

        Every pass has another order, which ``seed``, the reader's own seed and ``name`` decide.
        Where records can be read one by one, ``open_files(..., shuffle_records=True)`` shuffles all
        of them, in little memory.

        Args:
            buffer_size: elements in the window.
            seed: decides the order.
            reshuffle: False: every pass has the same order, which ``seed`` and the reader's own
                seed alone decide. Then ``take`` and ``skip`` divide the elements into two parts
                that have none in common, in all passes. Put another ``shuffle`` after the part
                that is trained on::

                    shuffled = files.shuffle(100_000, seed=1, reshuffle=False)
                    validation = shuffled.take(1000).batch(64)
                    training = shuffled.skip(1000).shuffle(10_000).batch(64)
            name: of the new reader.

        Source: ``reshuffle`` is reshuffle_each_iteration of tf.data.Dataset.shuffle.
        """
        return self.decorate(
            "create_shuffle_reader",
            name=name,
            buffer_size=buffer_size,
            seed=seed,
            reshuffle=reshuffle,
        )

    def multi_pass(self, pass_num: int, *, name: str = "") -> Self:
        """Makes one pass of ``pass_num`` passes, each in its own order."""
        return self.decorate("create_multi_pass_reader", name=name, pass_num=pass_num)

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
                one. The number of elements need not be known beforehand. Not for chunks.
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

    def take(self, count: int, *, name: str = "") -> Self:
        """Yields the first ``count`` elements of each pass; fewer, if there are fewer.

        After ``shuffle`` these are others in each pass, unless that has ``reshuffle=False``.
        """
        return self.decorate("create_take_reader", name=name, count=count)

    def skip(self, count: int, *, name: str = "") -> Self:
        """Yields the elements of each pass after the first ``count``, which are not loaded.

        After a ``shuffle`` that has not ``reshuffle=False``, and whatever else orders each pass
        anew, it is a warning: see there how to divide elements for validation.
        """
        return self.decorate("create_skip_reader", name=name, count=count)

    def fake(self, count: int, *, name: str = "") -> Self:
        """Yields the first element of each pass ``count`` times.

        A loop over it costs what it does besides reading, so it shows whether reading is what a
        training waits for.

        Source: paddle.reader.Fake.
        """
        return self.decorate("create_fake_reader", name=name, count=count)

    def dedupe(
        self, slots: Sequence[int | str] | None = None, *, entries: int = 1 << 20, name: str = ""
    ) -> Self:
        """Leaves out elements that equal an earlier element of the pass, byte for byte.

        Args:
            slots: the slots that are compared, by number or name; by default all.
            entries: digests (128-bit XXH3) that are kept, of 24 to 32 bytes each. Beyond that the
                one that was inserted first is forgotten.
            name: of the new reader.

        Raises:
            Error: at a new element: the memory limit has no room for another digest.
        """
        return self.decorate(
            "create_dedupe_reader",
            name=name,
            slots=None if slots is None else [self._slot_number(slot) for slot in slots],
            entries=entries,
        )

    def cache(
        self,
        memory_bytes: int | None = None,
        *,
        directory: Path | None = None,
        disk_bytes: int | None = None,
        data_version: str | None = None,
        name: str = "",
    ) -> Self:
        """Keeps the elements of a pass, in memory or on a disk; later passes read them from there.

        Every pass is the same, that of the first pass, so put ``shuffle`` after it, not before it.

        In memory, the first elements of a pass are kept, and later passes read only the others. On
        a disk, a whole pass is kept in a file, for later passes and later processes. The file is
        used as long as the steps before ``cache``, the seed of this reader, and the paths, sizes
        and times of change of the files that these steps name are the same; otherwise another one
        is written. A damaged file is noticed and written again. Where a disk has no room, the
        reader says so once on standard error, and continues without it. A resumed loop needs no
        file: what it lacks is read again. A pass in which it was saved while the file was written
        is not kept; the next one is. ::

            reader = images.apply("resize", height=64, width=64).cache(
                directory="/scratch/cache", disk_bytes=50 << 30
            ).shuffle(4096)

        Args:
            memory_bytes: for a cache in memory: memory for elements. If all fit, files are read
                once.
            directory: for a cache on a disk: a folder, which is made if it is not there.
            disk_bytes: what all caches in the folder may take together. A pass that needs more is
                not kept.
            data_version: a text to change whenever the data changes in a way that Millhopper cannot
                see. Chains with functions, arrays or data sets of Python, plugins or lists of
                images are kept on a disk only with such a text.
            name: of the new reader.

        Raises:
            Error: neither ``memory_bytes`` nor ``directory`` with ``disk_bytes`` is given, or both.
                When the first loop begins: the chain needs a ``data_version``.

        Source: tf.data.Dataset.cache, which has no limit, and never notices that its files are of
        other data.
        """
        return self.decorate(
            "create_cache_reader",
            name=name,
            memory_bytes=memory_bytes,
            directory=None if directory is None else os.fspath(directory),
            disk_bytes=disk_bytes,
            data_version=data_version,
        )

    def double_buffer(self, depth: int = 2, *, name: str = "") -> Self:
        """Keeps ``depth`` elements ready, which worker threads load while the loop does its work.

        Elements that load in less than about 5 us are loaded when the loop asks for them, because
        handing them over from a worker thread would take longer.
        """
        return self.decorate("create_double_buffer_reader", name=name, depth=depth)
