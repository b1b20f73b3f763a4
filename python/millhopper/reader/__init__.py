# SPDX-License-Identifier: Apache-2.0
"""Readers in Python: functions that yield data, and decorators that combine them.

    from millhopper import reader

    lines = reader.creator.text_file("digits.csv")
    samples = reader.xmap_readers(parse, lines, process_num=4, buffer_size=64, order=True)
    for sample in reader.buffered(reader.shuffle(samples, 1024, seed=7), 64)():
        ...

`millhopper.reader.decorators` says what a reader is and what all decorators have in common.
"""

from millhopper.reader import creator, decorator
from millhopper.reader.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millhopper.reader.pipe import CommandError, PipeReader
from millhopper.reader.processes import ReaderProcessError, multiprocess_reader
from millhopper.reader.threads import buffered, xmap_readers

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
