# SPDX-License-Identifier: Apache-2.0
"""py_reader: data that Python makes, in programs that the core runs.

A provider, which is a function that returns an iterable, runs on a thread of its own and fills a
bounded queue; the program's reader takes the elements out, without copying them again. Names and
life cycle are those of Paddle Fluid, 2018 and 2019, without their faults: what a provider raises
arrives in the training loop, ``reset`` is allowed at any time and lets nothing of the pass before
into the next one, and reading without ``start`` is an error instead of a wait without end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millhopper import _core, unique_name
from millhopper.data_feeder import DataFeeder
from millhopper.feeding import Element, Feeding
from millhopper.integers import INT32_MAX, integer, integer_within
from millhopper.layers import helper, io
from millhopper.layers.reader_creation import share_reader
from millhopper.minibatch import batch
from millhopper.program import Program, default_main_program, default_startup_program, program_guard
from millhopper.reader.decorators import Reader, opened
from millhopper.var_type import VarType, convert_dtype, dtype_name
from millhopper.variable import Variable


class Decorated:
    """What Python feeds, with the lineage's functions that say by what.

    Attributes:
        feeding: the queue and its provider.
        feed_list: variables declared as the slots of a batch are.
    """

    feeding: Feeding
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
        self, reader: Reader[Sequence[Any]], places: object = None
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

    def decorate_paddle_reader(self, reader: Reader[Sequence[Any]], places: object = None) -> None:
        """``decorate_sample_list_generator`` under its older name."""
        self._provide_samples(reader, reader)

    def decorate_sample_generator(
        self,
        sample_generator: Reader[Any],
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

    def _provide_samples(self, reader: Reader[Sequence[Any]], source: object) -> None:
        feeder = DataFeeder(self.feed_list, place=None)

        def elements() -> Iterator[Element]:
            with opened(reader) as batches:
                for samples in batches:
                    yield list(feeder.feed(samples).values())

        self.feeding.provide(elements, source)


class ReaderVariable(Variable, Decorated):
    """The variable of a reader that Python feeds, as ``py_reader`` makes it.

    Attributes:
        queue: the queue, for those who fill it themselves, before or instead of ``start``:
            ``push(element)`` waits for room and returns whether the queue took it, which it does
            not once it is closed; ``size()``, ``capacity()``, ``close()``, ``is_closed()``.
        thread: the provider's thread since the last ``start``, or None.
    """

    queue: _core.Queue

    def __init__(self, name: str, feeding: Feeding, feed_list: Sequence[Variable]) -> None:
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
        """Whether no provider is at work. Setting it to True ends one, as in the lineage."""
        return not self.feeding.at_work

    @exited.setter
    def exited(self, exited: bool) -> None:
        if exited:
            self.queue.detach()

    def reset(self) -> None:
        """Ends the provider, drops what is in the queue and begins the next pass.

        While the block of a ``While``, ``IfElse`` ... is being written, it appends the operator
        ``reset`` instead, which has the provider called anew.
        """
        if default_main_program().current_block_idx != 0:
            io.reset(self)
            return
        self.feeding.stop()
        _begin_anew(self, self.queue)


def _begin_anew(reader: Variable, queue: _core.Queue) -> None:
    """Begins the next pass, also where the startup program has not been run."""
    from millhopper.executor import global_scope

    before = queue.generation()
    variable = global_scope().find_var(reader.name)
    if variable is not None and variable.is_initialized():
        variable.get_reader().reset()
    if queue.generation() == before:
        queue.restart()


def py_reader(
    capacity: int,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[Any],
    lod_levels: Sequence[int] | None = None,
    name: str | None = None,
    use_double_buffer: bool = True,
) -> ReaderVariable:
    """A reader of what Python makes, in the programs that are in use. ::

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
        capacity: elements that wait in the queue at most.
        shapes: dims of an element (mostly a batch) in each slot, -1 where it is any.
        dtypes: types of the slots' values.
        lod_levels: levels of offsets of each slot; none by default.
        name: of the reader, from which those of the queue and the double buffer are made.
        use_double_buffer: whether a double buffer stands on it, which takes batches to a device.

    Returns:
        The reader's variable, for ``read_file`` and for readers that stand on it. The queue is in
        ``global_scope()``: the startup program has to be run in the scope that is that now.

    Raises:
        TypeError: ``capacity`` or a level is no integer, or shapes or dtypes are no lists.
        ValueError: shapes, dtypes and lod_levels are for different numbers of slots, a level is
            below 0, or the name is taken.
        Error: ``capacity`` is below 1.

    What a provider raises arrives at the ``read`` as an ``Error`` whose ``__cause__`` it is.

    Source: Paddle Fluid 0.15, layers.io.
    """
    capacity = integer("py_reader: capacity", capacity)
    for what, given, example in (
        ("shapes", shapes, "[(-1, 784), (-1, 1)]"),
        ("dtypes", dtypes, '["float32", "int64"]'),
    ):
        if not isinstance(given, list | tuple):
            raise TypeError(
                f"py_reader: {what} is {given!r}; it must be a list with one for each slot, such as"
                f" {example}"
            )
    dims = [helper.checked_dims(f"py_reader: slot {i}", shape) for i, shape in enumerate(shapes)]
    kinds = ("lod_tensor_blocking_queue", "create_py_reader", "double_buffer")
    parts = ("queue", "reader", "double_buffer")
    names = [
        unique_name.generate(kind) if name is None else f"{name}_{part}"
        for kind, part in zip(kinds, parts, strict=True)
    ]
    types = [convert_dtype(dtype) for dtype in dtypes]
    levels = [0] * len(dims) if lod_levels is None else list(lod_levels)
    levels = [integer_within("py_reader: lod_level", level, 0, INT32_MAX) for level in levels]
    with program_guard(Program(), Program()):
        feed_list = [
            io.data(f"slot{i}", shape, False, dtype, level)
            for i, (shape, dtype, level) in enumerate(zip(dims, types, levels, strict=True))
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
        capacity: elements in the queue.
        feed_list: variables whose shapes and dtypes are known.
        name: of the reader.
        use_double_buffer: as in ``py_reader``.

    Raises:
        TypeError: an item of ``feed_list`` is no variable, or ``capacity`` no integer.
        ValueError: an item has no shape or dtype, or the name is taken.
        Error: ``capacity`` is below 1.

    Source: PaddlePaddle's fluid.layers.io, 2018.
    """
    for variable in feed_list:
        _require_declared(variable)
    return py_reader(
        capacity,
        [variable.shape or () for variable in feed_list],
        [variable.dtype for variable in feed_list],
        [variable.lod_level for variable in feed_list],
        name,
        use_double_buffer,
    )


def _require_declared(variable: Variable) -> None:
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
        _require_declared(variable)
        assert variable.shape is not None and variable.dtype is not None
        slots.append((dtype_name(variable.dtype), list(variable.shape), variable.lod_level))
    return slots


def _make(
    names: Sequence[str], capacity: int, feed_list: Sequence[Variable], use_double_buffer: bool
) -> ReaderVariable:
    from millhopper.executor import global_scope

    queue_name, reader_name, double_buffer_name = names
    main, startup = default_main_program().global_block(), default_startup_program().global_block()
    top_name = double_buffer_name if use_double_buffer else reader_name
    for taken in names:
        if startup.has_var(taken) or main.has_var(taken):
            raise ValueError(f"py_reader: there is a variable {taken!r} already; give another name")
    feeding = Feeding(f"py_reader {reader_name!r}", capacity, slots_of(feed_list))
    # The names that readers are declared by are found in the main program by what makes them.
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
        io.double_buffer(reader, name=double_buffer_name)
    feeding.queue.put_into(global_scope().var(queue_name))
    return top
