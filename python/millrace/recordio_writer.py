# SPDX-License-Identifier: Apache-2.0
"""RecordIO files of what readers in Python yield, for programs of any language to read.

A record holds what one batch of the reader becomes: a tensor for each slot. ``open_files`` (in
programs that ``python -m millrace`` runs, too) and the command ``peek`` of a build of the sources
read it as one element, so that readers of ``batch(..., 1)`` make files whose elements can be
shuffled and batched again. Names and meaning are those of PaddlePaddle's fluid.recordio_writer,
2018, without its faults: no batch is lost at the end, every file but the last holds
``batch_per_file`` of them, and what an exception interrupts leaves no half file.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from millrace import _core
from millrace.core import RecordIOWriter
from millrace.data_feeder import DataFeeder
from millrace.pipeline import Path
from millrace.reader.decorators import Reader, opened

__all__ = [
    "convert_reader_to_recordio_file",
    "convert_reader_to_recordio_files",
    "create_recordio_writer",
]

Compressor = _core.RecordIOWriter.Compressor


@contextmanager
def create_recordio_writer(
    filename: Path, compressor: Compressor = Compressor.Snappy, max_num_records: int = 1000
) -> Iterator[RecordIOWriter]:
    """The writer of one file, for a ``with`` block, at whose end the file is there. ::

        with create_recordio_writer("digits.recordio") as writer:
            for image, label in samples:  # arrays, or of class LoDTensor
                writer.append_tensor(image)
                writer.append_tensor(label)
                writer.complete_append_tensor()

    If the block raises, nothing is left of what it wrote, and a file that has had this name stays
    as it was.

    Args:
        filename: of the file.
        compressor: ``core.RecordIOWriter.Compressor.Snappy`` or ``.NoCompress``.
        max_num_records: in a chunk, which is also limited to 1 MiB.

    Raises:
        TypeError: ``compressor`` is none.
        Error: the file cannot be written, ``max_num_records`` is less than 1, or tensors were
            appended behind the last ``complete_append_tensor``.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    if not isinstance(compressor, Compressor):
        raise TypeError(
            f"compressor is {compressor!r}; it must be core.RecordIOWriter.Compressor.Snappy or "
            ".NoCompress"
        )
    writer = RecordIOWriter(os.fspath(filename), compressor, max_num_records)
    try:
        yield writer
        writer.close()
    finally:
        writer.discard()


def convert_reader_to_recordio_file(
    filename: Path,
    reader_creator: Reader[Iterable[Any]],
    feeder: DataFeeder,
    compressor: Compressor = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
) -> int:
    """Writes a pass over a batch reader to one file and returns the number of records: batches.

    Args:
        filename: of the file, which is replaced when all is written.
        reader_creator: the batch reader.
        feeder: makes tensors of a batch.
        compressor: ``core.RecordIOWriter.Compressor.Snappy`` or ``.NoCompress``.
        max_num_records: in a chunk, which is also limited to 1 MiB.
        feed_order: names of the slots of a record, in order; by default all of the feeder.

    Raises what the reader and the feeder do, ValueError for a name that the feeder does not have,
    and `millrace.Error` if the file cannot be written. Then no file is left.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    order = _feed_order(feeder, feed_order)
    with opened(reader_creator) as batches:
        return _write(filename, batches, feeder, compressor, max_num_records, order)


def convert_reader_to_recordio_files(
    filename: Path,
    batch_per_file: int,
    reader_creator: Reader[Iterable[Any]],
    feeder: DataFeeder,
    compressor: Compressor = Compressor.Snappy,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
) -> int:
    """Writes a pass over a batch reader to files of `batch_per_file` batches, the last of the rest.

    ``digits.recordio`` becomes ``digits-00000.recordio``, ``digits-00001.recordio`` and so on. A
    reader without batches makes none. Returns the number of records in all of them: batches.

    Args and errors are those of ``convert_reader_to_recordio_file``; also raises ValueError if
    `filename` does not end in ``.recordio`` or `batch_per_file` is less than 1, and FileExistsError
    if files with higher numbers are left of an earlier conversion. Files before the one that an
    exception interrupts stay.

    Source: PaddlePaddle's fluid.recordio_writer, 2018.
    """
    stem, extension = os.path.splitext(os.fspath(filename))
    if extension != ".recordio":
        raise ValueError(f"'{os.fspath(filename)}' does not end in .recordio")
    if batch_per_file < 1:
        raise ValueError(f"batch_per_file is {batch_per_file}, it must be at least 1")
    order = _feed_order(feeder, feed_order)
    written = files = 0
    with opened(reader_creator) as batches:
        while first := list(itertools.islice(batches, 1)):
            name = f"{stem}-{files:05d}{extension}"
            of_file = itertools.chain(first, itertools.islice(batches, batch_per_file - 1))
            written += _write(name, of_file, feeder, compressor, max_num_records, order)
            files += 1
    behind = f"{stem}-{files:05d}{extension}"
    if os.path.exists(behind):
        raise FileExistsError(
            f"'{behind}' and those behind it are left of an earlier conversion, and would be read "
            f"with the {files} files written now: remove them"
        )
    return written


def _feed_order(feeder: DataFeeder, feed_order: Sequence[str] | None) -> Sequence[str]:
    if feed_order is None:
        return feeder.feed_names
    unknown = [name for name in feed_order if name not in feeder.feed_names]
    if unknown:
        raise ValueError(f"feed_order: {unknown} are none of the feeder's {feeder.feed_names}")
    return feed_order


def _write(
    filename: Path,
    batches: Iterable[Iterable[Any]],
    feeder: DataFeeder,
    compressor: Compressor,
    max_num_records: int,
    feed_order: Sequence[str],
) -> int:
    written = 0
    with create_recordio_writer(filename, compressor, max_num_records) as writer:
        for batch in batches:
            tensors = feeder.feed(batch)
            for name in feed_order:
                writer.append_tensor(tensors[name])
            writer.complete_append_tensor()
            written += 1
    return written
