# SPDX-License-Identifier: Apache-2.0
"""DataLoader: replaces torch's DataLoader for data that a Reader reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import GenericAlias
from typing import Any

from millhopper.base.integers import INT32_MAX, INT64_MAX, UINT64_MAX, integer, integer_within
from millhopper.base.ranks import NotKnownYet, Ranks, find_ranks
from millhopper.base.warn import warn_caller
from millhopper.errors import Error
from millhopper.loader.dataset_batches import Numbers, batched, samples_of
from millhopper.loader.iterated_samples import IteratedSamples
from millhopper.readers.memory_sources import Dataset, indices
from millhopper.readers.no_array import NoArray
from millhopper.readers.reader import Reader
from millhopper.readers.reader_stats import ReaderStats
from millhopper.readers.saved_state import checked_state, new_state, number_in, position_in
from millhopper.readers.state_methods import StateInJson
from millhopper.readers.view import Tuples, optional_module

_OWN_ORDER = (
    "a reader decides its order: use shuffle=True; each process gets its own part, unless "
    "num_shards=1 is given. With one give a data set, which has __len__ and __getitem__"
)
_NO_SAMPLER = (
    "its elements have no numbers, as those of Reader.from_arrays and from_dataset have, before "
    "anything stands on them: reader.sampled(sampler).map(...); resample(weights) and "
    "balance(slot) of a reader weigh the elements of any"
)
_NO_WORKERS = "there are no worker processes. Leave it out: "
_NO_NUMBERS = (
    "it can only be iterated over, so that its samples have no numbers, which threads and ranks "
    "could share. Leave it out: "
)
# What such a data set does in place of these keywords.
_ITERATED = {
    "sampler": "its __iter__ decides about the order",
    "batch_sampler": "its __iter__ decides about the order",
    "shuffle": "its __iter__ decides about the order",
    "num_workers": "the loop itself asks for its samples",
    "num_shards": "its __iter__ decides what this process gets",
}
_MULTIPLIED_WORK = (
    "each of the {0} ranks reads all files, makes whatever readers that look at elements make of "
    "them (filter, pack, ...), and throws away what is for the others: {1}"
)
_NO_LANES = (
    "the reader has no lanes, which ranks could share. millhopper.Reader.open_files(..., lanes=16) "
    "has, and keeps them under shuffle, apply, filter, unbatch, pack, bucket, window, dedupe and "
    "partners, and under zip and mix of equally many lanes"
)
_NOT_EVEN = (
    'lanes, which ranks could share, cannot be made even (even="{0}"), because it is not known '
    'before reading how many elements each has, or they have few. even="none" needs no even '
    "lanes; for some formats `millhopper-recordio index` makes indexes, which tell how many there "
    "are"
)
# Of a lane that is made even by the loader's own choice: the elements that are repeated, or left
# out, are one for each lane at most.
_FEWEST_IN_LANE = 16
_EVEN = (None, "pad", "drop", "none")
_ABSENT = object()


class DataLoader(StateInJson, NoArray):
    """Batches of torch tensors, with the keywords of ``torch.utils.data.DataLoader``.

    ::

        dataset = millhopper.Reader.open_files("train-*.recordio", slots=...)
        loader = millhopper.DataLoader(dataset, batch_size=128, shuffle=True, drop_last=True)
        for epoch in range(10):
            for batch in loader:  # dict of tensors by slot name
                step(batch["image"], batch["label"])

    A data set of torch, a list, or whatever else has ``__len__`` and ``__getitem__``, is read as
    torch's loader reads it: batches are what its ``default_collate`` makes. What can only be
    iterated over, such as an ``IterableDataset``, is read in its own order, by the loop itself.

    There are no worker processes: threads load ahead, and batches are not pickled. Each loop is the
    next pass, and each pass has its own order; ``set_epoch`` chooses the pass. A reader that
    already makes batches needs no loader: ``reader.torch()`` yields the same batches.

    Where several processes train together, each gets its part of the samples, and all get equally
    many batches, as with torch's ``DistributedSampler``. The loader finds how many there are, when
    a loop begins, in torch.distributed, in jax.distributed, or in what torchrun, Slurm, Open MPI or
    JAX set in the environment; ``repr`` tells what it has found. A reader that has been sharded
    already, and the order of a ``sampler``, are left as they are. Ranks share the lanes of a reader
    (``open_files(..., lanes=16)``, or files below a ``shuffle``), and each then reads its part
    only; files without lanes are read by all ranks, of which a warning tells.

    ``state_dict`` and ``load_state_dict`` are those of torchdata's StatefulDataLoader, so that
    whatever saves one (``torch.save``, Lightning, Accelerate) saves this one, too. A resumed loop
    yields the batches that the first one would still have yielded, with any number of threads.
    Another ``batch_size`` or ``global_batch`` cuts the same samples, in the same order, into other
    batches (``Reader.load_state_dict``).
    A reader with lanes resumes on another number of ranks, too: see ``millhopper.merge_states``.
    ``torch.distributed.checkpoint`` keeps one value for a key, so give each rank its own key:
    ``{f"loader_{rank}": loader}``.

    Attributes:
        dataset: the reader or data set, as given.
        batch_size: elements in a batch, of this rank's share of ``global_batch`` if that is given,
            or None.
        global_batch: as given.
        drop_last: whether a last batch that is not full is left out.
        sampler: as given.
        batch_sampler: as given.
        num_workers: how many threads.
        collate_fn: as given; for a data set without one, torch's.
        generator: as given.
        pin_memory: whether batches are copied into pinned memory, if torch has CUDA.
        prefetch_factor: as given.

    Source: Millhopper's own; the keywords are those of torch.utils.data.DataLoader.
    """

    # DataLoader[tuple[Tensor, Tensor]] is a type in annotations, as that of torch.
    __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self,
        dataset: Reader | Dataset | Iterable[Any],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: None = None,
        multiprocessing_context: object = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seed: int | None = None,
        shuffle_buffer: int = 16384,
        mode: str = "concat",
        num_shards: int | None = None,
        index: int | None = None,
        even: str | None = None,
        global_batch: int | None = None,
    ) -> None:
        """The loader of a reader or data set.

        Args:
            dataset: a reader of single elements, with ``batch_size=None`` any reader; or a data set
                that has ``__len__`` and ``__getitem__``, or only ``__iter__``. The latter decides
                itself about its order and which samples this process gets.
            batch_size: elements in a batch, which ``mode`` puts together; None if the elements are
                batches already.
            shuffle: draw elements at random: of a data set and of ``Reader.from_arrays`` and
                ``from_dataset`` from all, in no memory, otherwise from a window of
                ``shuffle_buffer`` elements. Files then have lanes, as ``Reader.open_files`` says
                (``lanes``): 16, or as many that the number of processes divides them, too. They
                have none where ``even`` needs to know how many elements there are, and that is not
                known before reading, or they are fewer than 16 in a lane.
            sampler: the numbers of the samples of a data set, in the order of each pass. It shards,
                if anything does. Of a reader whose elements have numbers, as ``Reader.sampled``
                takes it. With ``batch_size=None``
                the data set gets what the sampler yields, such as a list from a ``BatchSampler``.
            batch_sampler: lists of them instead, one for each batch.
            num_workers: how many threads call ``__getitem__`` and ``collate_fn`` of a data set
                ahead of the loop; both must then be safe to call from several threads at once. 0:
                the loop calls them. It has no effect for a reader, which works on the threads of
                ``millhopper.set_threads``.
            collate_fn: a function of Python that makes a batch from the list of its elements, which
                are dicts of tensors (of sequences ``RaggedArrays``, of which ``[0]`` is that of an
                element), or the samples of a data set. With ``batch_size=None`` it gets one.
            pin_memory: copy batches into pinned memory if torch has CUDA; otherwise ignored.
            drop_last: leave out a last batch that is not full.
            generator: a ``torch.Generator``; its initial seed is used if ``seed`` is None.
            prefetch_factor: how many batches are kept ready; by default 2, of a data set for each
                thread.
            seed: seed of the order; by default that of ``torch.manual_seed``, or, where several
                processes train together, 0, because it must be the same in all of them.
            shuffle_buffer: elements in the window of ``shuffle``. All orders are possible, as in
                torch, only if the whole data set fits into the window, which is kept in memory.
            mode: as in ``Reader.batch``. ``"concat"`` lays elements end to end along their leading
                axis: images of [1, 28, 28] become [batch_size, 28, 28], and images of [28, 28]
                become [batch_size * 28, 28]. ``"stack"`` adds a new first axis, as torch does:
                images of [28, 28] become [batch_size, 28, 28], and images of [1, 28, 28] become
                [batch_size, 1, 28, 28]. A data set's samples are stacked, whatever it is.
            num_shards: how many parts; by default the processes that are found. 1: every process
                reads everything.
            index: which part is this process's, from 0; given with ``num_shards``.
            even: how parts become equally long, as in ``Reader.shard``; by default ``"pad"`` where
                several processes train together, where lanes of files are made so: up to one
                element of each is repeated. A state of a reader with lanes is for loaders of
                the same ``even``: give it to one process, too, if others are to resume from that.
            global_batch: elements in a batch of all processes together, in place of ``batch_size``:
                each gets its share. Give it where the number of processes may change.

        Ignored, because they have no effect here: ``persistent_workers``,
        ``multiprocessing_context``, ``pin_memory_device`` and ``in_order`` (batches always are in
        order).

        Raises:
            TypeError: the dataset is neither, a number is no integer, ``shuffle`` no bool,
                ``generator`` no Generator, ``collate_fn`` no function, or a sampler is no iterable.
            ValueError: ``worker_init_fn`` or ``timeout`` is given, or a sampler for a reader (the
                message says what to use instead), or what needs numbers of samples for a data set
                that can only be iterated over; a number is out of range, ``mode`` or ``even`` is
                none of those above, ``global_batch`` no multiple of the number of processes, or two
                keywords exclude each other.
            Error: ``shuffle_buffer`` is wrong.
            ImportError: torch is not installed.
        """
        torch = optional_module(
            "torch",
            "millhopper.DataLoader",
            "torch",
            "without it, Reader.from_dataset(dataset).batch(n) yields arrays of numpy",
        )
        data = optional_module("torch.utils.data", "millhopper.DataLoader", "torch")
        is_reader = isinstance(dataset, Reader)
        if isinstance(dataset, (str, bytes)):
            raise TypeError(
                f"dataset is {dataset!r}, a data set of its characters; files are read by "
                "millhopper.Reader.open_files(...)"
            )
        self._iterated: IteratedSamples | None = None
        # An IterableDataset has a __getitem__ that raises, and may have a __len__.
        is_iterated = isinstance(dataset, data.IterableDataset) or not isinstance(
            dataset, (Reader, Dataset)
        )
        if is_iterated:
            if isinstance(dataset, (Reader, Generator)) or not isinstance(dataset, Iterable):
                raise TypeError(
                    f"dataset is {type(dataset).__name__!r}; it must be a millhopper.Reader, for "
                    "example millhopper.Reader.open_files(...), or have __len__ and __getitem__, "
                    "or an __iter__ that begins anew for each pass"
                )
            self._iterated = IteratedSamples(dataset)
            for name, given in {
                "sampler": sampler,
                "batch_sampler": batch_sampler,
                "shuffle": shuffle or None,
                "num_workers": num_workers or None,
                "num_shards": num_shards,
            }.items():
                instead = _NO_NUMBERS + _ITERATED[name]
                _refuse(f"{name} for {type(dataset).__name__!r}", given, instead)
        if is_reader:
            if getattr(dataset, "_numbered", None) is None:
                _refuse("sampler for this reader", sampler, _NO_SAMPLER)
            _refuse("batch_sampler for a reader", batch_sampler, _OWN_ORDER)
        _refuse(
            "worker_init_fn",
            worker_init_fn,
            _NO_WORKERS + "threads of this process call __getitem__, so set up here what it needs",
        )
        _refuse("timeout", timeout or None, _NO_WORKERS + "the loop raises the errors of threads")
        num_workers = integer("num_workers", num_workers)
        if num_workers < 0:
            raise ValueError(f"num_workers is {num_workers}; it must be at least 0")
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(f"collate_fn is {collate_fn!r}, which is no function")
        if shuffle is not None and not isinstance(shuffle, bool):
            raise TypeError(f"shuffle is {shuffle!r}; it must be True or False, or None")
        if generator is not None and not hasattr(generator, "initial_seed"):
            raise TypeError(f"generator is {generator!r}; it must be a torch.Generator, or None")
        if seed is not None:
            seed = integer_within("seed", seed, 0, UINT64_MAX)
        if batch_size is not None:
            batch_size = integer("batch_size", batch_size)
            if batch_size < 1:
                raise ValueError(f"batch_size is {batch_size}; it must be at least 1, or None")
        if global_batch is not None:
            global_batch = integer_within("global_batch", global_batch, 1, INT64_MAX)
            if batch_size != 1 or batch_sampler is not None:
                raise ValueError(
                    "global_batch decides the batches, so batch_size and batch_sampler have no "
                    "meaning with it"
                )
        if batch_size is None and drop_last:
            raise ValueError("drop_last has no meaning without a batch_size")
        if sampler is not None and shuffle:
            raise ValueError("a sampler decides the order, so shuffle=True has no meaning with it")
        if batch_sampler is not None and (
            batch_size not in (1, None) or shuffle or sampler is not None or drop_last
        ):
            raise ValueError(
                "a batch_sampler decides the batches, so batch_size, shuffle, sampler and "
                "drop_last have no meaning with it"
            )
        for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if given is None:
                continue
            if not isinstance(given, Iterable):
                raise TypeError(f"{name} is {given!r}, which cannot be iterated over")
            if num_shards is not None or index is not None or even not in (None, "pad"):
                raise ValueError(
                    f"a {name} decides which samples this process gets, so num_shards, index and "
                    "even have no meaning with it"
                )
        if prefetch_factor is not None:
            prefetch_factor = integer_within("prefetch_factor", prefetch_factor, 1, INT32_MAX)
        if mode not in ("concat", "stack"):
            raise ValueError(f"mode is {mode!r}; it must be 'concat' or 'stack'")
        if mode == "stack" and (batch_size is None or collate_fn is not None):
            raise ValueError("mode has no meaning without a batch_size, or with a collate_fn")
        if even not in _EVEN:
            raise ValueError(f"even is {even!r}; it must be 'pad', 'drop' or 'none'")

        self.dataset = dataset
        self._batch_size = batch_size
        self.global_batch = global_batch
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self._shuffle = bool(shuffle)
        self._shuffle_buffer = shuffle_buffer
        self._mode = mode
        self._even = even
        self._seed = seed
        self.generator = generator
        self._first_seed = torch.initial_seed()
        self._loaded_seed: int | None = None  # of the state that was loaded last
        self._given_ranks = _given_ranks(num_shards, index)
        self._is_sharded = isinstance(dataset, Reader) and _is_sharded(dataset.stats())
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self._pin = pin_memory and torch.cuda.is_available()
        self._epoch = 0
        # The pass of the loop that runs, its batches, and samples that were delivered before these
        # in batches of other sizes.
        self._taken: list[int] | None = None
        self._skipped = (0, 0)  # the same of the next pass, when it was saved
        self._in_batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn
        if not is_reader and collate_fn is None:
            self.collate_fn = data.default_collate if self._in_batches else data.default_convert
        self._loaded_lanes: int | None = None  # of the state that was loaded last
        self._made: tuple[Ranks | None, Reader, int] | None = None  # with the number of lanes
        if self._iterated is None and sampler is None and batch_sampler is None:
            with suppress(NotKnownYet):
                ranks = self._ranks()
                order, lanes = self._make(ranks, opens=False)  # refuses what is wrong
                if lanes == 1:
                    self._made = (ranks, order, lanes)

    @property
    def batch_size(self) -> int | None:
        if self.global_batch is None:
            return self._batch_size
        ranks = self._ranks()
        share, rest = divmod(self.global_batch, 1 if ranks is None else ranks.size)
        if rest:
            raise ValueError(
                f"global_batch is {self.global_batch}, which is not to be shared equally: {ranks}"
            )
        return share

    def _ranks(self) -> Ranks | None:
        """The processes among which this loader deals the samples; None if it does not."""
        if self._iterated or self.sampler is not None or self.batch_sampler is not None:
            return None
        if self._given_ranks is not None:
            return self._given_ranks
        return None if self._is_sharded else find_ranks()

    def _part(self) -> tuple[int, int]:
        """Whose state this process saves, and of how many.

        Data that can only be iterated over deals its samples itself, so that each process has its
        own state even though the loader deals none.
        """
        ranks = find_ranks() if self._iterated is not None else self._ranks()
        return (0, 1) if ranks is None else (ranks.rank, ranks.size)

    def _order(self) -> Reader:
        """What the next pass reads: batches, elements, or numbers of a data set's samples."""
        return self._order_and_lanes()[0]

    def _order_and_lanes(self) -> tuple[Reader, int]:
        """The same, and how many lanes the samples are dealt to; 1 if they are one stream."""
        ranks = self._ranks()
        if self._made is None or self._made[0] != ranks:
            self._made = (ranks, *self._make(ranks, opens=True))
        return self._made[1:]

    def _make(self, ranks: Ranks | None, opens: bool) -> tuple[Reader, int]:
        """What ``_order_and_lanes`` returns.

        Without ``opens`` the files are not looked at, so that lanes may not be even yet.
        """
        several = ranks is not None and ranks.size > 1
        seed = self._order_seed(ranks)
        dataset = self.dataset
        if isinstance(dataset, Reader):
            reader = dataset if self.sampler is None else dataset.sampled(self.sampler)
            if self._shuffle:
                whole = dataset.shuffled_whole(seed)
                reader = (
                    dataset.shuffle(self._shuffle_buffer, seed=seed) if whole is None else whole
                )
        else:
            assert isinstance(dataset, Dataset)
            reader = indices(Reader, len(dataset), shuffle=self._shuffle, seed=seed)
        size, rank = (ranks.size, ranks.rank) if several and ranks is not None else (1, 0)
        lanes = 1
        if isinstance(dataset, Reader):
            if not self._is_sharded:
                reader = reader._with_lanes(
                    self._loaded_lanes or math.lcm(reader._lanes.number, size)
                )
            lanes = reader.num_lanes
        # With lanes the chain is the same for one rank, too, so that a state is that of any number.
        if several or lanes > 1:
            reader, lanes = self._part_of(reader, lanes, size, rank, opens)
        if not isinstance(dataset, Reader):
            return reader, lanes
        if self.batch_size is not None and self.collate_fn is None:
            # Ranks that share lanes share each batch, too.
            in_all = self.batch_size * (size if lanes > 1 else 1)
            reader = reader.batch(in_all, drop_last=self.drop_last, mode=self._mode)
        depth = 2 if self.prefetch_factor is None else self.prefetch_factor
        if self.batch_size is not None and self.collate_fn is not None:
            depth *= self.batch_size
        return reader.double_buffer(depth), lanes

    def _part_of(
        self, reader: Reader, lanes: int, size: int, rank: int, opens: bool
    ) -> tuple[Reader, int]:
        """The part of one rank, and the number of lanes that all ranks have.

        Where lanes are the loader's choice, and cannot be made even, there are none.
        """
        even = self._even_of(size > 1)
        part = reader.shard(size, rank, even=even)
        why = _NO_LANES
        chosen = lanes > 1 and reader._chose_lanes and self._loaded_lanes is None
        if chosen and opens and even != "none" and not _is_even(part, lanes // size):
            reader, lanes, why = reader._with_lanes(1), 1, _NOT_EVEN.format(even)
            part = reader if size == 1 else reader.shard(size, rank, even=even)
        is_multiplied = size > 1 and lanes == 1 and isinstance(self.dataset, Reader)
        if is_multiplied and _reads_files(part.stats()):
            warn_caller(_MULTIPLIED_WORK.format(size, why))
        return part, lanes

    def _even_of(self, several: bool) -> str:
        return self._even or ("pad" if several else "none")

    def _order_seed(self, ranks: Ranks | None) -> int:
        seed = self._seed
        if seed is None and self.generator is not None:
            seed = self.generator.initial_seed()
        if seed is None:
            seed = self._loaded_seed
        if seed is None:
            seed = 0 if ranks is not None and ranks.size > 1 else self._first_seed
        return seed % (INT64_MAX + 1)

    def _numbers(self, before: int) -> Iterator[Numbers]:
        """The numbers of the samples of a data set after ``before`` of them, in the order of the
        next pass."""
        if self.batch_sampler is not None:
            return (list(batch) for batch in self.batch_sampler)
        numbers: Iterable[Numbers]
        if self.sampler is not None:
            numbers = self.sampler
        else:
            # Numbers come by the thousand, which costs less than one by one.
            order = self._order().batch(4096)
            order.set_epoch(self._epoch)
            numbers = (number for many in order for number in many["index"].tolist())
        numbers = islice(numbers, before, None)
        if self.batch_size is None:
            return iter(numbers)
        return batched(numbers, self.batch_size, self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0: the same order in every process.

        After ``load_state_dict`` the saved pass is resumed if it is this one; otherwise this one
        begins.
        """
        epoch = integer_within("epoch", epoch, 0, INT64_MAX)
        if epoch != self._epoch:
            self._skipped = (0, 0)
            if self._iterated is not None:
                self._iterated.forget()
        self._epoch = epoch
        if isinstance(self.dataset, Reader):
            self._order().set_epoch(epoch)

    def _settings(self) -> dict[str, object]:
        """What the batches of a data set depend on, beside the seed and the ranks."""
        settings: dict[str, object] = {
            "sampler": self.sampler is not None,
            "batch_sampler": self.batch_sampler is not None,
        }
        if self.batch_sampler is not None:
            return settings
        settings |= {"batch_size": self.batch_size, "drop_last": self.drop_last}
        if self._iterated is not None:
            settings["iterated"] = True
        elif self.sampler is None and isinstance(self.dataset, Dataset):
            samples = len(self.dataset)
            even = self._even or "pad"
            settings |= {"shuffle": self._shuffle, "even": even, "samples": samples}
        return settings

    def state_dict(self) -> dict[str, Any]:
        """Where the last loop stands: after the batch that it has delivered last.

        For a reader it is what ``Reader.state_dict`` returns, for a data set the number of batches,
        and of samples in batches of other sizes, which it had when it was resumed.
        A resumed data set is not asked for earlier samples; a sampler must give the same numbers
        again. The state has the seed of the order and the number of lanes, so that they need not be
        set again, and which part of how many this process has; for a data set also how many samples
        there are, and what makes batches of them.

        A data set that can only be iterated over is skipped through, unless it, or its iterator,
        has ``state_dict`` and ``load_state_dict`` itself: then its state is in this one, as JSON,
        and is given back before the next loop asks it for a sample. After an exception within a
        batch such a loop has no state, because its data set has passed samples of that batch.

        An ``IterableDataset`` of Hugging Face's ``datasets`` goes to the state that it was given in
        each loop until its own ``set_epoch`` is called: call that before each loop.

        Raises:
            Error: as ``Reader.state_dict``; or the state of a data set has something else than JSON
                gives back as it was, or the loop stands within a batch, see above.
        """
        fields: dict[str, Any] = {"seed": self._order_seed(self._ranks())}
        fields["rank"], fields["world_size"] = self._part()
        if isinstance(self.dataset, Reader):
            order, lanes = self._order_and_lanes()
            # A reader that makes batches itself has chosen lanes that no ranks can share.
            fields["lanes"] = order._lanes.number if order._chose_lanes else lanes
            if lanes > 1:
                fields["even"] = self._even_of(fields["world_size"] > 1)
            return new_state("DataLoader", reader=order.state_dict(), **fields)
        epoch, taken, before = self._taken or (self._epoch, *self._skipped)
        if self._iterated is not None:
            fields |= self._iterated.state()
        fields |= {"epoch": epoch, "taken": taken, "before": before}
        return new_state("DataLoader", **self._settings(), **fields)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next loop resumes from a state that a loader like this one has returned.

        Its batches may have another size, as ``Reader.load_state_dict`` says.

        Raises:
            TypeError: the state is no dict.
            Error: it is no state of a loader, that of another part or number of parts, that of
                another kind of data, or this loader was made with another seed, or, for a data set,
                with other keywords or another number of samples. The loader then is as it was. If
                it is a state of another chain or of other files, the next loop raises it, and says
                what differs.
        """
        state = checked_state("DataLoader", state_dict)
        ranks = self._ranks()
        part, parts = self._part()
        saved = (number_in(state, "rank"), number_in(state, "world_size"))
        # What one rank has saved, or all of them together, is for any number of ranks.
        lanes = self._lanes_in(state)
        is_shared = lanes > 1 and ("even" in state or "lanes" not in state)
        of_all = is_shared and "reader" in state and saved[1] == 1
        if saved != (part, parts) and not of_all:
            raise Error(
                f"the state is that of rank {saved[0]} of {saved[1]}; this is rank {part} of "
                f"{parts}: each continues from its own state, and there must be as many as before, "
                "unless the reader has lanes (open_files(..., lanes=16)): then "
                "millhopper.merge_states makes a state for any number of ranks"
            )
        even = self._even_of(parts > 1)
        if of_all and state.get("even", even) != even:
            raise Error(
                f"the state was saved with even={state['even']!r}, this loader has even={even!r}, "
                f"so that its batches are other ones: give even={state['even']!r}"
            )
        if ("reader" in state) != isinstance(self.dataset, Reader):
            raise Error("one of the loaders is for a reader and the other for a data set")
        seed = number_in(state, "seed")
        given = self._seed is not None or self.generator is not None
        if given and seed != self._order_seed(ranks):
            raise Error(
                f"the state was saved with seed {seed}, this loader has seed "
                f"{self._order_seed(ranks)}: the order of its batches is another one"
            )
        reader: Mapping[str, Any] | None = None
        if isinstance(self.dataset, Reader):
            reader = checked_state("Reader", state["reader"])
            epoch, skipped = number_in(reader, "epoch"), (0, 0)
            position_in(reader)
        else:
            epoch, skipped = number_in(state, "epoch"), self._skipped_in(state)
            if self._iterated is not None:
                self._iterated.load(state)
        self._loaded_seed, self._loaded_lanes, self._made = seed, lanes, None
        self._epoch, self._skipped, self._taken = epoch, skipped, None
        if reader is not None:
            self._order().load_state_dict(reader)

    def _skipped_in(self, state: Mapping[str, Any]) -> tuple[int, int]:
        """What of its pass a state of a data set has delivered, as ``_skipped`` has it.

        Raises:
            Error: it was saved with other keywords; batches may have another size.
        """
        taken = number_in(state, "taken")
        before = number_in(state, "before") if "before" in state else 0
        for name, now in self._settings().items():
            saved = state.get(name, _ABSENT)
            if saved == now:
                continue
            if name == "batch_size" and now is not None and saved not in (None, _ABSENT):
                taken, before = 0, before + taken * number_in(state, "batch_size")
                continue
            raise Error(
                f"the state was saved with {name}={state.get(name)}, this loader has "
                f"{name}={now}: its batches are other ones"
            )
        return taken, before

    def _lanes_in(self, state: Mapping[str, Any]) -> int:
        """How many lanes the reader has when it goes on from a state.

        Where nobody says it, they are those of the state; older ones know of none.
        """
        if not isinstance(self.dataset, Reader):
            return 1
        if self.dataset.num_lanes > 1 and not self.dataset._chose_lanes:
            return self.dataset.num_lanes
        return number_in(state, "lanes") if "lanes" in state else 1

    def __len__(self) -> int:
        """How many batches a pass has.

        Raises:
            TypeError: it is not known; see ``Reader.__len__``.
        """
        if self.batch_sampler is not None:
            return len(self.batch_sampler)  # type: ignore[arg-type]
        order: Any = self.sampler
        if order is None:
            order = self.dataset if self._iterated else self._order()
        elements = len(order)
        if self.batch_size is None or (
            isinstance(self.dataset, Reader) and self.collate_fn is None and self.sampler is None
        ):
            return elements
        whole, rest = divmod(elements, self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """Begins the next pass. Raises what iterating over the reader raises, or the data set."""
        batches = self._of_reader() if isinstance(self.dataset, Reader) else self._of_samples()
        self._epoch += 1
        return map(_pinned, batches) if self._pin else batches

    def to_tuple(self, *slots: str) -> Tuples:
        """This loader, for a reader, with a tuple of tensors for each batch.

        ``for image, label in loader.to_tuple("image", "label")``; see ``Reader.to_tuple``. A data
        set whose samples are tuples has batches like them as it is.

        Raises:
            TypeError: the loader is for a data set, or has a ``collate_fn``; or a name is no text.
        """
        if not isinstance(self.dataset, Reader) or self.collate_fn is not None:
            raise TypeError(
                "to_tuple is for a loader of a Reader without collate_fn; other batches are what "
                "samples are, or what collate_fn makes of them"
            )
        return Tuples(self, slots)

    def _of_reader(self) -> Iterator[Any]:
        order = self._order()
        order.set_epoch(self._epoch)
        batches: Iterator[Any] = iter(order.torch())
        if self.collate_fn is None:
            return batches
        samples = batches
        if self.batch_size is not None:
            samples = batched(batches, self.batch_size, self.drop_last)
        collate = self.collate_fn
        # map() is not used, because it ends without an error if collate_fn raises StopIteration.
        return (collate(sample) for sample in samples)

    def _of_samples(self) -> Iterator[Any]:
        assert self.collate_fn is not None
        if self._iterated is not None:
            taken = [self._epoch, *self._skipped]
            items = self._iterated.begin(self.batch_size, self.drop_last, *self._skipped)
            self._taken, self._skipped = taken, (0, 0)
            return self._of_iterated(items, self._iterated, taken)
        assert isinstance(self.dataset, Dataset) and not isinstance(self.dataset, Reader)
        ahead = self.num_workers * (2 if self.prefetch_factor is None else self.prefetch_factor)
        (skipped, before), self._skipped = self._skipped, (0, 0)
        numbers = islice(self._numbers(before), skipped, None)
        batches = samples_of(
            self.dataset, numbers, self.collate_fn, self._in_batches, self.num_workers, ahead
        )
        self._taken = [self._epoch, skipped, before]
        return self._counted(batches, self._taken)

    def _of_iterated(
        self, items: Iterator[Any], iterated: IteratedSamples, taken: list[int]
    ) -> Iterator[Any]:
        collate = self.collate_fn
        assert collate is not None
        # map() is not used, because it ends without an error if collate_fn raises StopIteration.
        yield from self._counted(iterated.watched(collate(item) for item in items), taken)
        if self._taken is None:
            iterated.end()

    def _counted(self, batches: Iterator[Any], taken: list[int]) -> Iterator[Any]:
        for batch in batches:
            taken[1] += 1
            yield batch
        if self._taken is taken:
            self._taken = None

    def _part_in_words(self) -> str:
        try:
            ranks = self._ranks()
        except NotKnownYet:
            return "among the ranks of Lightning's trainer"
        if ranks is not None:
            return str(ranks)
        return "sharded by its reader" if self._is_sharded else "alone: no other ranks are found"

    def __repr__(self) -> str:
        if self._iterated is not None:
            part = "in its own order"
        elif self.sampler is not None or self.batch_sampler is not None:
            part = "in the order of its sampler"
        else:
            part = self._part_in_words()
        shown = (
            repr(self.dataset) if isinstance(self.dataset, Reader) else type(self.dataset).__name__
        )
        return f"<millhopper.DataLoader of {shown}, batch_size {self.batch_size}, {part}>"


def _given_ranks(num_shards: int | None, index: int | None) -> Ranks | None:
    """What the caller says.

    Raises:
        TypeError: it is no integer.
        ValueError: it is out of range, or one of both is missing.
    """
    if num_shards is None:
        if index is not None:
            raise ValueError(f"index is {index}, but num_shards is not given")
        return None
    size = integer_within("num_shards", num_shards, 1, 2**31 - 1)
    if index is None and size > 1:
        raise ValueError(f"num_shards is {size}, but index is not given")
    return Ranks(size, integer_within("index", index or 0, 0, size - 1), "as given")


def _is_sharded(reader: ReaderStats) -> bool:
    return reader.kind == "create_shard_reader" or any(map(_is_sharded, reader.below))


def _reads_files(reader: ReaderStats) -> bool:
    own = reader.kind == "open_files" or reader.kind.endswith("_file_reader")
    return own or any(map(_reads_files, reader.below))


def _is_even(part: Reader, lanes: int) -> bool:
    """Whether a rank's lanes can be made even, and a repeated element of each is few of them."""
    try:
        return len(part) >= lanes * _FEWEST_IN_LANE
    except TypeError:
        return False
    except Error:
        return True  # which the loop raises


def _refuse(name: str, given: object, instead: str) -> None:
    if given is not None:
        raise ValueError(f"millhopper.DataLoader takes no {name}: {instead}")


def _pinned(value: Any) -> Any:
    """A copy of a value in which all tensors, also within dicts, lists and tuples, are pinned."""
    if hasattr(value, "pin_memory"):
        return value.pin_memory()
    if isinstance(value, dict):
        return {key: _pinned(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_pinned, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_pinned, value))
    return value
