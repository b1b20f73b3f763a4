# SPDX-License-Identifier: Apache-2.0
"""Readers in Python: functions that yield data, and decorators that combine them.

    from millhopper import reader

    lines = reader.creator.text_file("digits.csv")
    samples = reader.xmap_readers(parse, lines, process_num=4, buffer_size=64, order=True)
    for sample in reader.buffered(reader.shuffle(samples, 1024, seed=7), 64)():
        ...

`reader.decorator` says what a reader is and what all decorators have in common. Class
`millhopper.Reader` reads in the core instead.
"""

from millhopper.fluid.reader import creator, decorator
from millhopper.fluid.reader.decorator import (
    ComposeNotAligned,
    Fake,
    PipeReader,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)
from millhopper.fluid.reader.pipe import CommandError
from millhopper.fluid.reader.processes import ReaderProcessError

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
