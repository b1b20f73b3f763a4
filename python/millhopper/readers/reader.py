# SPDX-License-Identifier: Apache-2.0
"""Reader: batches that the C++ core reads from files."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millhopper import _core
from millhopper.base.integers import INT64_MAX, integer_within
from millhopper.base.missing_slots import explain_missing_slots
from millhopper.errors import Error
from millhopper.readers.combine_methods import CombineMethods
from millhopper.readers.decorate_methods import DecorateMethods
from millhopper.readers.display import slots_html
from millhopper.readers.file_sources import FileSources
from millhopper.readers.function_methods import FunctionMethods
from millhopper.readers.gather_methods import GatherMethods
from millhopper.readers.image_methods import ImageMethods
from millhopper.readers.memory_sources import MemorySources
from millhopper.readers.no_array import NoArray
from millhopper.readers.other_names import OtherNames, no_attribute, other_keywords
from millhopper.readers.reader_stats import ReaderStats
from millhopper.readers.state_methods import StateMethods
from millhopper.readers.text_methods import TextMethods

if TYPE_CHECKING:
    from millhopper.readers.jax import JaxReader
    from millhopper.readers.keras import KerasReader
    from millhopper.readers.torch import TorchReader

# A step of the core's errors ends like this if methods of Reader have made the program, and with
# the line of the operator if it is text.
_MADE_HERE = re.compile(r": operator \d+ of block \d+\)$")
# The core's error contains this if operators are to make slots whose dims it does not know in time.
_DIMS_MISSING = "must declare its type {"
_WHAT_TO_WRITE = 'pass slots={"name": (dtype, dims), ...} where the reader is made'


def _explain(error: Error) -> None:
    """Raises an error that says what to type in Python, if slots are missing."""
    if any(_MADE_HERE.search(step) for step in error.context):
        explain_missing_slots(error, _WHAT_TO_WRITE)
    if _DIMS_MISSING in error.message:
        text = (
            f"the slots of a record are not known: {_WHAT_TO_WRITE}, or in a program in text: "
            + error.message
        )
        steps = "".join(f"\n  {step}" for step in error.context)
        raise Error(text + steps, error.code, text, context=error.context) from None


class Reader(
    FileSources,
    MemorySources,
    DecorateMethods,
    GatherMethods,
    FunctionMethods,
    ImageMethods,
    TextMethods,
    CombineMethods,
    StateMethods,
    NoArray,
    metaclass=OtherNames,
):
    """An iterable of batches, which the C++ core reads with all processor cores, without Python.

    A reader is a chain: a source (``open_files``, ``from_arrays``, ``from_dataset``,
    ``from_arrow``, ``create``, or the source of a program in text) and steps that decorate it
    (``shuffle``, ``shard``, ``map``, ``batch``, ``multi_pass``, ``double_buffer`` and others). Each
    of these methods returns a new reader and does not change the one that it is called on; nothing
    is read before a loop begins. ::

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

    Source: Millhopper's own; its steps are those of PaddlePaddle's reader design doc, 2018.
    """

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0: the same order in every process.

        After ``load_state_dict`` the pass that was saved goes on if it is this one, and otherwise
        this one begins.

        Raises:
            TypeError: it is no integer.
            ValueError: it is below 0, or 2**63 or more.
        """
        self._go_to(integer_within("epoch", epoch, 0, INT64_MAX))

    def __len__(self) -> int:
        """How many batches (or elements, without ``batch``) a pass has.

        The number is known for idx and uncompressed fixed files, RecordIO files that have a
        manifest, files that have an index (``recordio index FILE`` makes it, or a pass after
        ``millhopper.set_index()``: of text, csv, jsonl, tfrecord, tar and others), random data with
        a count, and every chain on one of these. Files may be opened to find it, but none is read:
        of a file that has an index, at most 64 KiB at each end, which tell whether it is still the
        file of the index. For a damaged file it is the number that the file should have.

        Raises:
            TypeError: the number is not known: the files would have to be read first, or can be
                read once only, or several readers share the source, so that each gets what the
                others leave.
            Error: a file is missing, its header, manifest or index is damaged, or it has changed
                since its index was made.
        """
        try:
            length = self._core.length()
        except Error as error:
            _explain(error)
            raise
        if length is None:
            raise TypeError(
                f"how many elements a pass of {self!r} has is not known without reading it; it is "
                "known for idx files, uncompressed fixed files, RecordIO files with a manifest, "
                "files with an index (made by `millhopper-recordio index FILE`, or by a pass after "
                "millhopper.set_index()) and random data with a count, if no other reader reads "
                "them, but never for what can be read once only: pipes, FIFOs, standard input"
            )
        return length

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:  # checkers of types know the names that there are

        def __getattr__(self, name: str) -> Any:
            if inspect.getattr_static(type(self), name, None) is not None:
                return object.__getattribute__(self, name)  # raises what a property has raised
            raise no_attribute(self, name)

    def torch(self) -> TorchReader:
        """This reader, with batches as torch tensors, without a copy.

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

    def __iter__(self) -> _core.Loop:
        """Begins the next pass: returns an iterator of ``Batch``, whose ``close()`` ends it early.

        Raises:
            Error: a file is missing or damaged, or a limit is exceeded. It is raised now, or later
                in place of an element, and names file, byte, record and reader.
        """
        try:
            loop = self._begin()
        except Error as error:
            _explain(error)
            raise
        if self._names_from is not None:
            self._core.set_names(self._names_from.names() or [])
        return loop

    def __reduce__(self) -> tuple[object, ...]:
        # A pickle holds the program, with which a spawned process makes its own reader. It does not
        # hold a running pass.
        if self._functions:
            raise TypeError(
                "a reader with functions, arrays or data sets of Python cannot be pickled, because "
                "its program names them by numbers of this process: make a new one in the other"
            )
        fields = (self._program, self._variable, self._names, self._seed, self._settings)
        return _remake, (type(self), *fields, self._name, self._epoch)

    def to_text(self) -> str:
        """The startup program as protobuf text.

        ``python -m millhopper`` can run it, and so can the commands ``executor`` and ``peek`` of a
        build of the sources.
        """
        return _core.program_text(self._program, self._name, self._settings)

    def stats(self) -> ReaderStats:
        """Statistics of this reader and each one below it, over all loops so far.

        They are always collected. ``print(reader)`` shows them as a table, with a line for each
        reader of the chain. If another thread is just getting a batch, the call waits for it.

        Raises:
            Error: a function of ``map`` of this reader makes the call.
        """
        return ReaderStats.of(self._core.stats())

    def __str__(self) -> str:
        return self._core.table().rstrip("\n")

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
) -> Reader:
    """Makes a pickled reader again; its next loop has the same pass number."""
    reader = cls(program, variable=variable, names=names, seed=seed, settings=settings, name=name)
    reader.set_epoch(epoch)
    return reader
