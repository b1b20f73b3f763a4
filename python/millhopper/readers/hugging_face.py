# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face's ``datasets`` as readers take them. It is never imported here."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from millhopper.base.zipped import zip_strict
from millhopper.errors import Error
from millhopper.readers.samples import DeclaredSlot

_NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
_TEXTS = "string large_string string_view binary large_binary binary_view".split()
# Rows of a table that a stream gives out at once.
_ROWS_AT_ONCE = 1024


def is_hugging_face(dataset: object, kind: str) -> bool:
    """Whether it is a ``datasets.Dataset`` or ``datasets.IterableDataset``, as ``kind`` says."""
    module = sys.modules.get("datasets")
    return module is not None and isinstance(dataset, getattr(module, kind, ()))


def refuse_splits(dataset: object) -> None:
    """Raises TypeError for a ``DatasetDict``, which is no data set but several."""
    for kind in "DatasetDict", "IterableDatasetDict":
        if is_hugging_face(dataset, kind):
            raise TypeError(
                f"this is a {kind}, which has several data sets: {list(dataset)}; give one of "  # type: ignore[call-overload]
                'them, such as dataset["train"]'
            )


class Samples:
    """The samples of a Hugging Face data set, which all have the slots that its features say.

    Images, audio and video stay the bytes of their files, for ``decode_image``. A data set whose
    own ``set_transform`` makes the samples, or that has no features, is taken as any other.

    Attributes:
        slots: of the samples; empty if nothing tells them.
    """

    def __init__(self, dataset: Any, slots: Mapping[str, DeclaredSlot]) -> None:
        """Of a ``Dataset`` or ``IterableDataset``; only columns of ``slots``, if it has any.

        Raises:
            Error: there is no such column, or a feature is none that a slot can be of; the message
                says what to do.
        """
        self._of_files: list[str] = []
        self.slots = dict(slots)
        dataset = _undressed(dataset)
        features = dataset.features
        if _has_transform(dataset) or features is None:
            self.dataset = dataset
            return
        if slots:
            for name in slots:
                if name not in features:
                    raise Error(f"there is no column {name!r} among {list(features)}")
            dataset = dataset.select_columns(list(slots))
            features = dataset.features
        else:
            self.slots = {name: _slot(name, feature) for name, feature in features.items()}
        for name, feature in features.items():
            if hasattr(feature, "decode"):
                self._of_files.append(name)
                dataset = dataset.cast_column(name, _undecoded(feature))
        self.dataset = dataset

    def sample(self, found: Any) -> Any:
        """A sample of the data set as an element may be made of it.

        Raises:
            Error: a value is None.
        """
        if not self.slots or not isinstance(found, Mapping):
            return found
        sample = dict(found)
        for name in self._of_files:
            sample[name] = _bytes_of(sample[name])
        for name, value in sample.items():
            if value is None:
                raise Error(
                    f"column {name!r} is null here; fields of from_arrow(dataset, fields=...) have "
                    "missing=skip, which leaves such rows out, missing=mask and default="
                )
        return sample


class NumberedSamples(Samples):
    """Those of a ``Dataset``, by number."""

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        return self.sample(self.dataset[number])


class IterableSamples(Samples):
    """Those of an ``IterableDataset``, which has the state and the order of the data set."""

    def __iter__(self) -> Iterator[Any]:
        return map(self.sample, self.dataset)

    def set_epoch(self, epoch: int) -> None:
        self.dataset.set_epoch(epoch)

    def state_dict(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self.dataset.state_dict()
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.dataset.load_state_dict(state_dict)


class ArrowRows:
    """The rows of a ``Dataset`` as a stream of Arrow's, in its order.

    Source: the Arrow PyCapsule interface.
    """

    def __init__(self, dataset: Any) -> None:
        """Raises TypeError if a function of the data set makes its samples."""
        if _has_transform(dataset):
            raise TypeError(
                "from_arrow reads the table of this data set, without its set_transform; "
                "from_dataset reads what that makes"
            )
        self._dataset = _undressed(dataset)
        self._pyarrow: Any = sys.modules["pyarrow"]  # which ``datasets`` has imported
        self._of_files = [
            name for name, feature in dataset.features.items() if hasattr(feature, "decode")
        ]

    def __arrow_c_schema__(self) -> object:
        return self._schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        schema = self._schema()
        make = self._pyarrow.RecordBatchReader.from_batches
        return make(schema, self._batches(schema)).__arrow_c_stream__(requested_schema)

    def _schema(self) -> Any:
        pyarrow = self._pyarrow
        fields = []
        for field in self._dataset.features.arrow_schema:
            kind = field.type
            if field.name in self._of_files:
                kind = pyarrow.large_binary()
            elif isinstance(kind, pyarrow.ExtensionType):  # that of an array of several axes
                kind = kind.storage_type
                shape = self._dataset.features[field.name].shape
                if None not in shape:
                    while pyarrow.types.is_list(kind):
                        kind = kind.value_type
                    for length in reversed(shape):
                        kind = pyarrow.list_(kind, length)
            fields.append(pyarrow.field(field.name, kind))
        return pyarrow.schema(fields)

    def _batches(self, schema: Any) -> Iterator[Any]:
        for table in self._dataset.with_format("arrow").iter(_ROWS_AT_ONCE):
            columns = []
            for field, column in zip_strict(schema, table.columns):
                if field.name in self._of_files:
                    values = [_bytes_of(value) for value in column.to_pylist()]
                    columns.append(self._pyarrow.array(values, field.type))
                else:
                    chunks = [
                        getattr(chunk, "storage", chunk).cast(field.type) for chunk in column.chunks
                    ]
                    columns.append(self._pyarrow.chunked_array(chunks, field.type))
            yield from self._pyarrow.Table.from_arrays(columns, schema=schema).to_batches()


def _undressed(dataset: Any) -> Any:
    """Without a format such as "torch", which would make tensors of what are plain values."""
    given = getattr(dataset, "format", None)  # an IterableDataset does not tell its own
    if given is None:
        return dataset.with_format(None)
    if given["type"] == "custom":
        return dataset
    plain = dataset.with_format(None)
    if given["columns"] != plain.column_names:
        plain = plain.select_columns(given["columns"])
    return plain


def _has_transform(dataset: Any) -> bool:
    given = getattr(dataset, "format", None)
    return given is not None and given["type"] == "custom"


def _undecoded(feature: Any) -> Any:
    feature = copy.copy(feature)
    feature.decode = False
    return feature


def _bytes_of(file: Any) -> Any:
    """The bytes of an image or the like, which are in the data set or in a file beside it."""
    if not isinstance(file, Mapping):
        return file
    if file.get("bytes") is not None or file.get("path") is None:
        return file.get("bytes")
    return Path(file["path"]).read_bytes()


def _slot(name: str, feature: Any) -> DeclaredSlot:
    """The slot of a column.

    Raises:
        Error: there is none for such a feature.
    """
    lengths: list[int] = []  # of lists within lists; -1 is any
    while type(feature).__name__ in ("List", "LargeList", "Sequence"):
        lengths.append(getattr(feature, "length", -1))
        feature = feature.feature
    dtype = getattr(feature, "dtype", None)
    if hasattr(feature, "decode") or dtype in _TEXTS:
        lengths.append(-1)
        dtype = "uint8"
    elif hasattr(feature, "shape"):
        lengths += [-1 if length is None else length for length in feature.shape]
    if dtype not in _NUMBERS:
        raise Error(
            f"column {name!r} is {feature!r}, of which no slot is made: leave it out by "
            f"dataset.remove_columns({name!r}), take a dict apart by dataset.flatten(), give "
            "slots= with the columns that are wanted, or read a Dataset by from_arrow, which has "
            "more types, such as timestamps"
        )
    levels = max((at + 1 for at, length in enumerate(lengths) if length < 0), default=0)
    return (dtype, [-1 if levels else 1, *lengths[levels:]], levels)
