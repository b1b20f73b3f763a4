# SPDX-License-Identifier: Apache-2.0
"""Readers in Python: functions that yield data, and decorators that combine them.

    from millrace import reader

    lines = reader.creator.text_file("digits.csv")
    samples = reader.xmap_readers(parse, lines, process_num=4, buffer_size=64, order=True)
    for sample in reader.buffered(reader.shuffle(samples, 1024, seed=7), 64)():
        ...

`millrace.reader.decorators` says what a reader is and what all decorators have in common.
"""

from millrace.reader import creator, decorator
from millrace.reader.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millrace.reader.pipe import CommandError, PipeReader
from millrace.reader.processes import ReaderProcessError, multiprocess_reader
from millrace.reader.threads import buffered, xmap_readers

__all__ = [
    "CommandError",
    "ComposeNotAligned",
    "Fake",
    "PipeReader",
    "ReaderProcessError",
    "buffered",
    "cache",
    "chain",
    "compose",
    "creator",
    "decorator",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]
