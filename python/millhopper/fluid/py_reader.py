# SPDX-License-Identifier: Apache-2.0
"""py_reader and PyReader: data that Python makes, in programs that the core runs.

A provider, which is a function that returns an iterable, runs on its own thread and fills a bounded
queue. The program's reader takes the elements out, without another copy. Names and life cycle are
those of Paddle Fluid, 2018 and 2019, with these faults mended: the training loop gets the exception
of a provider; ``reset`` is allowed at any time, and no element of the previous pass gets into the
next one; and reading without ``start`` is an error, where Fluid waited forever.

The place of such a reader is the number of elements that were taken. To continue from there, the
provider is called again: with ``start=n`` if it has such a parameter, or it is skipped through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from millhopper import _core
from millhopper.base.integers import INT32_MAX, checked_dims, integer, integer_within
from millhopper.base.zipped import zip_strict
from millhopper.errors import EndOfData
from millhopper.fluid.provider import Decorated, require_declared, slots_of
from millhopper.process.fed_queue import FedQueue
from millhopper.programs import unique_name
from millhopper.programs.program import Program, default_main_program, default_startup_program
from millhopper.programs.reader_creation import decorate_reader, share_reader, taken_name
from millhopper.programs.scope import global_scope
from millhopper.programs.var_type import VarType, convert_dtype
from millhopper.programs.variable import Variable
from millhopper.readers.saved_state import checked_state, new_state, number_in
from millhopper.readers.state_methods import StateInJson


class ReaderVariable(Variable, Decorated):
    """The variable of a reader that Python feeds, as ``py_reader`` makes it.

    ``reset`` ends the provider, drops the elements in the queue and begins the next pass. While the
    block of a ``While``, ``IfElse`` or the like is being written, it appends the operator ``reset``
    to the block instead; when that operator runs, the provider is called again.

    Attributes:
        queue: the queue. A program may also fill it itself, before or instead of ``start``:
            ``push(element)`` waits for room and returns True, or False if the queue is closed. The
            other methods are ``size()``, ``capacity()``, ``close()`` and ``is_closed()``.
        thread: the provider's thread since the last ``start``, or None.
    """

    queue: _core.Queue

    def __init__(self, name: str, feeding: FedQueue, feed_list: Sequence[Variable]) -> None:
        block = default_main_program().global_block()
        super().__init__(block, name, type=VarType.READER, persistable=True, stop_gradient=True)
        self.feeding = feeding
        self.feed_list = feed_list
        self.queue = feeding.queue

    @property
    def thread(self) -> Any:
        """The provider's thread since the last ``start``, or None."""
        return self.feeding.thread

    @property
    def exited(self) -> bool:
        """Whether no provider is at work. Setting it to True ends the provider, as in Paddle."""
        return not self.feeding.at_work

    @exited.setter
    def exited(self, exited: bool) -> None:
        if exited:
            self.queue.detach()

    def _begin_next_pass(self) -> None:
        """Ends the provider, drops the elements in the queue and begins the next pass.

        The startup program need not have run.
        """
        self.feeding.stop()
        before = self.queue.generation()
        variable = global_scope().find_var(self.name)
        if variable is not None and variable.is_initialized():
            variable.get_reader().reset()
        if self.queue.generation() == before:
            self.queue.restart()


def py_reader(
    capacity: int,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[Any],
    lod_levels: Sequence[int] | None = None,
    name: str | None = None,
    use_double_buffer: bool = True,
) -> ReaderVariable:
    """Adds a reader of data that Python makes to the default main and startup programs. ::

        reader = fluid.layers.py_reader(capacity=8, shapes=[(-1, 784), (-1, 1)],
                                        dtypes=["float32", "int64"])
        image, label = fluid.layers.read_file(reader)
        ...
        reader.decorate_paddle_reader(millhopper.batch(samples, 64))
        executor.run(fluid.default_startup_program())
        for epoch in range(2):
            reader.start()
            try:
                while True:
                    executor.run(fetch_list=[loss])
            except fluid.core.EOFException:
                reader.reset()

    Args:
        capacity: the largest number of elements in the queue.
        shapes: dims of an element (usually a batch) in each slot, -1 for a dim of any length.
        dtypes: types of the slots' values.
        lod_levels: levels of offsets of each slot; none by default.
        name: the prefix of the names of the reader, the queue and the double buffer.
        use_double_buffer: adds a double buffer over the reader, which moves batches to a device.

    Returns:
        The variable of the top reader, for ``read_file`` and for readers that decorate it. The
        queue is put into the current ``global_scope()``, so the startup program must run in that
        scope.

    Raises:
        TypeError: ``capacity`` or a level is no integer, or shapes or dtypes are no lists.
        ValueError: shapes, dtypes and lod_levels are for different numbers of slots, a level is
            below 0, or the name is taken.
        Error: ``capacity`` is below 1.

    If the provider raises an exception, the operator ``read`` fails with an ``Error``, whose
    ``__cause__`` is that exception.

    Source: Paddle Fluid 0.15, layers.io.
    """
    capacity = integer("py_reader: capacity", capacity)
    for what, given, example in (
        ("shapes", shapes, "[(-1, 784), (-1, 1)]"),
        ("dtypes", dtypes, '["float32", "int64"]'),
    ):
        if not isinstance(given, (list, tuple)):
            raise TypeError(
                f"py_reader: {what} is {given!r}; it must be a list with one for each slot, such as"
                f" {example}"
            )
    dims = [checked_dims(f"py_reader: slot {i}", shape) for i, shape in enumerate(shapes)]
    kinds = ("lod_tensor_blocking_queue", "create_py_reader", "double_buffer")
    parts = ("queue", "reader", "double_buffer")
    names = [
        unique_name.generate(kind) if name is None else f"{name}_{part}"
        for kind, part in zip_strict(kinds, parts)
    ]
    types = [convert_dtype(dtype) for dtype in dtypes]
    levels = [0] * len(dims) if lod_levels is None else list(lod_levels)
    levels = [integer_within("py_reader: lod_level", level, 0, INT32_MAX) for level in levels]
    block = Program().global_block()
    feed_list = [
        block.create_var(
            f"slot{i}", shape=shape, dtype=dtype, lod_level=level, stop_gradient=True, is_data=True
        )
        for i, (shape, dtype, level) in enumerate(zip_strict(dims, types, levels))
    ]
    return _make(names, capacity, feed_list, use_double_buffer)


def create_py_reader_by_data(
    capacity: int,
    feed_list: Sequence[Variable],
    name: str | None = None,
    use_double_buffer: bool = True,
) -> ReaderVariable:
    """``py_reader`` with the shapes, dtypes and levels of variables.

    Args:
        capacity: as in ``py_reader``.
        feed_list: variables whose shapes and dtypes are known.
        name: as in ``py_reader``.
        use_double_buffer: as in ``py_reader``.

    Raises:
        TypeError: an item of ``feed_list`` is no variable, or ``capacity`` no integer.
        ValueError: an item has no shape or dtype, or the name is taken.
        Error: ``capacity`` is below 1.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    for variable in feed_list:
        require_declared(variable)
    return py_reader(
        capacity,
        [variable.shape or () for variable in feed_list],
        [variable.dtype for variable in feed_list],
        [variable.lod_level for variable in feed_list],
        name,
        use_double_buffer,
    )


def _make(
    names: Sequence[str], capacity: int, feed_list: Sequence[Variable], use_double_buffer: bool
) -> ReaderVariable:
    queue_name, reader_name, double_buffer_name = names
    main, startup = default_main_program().global_block(), default_startup_program().global_block()
    top_name = double_buffer_name if use_double_buffer else reader_name
    for taken in names:
        if startup.has_var(taken) or main.has_var(taken):
            raise ValueError(taken_name("py_reader", taken))
    feeding = FedQueue(f"py_reader {reader_name!r}", capacity, slots_of(feed_list))
    # The main program gets this variable first: `share_reader` and `decorate_reader` find it by its
    # name, and do not declare a plain variable.
    top = main.add_var(ReaderVariable(top_name, feeding, feed_list))
    queue = startup.create_var(queue_name, type=VarType.RAW, persistable=True)
    reader = startup.create_var(
        reader_name, type=VarType.READER, persistable=True, stop_gradient=True
    )
    shapes = [variable.shape or () for variable in feed_list]
    dtypes = [variable.dtype for variable in feed_list]
    reader.set_slots(shapes, dtypes, [variable.lod_level for variable in feed_list])
    startup.append_op("create_py_reader", inputs={"blocking_queue": queue}, outputs={"Out": reader})
    share_reader(reader)
    if use_double_buffer:
        decorate_reader("create_double_buffer_reader", reader, double_buffer_name, {"depth": 2})
    feeding.queue.put_into(global_scope().var(queue_name))
    return top


class PyReader(Decorated, StateInJson):
    """Feeds variables with data that Python makes, in a loop over batches or inside the program.

    If it is iterable, which is the default, it yields the feeds for ``Executor.run``, and the
    provider's thread makes them ahead of the loop::

        reader = fluid.io.PyReader(feed_list=[image, label], capacity=8)
        reader.decorate_sample_list_generator(millhopper.batch(samples, 64))
        for data in reader():
            executor.run(feed=data, fetch_list=[loss])

    Each loop is a pass; leaving it early ends the provider. ``state_dict`` and ``get_state`` tell
    where the loop stands, as those of ``Reader`` do, so that another one can resume there. With
    ``iterable=False`` it is a ``py_reader`` whose batches the main program reads into the variables
    of ``feed_list``, between ``start`` and ``reset``.

    Attributes:
        iterable: whether it yields batches, instead of the program reading them.

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
            capacity: the largest number of batches in the queue.
            use_double_buffer: as in ``py_reader``; has no effect if iterable.
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
        self._taken = 0  # batches that the last loop has delivered, of the pass that it is in
        self._start = 0  # where the next loop begins
        self._reader: ReaderVariable | None = None
        if iterable:
            names = ", ".join(variable.name for variable in self.feed_list)
            self.feeding = FedQueue(f"PyReader of {names}", capacity, slots_of(self.feed_list))
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
        """The queue, as in ``py_reader``."""
        return self.feeding.queue

    def start(self) -> None:
        """Starts the provider's thread.

        Raises:
            RuntimeError: the reader is iterable, and a loop starts it; there is no provider; or it
                has been started already.
        """
        self._require_not_iterable("start")
        super().start()

    def reset(self) -> None:
        """Ends the provider, drops the elements in the queue and begins the next pass.

        Raises:
            RuntimeError: the reader is iterable.
        """
        self._require_not_iterable("reset").reset()

    def state_dict(self) -> dict[str, Any]:
        """Where the last loop stands: how many batches of its pass it has delivered.

        The state of a loop that has ended is the beginning of a pass.

        Raises:
            RuntimeError: the reader is not iterable: its place is in the state of the executor that
                runs the program.
        """
        self._require_iterable("the state of Executor has its place")
        # A state that was loaded holds for the next loop, even while the last one still runs.
        return new_state("PyReader", taken=self._start or self._taken)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next loop resumes from a state.

        The provider is asked for the rest of the pass, as ``decorate_tensor_provider`` says.

        Raises:
            RuntimeError: the reader is not iterable.
            TypeError: the state is no dict.
            Error: it is no state of a PyReader.
        """
        self._require_iterable("the state of Executor has its place")
        self._taken = self._start = number_in(checked_state("PyReader", state_dict), "taken")

    def __call__(self) -> Iterator[list[Any]]:
        """Begins a pass: ``iter(self)``."""
        return iter(self)

    def __iter__(self) -> Iterator[list[Any]]:
        """Returns a pass. It begins when its first item is asked for, which ends the previous pass.

        Yields:
            A list of one dict of LoDTensors by variable name, since there is one place; or with
            ``return_list`` a list of LoDTensors in the order of ``feed_list``.

        Raises:
            RuntimeError: the reader is not iterable, or has no provider.
            Error: the provider raised an exception, which is the ``__cause__``; the error comes in
                place of a batch.
        """
        self._require_iterable("the program reads it")
        self.feeding.require_provider()
        return self._batches()

    def _batches(self) -> Iterator[list[Any]]:
        names = [variable.name for variable in self.feed_list]
        self._taken, self._start = self._start, 0
        self._end_pass(self._taken)
        self.feeding.start()
        generation = self.queue.generation()
        try:
            while generation == self.queue.generation():
                try:
                    values = self.queue.take()
                except EndOfData:
                    self._taken = 0
                    return
                self._taken += 1
                yield list(values) if self._return_list else [dict(zip_strict(names, values))]
            raise RuntimeError(
                "another loop over this PyReader has begun, which ended this one: its queue can be "
                "read once only, so make a PyReader for each loop that is to continue"
            )
        finally:
            if not self.feeding.is_forked and generation == self.queue.generation():
                self._end_pass()

    def _end_pass(self, skip: int = 0) -> None:
        self.feeding.stop()
        self.queue.restart(skip)

    def _require_iterable(self, instead: str) -> None:
        if not self.iterable:
            raise RuntimeError(f"this PyReader is not iterable: {instead}")

    def _require_not_iterable(self, function: str) -> ReaderVariable:
        if self._reader is None:
            raise RuntimeError(f"an iterable PyReader has no {function}(): loop over it")
        return self._reader
