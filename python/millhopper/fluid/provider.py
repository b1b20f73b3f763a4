# SPDX-License-Identifier: Apache-2.0
"""The part that py_reader and PyReader share: PaddlePaddle's functions to give a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millhopper.base.python_reader import PythonReader, opened
from millhopper.fluid.data_feeder import DataFeeder
from millhopper.fluid.minibatch import batch
from millhopper.process.fed_queue import Element, FedQueue
from millhopper.programs.var_type import dtype_name
from millhopper.programs.variable import Variable


class Decorated:
    """A reader that Python feeds, with PaddlePaddle's functions to give it a provider.

    Attributes:
        feeding: the queue and its provider.
        feed_list: variables that declare the dtypes and shapes of a batch's slots.
    """

    feeding: FedQueue
    feed_list: Sequence[Variable]

    def decorate_tensor_provider(self, reader: Callable[[], Iterable[Element]]) -> None:
        """Feeds the batches that a function yields.

        Args:
            reader: returns an iterable of batches. A batch is a tuple or list with one value for
                each slot: an array, ``LoDTensor``, ``Ragged`` or list of numbers. Arrays must have
                the slots' dtypes and ranks. A large C-contiguous array to which the provider keeps
                no reference is passed on without a copy; other arrays are copied once. To resume in
                the middle of a pass it is called again, and must yield what it yielded before: with
                ``start=n``, for a pass after its first n batches, if it has a parameter ``start``
                whose default is 0; without arguments if not, and then the batches are dropped.

        Raises:
            RuntimeError: between ``start`` and ``reset``.
        """
        self.feeding.provide(reader, reader)

    def decorate_batch_generator(
        self, reader: Callable[[], Iterable[Element]], places: object = None
    ) -> None:
        """As ``decorate_tensor_provider``. ``places`` has no effect: batches are on the host."""
        self.decorate_tensor_provider(reader)

    def decorate_sample_list_generator(
        self, reader: PythonReader[Sequence[Any]], places: object = None
    ) -> None:
        """Feeds batches that are made of a reader's lists of samples, as by ``DataFeeder``.

        Args:
            reader: a reader as ``millhopper.batch`` makes it: its items are lists of samples, and a
                sample is a tuple or list with one field for each slot. In the middle of a pass it
                resumes as that of ``decorate_tensor_provider``; ``millhopper.batch``,
                ``map_readers`` and ``firstn`` pass ``start`` on to the reader that they are given.
            places: has no effect; PaddlePaddle has it.

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
        """Feeds batches of ``batch_size`` samples of a reader.

        Args:
            sample_generator: a reader whose items are tuples or lists with one field for each slot.
            batch_size: samples in a batch.
            drop_last: leave out a last batch that is not full.
            places: has no effect; PaddlePaddle has it.

        Raises:
            RuntimeError, ValueError: as ``decorate_sample_list_generator`` does, and ValueError if
                ``batch_size`` is not positive.
        """
        self._provide_samples(batch(sample_generator, batch_size, drop_last), sample_generator)

    def start(self) -> None:
        """Starts the provider's thread.

        Raises:
            RuntimeError: there is no provider, or it has been started already.
        """
        self.feeding.start()

    def _provide_samples(self, reader: PythonReader[Sequence[Any]], source: object) -> None:
        feeder = DataFeeder(self.feed_list, place=None)

        def elements(start: int = 0) -> Iterator[Element]:
            with opened(reader, start) as batches:
                for samples in batches:
                    yield list(feeder.feed(samples).values())

        self.feeding.provide(elements, source)


def require_declared(variable: Variable) -> None:
    """Checks an item of ``feed_list``.

    Raises:
        TypeError: it is no variable.
        ValueError: it has no shape or dtype.
    """
    if not isinstance(variable, Variable):
        raise TypeError(f"feed_list is a list of variables; {variable!r} is no variable")
    if not variable.shape or variable.dtype is None:
        raise ValueError(f"variable {variable.name!r} of feed_list has no shape or no dtype")


def slots_of(feed_list: Sequence[Variable]) -> list[tuple[str, list[int], int]]:
    """The slots that feed the variables: (dtype, dims, levels of offsets) for each.

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
