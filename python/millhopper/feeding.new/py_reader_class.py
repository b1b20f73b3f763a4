# SPDX-License-Identifier: Apache-2.0
"""PyReader: variables that are fed with what Python makes, in a loop or inside the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millhopper import _core
from millhopper.errors import EndOfData
from millhopper.feeding import Feeding
from millhopper.layers.python_reader import (
    Decorated,
    ReaderVariable,
    create_py_reader_by_data,
    slots_of,
)
from millhopper.program import default_main_program
from millhopper.variable import Variable

__all__ = ["PyReader"]


class PyReader(Decorated):
    """Feeds variables with what Python makes: batch after batch of a loop, or inside the program.

    Iterable, which is the default, it yields what ``Executor.run`` is fed with, made ahead by the
    provider's thread::

        reader = fluid.io.PyReader(feed_list=[image, label], capacity=8)
        reader.decorate_sample_list_generator(millhopper.batch(samples, 64))
        for data in reader():
            executor.run(feed=data, fetch_list=[loss])

    Each loop is a pass; leaving it early ends the provider. Otherwise it is a ``py_reader`` whose
    batches the main program reads into the variables of ``feed_list``, between ``start`` and
    ``reset``.

    Attributes:
        iterable: whether it is.

    Source: Paddle Fluid 1.5, fluid.io.PyReader.
    """

    def __init__(
        self,
        feed_list: Sequence[Variable],
        capacity: int,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
    ) -> None:
        """A feeder of the variables ``feed_list``.

        Args:
            feed_list: the variables, with shapes and dtypes, in the order of a batch's values.
            capacity: batches that wait at most.
            use_double_buffer: whether a double buffer reads for the program; nothing if iterable.
            iterable: yield batches instead of reading them in the program.
            return_list: yield LoDTensors instead of dicts of them by variable name.

        Raises:
            TypeError: an item of ``feed_list`` is no variable.
            ValueError: a variable has no shape or dtype.
            Error: ``capacity`` is below 1.
        """
        self.iterable = iterable
        self.feed_list = list(feed_list)
        self._return_list = return_list
        self._reader: ReaderVariable | None = None
        if iterable:
            names = ", ".join(variable.name for variable in self.feed_list)
            self.feeding = Feeding(f"PyReader of {names}", capacity, slots_of(self.feed_list))
            return
        self._reader = create_py_reader_by_data(
            capacity, self.feed_list, use_double_buffer=use_double_buffer
        )
        self.feeding = self._reader.feeding
        default_main_program().current_block().append_op(
            "read", inputs={"Reader": self._reader}, outputs={"Out": self.feed_list}
        )

    @property
    def queue(self) -> _core.Queue:
        """The queue, as that of ``py_reader``."""
        return self.feeding.queue

    def start(self) -> None:
        """Starts the provider's thread.

        Raises:
            RuntimeError: the reader is iterable, so that loops start it; there is no provider; or
                it is at work since an earlier ``start``.
        """
        self._require_not_iterable("start")
        super().start()

    def reset(self) -> None:
        """Ends the provider, drops what is in the queue and begins the next pass.

        Raises:
            RuntimeError: the reader is iterable.
        """
        self._require_not_iterable("reset").reset()

    def __call__(self) -> Iterator[list[Any]]:
        """Begins a pass: ``iter(self)``."""
        return iter(self)

    def __iter__(self) -> Iterator[list[Any]]:
        """Returns a pass. With its first item it begins, and ends the one before.

        Yields:
            A list of one dict, LoDTensor by variable name, for the one place that there is; or with
            ``return_list`` a list of LoDTensors in the order of ``feed_list``.

        Raises:
            RuntimeError: the reader is not iterable, or has no provider.
            Error: at its place, what the provider raised; ``__cause__`` is that.
        """
        if not self.iterable:
            raise RuntimeError("this PyReader is not iterable: the program reads it")
        self.feeding.require_provider()
        return self._batches()

    def _batches(self) -> Iterator[list[Any]]:
        names = [variable.name for variable in self.feed_list]
        self._end_pass()
        self.feeding.start()
        generation = self.queue.generation()
        try:
            while generation == self.queue.generation():
                try:
                    values = self.queue.take()
                except EndOfData:
                    return
                yield list(values) if self._return_list else [dict(zip(names, values, strict=True))]
            raise RuntimeError("another loop over this PyReader has begun, which ended this one")
        finally:
            if not self.feeding.is_forked and generation == self.queue.generation():
                self._end_pass()

    def _end_pass(self) -> None:
        self.feeding.stop()
        self.queue.restart()

    def _require_not_iterable(self, function: str) -> ReaderVariable:
        if self._reader is None:
            raise RuntimeError(f"an iterable PyReader has no {function}: loop over it")
        return self._reader
