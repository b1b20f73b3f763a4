# SPDX-License-Identifier: Apache-2.0
"""DataLoader: replaces torch's DataLoader for data that a Reader reads."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from millhopper.iterating.reader import Reader
from millhopper.iterating.view import optional_module

_OWN_ORDER = "a reader decides its order: use shuffle=True and dataset.shard(num_shards, index) "
_NO_WORKERS = "there are no worker processes: "


class DataLoader:
    """Batches of torch tensors, with the keywords of ``torch.utils.data.DataLoader``.

    ::

        dataset = millhopper.Reader.open_files("train-*.recordio", slots=...)
        loader = millhopper.DataLoader(dataset, batch_size=128, shuffle=True, drop_last=True)
        for epoch in range(10):
            for batch in loader:  # dict of tensors by slot name
                step(batch["image"], batch["label"])

    There are no worker processes: the core's threads load ahead, and batches share memory with them
    instead of being pickled. Each loop is the next pass, and each pass has its own order;
    ``set_epoch`` chooses the pass. A reader that already makes batches needs no loader:
    ``reader.torch()`` yields the same batches.

    Attributes:
        dataset: the reader, as given.
        batch_size: elements in a batch, or None.
        drop_last: whether a last batch that is not full is left out.

    Source: Millhopper's own; the keywords are those of torch.utils.data.DataLoader.
    """

    def __init__(
        self,
        dataset: Reader,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: None = None,
        batch_sampler: None = None,
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
    ) -> None:
        """The loader of a reader.

        Args:
            dataset: a reader of single elements; with ``batch_size=None`` any reader.
            batch_size: elements in a batch, which ``mode`` puts together; None if the elements are
                batches already.
            shuffle: draw elements at random from a window of ``shuffle_buffer`` elements.
            collate_fn: a function of Python that makes a batch from the list of its elements, which
                are dicts of tensors. With ``batch_size=None`` it gets one element.
            pin_memory: copy batches into pinned memory if torch has CUDA; otherwise ignored.
            drop_last: leave out a last batch that is not full.
            generator: a ``torch.Generator``; its initial seed is used if ``seed`` is None.
            prefetch_factor: how many batches are kept ready; by default 2.
            seed: seed of the order; by default that of ``torch.manual_seed``.
            shuffle_buffer: elements in the window of ``shuffle``. All orders are possible, as in
                torch, only if the whole data set fits into the window, which is kept in memory.
            mode: as in ``Reader.batch``. ``"concat"`` lays elements end to end along their leading
                axis: images of [1, 28, 28] become [batch_size, 28, 28], and images of [28, 28]
                become [batch_size * 28, 28]. ``"stack"`` adds a new first axis, as torch does:
                images of [28, 28] become [batch_size, 28, 28], and images of [1, 28, 28] become
                [batch_size, 1, 28, 28].

        Ignored, because they have no effect here: ``num_workers`` (all readers share the threads of
        ``millhopper.set_threads``), ``persistent_workers``, ``multiprocessing_context``,
        ``pin_memory_device`` and ``in_order`` (batches always are in order).

        Raises:
            TypeError: the dataset is no Reader, ``batch_size`` or ``seed`` no integer, or
                ``collate_fn`` no function.
            ValueError: ``sampler``, ``batch_sampler``, ``worker_init_fn`` or ``timeout`` is given
                (the message says what to use instead), a number is out of range, ``mode`` is
                neither of the two, or it is ``"stack"`` but the core makes no batches.
            Error: ``prefetch_factor`` or ``shuffle_buffer`` is wrong.
            ImportError: torch is not installed.
        """
        if not isinstance(dataset, Reader):
            raise TypeError(
                f"dataset is {type(dataset).__name__!r}; it must be a millhopper.Reader, for "
                "example millhopper.Reader.open_files(...). Use torch's own DataLoader for data "
                "sets in Python"
            )
        _refuse("sampler", sampler, _OWN_ORDER + "instead of a DistributedSampler")
        _refuse("batch_sampler", batch_sampler, _OWN_ORDER + "with batch_size and drop_last")
        _refuse("worker_init_fn", worker_init_fn, _NO_WORKERS + "Reader.map works on elements")
        _refuse("timeout", timeout or None, _NO_WORKERS + "the loop raises errors of the core")
        if num_workers < 0:
            raise ValueError(f"num_workers is {num_workers}; it must be at least 0")
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(f"collate_fn is {collate_fn!r}, which is no function")
        try:
            seed = None if seed is None else operator.index(seed)
        except TypeError:
            raise TypeError(f"seed is {seed!r}; it must be an integer, or None") from None
        if batch_size is not None and not isinstance(batch_size, numbers.Integral):
            raise TypeError(f"batch_size is {batch_size!r}; it must be an integer, or None")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1, or None")
        if batch_size is None and drop_last:
            raise ValueError("drop_last has no meaning without a batch_size")
        if mode not in ("concat", "stack"):
            raise ValueError(f"mode is {mode!r}; it must be 'concat' or 'stack'")
        if mode == "stack" and (batch_size is None or collate_fn is not None):
            raise ValueError("mode has no meaning without a batch_size, or with a collate_fn")
        torch = optional_module("torch", "millhopper.DataLoader", "torch")

        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._collate = collate_fn
        self._pin = pin_memory and torch.cuda.is_available()
        if seed is None:
            seed = generator.initial_seed() if generator is not None else torch.initial_seed()
        reader = dataset
        if shuffle:
            reader = reader.shuffle(shuffle_buffer, seed=seed % 2**63)
        if batch_size is not None and collate_fn is None:
            reader = reader.batch(int(batch_size), drop_last=drop_last, mode=mode)
        depth = 2 if prefetch_factor is None else prefetch_factor
        if batch_size is not None and collate_fn is not None:
            depth *= batch_size
        self._view = reader.double_buffer(depth).torch()

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0: the same order in every process."""
        self._view.set_epoch(epoch)

    def __len__(self) -> int:
        """How many batches a pass has.

        Raises:
            TypeError: it is not known; see ``Reader.__len__``.
        """
        if self.batch_size is None or self._collate is None:
            return len(self._view)
        whole, rest = divmod(len(self._view), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """Begins the next pass. Raises what iterating over the reader raises."""
        batches: Iterator[Any] = iter(self._view)
        if self._collate is not None:
            collate = self._collate
            samples = batches if self.batch_size is None else self._lists(batches)
            # map() is not used, because it ends without an error if collate_fn raises
            # StopIteration.
            batches = (collate(sample) for sample in samples)
        return map(_pinned, batches) if self._pin else batches

    def _lists(self, elements: Iterator[Any]) -> Iterator[list[Any]]:
        while batch := list(islice(elements, self.batch_size)):
            if self.drop_last and len(batch) != self.batch_size:
                return
            yield batch


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
    if isinstance(value, list | tuple):
        return type(value)(map(_pinned, value))
    return value
