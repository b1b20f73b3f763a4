# SPDX-License-Identifier: Apache-2.0
"""Readers in Python: functions that yield data, and decorators that combine them.

    from millhopper import reader

    lines = reader.creator.text_file("digits.csv")
    samples = reader.xmap_readers(parse, lines, process_num=4, buffer_size=64, order=True)
    for sample in reader.buffered(reader.shuffle(samples, 1024, seed=7), 64)():
        ...

`millhopper.generators.decorators` says what a reader is and what all decorators have in common. The
code is in the room `generators`; `reader` is the lineage's name for it. Class `millhopper.Reader`,
which reads in the core, is in `millhopper.readers.reader`.
"""

from millhopper.generators.decorators import (
    ComposeNotAligned,
    Fake,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from millhopper.generators.pipe import CommandError, PipeReader
from millhopper.generators.processes import ReaderProcessError, multiprocess_reader
from millhopper.generators.threads import buffered, xmap_readers
from millhopper.reader import creator, decorator

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
