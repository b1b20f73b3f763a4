# SPDX-License-Identifier: Apache-2.0
"""What py_reader and PyReader share: the lineage's functions that set the source of the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millhopper.feeding.data_feeder import DataFeeder
from millhopper.feeding.fed_queue import Element, FedQueue
from millhopper.generators.minibatch import batch
from millhopper.generators.python_reader import PythonReader, opened
from millhopper.programs.var_type import dtype_name
from millhopper.programs.variable import Variable


class Decorated:
    """What Python feeds, with the lineage's functions that say by what.

    Attributes:
        feeding: the queue and its provider.
        feed_list: variables declared as the slots of a batch are.
    """

    feeding: FedQueue
    feed_list: Sequence[Variable]

    def decorate_tensor_provider(self, reader: Callable[[], Iterable[Element]]) -> None:
        """Batches come from a function that returns an iterable of them.

        Args:
            reader: yields tuples or lists of a value a slot: arrays, ``LoDTensor``, ``Ragged``, or
                lists of numbers. Arrays must have the slots' dtypes and ranks. A large C-contiguous
                array to which the provider keeps no reference is passed on without a copy, others
                are copied once.

        Raises:
            RuntimeError: between ``start`` and ``reset``.
        """
        self.feeding.provide(reader, reader)

    def decorate_batch_generator(
        self, reader: Callable[[], Iterable[Element]], places: object = None
    ) -> None:
        """``decorate_tensor_provider``. ``places`` is the lineage's: batches are on the host."""
        self.decorate_tensor_provider(reader)

    def decorate_sample_list_generator(
        self, reader: PythonReader[Sequence[Any]], places: object = None
    ) -> None:
        """Batches are made, as by ``DataFeeder``, of the lists of samples of a reader.

        Args:
            reader: a reader as ``millhopper.batch`` makes it: its items are lists of samples, which
                are tuples or lists of a field a slot.
            places: the lineage's, without effect.

        Raises:
            RuntimeError: between ``start`` and ``reset``.
            ValueError: a slot has no dim -1, or is bfloat16.
        """
        self._provide_samples(reader, reader)

    def decorate_paddle_reader(
        self, reader: PythonReader[Sequence[Any]], places: object = None
    ) -> None:
        """``decorate_sample_list_generator`` under its older name."""
        self._provide_samples(reader, reader)

    def decorate_sample_generator(
        self,
        sample_generator: PythonReader[Any],
        batch_size: int,
        drop_last: bool = True,
        places: object = None,
    ) -> None:
        """Batches are made of ``batch_size`` samples of a reader.

        Args:
            sample_generator: a reader whose items are tuples or lists of a field a slot.
            batch_size: samples in a batch.
            drop_last: leave out a last batch that is not full.
            places: the lineage's, without effect.

        Raises:
            RuntimeError, ValueError: as ``decorate_sample_list_generator``, or ``batch_size`` is
                not positive.
        """
        self._provide_samples(batch(sample_generator, batch_size, drop_last), sample_generator)

    def start(self) -> None:
        """Starts the provider's thread.

        Raises:
            RuntimeError: there is no provider, or it is at work since an earlier ``start``.
        """
        self.feeding.start()

    def _provide_samples(self, reader: PythonReader[Sequence[Any]], source: object) -> None:
        feeder = DataFeeder(self.feed_list, place=None)

        def elements() -> Iterator[Element]:
            with opened(reader) as batches:
                for samples in batches:
                    yield list(feeder.feed(samples).values())

        self.feeding.provide(elements, source)


def require_declared(variable: Variable) -> None:
    """Raises:
    TypeError: it is no variable.
    ValueError: it has no shape or dtype.
    """
    if not isinstance(variable, Variable):
        raise TypeError(f"feed_list is a list of variables; {variable!r} is none")
    if not variable.shape or variable.dtype is None:
        raise ValueError(f"variable {variable.name!r} of feed_list has no shape or no dtype")


def slots_of(feed_list: Sequence[Variable]) -> list[tuple[str, list[int], int]]:
    """What the slots hold that feed variables: (dtype, dims, levels of offsets) each.

    Raises:
        TypeError: an item is no variable.
        ValueError: a variable has no shape or dtype.
    """
    slots = []
    for variable in feed_list:
        require_declared(variable)
        assert variable.shape is not None and variable.dtype is not None
        slots.append((dtype_name(variable.dtype), list(variable.shape), variable.lod_level))
    return slots
