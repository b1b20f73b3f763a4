# SPDX-License-Identifier: Apache-2.0
"""The method of Reader that writes what it yields to files."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from millhopper.base.integers import UINT64_MAX, integer_within
from millhopper.base.paths import Path
from millhopper.programs.extras import load_extras
from millhopper.readers.loop_methods import LoopMethods
from millhopper.readers.other_names import other_keywords

_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BYTES = re.compile(r"([0-9]+) ?([A-Za-z]+)")


class Written(NamedTuple):
    """What ``Reader.write`` has written. ::

        written = reader.write("rows-{shard:05}.jsonl", shard_size=100_000)
        again = Reader.open_files(written.files, **written.attributes)

    Attributes:
        files: the names by which ``Reader.open_files`` reads the files, in order; of MDS that of
            ``index.json``, which lists them.
        records: how many there are in all files together.
        attributes: those with which ``Reader.open_files`` yields the same elements: ``fields``, or
            ``names``, if the files do not tell them by themselves, and what goes with them.

    Source: Millhopper's own.
    """

    files: list[str]
    records: int
    attributes: dict[str, Any]


class WriteMethods(LoopMethods):
    """What Reader can do with outputs."""

    @other_keywords(force="overwrite=True replaces files", mode="overwrite=True replaces files")
    def write(
        self, name: Path, *, shard_size: int | str | None = None, overwrite: bool = False
    ) -> Written:
        """Writes the next pass to files, in C++, each element as a record. ::

            reader = Reader.open_files("rows-*.csv")
            reader.write("rows.parquet")
            reader.shuffle(100_000).write("rows-{shard:05}.tfrecord", shard_size="256MB")
            train, val = reader.split([0.9, 0.1])
            train.write("train-{shard:05}.jsonl.zst", shard_size=100_000)

        The format is told by the extension or a prefix (``jsonl:out.txt``): recordio, csv, tsv,
        jsonl, npy, tar, tfrecord, mds (``folder/shard.{shard:05}.mds``, whose folder is made)
        and, with ``millhopper[parquet]``, parquet, arrow and feather. Csv, tsv, jsonl, tar and
        tfrecord may end in ``.gz`` and ``.zst``. A field's mask (``missing=mask``) becomes nulls
        where the format has them. The files get their names together, when all is written; after
        an error nothing is left of them. ``millhopper-recordio convert`` does the same from a
        shell.

        Args:
            name: of the files. ``{shard}``, or ``{shard:05}`` for five digits, is their number.
            shard_size: a file ends after so many records (100_000), or bytes before compression
                ("256MB", "64MiB"); by default there is one file.
            overwrite: replace files that exist.

        Raises:
            TypeError: ``shard_size`` is neither a number nor a text.
            ValueError: it is less than 1, or a text of another form.
            Error: the format cannot hold a slot, which the message names with what to do, before
                anything is written; or a record, such as a text with a tab in tsv. An element is a
                batch, which only recordio holds. A file exists, or cannot be written; or whatever a
                loop raises.

        Source: Millhopper's own.
        """
        path = os.fspath(name)
        records, size = _shard_size(shard_size)
        load_extras(path)
        if self._names_from is not None and not self._names_from.names():
            # Only a call of the function tells the names.
            for _ in self._append("create_take_reader", "", {"count": 1}):
                pass
        files, written, attributes = self._core.write(
            self._epoch, path, self._slot_names(), records, size, bool(overwrite)
        )
        self._epoch += 1
        self._position, self._loaded = None, False
        return Written([os.fsdecode(file) for file in files], written, attributes)


def _shard_size(given: int | str | None) -> tuple[int, int]:
    """The records and the bytes of a file; 0 is no limit."""
    if given is None:
        return 0, 0
    if not isinstance(given, str):
        return integer_within("shard_size", given, 1, UINT64_MAX), 0
    match = _BYTES.fullmatch(given)
    if match is None or match[2] not in _UNITS:
        raise ValueError(
            f"shard_size is {given!r}; it is a number of records, 100_000, or of bytes, '256MB' or "
            "'64MiB'"
        )
    return 0, integer_within("shard_size", int(match[1]) * _UNITS[match[2]], 1, UINT64_MAX)
