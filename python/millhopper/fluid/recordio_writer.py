# SPDX-License-Identifier: Apache-2.0
"""Writes what readers in Python yield to RecordIO files, which programs of any language can read.

A record holds one batch of the reader, as a tensor for each slot. The manifest beside the file
keeps the slots and their names, so that readers need no declaration. ``open_files`` (also in
programs that ``python -m millhopper`` runs) and the command ``peek`` of a build of the sources read
a record as one element. So a reader of ``batch(..., 1)`` makes a file whose elements can be
shuffled and batched again.

Names and meaning are those of PaddlePaddle's fluid.recordio_writer, 2018, with these faults mended:
no batch is lost at the end, every file except the last holds ``batch_per_file`` batches, and an
exception leaves no half-written file. As there, a file that exists is replaced, unless
``overwrite=False`` is given. Only a regular file is replaced, and not one that this process is
reading.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from millhopper import _core
from millhopper.base.paths import Path
from millhopper.base.python_reader import PythonReader, opened
from millhopper.base.texts import checked_text
from millhopper.fluid.data_feeder import DataFeeder

__all__ = [
    "convert_reader_to_recordio_file",
    "convert_reader_to_recordio_files",
    "create_recordio_writer",
]

Compressor = _core.RecordIOWriter.Compressor

_MOST_SHARDS = 100_000  # five digits


class RecordIOWriter(_core.RecordIOWriter):
    __doc__ = _core.RecordIOWriter.__doc__

    def append_tensor(self, tensor: _core.LoDTensor | npt.NDArray[Any]) -> None:
        """Adds a ``LoDTensor`` or an array to the current record, as its next slot.

        Raises:
            TypeError: it is neither.
            Error: it has no values, its levels of detail do not fit its rows, or the file is
                closed.
        """
        if not isinstance(tensor, _core.LoDTensor):
            if not hasattr(tensor, "__array__"):
                raise TypeError(f"append_tensor takes a LoDTensor or an array, not {tensor!r}")
            array, tensor = tensor, _core.LoDTensor()
            tensor.set(array)
        super().append_tensor(tensor)

    def append(self, element: dict[str, Any] | Sequence[Any]) -> None:
        """Adds a record: an element as readers yield it, all slots at once. ::

            with create_recordio_writer("rows.recordio", names=["title", "tokens"]) as writer:
                for element in reader:  # {"title": Texts, "tokens": Ragged}
                    writer.append(element)

        Args:
            element: a dict by name, or a tuple or list of values. Of a writer without names the
                first dict tells them. A value is an array, a ``Ragged``, ``Texts``, a
                ``LoDTensor``, a number, a str, or a list of such.

        Raises:
            TypeError, ValueError: a value is none of these.
            Error: there is no value for a name, or another number of values; or as for
                ``append_tensor`` and ``complete_append_tensor``.
        """
        super().append_element(element)


@contextmanager
def create_recordio_writer(
    filename: Path,
    compressor: Compressor = Compressor.Snappy,
    max_num_records: int = 1000,
    *,
    overwrite: bool = True,
    names: Iterable[str] | None = None,
) -> Iterator[RecordIOWriter]:
    """The writer of one file, for a ``with`` block. The file appears at the end of the block. ::

        with create_recordio_writer("digits.recordio", names=["image", "label"]) as writer:
            for image, label in samples:  # arrays or LoDTensors
                writer.append_tensor(image)
                writer.append_tensor(label)
                writer.complete_append_tensor()

    If the block raises an exception, nothing that it wrote is left, and an earlier file of this
    name stays as it was.

    Args:
        filename: the path of the file.
        compressor: ``core.RecordIOWriter.Compressor.Snappy`` or ``.NoCompress``.
        max_num_records: the most records in a chunk, which is also limited to 1 MiB.
        overwrite: replace a file that exists.
        names: of the slots of a record. The manifest beside the file keeps them, with the types and
            dims that all records have, so that readers need no declaration.

    Raises:
        TypeError: ``compressor`` is no ``Compressor``, or a name is no text.
        ValueError: two names are the same.
        Error: the file cannot be written, or it exists and ``overwrite`` is False;
            ``max_num_records`` is less than 1; a record has not as many tensors as there are
            names; or tensors were appended after the last ``complete_append_tensor``.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    writer = _begin(filename, compressor, max_num_records, overwrite, list(names or []))
    try:
        yield writer
        writer.close()
    finally:
        writer.discard()


def convert_reader_to_recordio_file(
    filename: Path,
    reader_creator: PythonReader[Iterable[Any]],
    feeder: DataFeeder,
    compressor: Compressor = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
    *,
    overwrite: bool = True,
) -> int:
    """Writes a pass over a batch reader to one file. Returns the number of batches, the records.

    Args:
        filename: the path of the file, which appears, or is replaced, when all is written.
        reader_creator: the batch reader.
        feeder: turns a batch into tensors.
        compressor: ``core.RecordIOWriter.Compressor.Snappy`` or ``.NoCompress``.
        max_num_records: the most records in a chunk, which is also limited to 1 MiB.
        feed_order: names of the slots of a record, in order; by default all slots of the feeder.
        overwrite: replace a file that exists.

    Raises what the reader and the feeder raise, ValueError for a name that the feeder does not
    have, and `millhopper.Error` if the file cannot be written, if it exists and `overwrite` is
    False, or if `reader_creator` reads the same file. After an error no new file is left.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    order = _feed_order(feeder, feed_order)
    with (
        opened(reader_creator) as batches,
        create_recordio_writer(
            filename, compressor, max_num_records, overwrite=overwrite, names=order
        ) as writer,
    ):
        return _append(writer, batches, feeder, order)


def convert_reader_to_recordio_files(
    filename: Path,
    batch_per_file: int,
    reader_creator: PythonReader[Iterable[Any]],
    feeder: DataFeeder,
    compressor: Compressor = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
    *,
    overwrite: bool = True,
) -> int:
    """Writes a pass over a batch reader to files of `batch_per_file` batches; the last may be less.

    ``digits.recordio`` becomes ``digits-00000.recordio``, ``digits-00001.recordio`` and so on. A
    reader without batches makes no file. Returns the number of records, that is batches, in all
    files. The files get their names together when all are written, so the files of an earlier
    conversion are replaced by all new files or not at all.

    Args and errors are those of ``convert_reader_to_recordio_file``. Also raises ValueError if
    `filename` does not end in ``.recordio``, `batch_per_file` is less than 1 or more than 100,000
    files would be written, and FileExistsError if an earlier conversion has left files with higher
    numbers. If an exception interrupts the conversion, the files that are complete are kept, unless
    an earlier conversion has left files: then only those are kept.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    stem, extension = os.path.splitext(os.fspath(filename))
    if extension != ".recordio":
        raise ValueError(f"'{os.fspath(filename)}' does not end in .recordio")
    if batch_per_file < 1:
        raise ValueError(f"batch_per_file is {batch_per_file}, it must be at least 1")
    order = _feed_order(feeder, feed_order)
    earlier = _shards(stem)
    written = 0
    writers: list[RecordIOWriter] = []
    whole = 0  # how many of the writers have finished their file
    try:
        try:
            with opened(reader_creator) as batches:
                while first := list(itertools.islice(batches, 1)):
                    if len(writers) == _MOST_SHARDS:
                        raise ValueError(f"batch_per_file is {batch_per_file}: too many files")
                    name = f"{stem}-{len(writers):05d}{extension}"
                    writers.append(_begin(name, compressor, max_num_records, overwrite, order))
                    of_file = itertools.chain(first, itertools.islice(batches, batch_per_file - 1))
                    written += _append(writers[-1], of_file, feeder, order)
                    writers[-1].finish()
                    whole += 1
        except BaseException:
            if not earlier:
                RecordIOWriter.close_set(writers[:whole])
            raise
        left = [name for name in earlier if name >= f"{stem}-{len(writers):05d}{extension}"]
        if left:
            raise FileExistsError(
                f"'{left[0]}' and the files after it are left from an earlier conversion and would "
                f"be read with the {len(writers)} files of this one, so nothing is changed: remove "
                "them first"
            )
        RecordIOWriter.close_set(writers)
    finally:
        for writer in writers:
            writer.discard()
    return written


def _begin(
    filename: Path,
    compressor: Compressor,
    max_num_records: int,
    overwrite: bool,
    names: Sequence[str],
) -> RecordIOWriter:
    if not isinstance(compressor, Compressor):
        raise TypeError(
            f"compressor is {compressor!r}; it must be core.RecordIOWriter.Compressor.Snappy or "
            ".NoCompress"
        )
    texts = [checked_text("a slot's name", name) for name in names]
    if len(set(texts)) < len(texts):
        raise ValueError(f"two slots have one name: {texts}")
    return RecordIOWriter(os.fspath(filename), compressor, max_num_records, overwrite, texts)


def _shards(stem: str) -> list[str]:
    """The existing files <stem>-<five digits>.recordio, sorted."""
    folder, prefix = os.path.split(stem)
    shard = re.compile(re.escape(prefix) + r"-[0-9]{5}\.recordio")
    try:
        names = os.listdir(folder or ".")
    except OSError:  # the writer of the first file reports what is wrong
        return []
    return sorted(os.path.join(folder, name) for name in names if shard.fullmatch(name))


def _feed_order(feeder: DataFeeder, feed_order: Sequence[str] | None) -> Sequence[str]:
    if feed_order is None:
        return feeder.feed_names
    unknown = [name for name in feed_order if name not in feeder.feed_names]
    if unknown:
        raise ValueError(f"feed_order: {unknown} are not in the feeder's {feeder.feed_names}")
    return feed_order


def _append(
    writer: RecordIOWriter,
    batches: Iterable[Iterable[Any]],
    feeder: DataFeeder,
    feed_order: Sequence[str],
) -> int:
    written = 0
    for batch in batches:
        tensors = feeder.feed(batch)
        for name in feed_order:
            writer.append_tensor(tensors[name])
        writer.complete_append_tensor()
        written += 1
    return written
