# SPDX-License-Identifier: Apache-2.0
"""Reader: batches that the C++ core reads from files."""

from __future__ import annotations

import html
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from millhopper import _core
from millhopper.errors import Error
from millhopper.programs.extras import load_extras
from millhopper.programs.program import Program
from millhopper.readers.box_methods import BoxMethods
from millhopper.readers.chain import Lanes
from millhopper.readers.choice_methods import ChoiceMethods
from millhopper.readers.combine_methods import CombineMethods
from millhopper.readers.decorate_methods import DecorateMethods
from millhopper.readers.display import slots_html
from millhopper.readers.file_sources import FileSources
from millhopper.readers.function_methods import FunctionMethods
from millhopper.readers.memory_sources import MemorySources
from millhopper.readers.no_array import NoArray
from millhopper.readers.operator_readers import OperatorReaders
from millhopper.readers.other_names import OtherNames, no_attribute, other_keywords
from millhopper.readers.reader_stats import ReaderStats
from millhopper.readers.statistics_methods import StatisticsMethods
from millhopper.readers.text_methods import TextMethods
from millhopper.readers.view import Tuples
from millhopper.readers.write_methods import WriteMethods

# Attributes of formats that may be inferred together with the fields.
FOUND_WITH_FIELDS = ("delimiter", "quote", "header", "encoding", "numbers", "others")

if TYPE_CHECKING:
    from millhopper.readers.jax import JaxReader
    from millhopper.readers.keras import KerasReader
    from millhopper.readers.torch import TorchReader


class Reader(
    FileSources,
    MemorySources,
    DecorateMethods,
    FunctionMethods,
    BoxMethods,
    ChoiceMethods,
    TextMethods,
    StatisticsMethods,
    CombineMethods,
    WriteMethods,
    OperatorReaders,
    NoArray,
    metaclass=OtherNames,
):
    """An iterable of batches, which the C++ core reads with all processor cores, without Python.

    A reader is a chain: a source (``open_files``, ``from_arrays``, ``from_dataset``,
    ``from_arrow``, ``from_iterable``, ``create``, or the source of a program in text) and steps
    that decorate it (``shuffle``, ``shard``, ``map``, ``batch``, ``multi_pass``, ``double_buffer``
    and others). Each of these methods returns a new reader and does not change the one that it is
    called on; nothing is read before a loop begins. Every operator ``create_<name>_reader`` that
    stands on one reader is a method ``name``, that of a plugin once it is loaded, too. ::

        reader = (
            millhopper.Reader.open_files("train-*.recordio",
                                       slots={"image": ("uint8", [1, 8, 8]),
                                              "label": ("int64", [1, 1])})
            .shuffle(4096, seed=7)
            .batch(32)
            .double_buffer()
        )
        for epoch in range(2):
            for batch in reader:
                batch["image"]  # numpy array uint8 [32, 8, 8]

    Each loop is a new pass. The order of a pass depends only on the seeds and the number of the
    pass. Arrays are not copied: they show the core's memory, which does not change as long as they,
    or views of them, exist.

    A loop that begins while another one is not over, for example validation within training, has
    files, threads' work and memory of its own. Leaving a loop early, by ``break`` or an exception,
    closes its files, frees its memory and ends its work on threads. Any thread may use a reader. A
    process that was forked later must make a new one.

    A subclass may add methods and attributes of the class. What its ``__init__`` sets, only that
    object has: readers that methods return are of the subclass, but are made without ``__init__``,
    and so is one that was pickled.

    Source: Millhopper's own; its steps are those of PaddlePaddle's reader design doc, 2018.
    """

    if not TYPE_CHECKING:  # checkers of types know the names that there are

        def __getattr__(self, name: str) -> Any:
            if inspect.getattr_static(type(self), name, None) is not None:
                return object.__getattribute__(self, name)  # raises what a property has raised
            if self._learn(name):
                return object.__getattribute__(self, name)
            raise no_attribute(self, name)

        def __getitem__(self, key: object) -> NoReturn:
            hint = (
                f"select({key!r}) keeps a slot, and a batch is a dict of them"
                if isinstance(key, str)
                else "take(n), skip(n) and sampled(numbers) choose elements, next(iter(reader)) is "
                "the first; millhopper.DataLoader takes a reader, torch's takes reader.torch()"
            )
            raise TypeError(f"a {type(self).__name__} is read by a loop, not by {key!r}: {hint}")

    @property
    def num_lanes(self) -> int:
        """Into how many lanes the data is dealt here, those of all ranks; 1 if it is one stream.

        ``open_files(..., lanes=16)`` and ``lanes(16)`` deal them. Steps that need nothing but their
        own lane keep them (shuffle, apply, filter, unbatch, pack, bucket, window, dedupe, shard);
        others make one stream of them. Of files that have lanes because a ``shuffle`` and a
        ``batch`` stand on them, the batch makes a stream.
        """
        return self._core.lanes()

    def to_tuple(self, *slots: str) -> Tuples:
        """This reader, with a tuple for each batch: ``for image, label in reader.to_tuple():``.

        A batch is a dict by slot name, of which a loop with two variables would take the names.
        ``torch``, ``jax`` and ``DataLoader`` have this method, too::

            for image, label in train.batch(64).torch().to_tuple("image", "label"):
                loss = criterion(model(image), label)

        Args:
            slots: what a tuple has, in order; by default all slots.

        Raises:
            TypeError: a name is no text.

        Source: to_tuple of webdataset; as_supervised of TensorFlow Datasets.
        """
        return Tuples(self, slots)

    def torch(self) -> TorchReader:
        """This reader, with batches as torch tensors, without a copy.

        It is a ``torch.utils.data.IterableDataset``, for whatever takes one; see ``TorchReader``.

        Raises:
            ImportError: torch is not installed.
        """
        from millhopper.readers.torch import TorchReader

        return TorchReader(self)

    @other_keywords(sharding="device=sharding puts arrays there")
    def jax(self, device: Any = None) -> JaxReader:
        """This reader, with batches as JAX arrays, without a copy if they stay on the CPU.

        Args:
            device: where the arrays go, as for ``jax.device_put``: a device or a sharding.

        Raises:
            ImportError: JAX is not installed.
        """
        from millhopper.readers.jax import JaxReader

        return JaxReader(self, device)

    def keras(
        self,
        inputs: str | Sequence[str],
        targets: str | Sequence[str] | None = None,
        weights: str | None = None,
        *,
        steps_per_epoch: int | None = None,
    ) -> KerasReader:
        """This reader for Keras: ``model.fit(reader.keras("image", "label"), epochs=3)``.

        Args:
            inputs: the slot that the model gets, or several, as a dict by name.
            targets: the slot or slots that it is to predict; none for ``predict``.
            weights: the slot with the weights of the samples.
            steps_per_epoch: how many batches ``fit`` takes in an epoch; by default all of a pass,
                of which the number must be known: see ``len``. More than a pass has are those of
                the next pass, too.

        Raises:
            ImportError: Keras is not installed.
            TypeError, ValueError: ``steps_per_epoch`` is no positive integer.
        """
        from millhopper.readers.keras import KerasReader

        return KerasReader(self, inputs, targets, weights, steps_per_epoch)

    def __reduce__(self) -> tuple[object, ...]:
        # A pickle holds the program, with which a spawned process makes its own reader. It does not
        # hold a running pass.
        if self._functions:
            raise TypeError(
                "a reader with functions, arrays or data sets of Python cannot be pickled, because "
                "its program names them by numbers of this process: make a new one in the other"
            )
        program, settings = self._written or (self._program.to_binary(), {})
        fields = (program, self._variable, self._names, self._seed, settings)
        state = (self._epoch, self._position, self._loaded)
        return _remake, (type(self), *fields, self._name, *state, self._lanes)

    def to_text(self) -> str:
        """The startup program as protobuf text.

        ``python -m millhopper`` can run it, and so can the commands ``executor`` and ``peek`` of a
        build of the sources.
        """
        return self._stated.to_text()

    def stats(self) -> ReaderStats:
        """Statistics of this reader and each one below it, over all loops so far.

        They are always collected. ``print(reader)`` shows them as a table, with a line for each
        reader of the chain, and the fields of files, given or inferred. If another thread is just
        getting a batch, the call waits for it.

        Raises:
            Error: a function of ``map`` of this reader makes the call.
        """
        return ReaderStats.of(self._core.stats())

    def __str__(self) -> str:
        table = self._core.table().rstrip("\n")
        program = Program.of_core(self._stated)
        lines = [table]
        for op in program.global_block().ops:
            if op.has_attr("lanes"):
                source = op.output_arg_names[0]
                why = ", which a shuffle stands on" if source in self._lanes.undecided else ""
                lines.append(f"lanes of {source}: {op.attr('lanes')}{why}")
            if not op.has_attr("fields"):
                continue
            files = op.output_arg_names[0]
            given = [f"{name} {op.attr(name)!r}" for name in FOUND_WITH_FIELDS if op.has_attr(name)]
            if given:
                lines.append(f"attributes of {files}: {', '.join(given)}")
            lines.append(f"fields of {files}: {', '.join(op.attr('fields'))}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<millhopper.Reader '{self._variable}'>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the slots, if they are known, and the table of ``print``."""
        table = f"<pre>{html.escape(str(self))}</pre>"
        if self._names_from is not None:  # only a call of a function would tell
            return table
        try:
            names, known = self._slot_names(), self.slots()
            if len(names) != len(known):
                raise Error(f"{len(names)} names for a reader of {len(known)} slots: {names}")
            slots = slots_html(f"Reader {self._variable}", names, known)
        except Error as error:
            slots = f"<pre>{html.escape(error.message)}</pre>"
        return slots + table


def _remake(
    cls: type[Reader],
    program: bytes,
    variable: str,
    names: list[str] | None,
    seed: int,
    settings: dict[str, str],
    name: str,
    epoch: int,
    position: bytes | None,
    loaded: bool,
    lanes: Lanes,
) -> Reader:
    """Makes a pickled reader again; its next loop is the one that the other's would be."""
    load_extras(program)
    reader = cls._of(
        _core.Program(program, name, settings),
        variable,
        names=names,
        seed=seed,
        name=name,
        functions=(),
        lanes=Lanes(*lanes),  # which older pickles have as a plain tuple
    )
    reader._written = program, settings
    reader._epoch, reader._position, reader._loaded = epoch, position, loaded
    return reader
