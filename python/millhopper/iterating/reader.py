# SPDX-License-Identifier: Apache-2.0
"""Reader: batches that the C++ core reads from files."""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy.typing as npt

from millhopper import _core
from millhopper.base.integers import INT32_MAX, INT64_MAX, UINT64_MAX, integer_within
from millhopper.errors import Error
from millhopper.iterating.combining import CombiningMethods
from millhopper.iterating.display import slots_html
from millhopper.iterating.fields import Fields, field_entries
from millhopper.iterating.image_methods import ImageMethods
from millhopper.iterating.map_function import Held, guess_fields, keep_function, keep_stream
from millhopper.iterating.memory_sources import MemorySources
from millhopper.iterating.reader_stats import ReaderStats
from millhopper.iterating.steps import Slots, Step, append_steps, make_step
from millhopper.iterating.text_methods import TextMethods
from millhopper.programs.extras import load_extras
from millhopper.programs.program import Program
from millhopper.programs.reader_creation import append_reader
from millhopper.programs.var_type import convert_dtype, dtype_name
from millhopper.ragged import Ragged

if TYPE_CHECKING:
    from millhopper.iterating.jax import JaxReader
    from millhopper.iterating.keras import KerasReader
    from millhopper.iterating.torch import TorchReader

Path: TypeAlias = str | os.PathLike[str]
# Values by slot name: an array, or sequences of different lengths.
Batch: TypeAlias = dict[str, npt.NDArray[Any] | Ragged]
# (dtype, dims, levels of offsets): a dtype of numpy, and dims with the leading axis of one instance
# (-1 is any length).
Slot: TypeAlias = Sequence[Any]


# The core's error begins like this if slots are missing. The rest of it says how a program in text
# declares them.
def _named(names: Iterable[str] | None, slots: Sequence[Slot]) -> dict[str, Slot]:
    """The slots by these names, or by ``slot0``, ``slot1`` ...

    Raises:
        ValueError: there are more or fewer names than slots, or two are the same.
    """
    given = [f"slot{i}" for i in range(len(slots))] if names is None else list(names)
    if len(given) != len(slots) or len(set(given)) != len(given):
        raise ValueError(f"names is {given}; the records have {len(slots)} slots, each has a name")
    return dict(zip(given, slots, strict=True))


_SLOTS_MISSING = "the slots of this reader must be declared"


def _declared(slots: Mapping[str, Slot] | None) -> dict[str, tuple[str, list[int], int]]:
    """Checks slots and converts them for the core."""
    if slots is None:
        return {}
    if not isinstance(slots, Mapping):
        raise TypeError(f'slots is {slots!r}; it must be a dict: {{"name": (dtype, dims)}}')
    return {name: _slot(name, slot) for name, slot in slots.items()}


def _slot(name: str, slot: Slot) -> tuple[str, list[int], int]:
    if not isinstance(name, str):
        raise TypeError(f"slot {name!r}: a slot's name is a text")
    _text("a slot's name", name)
    wanted = f"slot {name!r} is {slot!r}; it must be (dtype, dims) or (dtype, dims, levels)"
    if not isinstance(slot, tuple | list) or len(slot) not in (2, 3):
        raise TypeError(f'{wanted}, for example ("float32", [1, 64])')
    dtype, dims, levels = (*slot, 0)[:3]
    try:
        sizes = [integer_within("a dim", dim, -1, INT64_MAX) for dim in dims]
        depth = integer_within("the number of levels", levels, 0, INT32_MAX)
        return dtype_name(convert_dtype(dtype)), sizes, depth
    except TypeError:
        raise TypeError(f"{wanted}, with dims as a list of integers") from None
    except ValueError as error:
        raise ValueError(f"slot {name!r}: {error}") from None


def _with_reader(
    program: Program,
    title: str,
    operator: str,
    name: str,
    attributes: Mapping[str, object],
    slots: Mapping[str, Slot] | None,
    inputs: Mapping[str, str | list[str]] | None = None,
) -> bytes:
    """Adds a reader that stands on ``inputs``. Errors call the program ``title``.

    Raises:
        Error: the operator or an attribute is unknown or wrong, or the name is taken.
    """
    declared = list(_declared(slots).values())
    dtypes, dims, levels = zip(*declared, strict=True) if declared else (None, None, None)
    block = program.global_block()
    try:
        append_reader(block, operator, name, attributes, inputs, (dims, dtypes, levels))
    except (TypeError, ValueError) as error:
        raise Error(f"{title}: {error}") from None
    return program.to_bytes()


def _numbers(values: float | Sequence[float]) -> list[float]:
    """One number or several as a list."""
    return [float(value) for value in (values if isinstance(values, Sequence) else [values])]


def _text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{name} is {text!r}; it must be a text")
    text.encode()  # raises ValueError for surrogates, which a program cannot hold
    return text


class Reader(MemorySources, ImageMethods, TextMethods, CombiningMethods):
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

    def __init__(
        self,
        program: bytes | str,
        *,
        variable: str = "",
        names: Iterable[str] | None = None,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        name: str = "startup program",
        functions: Iterable[Held] = (),
    ) -> None:
        """A reader of a startup program, which is protobuf text or binary.

        Args:
            program: the program, which runs when the first pass begins.
            variable: the reader in the program, by default the one that it creates last.
            names: names of the slots, in order; by default ``slot0``, ``slot1`` ...
            seed: decides all random choices, together with the ``seed`` attributes in the program,
                as ``--seed`` of the commands does.
            settings: texts that replace ``${name}`` in the program.
            name: the name of the program in error messages.
            functions: the functions that the program calls and the arrays that it reads, which the
                reader keeps alive; ``map`` and ``from_arrays`` make them.

        Raises:
            Error: the program cannot be parsed or is wrong; the message lists all problems.
            TypeError: ``seed`` is no integer, or a name, a setting or the program is no text.
            ValueError: two slots have one name, or ``seed`` is not 0 to 2**64 - 1.
        """
        if not isinstance(program, str | bytes):
            raise TypeError(f"program is {program!r}; it must be protobuf text or bytes")
        self._program = program.encode() if isinstance(program, str) else program
        self._settings = {
            _text("a setting's name", key): _text(f"setting {key!r}", value)
            for key, value in dict(settings or {}).items()
        }
        self._name = _text("name", name)
        self._names = None if names is None else [_text("a slot's name", slot) for slot in names]
        if self._names is not None and len(set(self._names)) < len(self._names):
            raise ValueError(f"two slots have one name: {self._names}")
        self._seed = integer_within("seed", seed, 0, UINT64_MAX)
        self._functions = tuple(functions)
        variable = _text("variable", variable)
        load_extras(self._program)
        self._core = _core.Reader(self._program, name, variable, self._seed, self._settings)
        self._core.functions = self._functions  # loops need them, even after this object is deleted
        if self._names is not None:
            self._core.set_names(self._names)
        self._variable = self._core.variable
        self._epoch = 0
        # What apply has made this reader of: the reader below, and what is done to its elements.
        self._applied: tuple[Reader, tuple[Step, ...]] | None = None

    # ---- Sources ----

    @classmethod
    def open_files(
        cls,
        files: Path | Iterable[Path],
        *,
        slots: Mapping[str, Slot] | Literal["infer"] | None = None,
        fields: Fields | None = None,
        names: Iterable[str] | None = None,
        seed: int = 0,
        name: str = "files",
        **attributes: object,
    ) -> Reader:
        """Reads many files as one stream, one record of each in turn: operator ``open_files``.

        For example, of a table with a header::

            millhopper.Reader.open_files("rides-*.csv.gz",
                                         fields={"fare": "float32[] missing=skip",
                                                 "vendor": '"vendor id" int64[] hash=1000'})

        Args:
            files: paths, patterns (``train-*.recordio``) and ranges (``{00000..00127}``), each with
                an optional format and a colon before it (``text:notes``). A path may be an
                ``https://`` or ``http://`` URL, without a pattern.
            slots: the slots of a record, in order: name to (dtype, dims) or (dtype, dims, levels of
                offsets). Dims include the leading axis of one instance: an image is
                ``("uint8", [1, 28, 28])``. Formats that define their slots (idx, text) need none.
                ``"infer"`` takes those that the first records of a RecordIO file have: the first
                file is opened at once, and records behind its first chunk that do not fit are an
                error, which says what they have.
            fields: what structured formats (tables, JSON, Examples ...) cut from a record: entries
                ``"name dtype[dims] option=value ..."``, or a dict of slots to such entries, in
                which the name may be left out. ``peek FILE`` prints some that fit a file, and
                ``readers/formats/README.md`` tells the notation.
            names: names of the slots if neither ``slots`` nor ``fields`` is given, or the slots
                are inferred.
            seed: seed of all random choices in this chain.
            name: the reader's name in error messages and programs.
            attributes: those of ``open_files`` and of the format; ``python -m millhopper ops
                open_files`` and ``executor --list_ops open_files`` list them. With
                ``shuffle_chunks=True`` the chunks of all files are read in a random order, another
                one in each pass; a ``shuffle`` on top mixes their records. With
                ``shuffle_records=True`` the records of plain fixed, idx and npy files are read in a
                random order, another one in each pass, in memory that does not grow with them. With
                ``buffer_type="mmap"`` records are copied straight from the kernel's pages. Use this
                for plain files on local disks only, and let no program write to them meanwhile. A
                change that the reader notices is an error with file and byte; it cannot notice
                every change (``readers/README.md``). The limit on memory does not count these
                pages.

        Raises:
            TypeError, ValueError: ``slots`` is no dict, a slot in it is no (dtype, dims), or
                ``fields`` is no list of texts or dict.
            Error: there are no files, or an attribute is unknown or has a wrong value. For missing
                files, and for slots that are needed and not given, the first pass raises it.
        """
        paths = [files] if isinstance(files, str | os.PathLike) else list(files)
        if not paths:
            raise Error("open_files: no files are given; give at least one path or pattern")
        attributes["file_names"] = [os.fspath(path) for path in paths]
        if slots == "infer":
            found = _core.recordio_slots([os.fspath(path) for path in paths])
            slots = _named(names, found)
            names = None
        if fields is not None:
            attributes["fields"], names_of_fields = field_entries(fields)
            names = names_of_fields if names is None and slots is None else names
        return cls.create(
            "open_files", slots=slots, names=names, seed=seed, name=name, **attributes
        )

    @classmethod
    def from_arrow(
        cls, source: object, *, fields: Fields | None = None, seed: int = 0, name: str = "arrow"
    ) -> Reader:
        """Reads the rows of tables and streams of other libraries, without a copy in between.

        The core pulls batches through Arrow's C stream interface, on its own threads and without
        the GIL, unless the source takes that itself. ::

            millhopper.Reader.from_arrow(polars.scan_csv("rides.csv").collect(),
                                         fields=["fare float32[] missing=skip", "vendor int64[]"])

        Args:
            source: has ``__arrow_c_stream__``, as tables of pyarrow, polars, DuckDB and pandas
                have. It is called for each pass. A source that can be read only once (an iterator
                of batches) has one pass, and the next one is an error. It must not change while it
                is read.
            fields: the columns that become slots, as for ``open_files``; ``readers/formats`` tells
                under ``arrow`` what becomes of each type. By default all columns for which fields
                can be guessed from the schema; pass them for a source that can be read only once
                and has no ``__arrow_c_schema__``.
            seed: seed of all random choices in this chain.
            name: the reader's name in error messages and programs.

        Raises:
            TypeError: ``source`` has no ``__arrow_c_stream__``, or ``fields`` is no list of texts
                or dict.
            Error: a field is wrong. At an element: there is no such column, a value does not fit
                (batch, row and column are named), or the source fails.

        Source: the Arrow PyCapsule interface.
        """
        held, attributes = keep_stream(source)
        entries, names = field_entries(guess_fields(source) if fields is None else fields)
        attributes["fields"] = entries
        program = _with_reader(
            Program(),
            "startup program",
            "create_python_arrow_reader",
            _text("name", name),
            attributes,
            None,
        )
        return cls(program, variable=name, names=names, seed=seed, functions=(held,))

    @classmethod
    def create(
        cls,
        operator: str,
        *,
        slots: Mapping[str, Slot] | None = None,
        names: Iterable[str] | None = None,
        seed: int = 0,
        name: str = "reader",
        **attributes: object,
    ) -> Reader:
        """A source made by a creation operator, for example ``create_random_data_generator``.

        Args and errors are those of ``open_files``; ``attributes`` are those of the operator.
        """
        _text("operator", operator)
        _text("name", name)
        if names is None and isinstance(slots, Mapping):
            names = list(slots)
        program = _with_reader(Program(), "startup program", operator, name, attributes, slots)
        return cls(program, variable=name, names=names, seed=seed)

    # ---- Decorators ----

    def decorate(self, operator: str, *, name: str = "", **attributes: object) -> Reader:
        """Decorates this reader by a creation operator, which may be that of a plugin.

        Args:
            operator: for example ``create_shuffle_reader``.
            name: of the new reader; by default this reader's name and the operator's, joined.
            attributes: those of the operator; None leaves one at its default.

        Raises:
            Error: the operator or an attribute is unknown or wrong.
        """
        return self._decorate(operator, name, {}, attributes, self._names, self._functions)

    def _decorate(
        self,
        operator: str,
        name: str,
        slots: Mapping[str, Slot],
        attributes: Mapping[str, object],
        names: Iterable[str] | None,
        functions: Iterable[Held],
    ) -> Reader:
        _text("operator", operator)
        _text("name", name)
        short = operator.removeprefix("create_").removeprefix("python_").removesuffix("_reader")
        variable = name or f"{self._variable}.{short}"
        program = Program.parse_from_string(self._program, self._settings)
        below = {"UnderlyingReader": self._variable}
        return self._created(
            program, below, operator, variable, slots, attributes, names, functions
        )

    def _created(
        self,
        program: Program,
        inputs: Mapping[str, str | list[str]],
        operator: str,
        variable: str,
        slots: Mapping[str, Slot] | None,
        attributes: Mapping[str, object],
        names: Iterable[str] | None,
        functions: Iterable[Held],
    ) -> Reader:
        """The reader that an operator creates behind a program, with the seed of this reader."""
        return Reader(
            _with_reader(
                program, self._name, operator, _text("name", variable), attributes, slots, inputs
            ),
            variable=variable,
            names=names,
            seed=self._seed,
            name=self._name,
            functions=functions,
        )

    def shuffle(self, buffer_size: int, *, seed: int = 0, name: str = "") -> Reader:
        """Draws elements at random from a window of ``buffer_size``, which is refilled meanwhile.

        Every pass has another order, which ``seed``, the reader's own seed and ``name`` decide.
        Where records can be read one by one, ``open_files(..., shuffle_records=True)`` shuffles all
        of them, in little memory.
        """
        return self.decorate("create_shuffle_reader", name=name, buffer_size=buffer_size, seed=seed)

    def batch(
        self, batch_size: int, *, drop_last: bool = False, mode: str = "concat", name: str = ""
    ) -> Reader:
        """Makes one element of ``batch_size`` elements.

        Args:
            batch_size: elements in a batch.
            drop_last: leave out a last batch that is not full.
            mode: ``"concat"`` lays elements end to end along their leading axis; ``"stack"`` stacks
                them along a new first axis.
            name: of the new reader.
        """
        return self.decorate(
            "create_batch_reader",
            name=name,
            batch_size=batch_size,
            discard_leftover=drop_last,
            mode=mode,
        )

    def multi_pass(self, pass_num: int, *, name: str = "") -> Reader:
        """Makes one pass of ``pass_num`` passes, each in its own order."""
        return self.decorate("create_multi_pass_reader", name=name, pass_num=pass_num)

    def repeat(self, count: int, *, name: str = "") -> Reader:
        """``multi_pass`` by the name that other libraries give it.

        Source: tf.data.Dataset.repeat.
        """
        return self.multi_pass(count, name=name)

    def shard(
        self,
        num_shards: int | None = None,
        index: int | None = None,
        *,
        by: str = "record",
        even: str = "none",
        name: str = "",
    ) -> Reader:
        """Yields one of ``num_shards`` parts.

        In every pass the parts are disjoint and together contain all elements, if the readers below
        are the same in all processes, with the same seeds.

        Processes that train together must make the same number of steps, or they wait for each
        other for ever: ``.shard(n, i, even="pad").batch(64)`` yields as many batches, of the same
        sizes, in each of them. Put ``batch`` behind ``shard``, as here. In front of it whole
        batches are dealt: each process gets as many, but one may get the short last one.
        Decorators that leave elements out or make others of them, such as ``filter``, ``pack``
        and ``bucket``, belong in front of ``shard``.

        Args:
            num_shards: the number of parts; by default that of the processes, as torchrun
                (``WORLD_SIZE``), Slurm, Open MPI or JAX say it in the environment.
            index: which part, from 0; by default the rank of this process, as they say it.
            by: ``"record"``: the part is elements ``index``, ``index + num_shards`` ...; the sizes
                of the parts differ by one at most, and every part reads all files. ``"chunk"``:
                chunk ``c`` of file ``f`` belongs to part ``(f + c) % num_shards``, and a part reads
                only its own chunks. This works for recordio, idx and fixed files, directly on
                ``open_files``.
            even: what becomes of the last ``num_shards`` elements of a pass that ends within them.
                ``"none"``: the first parts get one element more than the others. ``"pad"``: every
                part gets one, for which the pass goes on with its own first elements: of ``total``
                elements, part ``index`` gets number ``(k * num_shards + index) % total`` in round
                ``k``, as with torch's ``DistributedSampler``. ``"drop"``: no part gets one. The
                number of elements need not be known beforehand. Not for chunks.
            name: of the new reader.

        Raises:
            Error: ``even`` or ``by`` is none of these, or chunks are to be even; at the first read:
                the reader below cannot share its chunks, or neither an argument nor the
                environment says which part.

        Source: Millhopper's own; ``even`` is ``drop_last`` of torch's DistributedSampler.
        """
        return self.decorate(
            "create_shard_reader", name=name, num_shards=num_shards, index=index, by=by, even=even
        )

    def take(self, count: int, *, name: str = "") -> Reader:
        """Yields the first ``count`` elements of each pass; fewer, if there are fewer."""
        return self.decorate("create_take_reader", name=name, count=count)

    def skip(self, count: int, *, name: str = "") -> Reader:
        """Yields the elements of each pass behind the first ``count``, which are not loaded."""
        return self.decorate("create_skip_reader", name=name, count=count)

    def fake(self, count: int, *, name: str = "") -> Reader:
        """Yields the first element of each pass ``count`` times.

        A loop over it costs what it does besides reading, so it shows whether reading is what a
        training waits for.

        Source: paddle.reader.Fake.
        """
        return self.decorate("create_fake_reader", name=name, count=count)

    def unbatch(self, *, mode: str = "concat", name: str = "") -> Reader:
        """Yields the instances of batches: rows, or sequences of ragged slots.

        Args:
            mode: ``"concat"``: an instance keeps the leading axis, whose length is 1 or that of the
                sequence; ``"stack"``: the leading axis, which ``batch(..., mode="stack")`` made, is
                removed.
            name: of the new reader.

        Raises:
            Error: at an element whose slots have different numbers of instances.
        """
        return self.decorate("create_unbatch_reader", name=name, mode=mode)

    def double_buffer(self, depth: int = 2, *, name: str = "") -> Reader:
        """Keeps ``depth`` elements ready, which worker threads load while the loop does its work.

        Elements that load in less than about 5 us are loaded when the loop asks for them, because
        handing them over from a worker thread would take longer.
        """
        return self.decorate("create_double_buffer_reader", name=name, depth=depth)

    # ---- Decorators that look at the elements in order ----

    def pack(
        self,
        length: int,
        *,
        method: str = "first_fit",
        bins: int = 64,
        overlong: str = "error",
        pad_values: float | Sequence[float] = 0,
        name: str = "",
    ) -> Reader:
        """Packs documents, one an element, into rows of ``length`` tokens.

        Each slot becomes [1, length, ...]. Two slots follow, int32 [1, length], which are called
        ``document_ids`` and ``positions`` if the others have names: the number of the document in
        the row that a token is of, from 1 (0 is padding), and its position in the document, from 0.
        Two tokens may attend to each other if their ids are equal and not 0. A piece of a document
        that is split counts as a document. Documents without tokens are left out. ::

            reader.pack(2048).batch(8)  # tokens, document_ids and positions: [8, 2048]

        Args:
            length: tokens of a row.
            method: ``"first_fit"`` puts a document into the oldest open row that has room for it,
                ``"best_fit"`` into the one that it leaves the least room in;
                ``"concat_then_split"`` lays all documents end to end and cuts that into rows.
            bins: rows that are open at once. If a document fits into none of them, the fullest is
                yielded. More rows leave less padding, and hold more memory.
            overlong: a document that is longer than a row is an ``"error"``, or is cut off
                (``"truncate"``), or is cut into several (``"split"``).
            pad_values: what fills up rows: one number, or one for each slot.
            name: of the new reader.

        Raises:
            Error: at an element that is longer than a row, that has slots of different lengths, or
                that holds several sequences (a batch).
            ValueError: the names of the slots are not known yet, because ``map`` before it was not
                given ``slots``.

        Source: FirstFitPackIterDataset and ConcatThenSplitIterDataset of Grain, which do the same
        in Python; the fullest row is yielded here where Grain yields all.
        """
        if self._names is None and self._functions:
            raise ValueError("pack adds slots, so it needs the names of the others: map(slots=...)")
        names = None if self._names is None else [*self._names, "document_ids", "positions"]
        return self._decorate(
            "create_pack_reader",
            name,
            {},
            {
                "length": length,
                "method": method,
                "bins": bins,
                "overlong": overlong,
                "pad_values": _numbers(pad_values),
            },
            names,
            self._functions,
        )

    def bucket(
        self,
        boundaries: Sequence[int],
        batch_sizes: int | Sequence[int],
        *,
        slot: int | str = 0,
        drop_last: bool = False,
        pad: bool = False,
        pad_length: int = 0,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        name: str = "",
    ) -> Reader:
        """Makes batches of elements of similar length, which need little padding.

        Args:
            boundaries: ascending lengths: bucket 0 is for those below the first, bucket ``i`` for
                those of at least ``boundaries[i - 1]`` and below ``boundaries[i]``.
            batch_sizes: elements in a batch: one number, or one for each bucket, of which there is
                one more than boundaries.
            slot: the slot whose length counts, by number or name.
            drop_last: leave out the batches that are not full at the end of a pass.
            pad: pad sequences as ``padded_batch`` does; otherwise they stay ``Ragged``.
            pad_length: as for ``padded_batch``.
            pad_multiple: as for ``padded_batch``.
            pad_values: as for ``padded_batch``.
            name: of the new reader.

        Raises:
            Error: boundaries do not ascend, or sizes do not fit them; at an element that holds
                several sequences.

        Source: tf.data.Dataset.bucket_by_sequence_length.
        """
        return self.decorate(
            "create_bucket_reader",
            name=name,
            boundaries=list(boundaries),
            batch_sizes=[batch_sizes] if isinstance(batch_sizes, int) else list(batch_sizes),
            slot=self._slot_number(slot),
            discard_leftover=drop_last,
            pad=pad,
            pad_length=pad_length,
            pad_multiple=pad_multiple,
            pad_values=_numbers(pad_values),
        )

    def padded_batch(
        self,
        batch_size: int,
        *,
        pad_length: int = 0,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        drop_last: bool = False,
        name: str = "",
    ) -> Reader:
        """Makes batches in which sequences are padded: a ragged slot becomes [batch, length, ...].

        Args:
            batch_size: elements in a batch.
            pad_length: the length of the padded sequences; by default (0) that of the longest
                sequence of the batch.
            pad_multiple: without ``pad_length``, the length is rounded up to a multiple of this.
            pad_values: what is behind shorter sequences: one number, or one for each ragged slot.
            drop_last: leave out a last batch that is not full.
            name: of the new reader.

        Raises:
            Error: a slot has several levels of offsets; at a batch with a sequence that is longer
                than ``pad_length``.

        Source: tf.data.Dataset.padded_batch.
        """
        return self.decorate(
            "create_padded_batch_reader",
            name=name,
            batch_size=batch_size,
            discard_leftover=drop_last,
            pad_length=pad_length,
            pad_multiple=pad_multiple,
            pad_values=_numbers(pad_values),
        )

    def token_batch(
        self,
        max_tokens: int,
        *,
        slot: int | str = 0,
        count: str = "sum",
        overlong: str = "error",
        drop_last: bool = False,
        pad: bool = False,
        pad_multiple: int = 1,
        pad_values: float | Sequence[float] = 0,
        name: str = "",
    ) -> Reader:
        """Makes batches of at most ``max_tokens`` tokens, of elements that follow one another.

        Args:
            max_tokens: tokens of a batch at most.
            slot: the slot whose steps are the tokens, by number or name.
            count: ``"sum"`` counts the steps of all elements, ``"padded"`` the number of elements
                times the length that the longest is padded to.
            overlong: an element of more tokens is an ``"error"``, or a batch of its own
                (``"alone"``).
            drop_last: leave out the last batch of a pass.
            pad: pad sequences as ``padded_batch`` does; otherwise they stay ``Ragged``.
            pad_multiple: as for ``padded_batch``.
            pad_values: as for ``padded_batch``.
            name: of the new reader.

        Raises:
            Error: at an element that is too long, or that holds several sequences.
        """
        return self.decorate(
            "create_token_batch_reader",
            name=name,
            max_tokens=max_tokens,
            slot=self._slot_number(slot),
            count=count,
            overlong=overlong,
            discard_leftover=drop_last,
            pad=pad,
            pad_multiple=pad_multiple,
            pad_values=_numbers(pad_values),
        )

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        drop_last: bool = False,
        name: str = "",
    ) -> Reader:
        """Makes sliding windows, each ``size`` elements joined along their leading axis.

        Args:
            size: elements of a window.
            shift: elements from the first of a window to the first of the next; by default
                ``size``, so that windows do not overlap.
            stride: elements from one element of a window to its next.
            drop_last: leave out windows that the end of the pass cuts off.
            name: of the new reader.

        Source: tf.data.Dataset.window.
        """
        return self.decorate(
            "create_window_reader",
            name=name,
            size=size,
            shift=shift,
            stride=stride,
            discard_leftover=drop_last,
        )

    def dedupe(
        self, slots: Sequence[int | str] | None = None, *, entries: int = 1 << 20, name: str = ""
    ) -> Reader:
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
    ) -> Reader:
        """Keeps the elements of a pass, in memory or on a disk; later passes read them from there.

        Every pass is the same, that of the first pass, so put ``shuffle`` behind it, not before it.

        In memory, the first elements of a pass are kept, and later passes read only the others. On
        a disk, a whole pass is kept in a file, for later passes and later processes. The file is
        used as long as the steps before ``cache``, the seed of this reader, and the paths, sizes
        and times of change of the files that these steps name are the same; otherwise another one
        is written. A damaged file is noticed and written again. Where a disk has no room, the
        reader says so once on standard error, and reads on without. ::

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
                see. Chains with functions of Python (``map``, ``filter``), plugins or lists of
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

    def _slot_number(self, slot: int | str) -> int:
        if not isinstance(slot, str):
            return slot
        if self._names is None or slot not in self._names:
            raise ValueError(f"no slot is called {slot!r}; the slots are {self._names}")
        return self._names.index(slot)

    def filter(
        self, condition: str | Callable[[dict[str, Any]], object], *, name: str = ""
    ) -> Reader:
        """Yields the elements for which ``condition`` is true, in their order.

        A slot is looked at in C++; ``apply`` makes one. A function is called as that of ``map``
        is, by several threads at once. ::

            reader.filter(lambda e: len(e["text"]) > 20)
            reader.apply("is_empty", "text", "empty").apply("logical_not", "empty").filter("empty")

        Args:
            condition: a slot that holds one bool in each element, or a function that gets an
                element as ``map`` passes it and returns something that is true or false.
            name: of the new reader.

        Raises:
            TypeError: ``condition`` is neither a text nor a function.
            Error: there is no such slot, or it is no bool; at an element: the function raised an
                exception.

        Source: tf.data.Dataset.filter.
        """
        if isinstance(condition, str):
            return self._filter_by_slot(condition, name)
        return self._filter_by_function(condition, name)

    def _function_below(self) -> _core.Function | None:
        """The last function, which tells the names of the slots, if this reader does not."""
        last = self._functions[-1] if self._functions and self._names is None else None
        return last if isinstance(last, _core.Function) else None

    def _filter_by_function(
        self, function: Callable[[dict[str, Any]], object], name: str
    ) -> Reader:
        if not callable(function):
            raise TypeError(f"filter takes a slot or a function of an element: {function!r}")

        @functools.wraps(function)
        def is_true(element: dict[str, Any]) -> bool:
            return bool(function(element))

        below = self._function_below()
        held, attributes = keep_function(is_true, self._names, below, {"keep": ("bool", [1], 0)})
        # The last function is the one that knows the names of the slots.
        names = self._names if self._names or self._functions else self._slot_names()
        functions = (held, *self._functions)
        return self._decorate("create_python_filter_reader", name, {}, attributes, names, functions)

    def _filter_by_slot(self, slot: str, name: str) -> Reader:
        variable = _text("name", name) or f"{self._variable}.filter"
        program = Program.parse_from_string(self._program, self._settings)
        slots, attributes = append_steps(program, self._variable, self._slot_names(), ())
        if slot not in slots:
            raise Error(f"{self._name}: filter: there is no slot {slot!r} among {slots}")
        attributes["sink_var_names"] = [attributes["source_var_names"][slots.index(slot)]]
        return self._created(
            program,
            {"UnderlyingReader": self._variable},
            "create_filter_reader",
            variable,
            None,
            attributes,
            self._names,
            self._functions,
        )

    def map(
        self,
        function: Callable[[dict[str, Any]], object],
        *,
        slots: Mapping[str, Slot] | None = None,
        name: str = "",
    ) -> Reader:
        """Yields what ``function`` returns for each element, in the order of the elements.

        Several of the core's threads call the function at once, so it must not change shared data.
        The threads run in parallel only while it releases the GIL, as numpy and decoders do. If it
        raises an exception, the loop gets an ``Error`` in place of the element, with the exception
        as its ``__cause__``. The function cannot use the reader that calls it, nor set the number
        of threads, since either would wait for the function itself; both raise an ``Error``. Its
        random choices should depend on the element and on ``current_record()`` only. ::

            reader.map(lambda e: {"image": e["image"] / np.float32(255), "label": e["label"]})

        Args:
            function: gets an element as a dict by slot name, as a loop does: arrays with the
                leading axis of one instance (it may write to them), or ``Ragged``. It returns a
                dict by slot name, a tuple or list with one value for each slot, or the only value.
                A value is an array, a ``Ragged``, a number or lists of numbers. A value without
                axes gets one of length 1. Large new arrays are not copied if the function keeps no
                reference to them.
            slots: what the function returns, as for ``open_files``; numbers and lists are converted
                to the dtype, arrays must have it. By default the reader learns dtypes, ranks and
                names when the first pass begins: it calls the function once more, for the first
                element. Then dims are unknown; batching is faster if all dims are declared.
            name: of the new reader.

        Raises:
            TypeError: ``function`` cannot be called.
            Error: at an element: the function raised an exception, or its result is not as
                declared.

        Source: paddle.reader.xmap_readers, which does the same for readers of Python.
        """
        declared = _declared(slots)
        held, attributes = keep_function(function, self._names, self._function_below(), declared)
        functions = (*self._functions, held)
        names = list(declared) or None
        return self._decorate(
            "create_python_map_reader", name, declared, attributes, names, functions
        )

    def apply(
        self,
        operator: str,
        slot: Slots | None = None,
        output: Slots | None = None,
        *,
        name: str = "",
        **attributes: object,
    ) -> Reader:
        """Runs an operator on a slot of every element, in C++, in parallel and in order.

        All other slots are passed on. Calls one after another are one block of operators, which
        passes no element on in between. ::

            reader.apply("tokenize", "text").apply("pad_sequence", output="tokens", length=512)

        Args:
            operator: one that makes tensors of tensors, ``python -m millhopper ops`` lists them. An
                element is that of this reader: a record, or a batch if ``batch`` has been called.
            slot: what the operator's first input takes: a slot; or, by input, a slot or a list of
                them: ``{"X": "price", "Y": "factor"}``. By default the slot that the last ``apply``
                wrote, if that made this reader, or the only slot.
            output: the slot that the operator's first output becomes: one of this reader, whose
                place it takes, or a new one behind the others; or such slots by output: ``{"Out":
                "tokens", "Length": "length"}``. By default it takes the place of the first slot
                that is read.
            name: of the new reader, which random choices of the operator depend on.
            attributes: those of the operator; None leaves one at its default.

        Raises:
            TypeError: an argument is of another type.
            Error: there is no such operator, slot or attribute, or the operator cannot work with
                what is known of the slot; at an element: it cannot work with its values. If the
                names of the slots are not known, files are opened to learn how many there are, and
                missing ones are an error.

        Source: Millhopper's own.
        """
        _text("operator", operator)
        variable = _text("name", name) or f"{self._variable}.{operator}"
        below, steps = self._applied or (self, ())
        try:
            step = make_step(operator, variable, self._slot_of(slot), output, attributes)
        except ValueError as error:
            raise Error(f"{self._name}: {error}") from None
        steps = (*steps, step)
        program = Program.parse_from_string(below._program, below._settings)
        try:
            names, block = append_steps(program, below._variable, below._slot_names(), steps)
        except (TypeError, ValueError) as error:
            raise Error(f"{self._name}: {error}") from None
        inputs = {"UnderlyingReader": below._variable}
        reader = self._created(
            program, inputs, "create_custom_reader", variable, None, block, names, self._functions
        )
        reader._applied = (below, steps)
        return reader

    def _slot_of(self, slot: Slots | None) -> Slots:
        """The slot that apply works on."""
        if slot is not None:
            return slot
        if self._applied is not None:
            return next(iter(self._applied[1][-1].outputs.values()))
        names = self._slot_names()
        if len(names) > 1:
            raise ValueError(f"apply: slot is not given; it must be one of {names}")
        return names[0]

    def _slot_names(self) -> list[str]:
        """The names of the slots, as batches have them."""
        if self._names is not None:
            return self._names
        count = len(self.slots())
        learned = self._functions[-1].names() if self._functions else None
        return learned or [f"slot{i}" for i in range(count)]

    # ---- Reading ----

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0: the same order in every process.

        Raises:
            TypeError: it is no integer.
            ValueError: it is below 0, or 2**63 or more.
        """
        self._epoch = integer_within("epoch", epoch, 0, INT64_MAX)

    def slots(self) -> list[tuple[str, list[int], int] | None]:
        """Each slot, in order: dtype, dims of an element (-1 is any length), levels of offsets.

        A slot is None if it is defined only in a file that has not been read yet. Raises ``Error``
        for missing files.
        """
        return self._core.slots()

    def dtypes(self) -> list[str]:
        """The dtype of each slot in the last batch, in order; empty before the first one.

        The names are those of numpy, except ``"bfloat16"``: numpy has no such type, so its values
        are given as uint16 with the same bits.
        """
        return self._core.dtypes()

    def __len__(self) -> int:
        """How many batches (or elements, without ``batch``) a pass has.

        The number is known for idx and uncompressed fixed files, RecordIO files that have a
        manifest, random data with a count, and every chain on one of these. Files may be opened to
        find it, but none is read. For a damaged file it is the number that the file should have.

        Raises:
            TypeError: the number is not known: the files would have to be read first, or several
                readers share the source, so that each gets what the others leave.
            Error: a file is missing, or its header or manifest is damaged.
        """
        length = self._core.length()
        if length is None:
            raise TypeError(
                f"how many elements a pass of {self!r} has is not known without reading it; it is "
                "known for idx files, uncompressed fixed files, RecordIO files with a manifest and "
                "random data with a count, if no other reader reads them"
            )
        return length

    def __bool__(self) -> bool:
        return True

    def torch(self) -> TorchReader:
        """This reader, with batches as torch tensors, without a copy.

        Raises:
            ImportError: torch is not installed.
        """
        from millhopper.iterating.torch import TorchReader

        return TorchReader(self)

    def jax(self, device: Any = None) -> JaxReader:
        """This reader, with batches as JAX arrays, without a copy if they stay on the CPU.

        Args:
            device: where the arrays go, as for ``jax.device_put``: a device or a sharding.

        Raises:
            ImportError: JAX is not installed.
        """
        from millhopper.iterating.jax import JaxReader

        return JaxReader(self, device)

    def keras(
        self,
        inputs: str | Sequence[str],
        targets: str | Sequence[str] | None = None,
        weights: str | None = None,
    ) -> KerasReader:
        """This reader for Keras: ``model.fit(reader.keras("image", "label"), epochs=3)``.

        Args:
            inputs: the slot that the model gets, or several, as a dict by name.
            targets: the slot or slots that it is to predict; none for ``predict``.
            weights: the slot with the weights of the samples.

        Raises:
            ImportError: Keras is not installed.
        """
        from millhopper.iterating.keras import KerasReader

        return KerasReader(self, inputs, targets, weights)

    def __iter__(self) -> _core.Loop:
        """Begins the next pass: returns an iterator of ``Batch``, whose ``close()`` ends it early.

        Raises:
            Error: a file is missing or damaged, or a limit is exceeded. It is raised now, or later
                in place of an element, and names file, byte, record and reader.
        """
        try:
            loop = self._core.begin(self._epoch)
        except Error as error:
            if not error.message.startswith(_SLOTS_MISSING):
                raise
            text = (
                'the slots of a record are not known: pass slots={"name": (dtype, dims), ...} where'
                " the reader is made, or in a program in text: " + error.message
            )
            steps = "".join(f"\n  {step}" for step in error.context)
            raise Error(text + steps, error.code, text, context=error.context) from None
        if self._names is None and self._functions:
            self._core.set_names(self._functions[-1].names() or [])
        self._epoch += 1
        return loop

    def __reduce__(self) -> tuple[object, ...]:
        # A pickle holds the program, with which a spawned process makes its own reader. It does not
        # hold a running pass.
        if self._functions:
            raise TypeError(
                "a reader with functions of Python (map) cannot be pickled: make a new one in the "
                "other process"
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
        if self._functions and self._names is None:  # only a call of a function would tell
            return table
        try:
            slots = slots_html(f"Reader {self._variable}", self._slot_names(), self.slots())
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
