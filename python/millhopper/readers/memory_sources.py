# SPDX-License-Identifier: Apache-2.0
"""Sources of Reader that read what Python holds in memory, or finds by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from millhopper import _core
from millhopper.base.zipped import zip_strict
from millhopper.ragged import Ragged, Texts
from millhopper.readers.chain import AnyReader, Chain
from millhopper.readers.fields import Fields, field_entries, with_slots
from millhopper.readers.hugging_face import (
    ArrowRows,
    NumberedSamples,
    is_hugging_face,
    refuse_splits,
)
from millhopper.readers.iterable_source import IterableSource
from millhopper.readers.map_function import chosen_fields, keep_function, keep_stream
from millhopper.readers.samples import element_of
from millhopper.readers.slots import Slot, declared

if TYPE_CHECKING:
    from typing_extensions import Self


@runtime_checkable
class Dataset(Protocol):
    """A data set whose samples are found by number, such as a list or a map-style one of torch."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class MemorySources(Chain):
    """What Reader can read besides files.

    Source: Millhopper's own.
    """

    # Makes the same reader with all elements in a random order, if it can be made so.
    _shuffled: Callable[[int], Self] | None = None
    # Makes a reader of the elements with the numbers that a reader yields, if they have numbers.
    _numbered: Callable[[Any], Any] | None = None

    def shuffled_whole(self, seed: int) -> Self | None:
        """This reader with all elements in a random order, in no memory; another one in each pass.

        Args:
            seed: decides the order.

        Returns:
            None unless it is one that ``from_arrays`` or ``from_dataset`` has made.
        """
        return None if self._shuffled is None else self._shuffled(seed)

    def sampled(self, sampler: Iterable[int]) -> Self:
        """The elements whose numbers a sampler yields, in its order, as often as it yields them.

        For readers whose elements have numbers, those that ``from_arrays`` and ``from_dataset``
        have made; nothing stands on them yet. ::

            sampler = torch.utils.data.WeightedRandomSampler(weights, num_samples=100_000)
            millhopper.Reader.from_dataset(dataset).sampled(sampler).batch(64)

        Args:
            sampler: numbers from 0 on: a list, an array, or anything that can be iterated over
                anew for each pass, such as a sampler of torch. One that has ``set_epoch`` is told
                the number of the pass before it begins. A loop that resumes asks for the numbers
                of its pass again, up to where it was: a sampler that draws must draw the same
                ones, as with the seed of torch.

        Returns:
            A reader of one process: a sampler decides which samples it gets.

        Raises:
            TypeError: the sampler cannot be iterated over.
            ValueError: elements of this reader have no numbers; the message says what to do.
            Error: at an element: there is no such number.

        Source: torch.utils.data.Sampler.
        """
        if self._numbered is None:
            raise ValueError(
                "elements of this reader have no numbers, which a sampler could name: it must be "
                "one that from_arrays or from_dataset has made, before anything stands on it. "
                "resample(weights) and balance(slot) weigh the elements of any reader"
            )
        if not isinstance(sampler, Iterable):
            raise TypeError(f"sampler is {sampler!r}, which cannot be iterated over")
        cls, name = type(self), f"{self._variable}.numbers"
        if isinstance(sampler, (Sequence, np.ndarray)):
            array = np.asarray(sampler)
            if array.size > 0 and (array.ndim != 1 or array.dtype.kind not in "iu"):
                raise TypeError(
                    f"sampler is {array.dtype} {list(array.shape)}; it names elements by integers, "
                    "one axis of them"
                )
            array = array.astype(np.int64).reshape(-1)
            numbers = cls.from_arrays({"index": array}, name=name, seed=self._seed)
        else:
            slots: dict[str, Slot] = {"index": ("int64", [1])}
            numbers = cls.from_iterable(sampler, slots, name=name, seed=self._seed)
        made: Self = self._numbered(numbers)
        return made

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, npt.ArrayLike],
        *,
        shuffle: bool = False,
        reshuffle: bool = True,
        seed: int = 0,
        name: str = "arrays",
    ) -> Self:
        """Reads the rows of arrays, which are not copied.

        An element is a row of each array, with a leading axis of 1, so that a batch has the shape
        of a slice: of ``[1000, 28, 28]`` and ``[1000]``, batches of 64 are ``[64, 28, 28]`` and
        ``[64]``. Rows are copied once, into the batch. Memory maps of numpy are read as the system
        brings in their pages. ::

            arrays = {"image": images, "label": labels}
            for batch in millhopper.Reader.from_arrays(arrays, shuffle=True).batch(64):

        Args:
            arrays: name to an array of numpy, or what numpy makes one of: tensors of torch on the
                CPU without a copy, lists with one. All have the same length. The values must not
                change while a reader reads them. An array whose rows are not in C order, such as a
                transposed one, is copied once. Texts (a list or an array of ``str``, or ``Texts``)
                are copied once, as UTF-8, and batches have them as ``Texts``; bytes, and a
                ``Ragged`` of one level, become sequences of different lengths, ``Ragged``.
            shuffle: read all rows in a random order, another one in each pass. No memory is taken
                for rows that wait.
            reshuffle: False: in the same random order in each pass, as ``Reader.shuffle`` has it.
            seed: seed of all random choices in this chain, also of this order.
            name: the reader's name in error messages and programs.

        Raises:
            TypeError: ``arrays`` is no dict, or numpy makes objects of a value, not all of which
                are ``str``; the message names the first one.
            ValueError: there is no array, one has no axes, or they differ in length.
            Error: Millhopper does not support the dtype of an array.
        """
        if not isinstance(arrays, Mapping):
            hint = ""
            if hasattr(arrays, "keys"):
                hint = "; dict(frame) makes one of a pandas.DataFrame"
            raise TypeError(
                f'arrays is {type(arrays).__name__!r}; it must be a dict: {{"name": array}}{hint}'
            )
        if not arrays:
            raise ValueError("from_arrays: there are no arrays; give at least one by its name")
        columns = [_column(slot, array) for slot, array in arrays.items()]
        lengths = {slot: len(column) for slot, column in zip_strict(arrays, columns)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"from_arrays: the arrays differ in length: {lengths}")
        held = _core.Arrays([_held(column) for column in columns])
        return cls._of_arrays(columns, held, list(arrays), name, shuffle, seed, reshuffle)

    @classmethod
    def _of_arrays(
        cls,
        columns: list[npt.NDArray[Any] | Ragged],
        held: _core.Arrays,
        names: list[str],
        name: str,
        shuffle: bool,
        seed: int,
        reshuffle: bool = True,
    ) -> Self:
        attributes = {
            "arrays": held.number,
            "count": len(columns[0]),
            "shuffle_records": shuffle,
            "reshuffle": reshuffle,
        }
        reader = cls._source(
            "create_python_array_reader", name, attributes, names, seed=seed, functions=[held]
        )
        reader._shuffled = partial(cls._of_arrays, columns, held, names, name, True)
        reader._numbered = partial(_rows_of, columns, names, reader.slots(), name)
        return reader

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        *,
        slots: Mapping[str, Slot] | None = None,
        shuffle: bool = False,
        reshuffle: bool = True,
        seed: int = 0,
        name: str = "dataset",
    ) -> Self:
        """Reads ``dataset[0]`` to ``dataset[len(dataset) - 1]``, in order or shuffled.

        ::

            millhopper.Reader.from_dataset(dataset, shuffle=True).batch(64).double_buffer()

        Args:
            dataset: has ``__len__`` and ``__getitem__``, as a list and a map-style data set of
                torch have. A sample is a dict by slot name, a tuple or list with a value for each
                slot (called ``slot0``, ``slot1`` ...), or the only value, which a list of numbers
                is. A value is an array, a tensor, a number or lists of numbers, which gets a
                leading axis of 1, so that batches stack; a text or bytes, which become a ragged
                slot of uint8; or a ``Ragged``, which stays as it is. Several of the core's threads
                call ``__getitem__`` at once, as those of ``Reader.map`` do.
            slots: what the samples are, as for ``map``. By default it is learned where a loop opens
                the reader, from the first sample of pass 0, which is read again in the pass.
            shuffle: read the samples in a random order, another one in each pass. No memory is
                taken for those that wait.
            reshuffle: False: in the same random order in each pass, as ``Reader.shuffle`` has it.
            seed: seed of all random choices in this chain, also of this order.
            name: the reader's name in error messages and programs.

        Raises:
            TypeError: ``dataset`` has no ``__len__`` and ``__getitem__``.
            Error: at an element: ``__getitem__`` raised an exception, which is the ``__cause__``,
                or a sample is not as declared.
        """
        refuse_splits(dataset)
        _refuse_batches_of_ray("from_dataset", dataset)
        if isinstance(dataset, (str, bytes, Chain)) or not isinstance(dataset, Dataset):
            hint = ""
            if isinstance(dataset, Iterable) and not isinstance(dataset, (str, bytes)):
                hint = "; from_iterable takes what can only be iterated over"
            raise TypeError(
                f"from_dataset takes an object with __len__ and __getitem__, not {dataset!r}{hint}"
            )

        given, getitem = declared(slots), type(dataset).__getitem__
        if is_hugging_face(dataset, "Dataset"):
            dataset = NumberedSamples(dataset, given)
            given = dataset.slots

        @wraps(getitem)  # errors name what the caller has written
        def sample(number: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
            return element_of(dataset[int(number["index"][0])], given)

        held, attributes = keep_function(sample, ["index"], None, given)
        return cls._of_dataset(
            held, attributes, given, len(dataset), name, shuffle, seed, reshuffle
        )

    @classmethod
    def from_iterable(
        cls,
        iterable: Iterable[Any] | Callable[..., Iterable[Any]],
        slots: Mapping[str, Slot] | None = None,
        *,
        batched: bool = False,
        seed: int = 0,
        name: str = "iterable",
    ) -> Self:
        """Reads what Python can only iterate over: generators, streams, other loaders.

        A thread asks for the items, ahead of the loop. ::

            def lines():
                with open("lines.txt") as file:
                    for line in file:
                        yield {"text": line, "length": len(line)}

            millhopper.Reader.from_iterable(lines).shuffle(1000).batch(64)
            millhopper.Reader.from_iterable(datasets.load_dataset(..., streaming=True)["train"])
            millhopper.Reader.from_iterable(
                lambda: ray_dataset.iter_batches(batch_size=1024), batched=True)

        Args:
            iterable: a function that returns an iterable, such as a generator function, which is
                called for each pass; or an iterable, which is iterated over anew for each. What can
                be iterated over once only (a generator, a file) has one pass, and the next one is
                an error. An item is as a sample of ``from_dataset``. An iterable that has
                ``set_epoch`` is told the number of the pass, before the pass begins. An
                ``IterableDataset`` of Hugging Face's ``datasets`` is read in the slots that its
                features tell, with images and audio as the bytes of their files.
            slots: what the items are, as for ``open_files``; lists of any length are a slot with a
                level of offsets: ``{"tokens": ("int64", [-1], 1)}``. By default it is learned where
                a loop opens the reader, from the first item; then the iteration that has begun is
                that of pass 0, and what is ``str`` in it, or lists of them, is ``Texts``, as fields
                of ``str`` are.
            batched: items are batches of rows, whose values have a row for each along their first
                axis (dicts of arrays, frames of pandas, tables of pyarrow); elements are rows.
            seed: seed of all random choices in this chain.
            name: the reader's name in error messages and programs.

        A loop that resumes begins a new pass and skips to its place: a function that has a
        parameter ``start``, whose default is 0, is called with the number of items to leave out; an
        iterable with ``state_dict`` and ``load_state_dict`` is given a state that it had at most 32
        items before, if JSON can hold it (twice as far back as an element in a window); any other
        is asked for all items again, which must be the same ones.

        Raises:
            TypeError: ``iterable`` is neither an iterable nor a function.
            Error: at an element: the iterable raised an exception, which is the ``__cause__``, an
                item is not as declared or as the first one, or a second pass over what can be read
                once only.

        Source: tf.data.Dataset.from_generator.
        """
        _refuse_batches_of_ray("from_iterable", iterable)
        source = IterableSource(iterable, declared(slots), batched)
        given = dict(source.slots)
        held, attributes = keep_function(source.feeds, None, None, given)
        reader = cls._source(
            "create_python_iterable_reader",
            name if not batched else f"{name}.batches",
            attributes,
            list(given) or None,
            seed=seed,
            functions=[held],
        )
        if not given:
            reader._names_from = held
        return reader._append("create_unbatch_reader", name, {}) if batched else reader

    @classmethod
    def _of_dataset(
        cls,
        held: _core.Function,
        attributes: Mapping[str, object],
        slots: Mapping[str, Slot],
        count: int,
        name: str,
        shuffle: bool,
        seed: int,
        reshuffle: bool = True,
    ) -> Self:
        numbers = indices(
            cls, count, shuffle=shuffle, seed=seed, name=f"{name}.numbers", reshuffle=reshuffle
        )
        reader = _samples_of(held, attributes, slots, name, numbers)
        reader._shuffled = partial(cls._of_dataset, held, attributes, slots, count, name, True)
        reader._numbered = partial(_samples_of, held, attributes, slots, name)
        return reader

    @classmethod
    def from_arrow(
        cls, source: object, *, fields: Fields | None = None, seed: int = 0, name: str = "arrow"
    ) -> Self:
        """Reads the rows of tables and streams of other libraries, without a copy in between.

        The core pulls batches through Arrow's C stream interface, on its own threads and without
        the GIL, unless the source takes that itself. ::

            millhopper.Reader.from_arrow(polars.scan_csv("rides.csv").collect(),
                                         fields=["fare float32[] missing=skip", "vendor int64[]"])

        Args:
            source: has ``__arrow_c_stream__``, as tables of pyarrow, polars, DuckDB and pandas
                have. It is called for each pass. A source that can be read only once (an iterator
                of batches) has one pass, and the next one is an error. It must not change while it
                is read. A resumed loop asks for the stream anew, which must have the same batches,
                and skips through it; a second time for elements in a window.
            fields: the columns that become slots, as for ``open_files``, by names alone, too;
                ``readers/formats`` tells under ``arrow`` what becomes of each type. By default all
                columns. Tables in memory (of pyarrow, DataFrames of polars and pandas) tell which
                columns have nulls: these get masks or NaN, as columns of files do. Of other
                sources only the schema is known, which does not tell it, so ``missing=`` must.
                Pass fields with types for a source that can be read only once and has no
                ``__arrow_c_schema__``.
            seed: seed of all random choices in this chain.
            name: the reader's name in error messages and programs.

        Raises:
            TypeError: ``source`` has no ``__arrow_c_stream__``, or ``fields`` is no list of texts
                or dict.
            Error: a field is wrong. At an element: there is no such column, a value does not fit
                (batch, row and column are named), or the source fails.

        Source: the Arrow PyCapsule interface.
        """
        refuse_splits(source)
        _refuse_batches_of_ray("from_arrow", source)
        if is_hugging_face(source, "Dataset"):
            source = ArrowRows(source)
        held, attributes = keep_stream(source)
        entries, names = field_entries([] if fields is None else fields)
        if _core.are_chosen_by_name(entries):
            entries = chosen_fields(source, with_slots(entries, names))
            names = _core.field_names(entries)
        attributes["fields"] = entries
        return cls._source(
            "create_python_arrow_reader", name, attributes, names, seed=seed, functions=[held]
        )


def _samples_of(
    held: _core.Function,
    attributes: Mapping[str, object],
    slots: Mapping[str, Slot],
    name: str,
    numbers: AnyReader,
) -> AnyReader:
    """The samples of a data set whose numbers a reader yields."""
    names = list(slots) or held
    functions = [*numbers._functions, held]
    return numbers._decorate("create_python_map_reader", name, slots, attributes, names, functions)


def _rows_of(
    columns: list[npt.NDArray[Any] | Ragged],
    names: list[str],
    slots: list[tuple[str, list[int], int] | None],
    name: str,
    numbers: AnyReader,
) -> AnyReader:
    """The rows of arrays whose numbers a reader yields."""
    count = len(columns[0])

    def row(number: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        index = int(number["index"][0])
        if not 0 <= index < count:
            raise IndexError(f"row {index} of {count}")
        pairs = zip_strict(names, columns)
        return {slot: _row(column, index) for slot, column in pairs}

    known = {slot: spec for slot, spec in zip_strict(names, slots) if spec is not None}
    has_texts = any(isinstance(column, Texts) for column in columns)
    given = declared({} if has_texts else known)  # what is declared to be bytes is no text
    held, attributes = keep_function(row, ["index"], None, given)
    return _samples_of(held, attributes, given, name, numbers)


def indices(
    cls: type[AnyReader],
    count: int,
    *,
    shuffle: bool,
    seed: int,
    name: str = "numbers",
    reshuffle: bool = True,
) -> AnyReader:
    """A reader of the numbers 0 to ``count - 1``, in the slot ``index``."""
    attributes = {"count": count, "shuffle_records": shuffle, "reshuffle": reshuffle}
    return cls._source("create_range_reader", name, attributes, ["index"], seed=seed)


def _refuse_batches_of_ray(method: str, source: object) -> None:
    """Raises TypeError for a data set of Ray, which is read by its batches."""
    if hasattr(source, "iter_batches") and hasattr(source, "iter_torch_batches"):
        raise TypeError(
            f"{method}: a {type(source).__name__} of Ray is read by its batches: "
            "Reader.from_iterable(lambda: dataset.iter_batches(batch_size=1024), batched=True)"
        )


def _row(column: npt.NDArray[Any] | Ragged, index: int) -> npt.NDArray[Any] | Ragged:
    """A row of a column, with a leading axis."""
    if not isinstance(column, Ragged):
        return column[index : index + 1]
    begin, end = column.offsets[0][index : index + 2]
    return type(column)(column.values[begin:end], (np.array([0, end - begin]),))


def _held(
    column: npt.NDArray[Any] | Ragged,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64] | None, bool]:
    """A column as the core takes it."""
    if isinstance(column, Ragged):
        return column.values, column.offsets[0], isinstance(column, Texts)
    return column, None, False


def _column(name: str, values: npt.ArrayLike | Ragged) -> npt.NDArray[Any] | Ragged:
    """The values as an array whose rows are in C order, without a copy if they are that already."""
    if isinstance(values, Ragged):
        if len(values.offsets) != 1:
            raise TypeError(f"from_arrays: {name!r} is {values!r}; one level is possible")
        offsets = np.asarray(values.offsets[0])
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
            raise TypeError(
                f"from_arrays: offsets of {name!r} are {offsets.dtype} {list(offsets.shape)}; they "
                "are one axis of integers: where each row begins, and last where the last one ends"
            )
        offsets = np.ascontiguousarray(offsets, np.int64)
        return type(values)(np.ascontiguousarray(values.values), (offsets,))
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], (str, bytes)):
        return _sequences(name, values)  # numpy would cut off zeros at their ends
    array = np.asarray(values)
    if array.ndim == 0:
        raise ValueError(f"from_arrays: {name!r} is {values!r}, which has no rows")
    if array.dtype.kind in "OUST":
        return _sequences(name, array.tolist())
    if len(array) and not array[0].flags.c_contiguous:
        return np.ascontiguousarray(array)
    return array


def _sequences(name: str, rows: Sequence[Any]) -> Ragged:
    """Texts or bytes, end to end."""
    kind: type = bytes if rows and isinstance(rows[0], bytes) else str
    for at, row in enumerate(rows):
        if not isinstance(row, kind):
            raise TypeError(
                f"from_arrays: row {at} of {name!r} is {row!r:.60}, no {kind.__name__}; "
                + _hint(row)
            )
    try:
        parts = [row if kind is bytes else row.encode() for row in rows]
    except UnicodeEncodeError as error:
        raise ValueError(f"from_arrays: {name!r} has a text that is no Unicode: {error}") from None
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    values = np.frombuffer(b"".join(parts), np.uint8)
    return Ragged(values, (offsets,)) if kind is bytes else Texts(values, (offsets,))


def _hint(row: object) -> str:
    """What to do about a row that is no text."""
    if row is None or isinstance(row, float) or type(row).__name__ in ("NAType", "NaTType"):
        return 'frame["name"].fillna("") fills in what is missing; from_arrow keeps it'
    if isinstance(row, (list, tuple, np.ndarray)):
        return "from_dataset reads lists of texts, and of arrays of different lengths"
    return 'astype("int64") and the like make numbers of an array of objects'
